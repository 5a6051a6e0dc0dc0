// Two bits of up to 24 bytes of every message (flipped_bits.h).
#include "tests/mpc/flipped_bits.h"

namespace partita::mpc::testing::adversary_full_test {
namespace {

// Flips, aborted, same, wrong.
const std::vector<flipped_bits::Measure> kToday = {
    {"dealer", "comparison", {0, 0, 0, 0}},
    {"dealer", "input, to one", {0, 0, 0, 0}},
    {"dealer", "product", {0, 0, 0, 0}},
    {"dealer", "truncation", {0, 0, 0, 0}},
    {"replicated", "comparison", {0, 0, 0, 0}},
    {"replicated", "input, to one", {0, 0, 0, 0}},
    {"replicated", "product", {0, 0, 0, 0}},
    {"replicated", "truncation", {0, 0, 0, 0}},
    {"shamir", "comparison", {0, 0, 0, 0}},
    {"shamir", "input, to one", {0, 0, 0, 0}},
    {"shamir", "product", {0, 0, 0, 0}},
    {"shamir", "truncation", {0, 0, 0, 0}},
    {"ot", "comparison", {0, 0, 0, 0}},
    {"ot", "input, to one", {0, 0, 0, 0}},
    {"ot", "product", {0, 0, 0, 0}},
    {"ot", "truncation", {0, 0, 0, 0}},
};

TEST(AdversaryFullTest, FlippedBitsDoWhatTheyDidWhenTheyWereCounted) {
  flipped_bits::ExpectMeasures(kToday, 24, {1, 0x80});
}

}  // namespace
}  // namespace partita::mpc::testing::adversary_full_test
