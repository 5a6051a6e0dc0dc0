// Rehearsals of method `describe`: the table beside the one in plain code, and one changed cell.
#include <gtest/gtest.h>

#include "methods/describe/study.h"
#include "methods/prepare_study.h"
#include "tests/methods/describe/describe_text.h"
#include "tests/methods/rehearsals.h"
#include "tests/study/edited.h"

namespace partita::methods::describe::describe_rehearse_test {
namespace {

DescribeStudy Prepared(const std::string& text) {
  return PrepareDescribeStudy(ParseStudyFile(text, "study.toml"));
}

run::Rehearsal RehearseIt(const std::string& text) {
  const DescribeStudy study = Prepared(text);
  SilentProgress progress;
  return run::Rehearse(study, {}, progress);
}

TEST(DescribeRehearseTest, TablesAgree) {
  const run::Rehearsal grouped = RehearseIt(testing::kDescribeStudy);
  rehearsals::ExpectPassed(grouped);
  EXPECT_GT(grouped.agreement.exact.size(), 4u * 3);
  rehearsals::ExpectPassed(
      RehearseIt(study::Edited(testing::kDescribeStudy, "group = \"arm\"\n", "")));
  // Without missing cells, of which few would withhold the groups.
  const std::string whole =
      study::Edited(testing::kDescribeStudy, "missing = \"complete\"", "missing = \"refuse\"");
  const run::Rehearsal alone = RehearseIt(whole);
  const run::Rehearsal compared =
      RehearseIt(study::Edited(whole, "release =", "compare = [\"ranks\", \"welch\"]\nrelease ="));
  rehearsals::ExpectPassed(compared);
  EXPECT_EQ(compared.agreement.exact.size(), alone.agreement.exact.size() + 2 * 2);
  const run::Rehearsal within =
      RehearseIt(study::Edited(whole, "release =", "compare = [\"mantel-haenszel\"]\nrelease ="));
  rehearsals::ExpectPassed(within);
  EXPECT_GT(within.agreement.exact.size(), alone.agreement.exact.size());
  rehearsals::ExpectPassed(RehearseIt(study::Edited(whole, "group = \"arm\"", "group = \"site\"")));
  // Few rows: some of the table is withheld on both sides.
  const DescribeStudy few = Prepared(
      study::Edited(testing::kDescribeStudy, "min_rows = 200", "min_rows = 200\nmin_cell = 40"));
  SilentProgress progress;
  const run::Rehearsal withheld = run::Rehearse(few, {.rows_per_block = 70}, progress);
  rehearsals::ExpectPassed(withheld);
  EXPECT_LT(withheld.agreement.exact.size(), grouped.agreement.exact.size());
}

TEST(DescribeRehearseTest, OneChangedCellIsNoticed) {
  const DescribeStudy study = Prepared(testing::kDescribeStudy);
  SilentProgress progress;
  run::RehearsedRun run = run::RunOnMockRows(study, {}, progress);
  run::Agreement right;
  study.Compare(run, right, progress);
  EXPECT_FALSE(rehearsals::ExactFails(right));
  for (data::Column& column : run.mock.pooled.columns) {
    if (column.schema.name == "stage") column.codes[3] = column.codes[3] == 0 ? 1 : 0;
  }
  run::Agreement changed;
  study.Compare(run, changed, progress);
  EXPECT_TRUE(rehearsals::ExactFails(changed));
}

}  // namespace
}  // namespace partita::methods::describe::describe_rehearse_test
