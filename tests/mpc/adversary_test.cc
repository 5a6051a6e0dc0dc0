// One bit of up to six bytes of every message (flipped_bits.h); adversary_full_test.cc flips more.
#include "tests/mpc/flipped_bits.h"

namespace partita::mpc::testing::adversary_test {
namespace {

// Flips, aborted, same, wrong.
const std::vector<flipped_bits::Measure> kToday = {
    {"dealer", "comparison", {0, 0, 0, 0}},     {"dealer", "input, to one", {0, 0, 0, 0}},
    {"dealer", "product", {0, 0, 0, 0}},        {"dealer", "truncation", {0, 0, 0, 0}},
    {"replicated", "comparison", {0, 0, 0, 0}}, {"replicated", "input, to one", {0, 0, 0, 0}},
    {"replicated", "product", {0, 0, 0, 0}},    {"replicated", "truncation", {0, 0, 0, 0}},
    {"shamir", "comparison", {0, 0, 0, 0}},     {"shamir", "input, to one", {0, 0, 0, 0}},
    {"shamir", "product", {0, 0, 0, 0}},        {"shamir", "truncation", {0, 0, 0, 0}},
};

TEST(AdversaryTest, FlippedBitsDoWhatTheyDidWhenTheyWereCounted) {
  flipped_bits::ExpectMeasures(kToday, 6, {0x80});
}

}  // namespace
}  // namespace partita::mpc::testing::adversary_test
