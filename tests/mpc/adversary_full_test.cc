// Two bits of up to 24 bytes of every message (flipped_bits.h).
#include "tests/mpc/flipped_bits.h"

namespace partita::mpc::testing::adversary_full_test {
namespace {

// Flips, aborted, same, wrong. Truncations on `ot` take too long.
const std::vector<flipped_bits::Measure> kToday = {
    {"dealer", "comparison", {624, 0, 613, 11}},
    {"dealer", "input, to one", {32, 0, 0, 32}},
    {"dealer", "product", {224, 0, 33, 191}},
    {"dealer", "truncation", {192, 0, 63, 129}},
    {"replicated", "comparison", {832, 0, 792, 40}},
    {"replicated", "input, to one", {64, 0, 0, 64}},
    {"replicated", "product", {256, 0, 2, 254}},
    {"replicated", "truncation", {230, 0, 7, 223}},
    {"shamir", "comparison", {1138, 782, 344, 12}},
    {"shamir", "input, to one", {96, 96, 0, 0}},
    {"shamir", "product", {352, 290, 0, 62}},
    {"shamir", "truncation", {576, 576, 0, 0}},
    {"ot", "comparison", {1106, 76, 986, 44}},
    {"ot", "input, to one", {32, 0, 0, 32}},
    {"ot", "product", {592, 75, 144, 373}},
};

TEST(AdversaryFullTest, FlippedBitsDoWhatTheyDidWhenTheyWereCounted) {
  flipped_bits::ExpectMeasures(kToday, 24, {1, 0x80});
}

}  // namespace
}  // namespace partita::mpc::testing::adversary_full_test
