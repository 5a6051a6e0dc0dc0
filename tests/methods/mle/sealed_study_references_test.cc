// Every complete-data reference with every partition on every engine through the protocol `sealed`.
#include "tests/methods/mle/sealed_study.h"

namespace partita::methods::mle::sealed_study_references_test {
namespace {

class SealedStudyReferences : public ::testing::TestWithParam<std::string> {};

TEST_P(SealedStudyReferences, EveryPartitionAndEngineGivesTheReference) {
  const nlohmann::json reference = partita::testing::LoadReference(GetParam());
  for (const nlohmann::json& partition : reference["partitions"]) {
    testing::ExpectSealedOnAllEngines(reference, partition);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(CompleteData, SealedStudyReferences,
                         ::testing::ValuesIn(partita::testing::CompleteDataReferences()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace partita::methods::mle::sealed_study_references_test
