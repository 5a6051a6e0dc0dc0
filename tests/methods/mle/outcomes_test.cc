#include "methods/mle/fit/outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "methods/mle/fit/analysis.h"

namespace partita::methods::mle::outcomes_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

data::ColumnSchema Column(const std::string& name, data::ColumnType type, double upper) {
  data::ColumnSchema column;
  column.name = name;
  column.type = type;
  column.upper = upper;
  return column;
}

std::vector<std::string> Warnings(const std::string& function, const std::string& model) {
  data::Schema schema;
  schema.columns = {Column("died", data::ColumnType::kInteger, 1),
                    Column("visits", data::ColumnType::kInteger, 20),
                    Column("share", data::ColumnType::kNumeric, 1),
                    Column("age", data::ColumnType::kNumeric, 120),
                    Column("stage", data::ColumnType::kFactor, 0)};
  schema.columns.back().levels = {"I", "II", "III"};
  MleOptions options;
  options.function = function;
  options.model = model;
  return PrepareAnalysis(options, schema, data::DesignColumns(schema, {})).warnings;
}

TEST(OutcomesTest, TwoValuesAreWarnedOfWithTheMethodThatIsForThem) {
  EXPECT_THAT(Warnings("regression", "died ~ age"),
              ElementsAre(AllOf(HasSubstr("'died' is 0 or 1"),
                                HasSubstr("method = \"mcmc\" with model = \"logistic\""),
                                HasSubstr("method = \"classify\""))));
  EXPECT_THAT(Warnings("regression", "stage.II ~ age"),
              ElementsAre(HasSubstr("'stage.II' is a level of the factor 'stage'")));
}

TEST(OutcomesTest, OtherOutcomesAndModelsAreNot) {
  EXPECT_THAT(Warnings("regression", "visits ~ died + stage.II"), IsEmpty());
  EXPECT_THAT(Warnings("regression", "share ~ died"), IsEmpty());
  EXPECT_THAT(Warnings("sem", "died ~ age"), IsEmpty());
}

TEST(OutcomesTest, HintsNameWhatThereIs) {
  EXPECT_THAT(HintForFunction("logistic"), HasSubstr("model = \"logistic\""));
  EXPECT_EQ(HintForFunction("poisson"), "write method = \"mcmc\" with model = \"poisson\"");
  EXPECT_EQ(HintForFunction("coxph"), "write method = \"mcmc\" with model = \"cox\"");
  EXPECT_THAT(HintForFunction("glm"), AllOf(HasSubstr("\"poisson\""), HasSubstr("\"logistic\"")));
  EXPECT_EQ(HintForFunction("lm"), "write function = \"regression\"");
  EXPECT_EQ(HintForFunction("sem"), "");
  EXPECT_EQ(HintForFunction("nonsense"), "");
}

}  // namespace
}  // namespace partita::methods::mle::outcomes_test
