// Two bits of up to six bytes of every message (flipped_bits.h); adversary_full_test.cc flips more.
#include "tests/mpc/flipped_bits.h"

namespace partita::mpc::testing::adversary_test {
namespace {

// Flips, aborted, same, wrong.
const std::vector<flipped_bits::Measure> kToday = {
    {"dealer", "comparison", {212, 0, 204, 8}},
    {"dealer", "input, to one", {16, 0, 0, 16}},
    {"dealer", "product", {76, 0, 8, 68}},
    {"dealer", "truncation", {78, 0, 23, 55}},
    {"replicated", "comparison", {282, 0, 265, 17}},
    {"replicated", "input, to one", {32, 0, 0, 32}},
    {"replicated", "product", {128, 0, 0, 128}},
    {"replicated", "truncation", {118, 0, 7, 111}},
    {"shamir", "comparison", {432, 352, 76, 4}},
    {"shamir", "input, to one", {48, 48, 0, 0}},
    {"shamir", "product", {176, 144, 0, 32}},
    {"shamir", "truncation", {270, 270, 0, 0}},
};

TEST(AdversaryTest, FlippedBitsDoWhatTheyDidWhenTheyWereCounted) {
  flipped_bits::ExpectMeasures(kToday, 6, {1, 0x80});
}

}  // namespace
}  // namespace partita::mpc::testing::adversary_test
