#include "mpc/functions/shuffle.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/switching_network.h"

namespace partita::mpc {
namespace {

// Entry (i, j) of the permutation of a block of s places, for i and j below s - 1: whether place i
// takes what is at j. The others follow from them, as rows and columns add up to 1. All blocks, one
// after the other, row by row.
std::vector<Int128> SettingsOf(const BlockLayer& layer) {
  std::vector<Int128> settings;
  for (const std::vector<size_t>& from : layer.from) {
    for (size_t i = 0; i + 1 < from.size(); ++i) {
      for (size_t j = 0; j + 1 < from.size(); ++j) settings.push_back(from[i] == j ? 1 : 0);
    }
  }
  return settings;
}

// By block, the sum of its rows of `values`, all blocks' rows but their last ones.
Shared SumsOfBlocks(Engine& engine, const BlockLayer& layer, const Shared& values) {
  const Shape none{1, values.shape.cols};
  const Shared zero =
      engine.Public({{none, std::vector<Int128>(none.size())}, values.fraction_bits});
  const Shared parts[] = {values, WithBound(zero, values.bound)};
  const Shared padded = engine.Concatenate(parts, true);
  size_t largest = 0;
  for (const std::vector<size_t>& places : layer.places)
    largest = std::max(largest, places.size() - 1);
  std::optional<Shared> sums;
  for (size_t i = 0; i < largest; ++i) {
    std::vector<size_t> rows;  // the i-th of every block that has so many
    size_t first = 0;
    for (const std::vector<size_t>& places : layer.places) {
      rows.push_back(i + 1 < places.size() ? first + i : values.shape.rows);
      first += places.size() - 1;
    }
    const Shared next = WithBound(engine.SelectRows(padded, rows), 0);
    sums = sums ? engine.Add(*sums, next) : next;
  }
  return *sums;
}

// What one party has set a layer to: shared, or taken by products as the party's own.
struct LayerSettings {
  PrivateMatrix own;
  std::optional<Shared> shared;
};

// Those from `first` on as a matrix.
Operand SettingsFrom(Engine& engine, const LayerSettings& settings, size_t first, Shape shape) {
  if (settings.shared)
    return Reshape(engine.Slice(*settings.shared, first, 0, {shape.size(), 1}), shape);
  PrivateMatrix part{settings.own.owner, shape, 0, 1, nullptr};
  if (settings.own.read) {
    part.read = [read = settings.own.read, first, cols = shape.cols](size_t row, size_t rows,
                                                                     Int128* out) {
      read(first + row * cols, rows * cols, out);
    };
  }
  return part;
}

// P (x_j - x_s) of every block, |x| at most `bound`.
Shared PermuteDifferences(Engine& engine, const Shared& differences, const BlockLayer& layer,
                          const LayerSettings& settings, double bound) {
  ProductRound products(engine);
  if (differences.shape.rows == layer.places.size()) {  // blocks of two: one product of columns
    Shared change;
    products.Add(differences, SettingsFrom(engine, settings, 0, {layer.places.size(), 1}),
                 2 * bound, change);
    products.Run();
    return change;
  }
  std::vector<Shared> changes(layer.places.size());
  size_t row = 0, at = 0;
  for (size_t b = 0; b < layer.places.size(); ++b) {
    const size_t size = layer.places[b].size() - 1;
    products.Add(Product::Kind::kMatrix, SettingsFrom(engine, settings, at, {size, size}),
                 engine.Slice(differences, row, 0, {size, differences.shape.cols}), 2 * bound,
                 changes[b]);
    row += size;
    at += size * size;
  }
  products.Run();
  return engine.Concatenate(changes, true);
}

// Every block's rows are x_s + P (x_j - x_s), j < s; the last is what is left of their sum.
Shared ApplyBlocks(Engine& engine, const Shared& value, const BlockLayer& layer,
                   const LayerSettings& settings) {
  std::vector<size_t> first, last, ends;  // all places but blocks' last ones; those for each; those
  for (const std::vector<size_t>& places : layer.places) {
    first.insert(first.end(), places.begin(), places.end() - 1);
    last.insert(last.end(), places.size() - 1, places.back());
    ends.push_back(places.back());
  }
  const Shared base = engine.SelectRows(value, last);
  const Shared differences = engine.Subtract(engine.SelectRows(value, first), base);
  const Shared change = PermuteDifferences(engine, differences, layer, settings, value.bound);
  const Shared left = SumsOfBlocks(engine, layer, engine.Subtract(differences, change));
  const Shared parts[] = {WithBound(engine.Add(base, change), value.bound),
                          WithBound(engine.Add(engine.SelectRows(value, ends), left), value.bound),
                          value};
  std::vector<size_t> back(value.shape.rows);  // where every row is taken from
  std::iota(back.begin(), back.end(), first.size() + ends.size());
  for (size_t i = 0; i < first.size(); ++i) back[first[i]] = i;
  for (size_t b = 0; b < ends.size(); ++b) back[ends[b]] = first.size() + b;
  return engine.SelectRows(engine.Concatenate(parts, true), back);
}

// With a dealer a product with a party's own matrix opens half as much as one with a shared one;
// elsewhere it would take a round of its own in every layer.
void ShareSettings(Engine& engine, std::vector<LayerSettings>& all) {
  if (engine.capabilities().needs_dealer) return;
  std::vector<PrivateMatrix> inputs;
  for (const LayerSettings& settings : all) inputs.push_back(settings.own);
  const std::vector<Shared> shared = engine.Input(inputs);
  for (size_t i = 0; i < all.size(); ++i) all[i].shared = shared[i];
}

}  // namespace

Shared ShuffleRows(Engine& engine, const Shared& value, crypto::RandomSource& own) {
  const size_t rows = value.shape.rows;
  std::vector<size_t> permutation(rows);
  std::iota(permutation.begin(), permutation.end(), size_t{0});
  if (engine.self()) permutation = RandomPermutation(rows, own);
  const std::vector<BlockLayer> layers = RouteBlocks(permutation);
  if (layers.empty()) return value;
  std::vector<std::vector<Int128>> settings;
  for (const BlockLayer& layer : layers) settings.push_back(SettingsOf(layer));
  std::vector<LayerSettings> all;
  for (PartyIndex party = 0; party < engine.num_parties(); ++party) {
    for (const std::vector<Int128>& of_layer : settings) {
      PrivateMatrix setting{party, {of_layer.size(), 1}, 0, 1, nullptr};
      if (engine.self() == party) {
        setting.read = [&of_layer](size_t first, size_t count, Int128* out) {
          std::copy_n(of_layer.begin() + static_cast<ptrdiff_t>(first), count, out);
        };
      }
      all.push_back({std::move(setting), std::nullopt});
    }
  }
  ShareSettings(engine, all);
  Shared shuffled = value;
  for (size_t i = 0; i < all.size(); ++i)
    shuffled = ApplyBlocks(engine, shuffled, layers[i % layers.size()], all[i]);
  return shuffled;
}

}  // namespace partita::mpc
