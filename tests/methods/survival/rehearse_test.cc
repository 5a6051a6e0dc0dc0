// Rehearsals of method `survival`: the curves beside those in plain code, and one changed row.
#include <gtest/gtest.h>

#include "methods/prepare_study.h"
#include "methods/survival/study.h"
#include "tests/methods/rehearsals.h"
#include "tests/methods/survival/survival_text.h"
#include "tests/study/edited.h"

namespace partita::methods::survival::survival_rehearse_test {
namespace {

SurvivalStudy Prepared(const std::string& text) {
  return PrepareSurvivalStudy(ParseStudyFile(text, "study.toml"));
}

TEST(SurvivalRehearseTest, CurvesAgree) {
  SilentProgress progress;
  const run::Rehearsal grouped =
      run::Rehearse(Prepared(study::Edited(testing::kSurvivalStudy, "[20, 40, 60]", "[40, 60]")),
                    {.rows_per_block = 1000}, progress);
  rehearsals::ExpectPassed(grouped);
  EXPECT_GT(grouped.agreement.exact.size(), 20u);
  rehearsals::ExpectPassed(run::Rehearse(
      Prepared(study::Edited(testing::kSurvivalStudy, "~ arm", "~ 1")), {}, progress));
  const std::string several = study::Edited(testing::kSurvivalStudy, "~ arm", "~ decade + arm");
  const run::Rehearsal layered = run::Rehearse(
      Prepared(study::Edited(study::Edited(several, "[20, 40, 60]", "[50]"), "[engine]",
                             "[release]\naccept = \"table of covariates\"\n[engine]")),
      {.rows_per_block = 1000}, progress);
  rehearsals::ExpectPassed(layered);
  EXPECT_GT(layered.agreement.exact.size(), 12u);
  // Few rows: curves are withheld on both sides.
  const std::string text =
      study::Edited(testing::kSurvivalStudy, "min_rows = 470", "min_rows = 200\nmin_cell = 40");
  const SurvivalStudy few = Prepared(study::Edited(text, "[20, 40, 60]", "[50]"));
  const run::Rehearsal withheld = run::Rehearse(few, {.rows_per_block = 70}, progress);
  rehearsals::ExpectPassed(withheld);
  EXPECT_LT(withheld.agreement.exact.size(), grouped.agreement.exact.size());
}

TEST(SurvivalRehearseTest, OneChangedRowIsNoticed) {
  const SurvivalStudy study = Prepared(testing::kSurvivalStudy);
  SilentProgress progress;
  run::RehearsedRun run = run::RunOnMockRows(study, {}, progress);
  run::Agreement right;
  study.Compare(run, right, progress);
  EXPECT_FALSE(rehearsals::ExactFails(right));
  for (data::Column& column : run.mock.pooled.columns) {
    if (column.schema.name == "arm") column.codes[3] = column.codes[3] == 0 ? 1 : 0;
  }
  run::Agreement changed;
  study.Compare(run, changed, progress);
  EXPECT_TRUE(rehearsals::ExactFails(changed));
}

}  // namespace
}  // namespace partita::methods::survival::survival_rehearse_test
