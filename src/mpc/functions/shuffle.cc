#include "mpc/functions/shuffle.h"

#include <algorithm>
#include <numeric>

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

// Every block's rows are x_s + P (x_j - x_s), j < s; the last is what is left of their sum.
Shared ApplyBlocks(Engine& engine, const Shared& value, const BlockLayer& layer,
                   const Shared& settings) {
  std::vector<Shared> differences(layer.places.size()), changes(layer.places.size());
  std::vector<size_t> first, last;  // all places but a block's last one, and that for each of them
  for (const std::vector<size_t>& places : layer.places) {
    first.insert(first.end(), places.begin(), places.end() - 1);
    last.insert(last.end(), places.size() - 1, places.back());
  }
  const Shared ends = engine.SelectRows(value, last);
  const Shared all = engine.Subtract(engine.SelectRows(value, first), ends);
  ProductRound products(engine);
  size_t row = 0, at = 0;
  for (size_t b = 0; b < layer.places.size(); ++b) {
    const size_t size = layer.places[b].size() - 1;
    differences[b] = engine.Slice(all, row, 0, {size, value.shape.cols});
    products.Add(Product::Kind::kMatrix,
                 Reshape(engine.Slice(settings, at, 0, {size * size, 1}), {size, size}),
                 differences[b], 2 * value.bound, changes[b]);
    row += size;
    at += size * size;
  }
  products.Run();
  // [all places but the last ones; the last ones; all rows before], and where each is taken from.
  std::vector<size_t> back(value.shape.rows), ends_once;
  std::iota(back.begin(), back.end(), first.size() + layer.places.size());
  for (size_t i = 0; i < first.size(); ++i) back[first[i]] = i;
  std::vector<Shared> sums;
  for (size_t b = 0; b < layer.places.size(); ++b) {
    back[layer.places[b].back()] = first.size() + b;
    ends_once.push_back(layer.places[b].back());
    sums.push_back(engine.SumRows(engine.Subtract(differences[b], changes[b])));
  }
  const Shared parts[] = {
      WithBound(engine.Add(ends, engine.Concatenate(changes, true)), value.bound),
      WithBound(engine.Add(engine.SelectRows(value, ends_once), engine.Concatenate(sums, true)),
                value.bound),
      value};
  return engine.SelectRows(engine.Concatenate(parts, true), back);
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
  std::vector<PrivateMatrix> inputs;
  for (PartyIndex party = 0; party < engine.num_parties(); ++party) {
    for (const std::vector<Int128>& of_layer : settings) {
      PrivateMatrix setting{party, {of_layer.size(), 1}, 0, 1, nullptr};
      if (engine.self() == party) {
        setting.read = [&of_layer](size_t first, size_t count, Int128* out) {
          std::copy_n(of_layer.begin() + static_cast<ptrdiff_t>(first), count, out);
        };
      }
      inputs.push_back(std::move(setting));
    }
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  Shared shuffled = value;
  for (size_t i = 0; i < shared.size(); ++i)
    shuffled = ApplyBlocks(engine, shuffled, layers[i % layers.size()], shared[i]);
  return shuffled;
}

}  // namespace partita::mpc
