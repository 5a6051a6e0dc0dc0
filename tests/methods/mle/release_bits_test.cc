// The release rule in plans: B and H of studies whose numbers are counted here by hand, grids that
// are coarsened, and what is refused.
#include "methods/mle/plan/release_bits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "methods/prepare_study.h"
#include "run/method/whole_rows.h"
#include "run/party/build_plan.h"
#include "study/file/study_file.h"
#include "tests/paths.h"

namespace partita::methods::mle::release_bits_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Options {
  int rows = 100;  // of the smallest of three holders; the others have two and three times as many
  std::string protocol = "pooled-moments", release = "[\"moments\"]";
  std::string rule = {}, analysis = {};
  bool declared = true;
};

// Two 0/1 columns and a factor of three levels explain a number.
std::string Text(const Options& options) {
  std::string toml = "partita = 1\nname = \"bits\"\n";
  for (int i = 1; i <= 3; ++i) {
    toml += fmt::format(
        "[[party]]\nname = \"p{0}\"\nroles = [\"holder\"{1}]\nrows = [\"b{0}\"]\n"
        "[[rows]]\nname = \"b{0}\"\n",
        i, i == 1 ? ", \"receiver\"" : "");
    if (options.declared) toml += fmt::format("count = {}\n", i * options.rows);
  }
  return toml + fmt::format(R"(
[[party]]
name = "dealer"
roles = ["dealer"]
[[variable]]
name = "y"
type = "numeric"
lower = -5
upper = 5
[[variable]]
name = "s"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "t"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "f"
type = "factor"
levels = ["a", "b", "c"]
[design]
site = "ignore"
missing = "refuse"
[engine]
name = "dealer"
[release]
{}
[[analysis]]
method = "mle"
function = "sem"
protocol = "{}"
release = {}
model = "y ~ s + t + f.b + f.c"
{})",
                            options.rule, options.protocol, options.release, options.analysis);
}

MleStudy Prepare(const Options& options) {
  return PrepareMleStudy(ParseStudyFile(Text(options), "study.toml"));
}

std::string Refusal(const Options& options) {
  try {
    Prepare(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.message();
  }
  return "";
}

// y and its products are numbers: 1 + 1 + 4. The means of four 0/1 columns and their six products
// are counts of log2(600) / 2 + 2 = 6.61 bits; squares are the means. 6 x 52 + 10 x 6.61 = 378.2.
// Of 600 rows the largest holder lacks 300, of 2 x 2 x 3 patterns: log2 C(311, 11) = 65.6.
TEST(ReleaseBits, CountsExactMomentsOfDiscreteColumns) {
  const study::Plan plan = run::BuildPlan(Prepare({}));
  ASSERT_EQ(plan.exposures.size(), 1u);
  const study::PlanBits& bits = plan.exposures[0].bits.value();
  EXPECT_EQ(bits.opened, 379u);
  EXPECT_EQ(bits.table, 65u);
  EXPECT_EQ(bits.rows, 300u);
  EXPECT_EQ(bits.patterns, "12");
  EXPECT_EQ(bits.grid, "");
  EXPECT_FALSE(bits.passes);
  EXPECT_THAT(bits.meaning, HasSubstr("table of covariates"));
  EXPECT_THAT(study::RenderPlanText(plan, {}), HasSubstr("B = 379"));
}

// Five estimates and their standard errors. H = 65, 101, 138 bits: 2^-5 passes in the second study,
// 2^-6 in the third.
TEST(ReleaseBits, SealedEstimatesOpenOnTheFinestGridThatPasses) {
  Options options{.protocol = "sealed", .release = "[\"estimates\", \"standard-errors\"]"};
  EXPECT_THAT(Refusal(options), HasSubstr("more than half of the bits of the table of covariates"));
  options.rows = 1000;
  EXPECT_EQ(Prepare(options).grid_bits, 5);
  options.rows = 10000;
  const MleStudy study = Prepare(options);
  EXPECT_EQ(study.grid_bits, 6);
  const study::PlanBits bits = study.Exposures().at(0).bits.value();
  EXPECT_EQ(bits.opened, 60u);
  EXPECT_EQ(bits.table, 138u);
  EXPECT_EQ(bits.grid, "2^-6");
  EXPECT_TRUE(bits.passes);
  EXPECT_THAT(bits.meaning, HasSubstr("at most half"));
}

// The powers of two of grids say of standard errors what these would.
TEST(ReleaseBits, GridsCountWhereStandardErrorsStaySealed) {
  Options options{.rows = 10000, .protocol = "sealed", .release = "[\"estimates\"]"};
  EXPECT_EQ(Prepare(options).Exposures().at(0).bits->opened, 60u);
}

TEST(ReleaseBits, AllDigitsOnlyByTheRuleOrIfEverybodyAccepts) {
  Options options{.rows = 10000,
                  .protocol = "sealed",
                  .release = "[\"estimates\", \"standard-errors\"]",
                  .rule = "grid = \"full\"\n"};
  EXPECT_THAT(Refusal(options), HasSubstr("table of covariates"));
  EXPECT_THAT(Refusal(options), Not(HasSubstr("even on a grid")));
  options.rule += "accept = \"table of covariates\"\n";
  const MleStudy study = Prepare(options);
  EXPECT_EQ(study.grid_bits, 0);
  EXPECT_EQ(study.Exposures().at(0).bits->opened, 520u);
  EXPECT_THAT(study.Exposures().at(0).bits->meaning, HasSubstr("(table of covariates)"));
  // And a coarser one on request.
  options.rule = "grid = \"2^-4\"\n";
  EXPECT_EQ(Prepare(options).grid_bits, 4);
}

// Results for others: chi-squares and the like, and five parameters with their standard errors.
TEST(ReleaseBits, ToldResultsAreHeldToTheRule) {
  Options options{.release = "[\"moments\", {what = \"estimates\", to = \"p2\"}]"};
  EXPECT_THAT(Refusal(options), HasSubstr("table of covariates"));
  options.rows = 10000;
  const MleStudy study = Prepare(options);
  EXPECT_EQ(study.grid_bits, 4);
  const study::PlanExposure told = study.Exposures().at(1);
  EXPECT_EQ(told.of, "result/main");
  EXPECT_EQ(told.to, "p2");
  EXPECT_EQ(told.bits->opened, 68u);
  EXPECT_TRUE(told.bits->passes);
}

// Rows that may be left out, or are not declared, count as min_rows promises.
TEST(ReleaseBits, UndeclaredRowsAreThoseThatAreChecked) {
  const MleStudy study = Prepare({.declared = false});
  EXPECT_EQ(study.Exposures().at(0).bits->rows, 13u);  // two thirds of 20
  Options subset{.analysis = "subset = [{variable = \"s\", at_least = 1}]\n"};
  EXPECT_EQ(Prepare(subset).Exposures().at(0).bits->rows, 10u);  // half of 20
}

// Robust standard errors tell patterns apart by the outcome, and every holder gets all digits of
// the estimates.
TEST(ReleaseBits, RobustDoublesThePatternsAndNamesWhatHoldersGet) {
  Options options{.rows = 10000,
                  .release = "[\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]",
                  .analysis = "robust = true\n"};
  const std::vector<study::PlanExposure> exposures = Prepare(options).Exposures();
  ASSERT_EQ(exposures.size(), 3u);
  EXPECT_EQ(exposures[0].bits->patterns, "24");
  EXPECT_THAT(exposures[0].bits->meaning, HasSubstr("table of covariates and outcomes"));
  EXPECT_EQ(exposures[1].of, "estimates/main");
  EXPECT_EQ(exposures[1].to, "all");
  EXPECT_EQ(exposures[1].bits->opened, exposures[1].opened * 52);
  // Chi-squares and the like, five estimates, two standard errors of each, two scaling factors.
  EXPECT_EQ(exposures[2].of, "result/main");
  EXPECT_EQ(exposures[2].opened, 24u);
}

// The examples with exact moments have columns of numbers alone: 2^10 values each, of which the
// lattice attack (tests/privacy) finds nothing, and their plans pass, as those of the description and the
// regression do. Noise covers the others. Matched lists have years of age, whole numbers within bounds
// that the rule counts.
TEST(ReleaseBits, ExamplesSayTheirBits) {
  size_t exact = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SourcePath("examples"))) {
    if (entry.path().filename() != "study.toml") continue;
    SCOPED_TRACE(entry.path().string());
    const auto study = PrepareStudy(LoadStudyFile(entry.path().string()));
    const auto* mle = dynamic_cast<const MleStudy*>(study.get());
    for (const study::PlanExposure& exposure : study->Exposures()) {
      const bool exact_release =
          !study->IsPrivate() &&
          (mle != nullptr || dynamic_cast<const run::WholeRowsStudy*>(study.get()) != nullptr);
      ASSERT_EQ(exposure.bits.has_value(), exact_release);
      if (!exact_release) continue;
      ++exact;
      EXPECT_TRUE(exposure.bits->passes) << exposure.bits->opened << " " << exposure.bits->table;
      if (mle == nullptr) continue;
      for (const data::DesignColumn& column : mle->analyses.front().analysis.variables) {
        if (study->file.name == "pressure-and-income" && column.schema.name == "age") continue;
        EXPECT_EQ(column.schema.type, data::ColumnType::kNumeric) << column.schema.name;
      }
    }
  }
  EXPECT_EQ(exact, 12u);
}

TEST(ReleaseBits, ValuesAreCountedFromTheDictionary) {
  data::ColumnSchema column;
  EXPECT_EQ(run::ValueBits(column), 10);
  column.type = data::ColumnType::kInteger;
  column.lower = -3;
  column.upper = 4;
  EXPECT_EQ(run::ValueBits(column), 3);
  column.type = data::ColumnType::kFactor;
  column.levels = {"a", "b", "c", "d"};
  EXPECT_EQ(run::ValueBits(column), 2);
}

}  // namespace
}  // namespace partita::methods::mle::release_bits_test
