// As sealed_fiml_study_test.cc, on every engine.
#include <gtest/gtest.h>

#include "tests/methods/mle/sealed_fiml_cases.h"

namespace partita::methods::mle::sealed_fiml_study_slow_test {
namespace {

using testing::Row;
using testing::Split;

TEST(SealedFimlStudySlowTest, EqualsThePooledFitOnEveryEngine) {
  const std::vector<Row> rows = testing::sealed_fiml::RowsWithARarePattern();
  for (const Split& split : testing::Splits()) {
    for (const std::string engine : {"dealer", "replicated", "ot", "shamir"}) {
      const bool three = split.columns.size() == 3;
      if ((engine == "ot") == three || (engine != "dealer" && engine != "ot" && !three)) continue;
      testing::sealed_fiml::ExpectPooledFit(split, engine, rows);
    }
  }
}

}  // namespace
}  // namespace partita::methods::mle::sealed_fiml_study_slow_test
