#include "mpc/functions/shuffle.h"

#include <algorithm>
#include <numeric>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/switching_network.h"

namespace partita::mpc {
namespace {

// Where the rows of a layer's switches are, and where every row is taken from afterwards.
struct Gather {
  std::vector<size_t> first, second;  // of every switch
  std::vector<size_t> back;           // of [first; second; all rows before], by row
};

Gather GatherOf(const SwitchLayer& layer, size_t rows) {
  Gather gather;
  const size_t count = layer.places.size();
  gather.back.resize(rows);
  std::iota(gather.back.begin(), gather.back.end(), 2 * count);
  for (const auto& [a, b] : layer.places) {
    gather.back[a] = gather.first.size();
    gather.back[b] = count + gather.second.size();
    gather.first.push_back(a);
    gather.second.push_back(b);
  }
  return gather;
}

Shared ApplyLayer(Engine& engine, const Shared& value, const Gather& gather,
                  const Shared& exchange) {
  const Shared first = engine.SelectRows(value, gather.first);
  const Shared second = engine.SelectRows(value, gather.second);
  Shared change;
  ProductRound products(engine);
  products.Add(engine.Subtract(second, first), exchange, 2 * value.bound, change);
  products.Run();
  const Shared parts[] = {WithBound(engine.Add(first, change), value.bound),
                          WithBound(engine.Subtract(second, change), value.bound), value};
  return engine.SelectRows(engine.Concatenate(parts, true), gather.back);
}

}  // namespace

Shared ShuffleRows(Engine& engine, const Shared& value, crypto::RandomSource& own) {
  const size_t rows = value.shape.rows;
  std::vector<size_t> permutation(rows);
  std::iota(permutation.begin(), permutation.end(), size_t{0});
  if (engine.self()) permutation = RandomPermutation(rows, own);
  const std::vector<SwitchLayer> layers = RoutePermutation(permutation);
  if (layers.empty()) return value;
  std::vector<PrivateMatrix> settings;
  for (PartyIndex party = 0; party < engine.num_parties(); ++party) {
    for (const SwitchLayer& layer : layers) {
      PrivateMatrix setting{party, {layer.places.size(), 1}, 0, 1, nullptr};
      if (engine.self() == party) {
        setting.read = [&layer](size_t first, size_t count, Int128* out) {
          std::copy_n(layer.exchange.begin() + static_cast<ptrdiff_t>(first), count, out);
        };
      }
      settings.push_back(std::move(setting));
    }
  }
  const std::vector<Shared> exchanges = engine.Input(settings);
  std::vector<Gather> gathers;
  for (const SwitchLayer& layer : layers) gathers.push_back(GatherOf(layer, rows));
  Shared shuffled = value;
  for (size_t i = 0; i < exchanges.size(); ++i) {
    shuffled = ApplyLayer(engine, shuffled, gathers[i % layers.size()], exchanges[i]);
  }
  return shuffled;
}

}  // namespace partita::mpc
