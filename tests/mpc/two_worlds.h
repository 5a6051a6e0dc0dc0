// What crosses the links of a run in two worlds that differ in their secrets, compared: as many
// messages of the same sizes, and bytes of one distribution at every place.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "mpc/dealer_engine.h"
#include "mpc/dealer_node.h"
#include "mpc/replicated_engine.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/transcript.h"

namespace partita::mpc::testing {

using Links = std::vector<std::vector<Bytes>>;  // by link, its messages

inline Links LinksOf(const Transcript& transcript, const RunOptions& options) {
  Links links;
  const size_t processes = options.num_parties + (options.kind == "dealer" ? 1 : 0);
  for (size_t from = 0; from < processes; ++from) {
    for (size_t to = 0; to < processes; ++to) {
      if (from != to) links.push_back(transcript.Messages(from, to));
    }
  }
  return links;
}

// Two-sample chi-square of bytes, made normal by Wilson and Hilferty.
inline double Deviation(const std::array<double, 256>& a, const std::array<double, 256>& b) {
  double chi_square = 0, degrees = -1;
  for (size_t v = 0; v < 256; ++v) {
    const double sum = a[v] + b[v], gap = a[v] - b[v];
    if (sum == 0) continue;
    chi_square += gap * gap / sum;
    ++degrees;
  }
  if (degrees < 1) return 0;
  return (std::cbrt(chi_square / degrees) - (1 - 2 / (9 * degrees))) / std::sqrt(2 / (9 * degrees));
}

struct Comparisons {
  size_t tests = 0;
  double worst = 0;
};

// Byte k of every sixteen, for messages long enough: of ring elements that is one byte of the
// element.
inline void Compare(const Bytes& a, const Bytes& b, Comparisons& result) {
  ASSERT_EQ(a.size(), b.size());
  constexpr size_t kWidth = 16, kFewest = 1000;
  const size_t width = a.size() >= kWidth * kFewest ? kWidth : 1;
  if (a.size() < kFewest) return;
  for (size_t k = 0; k < width; ++k) {
    std::array<double, 256> in_a{}, in_b{};
    for (size_t at = k; at < a.size(); at += width) {
      ++in_a[a[at]];
      ++in_b[b[at]];
    }
    result.worst = std::max(result.worst, Deviation(in_a, in_b));
    ++result.tests;
  }
}

inline Comparisons CompareLinks(const Links& low, const Links& high) {
  Comparisons result;
  for (size_t link = 0; link < low.size(); ++link) {
    EXPECT_EQ(low[link].size(), high[link].size());
    for (size_t m = 0; m < std::min(low[link].size(), high[link].size()); ++m) {
      Compare(low[link][m], high[link][m], result);
    }
  }
  return result;
}

// A normal deviate exceeds 8 with probability 6e-16, so 2e5 of them with 1.3e-10; the approximation
// in the tail has a factor of 1e3 to be wrong by before 1e-6 is reached.
inline constexpr double kLargest = 8;
inline constexpr size_t kMostTests = 200'000;

// All zeros, where masks should be.
class ZeroTape : public Tape {
 public:
  void Read(uint64_t, std::span<uint8_t> out) override {
    std::fill(out.begin(), out.end(), uint8_t{0});
  }
};

inline std::unique_ptr<Tape> MakeZeroTape(PartyIndex) { return std::make_unique<ZeroTape>(); }

inline std::unique_ptr<Engine> MakeDealerWithoutMasks(net::Channel& channel, ReleaseGate& gate) {
  if (channel.self() + 1 == channel.num_parties()) {
    return std::make_unique<DealerNode<Ring128>>(channel, MakeZeroTape, DealerOptions{});
  }
  return std::make_unique<DealerEngine<Ring128>>(channel, gate, MakeZeroTape, DealerOptions{});
}

inline std::unique_ptr<Engine> MakeReplicatedWithoutMasks(net::Channel& channel,
                                                          ReleaseGate& gate) {
  return std::make_unique<ReplicatedEngine<Ring128>>(channel, gate, MakeZeroTape);
}

}  // namespace partita::mpc::testing
