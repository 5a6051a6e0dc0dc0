// Where the engine `shamir` opens values under statistical masks: the exact distance between views,
// over the field of 127 elements, and statistics over the real field.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>

#include "mpc/compare.h"
#include "net/memory_transport.h"
#include "tests/mpc/shamir_views.h"

namespace partita::mpc::testing::shamir_views::shamir_mask_view_test {
namespace {

// What opens a value of two bits, sign included (the bound 0 stands for it), under a mask of one.
enum class MaskUse { kRescale, kDecompose };

Case Masked(MaskUse use, size_t num_parties, int integer_bits, int statistical_bits, Fault fault) {
  Case c;
  c.num_parties = num_parties;
  c.owners = {0};
  c.domain = {-2, -1, 0, 1};  // |x| < 2^(k-1) with k = 2
  c.integer_bits = integer_bits;
  c.draw_elements = true;
  c.statistical_bits = statistical_bits;
  c.fault = std::move(fault);
  c.body = [use](Engine& engine, const std::vector<IntMatrix>& x) {
    Shared value = InputOf(engine, 0, x[0], 0);
    const size_t width = 1;
    if (use == MaskUse::kRescale) {
      value.fraction_bits = 1;
      engine.Rescale({&value, 1}, 0);
    } else {
      engine.Decompose({&value, 1}, {&width, 1});
    }
    return std::vector<IntMatrix>{};
  };
  return c;
}

// Largest distance between the distributions of c and of what t parties know of the mask, over all
// pairs of values of x and all coalitions.
template <typename F, size_t kSlices>
double MaskDistance(const Case& c) {
  const Views views = Enumerate<F, kSlices>(c);
  const size_t n = c.num_parties, t = ShamirThreshold(n);
  // The digits of the mask that a party knows come first in its view; shares, which are drawn,
  // are replaced by c.
  const size_t known = n == 3 && c.statistical_bits == 0 ? 3 : 2;
  std::vector<typename F::Word> points;
  for (PartyIndex i = 1; i <= t + 1; ++i) points.push_back(PointOf<F>(i));
  const auto at_zero = LagrangeAt<F>(points, 0);
  auto opened = [&](size_t instance) {  // as party 0 computes it
    uint8_t sum = 0;
    for (PartyIndex i = 1; i <= t + 1; ++i) {
      sum = F::Add(sum, F::Mul(at_zero[i - 1], views.last_elements.at({0, i})[instance]));
    }
    return sum;
  };
  double largest = 0;
  for (Group coalition = 1; coalition < Group{1} << n; ++coalition) {
    if (static_cast<size_t>(std::popcount(coalition)) != t) continue;
    std::map<Int128, std::map<std::string, double>> by_value;
    for (size_t i = 0; i < views.num_instances; ++i) {
      std::string seen;
      for (PartyIndex party = 0; party < n; ++party) {
        if (shamir::IsMember(coalition, party)) seen += views.view[party][i].substr(0, known);
      }
      seen.push_back(static_cast<char>(opened(i)));
      by_value[views.Input(i, 0)][seen] += 1;
    }
    const double each =
        static_cast<double>(views.num_instances) / static_cast<double>(c.domain.size());
    double worst = 0;
    for (const auto& [x, p] : by_value) {
      for (const auto& [y, q] : by_value) {
        double distance = 0;
        for (const auto& [seen, count] : p) {
          auto at = q.find(seen);
          distance += std::max(0.0, count - (at == q.end() ? 0 : at->second));
        }
        worst = std::max(worst, distance / each);
      }
    }
    EXPECT_GT(worst, 0) << "coalition " << coalition;
    largest = std::max(largest, worst);
  }
  return largest;
}

const Fault kNoIntegers = [](const Digit& digit, const auto& honest) -> uint8_t {
  return digit.kind == Digit::Kind::kInteger ? 0 : honest(digit);
};
const Fault kNoLowBits = [](const Digit& digit, const auto& honest) -> uint8_t {
  return digit.kind == Digit::Kind::kBit && digit.slot == 0 ? 0 : honest(digit);
};

// h = mask bits 6 - m 1 - ceil(log2 3) 2 = 3; s = mask bits 6 - ceil(log2 3) - k = 2, and
// 2^(k-m) / 2^h = 2 / 8.
TEST(ShamirMaskViewTest, TheDistanceOfStatisticalMasksIsWhatIsDeclared) {
  for (MaskUse use : {MaskUse::kRescale, MaskUse::kDecompose}) {
    auto distance = [use](const Fault& fault) {
      return MaskDistance<FieldOf7Bits, 2>(Masked(use, 3, 3, 0, fault));
    };
    EXPECT_LE(distance(nullptr), std::ldexp(1.0, -2));
    EXPECT_GT(distance(kNoIntegers), std::ldexp(1.0, -2));
    EXPECT_GT(distance(kNoLowBits), std::ldexp(1.0, -2));
  }
}

// b = 5, integers of b - m = 4 bits: at most 2^-5, of one of three and of two of five parties.
TEST(ShamirMaskViewTest, TheDistanceOfUniformMasksIsWhatIsDeclared) {
  for (MaskUse use : {MaskUse::kRescale, MaskUse::kDecompose}) {
    auto of_three = [use](const Fault& fault) {
      return MaskDistance<FieldOf5Bits, 2>(Masked(use, 3, 4, 40, fault));
    };
    EXPECT_LE(of_three(nullptr), std::ldexp(1.0, -5));
    EXPECT_GT(of_three(kNoIntegers), std::ldexp(1.0, -5));
    EXPECT_GT(of_three(kNoLowBits), std::ldexp(1.0, -5));
    // The dealer's integer alone: the first group knows the mask's high bits.
    EXPECT_GT(of_three([](const Digit& digit, const auto& honest) -> uint8_t {
                return digit.group == 0b100 && digit.kind == Digit::Kind::kInteger ? 0
                                                                                   : honest(digit);
              }),
              std::ldexp(1.0, -5));
  }
  Case of_five = Masked(MaskUse::kRescale, 5, 4, 40, nullptr);
  of_five.domain = {-2, 1};
  EXPECT_LE((MaskDistance<FieldOf5Bits, 3>(of_five)), std::ldexp(1.0, -5));
}

// ---- two worlds, over the real field

// Party 2's messages while parties 0 and 1 multiply, cut, compare and convert values at opposite
// ends of their ranges. Every byte of every message is compared between the worlds (two-sample
// chi-square over its 256 values), all with false-alarm probability 1e-6 together.
TEST(ShamirMaskViewTest, TwoWorldsLookAlike) {
  constexpr size_t kRows = 20000;
  auto messages = [](Int128 x, Int128 y) {
    Transcript transcript;
    RunOptions options{.kind = "shamir", .num_parties = 3, .make = MakeShamirEngine};
    options.wrap = [&](std::unique_ptr<net::Transport> inner) {
      return std::make_unique<RecordingTransport>(std::move(inner), transcript);
    };
    const IntMatrix a{{kRows, 1}, std::vector<Int128>(kRows, x)};
    const IntMatrix b{{kRows, 1}, std::vector<Int128>(kRows, y)};
    RunAll(options, [&](Engine& engine, size_t) {
      const Shared left = InputOf(engine, 0, a, 1 << 20), right = InputOf(engine, 1, b, 1 << 20);
      const Product product{Product::Kind::kElementwise, left, right};
      Shared result = engine.Multiply({&product, 1})[0];
      result.fraction_bits = 3;
      result.bound = std::ldexp(1.0, 37);
      engine.Rescale({&result, 1}, 0);
    }).ThrowIfFailed();
    std::vector<Bytes> received;
    for (PartyIndex from : {0, 1}) {
      for (Bytes& message : transcript.Messages(from, 2)) received.push_back(std::move(message));
    }
    return received;
  };
  const auto low = messages(-(1 << 20), 1 << 20), high = messages(0, 0);
  ASSERT_EQ(low.size(), high.size());
  size_t tests = 0;
  for (const Bytes& message : low) tests += message.size() / kRows;
  // Chi-square with 255 degrees of freedom by Wilson and Hilferty: about normal. One beyond 6 has
  // probability 1e-9, and the cube root's error in the tail is below a factor of 7 for 128 tests.
  ASSERT_LE(tests, 128u);
  const double z = 6;
  for (size_t m = 0; m < low.size(); ++m) {
    ASSERT_EQ(low[m].size(), high[m].size());
    const size_t width = 16;
    ASSERT_EQ(low[m].size() % (width * kRows), 0u);
    for (size_t part = 0; part < low[m].size() / (width * kRows); ++part) {
      for (size_t byte = 0; byte < width; ++byte) {
        std::array<double, 256> in_low{}, in_high{};
        for (size_t row = 0; row < kRows; ++row) {
          const size_t at = (part * kRows + row) * width + byte;
          ++in_low[low[m][at]];
          ++in_high[high[m][at]];
        }
        double chi_square = 0, degrees = -1;
        for (size_t v = 0; v < 256; ++v) {
          const double sum = in_low[v] + in_high[v], gap = in_low[v] - in_high[v];
          if (sum == 0) continue;
          chi_square += gap * gap / sum;
          ++degrees;
        }
        const double normal = (std::cbrt(chi_square / degrees) - (1 - 2 / (9 * degrees))) /
                              std::sqrt(2 / (9 * degrees));
        EXPECT_LT(normal, z) << "message " << m << ", part " << part << ", byte " << byte;
      }
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::shamir_views::shamir_mask_view_test
