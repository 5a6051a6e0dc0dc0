// As imputation_study_test.cc, every way to split the rows on every engine that runs it.
#include <gtest/gtest.h>

#include "tests/methods/mle/imputation_cases.h"

namespace partita::methods::mle::imputation_study_slow_test {
namespace {

using testing::Row;
using testing::Split;

TEST(ImputationStudySlowTest, RubinsRulesOverImputationsOfThePooledRows) {
  const std::vector<Row> rows = testing::imputed::IncompleteRows(500, 41);
  std::vector<testing::imputed::PlainFits> plain;
  for (const Split& split : testing::Splits()) {
    for (const std::string engine : {"dealer", "replicated", "shamir"}) {
      if (engine != "dealer" && split.columns.size() != 3) continue;
      testing::imputed::ExpectRubinOf(split, engine, rows, plain);
    }
  }
}

}  // namespace
}  // namespace partita::methods::mle::imputation_study_slow_test
