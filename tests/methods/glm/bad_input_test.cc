// Tables that a regression cannot be made of, or that it is easily wrong about: each has the answer of
// the fit without the odd rows, or a sentence that says what to do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::glm::bad_input_test {
namespace {

using nlohmann::json;
using study::Edited;
using ::testing::HasSubstr;
using testing::kGlmStudy;

struct Row {
  double age = 50;
  int smoker = 0, stage = 0, event = 0;
};

std::string CsvOf(const std::vector<Row>& rows) {
  const char* stages[] = {"one", "two", "three"};
  std::string csv = "age,smoker,stage,event\n";
  for (const Row& row : rows)
    csv += fmt::format("{},{},{},{}\n", row.age, row.smoker, stages[row.stage], row.event);
  return csv;
}

// Of three clinics; `change` sees each row with its clinic before it is written.
std::vector<std::string> Tables(const std::vector<size_t>& sizes,
                                const std::function<void(Row&, size_t clinic)>& change = {}) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform;
  std::vector<std::string> tables;
  for (size_t clinic = 0; clinic < sizes.size(); ++clinic) {
    std::vector<Row> rows;
    for (size_t r = 0; r < sizes[clinic]; ++r) {
      Row row;
      row.age = 20 + std::floor(70 * uniform(random));
      row.smoker = uniform(random) < 0.4 ? 1 : 0;
      row.stage = static_cast<int>(random() % 3);
      row.event = uniform(random) < 1 / (1 + std::exp(1.5 - 0.03 * row.age)) ? 1 : 0;
      if (change) change(row, clinic);
      rows.push_back(row);
    }
    // A clinic without rows that take part has one that lacks a variable: an empty table is refused.
    tables.push_back(CsvOf(rows) + (rows.empty() ? ",0,one,0\n" : ""));
  }
  return tables;
}

json FitOf(const std::string& text, const std::vector<std::string>& tables) {
  const auto outcomes = partita::testing::Outcomes(partita::testing::RunStudy(text, tables));
  return outcomes.empty() ? json() : partita::testing::ResultOf(outcomes.front());
}

void ExpectRefused(const std::string& text, const std::vector<std::string>& tables,
                   const std::string& what, const std::string& hint) {
  const auto ends = partita::testing::RunStudy(text, tables);
  ASSERT_NE(run::RootCause(ends), nullptr);
  EXPECT_EQ(run::RootCause(ends)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(ends)->error->message(), HasSubstr(what));
  EXPECT_THAT(run::RootCause(ends)->error->hint(), HasSubstr(hint));
  // What helps is of what failed.
  EXPECT_EQ(run::RootCause(ends)->error->hint().find("weights") != std::string::npos,
            what.find("weight") != std::string::npos);
  EXPECT_EQ(run::RootCause(ends)->error->hint().find("rare levels") != std::string::npos,
            what.find("each count of") != std::string::npos);
}

void ExpectNotConverged(const std::string& text, const std::vector<std::string>& tables) {
  const json result = FitOf(text, tables);
  EXPECT_EQ(result["converged"], false);
  EXPECT_TRUE(result["coefficients"].empty());
}

std::string OfFew(const std::string& text) {
  return Edited(Edited(text, "min_rows = 300", "min_rows = 1\nmin_cell = 1"), "[engine]",
                "[release]\naccept = \"table of covariates\"\n[engine]");
}

TEST(GlmBadInput, CompleteSeparationDoesNotConverge) {
  ExpectNotConverged(kGlmStudy, Tables({200, 200, 200},
                                       [](Row& row, size_t) { row.event = row.age > 55 ? 1 : 0; }));
}

// Nobody of stage three has an event, in any clinic.
TEST(GlmBadInput, QuasiSeparationDoesNotConverge) {
  ExpectNotConverged(kGlmStudy, Tables({300, 300, 300}, [](Row& row, size_t) {
                       if (row.stage == 2) row.event = 0;
                     }));
}

// Columns that are collinear within a clinic are not over all of them.
TEST(GlmBadInput, CollinearWithinOneClinicIsNoMatter) {
  const json result = FitOf(kGlmStudy, Tables({250, 250, 250}, [](Row& row, size_t clinic) {
                              if (clinic == 1) row.smoker = row.stage == 1 ? 1 : 0;
                            }));
  EXPECT_EQ(result["converged"], true);
  EXPECT_EQ(result["coefficients"].size(), 5u);
}

TEST(GlmBadInput, CollinearOverAllClinicsIsNamed) {
  ExpectRefused(
      kGlmStudy,
      Tables({250, 250, 250}, [](Row& row, size_t) { row.smoker = row.stage == 1 ? 1 : 0; }),
      "follow from those before them: stage.two", "leave them out of the formula");
}

// A million rows are assumed of a block without a number.
TEST(GlmBadInput, CutPointsThatAreTooLittleKnownAskForTheNumbersOfRows) {
  const std::string text =
      Edited(Edited(kGlmStudy, "family = \"binomial\"", "family = \"ordinal\""),
             "event ~ age + smoker + stage", "stage ~ age + smoker");
  const std::vector<std::string> tables = Tables({60, 60, 60}, [](Row&, size_t) {});
  ExpectRefused(OfFew(text), tables, "too little is known of these cut points: ",
                "declare the number of rows of each block");
}

TEST(GlmBadInput, ALevelThatOneClinicLacksIsAsInR) {
  const std::vector<std::string> tables = Tables({250, 250, 250}, [](Row& row, size_t clinic) {
    if (clinic == 1 && row.stage == 2) row.stage = 0;
  });
  EXPECT_EQ(FitOf(kGlmStudy, tables)["converged"], true);
}

TEST(GlmBadInput, ALevelThatAllLackIsNamed) {
  ExpectRefused(kGlmStudy, Tables({200, 200, 200}, [](Row& row, size_t) { row.stage %= 2; }),
                "stage.three", "leave them out of the formula");
}

TEST(GlmBadInput, CountsThatAreAllZeroHaveNoMaximum) {
  const std::string text = Edited(kGlmStudy, "\"binomial\"", "\"poisson\"");
  ExpectNotConverged(text, Tables({200, 200, 200}, [](Row& row, size_t) { row.event = 0; }));
}

TEST(GlmBadInput, ClinicsWithoutRowsOrWithOneAddNothingOrOne) {
  const json whole = FitOf(kGlmStudy, Tables({400, 300, 0}));
  EXPECT_EQ(whole["converged"], true);
  EXPECT_EQ(whole["rows"], 700);
  EXPECT_EQ(FitOf(kGlmStudy, Tables({400, 300, 1}))["rows"], 701);
}

// With effects of sites, too: a clinic where nobody has an event has no intercept, and says nothing.
TEST(GlmBadInput, SiteEffectsOfOddClinics) {
  const std::string text = Edited(kGlmStudy, "site = \"ignore\"", "site = \"fixed\"");
  const auto slopes = [&](const std::vector<std::string>& tables) {
    const json result = FitOf(text, tables);
    EXPECT_EQ(result["converged"], true);
    std::vector<double> estimates;
    for (const json& row : result["coefficients"]) estimates.push_back(row["estimate"]);
    return estimates;
  };
  const std::vector<double> two = slopes(Tables({400, 300, 0}));
  ASSERT_EQ(two.size(), 4u);
  EXPECT_EQ(slopes(Tables({400, 300, 1})), two);
  EXPECT_EQ(slopes(Tables({400, 300, 60},
                          [](Row& row, size_t clinic) {
                            if (clinic == 2) row.event = 0;
                          })),
            two);
}

TEST(GlmBadInput, AsManyRowsAsColumnsAndOneAreTooFew) {
  // Five columns: fifteen rows.
  ExpectRefused(OfFew(kGlmStudy), Tables({2, 2, 2}), "at least 15 rows", "find more rows");
}

TEST(GlmBadInput, ADominatingWeightIsRefused) {
  const std::string weighted =
      Edited(Edited(kGlmStudy, "[disclosure]\n",
                    "[[variable]]\nname = \"w\"\ntype = \"numeric\"\nlower = 0\nupper = 1000\n"
                    "[disclosure]\n"),
             "missing = \"complete\"\n",
             "missing = \"complete\"\nweights = \"w\"\nweights_type = \"sampling\"\n");
  const auto with_weights = [](const std::function<double(size_t line)>& weight) {
    std::vector<std::string> tables = Tables({200, 200, 200});
    for (std::string& table : tables) {
      std::string wider;
      size_t line = 0, begin = 0;
      for (size_t end = table.find('\n'); end != std::string::npos;
           begin = end + 1, end = table.find('\n', begin), ++line) {
        wider += table.substr(begin, end - begin) +
                 (line == 0 ? ",w" : fmt::format(",{}", weight(line))) + "\n";
      }
      table = wider;
    }
    return tables;
  };
  EXPECT_EQ(FitOf(weighted, with_weights([](size_t) { return 3; }))["rows"], 600);
  // Rows of weight 0 are none.
  EXPECT_EQ(
      FitOf(weighted, with_weights([](size_t line) { return line % 4 == 0 ? 0 : 3; }))["rows"],
      450);
  ExpectRefused(weighted, with_weights([](size_t line) { return line == 7 ? 900 : 3; }),
                "no weight is above a tenth of their sum", "bound the largest weights");
}

}  // namespace
}  // namespace partita::methods::glm::bad_input_test
