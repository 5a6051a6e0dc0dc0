#include "mpc/functions/switching_network.h"

#include <bit>
#include <numeric>

#include "mpc/engine.h"

namespace partita::mpc {
namespace {

constexpr uint8_t kUpper = 0, kLower = 1, kOpen = 2;

// Which of two smaller networks every input and output of one network uses. Of each pair of
// neighbours one goes to the upper and one to the lower network, inputs and outputs alike; the last
// of an odd number has no neighbour and uses the lower one.
struct Sides {
  std::vector<uint8_t> in, out;
};

Sides AssignSides(const std::vector<size_t>& from) {
  const size_t size = from.size();
  std::vector<size_t> to(size);
  for (size_t i = 0; i < size; ++i) to[from[i]] = i;
  auto has_neighbour = [&](size_t i) { return size % 2 == 0 || i + 1 < size; };
  Sides sides{std::vector<uint8_t>(size, kOpen), std::vector<uint8_t>(size, kOpen)};
  // An output decides its input, that its neighbour, that its output, that its neighbour, which is
  // on the side where it began.
  auto follow = [&](size_t output, uint8_t side) {
    while (sides.out[output] == kOpen) {
      sides.out[output] = side;
      const size_t input = from[output];
      sides.in[input] = side;
      if (!has_neighbour(input)) return;
      const uint8_t other = side == kUpper ? kLower : kUpper;
      sides.in[input ^ 1] = other;
      const size_t neighbour_output = to[input ^ 1];
      sides.out[neighbour_output] = other;
      if (!has_neighbour(neighbour_output)) return;
      output = neighbour_output ^ 1;
    }
  };
  if (size % 2 == 1) follow(size - 1, kLower);
  for (size_t output = 0; output < size; ++output) {
    if (sides.out[output] == kOpen) follow(output, kUpper);
  }
  return sides;
}

// Sets the network on `places` from layer `first` of it and its mirror image on.
void RouteLayers(const std::vector<size_t>& places, const std::vector<size_t>& from, size_t first,
                 std::vector<SwitchLayer>& layers) {
  const size_t size = places.size();
  if (size < 2) return;
  auto add = [&](size_t layer, size_t pair, bool exchange) {
    layers[layer].places.emplace_back(places[2 * pair], places[2 * pair + 1]);
    layers[layer].exchange.push_back(exchange ? 1 : 0);
  };
  if (size == 2) {
    add(first, 0, from[0] == 1);
    return;
  }
  const Sides sides = AssignSides(from);
  const size_t pairs = size / 2;
  std::vector<size_t> upper_places, lower_places, upper(pairs), lower(size - pairs);
  for (size_t pair = 0; pair < pairs; ++pair) {
    add(first, pair, sides.in[2 * pair] == kLower);
    add(layers.size() - 1 - first, pair, sides.out[2 * pair] == kLower);
    upper_places.push_back(places[2 * pair]);
    lower_places.push_back(places[2 * pair + 1]);
  }
  if (size % 2 == 1) lower_places.push_back(places[size - 1]);
  for (size_t output = 0; output < size; ++output) {
    (sides.out[output] == kUpper ? upper : lower)[output / 2] = from[output] / 2;
  }
  RouteLayers(upper_places, upper, first + 1, layers);
  RouteLayers(lower_places, lower, first + 1, layers);
}

// How many layers of switches become one: those of networks on up to 8 places at both ends, and of
// the one on up to 16 in the middle.
std::vector<size_t> GroupsOf(size_t layers, size_t size) {
  if (size > kMostRowsInBlocks) return std::vector<size_t>(layers, 1);
  constexpr size_t kEndBits = 3, kMiddleBits = 4;
  const size_t bits = (layers + 1) / 2;
  const size_t ends = bits > kMiddleBits ? (bits - kMiddleBits + kEndBits - 1) / kEndBits : 0;
  std::vector<size_t> groups(2 * ends + 1, kEndBits);
  groups[ends] = 2 * (bits - kEndBits * ends) - 1;
  return groups;
}

// Consecutive layers as one. A switch puts its two places into one block.
BlockLayer JoinLayers(std::span<const SwitchLayer> layers, size_t size) {
  BlockLayer joined;
  if (layers.size() == 1) {
    for (size_t k = 0; k < layers[0].places.size(); ++k) {
      const auto [a, b] = layers[0].places[k];
      const size_t first = layers[0].exchange[k];
      joined.places.push_back({a, b});
      joined.from.push_back({first, 1 - first});
    }
    return joined;
  }
  std::vector<size_t> block(size), now(size), index(size);  // now: what stands at a place
  std::iota(block.begin(), block.end(), size_t{0});
  std::iota(now.begin(), now.end(), size_t{0});
  std::vector<std::vector<size_t>> members(size);
  for (size_t i = 0; i < size; ++i) members[i] = {i};
  for (const SwitchLayer& layer : layers) {
    for (size_t k = 0; k < layer.places.size(); ++k) {
      const auto [a, b] = layer.places[k];
      if (layer.exchange[k] == 1) std::swap(now[a], now[b]);
      const size_t into = block[a], other = block[b];
      if (into == other) continue;
      for (const size_t place : members[other]) block[place] = into;
      members[into].insert(members[into].end(), members[other].begin(), members[other].end());
      members[other].clear();
    }
  }
  for (const std::vector<size_t>& places : members) {
    if (places.size() < 2) continue;
    for (size_t i = 0; i < places.size(); ++i) index[places[i]] = i;
    joined.places.push_back(places);
    joined.from.emplace_back();
    for (const size_t place : places) joined.from.back().push_back(index[now[place]]);
  }
  return joined;
}

// Uniform below bound, which is not 0.
uint64_t UniformBelow(uint64_t bound, crypto::RandomSource& random) {
  const uint64_t rest = -bound % bound;  // 2^64 modulo bound
  while (true) {
    uint64_t word = 0;
    random.Fill({reinterpret_cast<uint8_t*>(&word), sizeof(word)});
    if (word >= rest) return word % bound;
  }
}

}  // namespace

std::vector<SwitchLayer> RoutePermutation(std::span<const size_t> from) {
  const size_t size = from.size();
  std::vector<bool> seen(size);
  for (size_t input : from) {
    if (input >= size || seen[input]) {
      Misuse("a list of places is not a permutation");
    }
    seen[input] = true;
  }
  if (size < 2) return {};
  std::vector<SwitchLayer> layers(2 * static_cast<size_t>(std::bit_width(size - 1)) - 1);
  std::vector<size_t> places(size);
  std::iota(places.begin(), places.end(), size_t{0});
  RouteLayers(places, {from.begin(), from.end()}, 0, layers);
  return layers;
}

std::vector<BlockLayer> RouteBlocks(std::span<const size_t> from) {
  const std::vector<SwitchLayer> layers = RoutePermutation(from);
  if (layers.empty()) return {};
  std::vector<BlockLayer> blocks;
  std::span<const SwitchLayer> rest = layers;
  for (const size_t count : GroupsOf(layers.size(), from.size())) {
    blocks.push_back(JoinLayers(rest.first(count), from.size()));
    rest = rest.subspan(count);
  }
  return blocks;
}

std::vector<size_t> RandomPermutation(size_t size, crypto::RandomSource& random) {
  std::vector<size_t> permutation(size);
  std::iota(permutation.begin(), permutation.end(), size_t{0});
  for (size_t i = size; i > 1; --i) {
    std::swap(permutation[i - 1], permutation[UniformBelow(i, random)]);
  }
  return permutation;
}

}  // namespace partita::mpc
