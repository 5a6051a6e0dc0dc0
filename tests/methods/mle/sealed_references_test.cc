// Every complete-data reference, from the default start with the default number of steps.
#include "tests/methods/mle/sealed_references.h"

namespace partita::methods::mle::sealed_references_test {
namespace {

class SealedReferences : public ::testing::TestWithParam<std::string> {};

TEST_P(SealedReferences, EqualLavaan) { testing::ExpectLavaan(GetParam(), 12); }

INSTANTIATE_TEST_SUITE_P(All, SealedReferences,
                         ::testing::Values("hs_cfa3", "hs_cfa3_stdlv", "hs_cfa3_mean",
                                           "hs_cfa3_group", "onefactor", "growth_openmx5",
                                           "growth_predictors", "path_indirect", "poldem_sem",
                                           "reg_simple", "reg_multiple", "reg_multiple_fixedx",
                                           "saturated_hs9"));

// Equal labels across waves: one range for all of them.
class SealedEqual : public ::testing::TestWithParam<std::string> {};
TEST_P(SealedEqual, EqualLavaan) { testing::ExpectLavaan(GetParam(), 12, "dealer", true); }
INSTANTIATE_TEST_SUITE_P(All, SealedEqual, ::testing::Values("growth_linear6", "poldem_sem_eq"));

}  // namespace
}  // namespace partita::methods::mle::sealed_references_test
