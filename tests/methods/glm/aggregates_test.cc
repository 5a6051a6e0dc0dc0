// Level aggregates: R's numbers to their digits, through whole studies; what is refused; and the attack
// that the level is named for, which finds the table of covariates from two points' sums and does not
// find it from what level iterates opens.
#include "methods/glm/aggregates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "methods/glm/study.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/methods/glm/reference_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::glm::aggregates_test {
namespace {

using nlohmann::json;
using study::Edited;
using ::testing::Contains;
using ::testing::HasSubstr;

json Read(const std::string& name) {
  std::ifstream file(FixturePath("references/glm/" + name));
  return json::parse(file);
}

double AtLeast(double value, double least) { return std::max(std::abs(value), least); }

// ---- R's fits

// Places of a term's columns by their names: "factor(race).2" of "factor(race)", "sex.I:shell_weight" of
// "sex:shell_weight".
std::vector<Eigen::Index> ColumnsOf(const std::string& term, const json& names) {
  const auto parts = [](const std::string& text) {
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ':');) found.push_back(part);
    return found;
  };
  const std::vector<std::string> wanted = parts(term);
  std::vector<Eigen::Index> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::vector<std::string> has = parts(names[i]);
    bool of_it = has.size() == wanted.size();
    for (size_t k = 0; of_it && k < has.size(); ++k) of_it = has[k].starts_with(wanted[k]);
    if (of_it) columns.push_back(static_cast<Eigen::Index>(i));
  }
  return columns;
}

// The covariance has the squares of the standard errors, and R's Wald statistics follow from it.
void ExpectCovarianceOfR(const json& result, const json& wanted) {
  const size_t p = result["coefficients"].size();
  const json& vcov = result["vcov"];
  ASSERT_EQ(vcov["values"].size(), p);
  Eigen::MatrixXd covariance(p, p);
  Eigen::VectorXd estimates(p);
  for (size_t i = 0; i < p; ++i) {
    EXPECT_EQ(vcov["names"][i], result["coefficients"][i]["term"]);
    estimates[static_cast<Eigen::Index>(i)] = wanted["estimate"][i];
    for (size_t j = 0; j < p; ++j)
      covariance(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = vcov["values"][i][j];
  }
  EXPECT_TRUE(covariance.isApprox(covariance.transpose(), 1e-12));
  for (size_t i = 0; i < p; ++i) {
    const double error = wanted["standard_error"][i];
    const auto at = static_cast<Eigen::Index>(i);
    EXPECT_NEAR(std::sqrt(covariance(at, at)), error, 1e-6 * error);
  }
  for (const json& test : wanted["tests"]) {
    const std::string term = test["term"];
    SCOPED_TRACE(term);
    const std::vector<Eigen::Index> columns = ColumnsOf(term, vcov["names"]);
    ASSERT_EQ(columns.size(), test["columns"].get<size_t>());
    const Eigen::VectorXd some = estimates(columns);
    const double chi_square = some.dot(covariance(columns, columns).ldlt().solve(some));
    const double statistic =
        result["df"].is_null() ? chi_square : chi_square / static_cast<double>(columns.size());
    EXPECT_NEAR(statistic, test["statistic"].get<double>(), 1e-5 * statistic);
  }
}

void ExpectDigitsOfR(const json& wanted, const std::string& engine, size_t holders) {
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], holders);
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(testing::CsvOf(part));
  const std::string text = Edited(testing::ReferenceText(wanted, engine, parts), "steps = 4",
                                  "protocol = \"aggregates\"");
  const auto outcomes = partita::testing::Outcomes(partita::testing::RunStudy(text, tables));
  ASSERT_FALSE(outcomes.empty());
  partita::testing::ExpectPlannedTraffic(outcomes);
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
  const json result = partita::testing::ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  EXPECT_EQ(result["level"], "aggregates");
  ASSERT_EQ(result["coefficients"].size(), wanted["estimate"].size());
  for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
    const json& row = result["coefficients"][c];
    SCOPED_TRACE(row["term"].get<std::string>());
    const double error = wanted["standard_error"][c], estimate = wanted["estimate"][c];
    EXPECT_NEAR(row["estimate"], estimate, 1e-6 * AtLeast(estimate, 0.1 * error));
    EXPECT_NEAR(row["standard_error"], error, 1e-6 * error);
    EXPECT_NEAR(row["p_value"], wanted["p_value"][c].get<double>(), 1e-5);
    EXPECT_EQ(row["step"], 0);
  }
  testing::ExpectTests(result["tests"], wanted["tests"], 0, 1e-5);
  ExpectCovarianceOfR(result, wanted);
  if (wanted["deviance"].is_null()) return;
  for (const char* what : {"deviance", "null_deviance"}) {
    if (result["fit"][what].is_null()) continue;
    const double value = wanted[what];
    EXPECT_NEAR(result["fit"][what], value, 1e-8 * AtLeast(value, 1)) << what;
  }
  if (!wanted["aic"].is_null()) {
    EXPECT_NEAR(result["fit"]["aic"], wanted["aic"].get<double>(), 1e-5);
  }
}

TEST(GlmAggregates, FitsRealTablesAsR) {
  const json families = Read("families.json");
  for (const auto& [name, wanted] : families.items()) {
    SCOPED_TRACE(name);
    ExpectDigitsOfR(wanted, "dealer", 2);
  }
  const json errors = Read("errors.json");
  for (const auto& [name, wanted] : errors.items()) {
    SCOPED_TRACE(name);
    ExpectDigitsOfR(wanted, "dealer", 2);
  }
  ExpectDigitsOfR(families["birthwt"], "replicated", 3);
  ExpectDigitsOfR(families["quine"], "shamir", 4);
}

// ---- the lasso

std::vector<std::string> CsvOfAll(const std::vector<data::Table>& parts) {
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(testing::CsvOf(part));
  return tables;
}

// The twin and whole studies against minima found otherwise (tests/references/glm/lasso.R).
TEST(GlmLasso, IsTheMinimum) {
  const json references = Read("lasso.json");
  ASSERT_EQ(references.size(), 3u);
  for (const auto& [name, wanted] : references.items()) {
    SCOPED_TRACE(name);
    const bool pair = name == "quine";
    const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], pair ? 3 : 2);
    const std::string text =
        Edited(testing::ReferenceText(wanted, pair ? "replicated" : "dealer", parts), "steps = 4",
               "protocol = \"aggregates\"\npenalty = {lasso = " + wanted["penalties"].dump() + "}");
    const auto outcomes =
        partita::testing::Outcomes(partita::testing::RunStudy(text, CsvOfAll(parts)));
    ASSERT_FALSE(outcomes.empty());
    partita::testing::ExpectPlannedTraffic(outcomes);
    const json result = partita::testing::ResultOf(outcomes.front());
    ASSERT_EQ(result["converged"], true);
    const size_t taken = wanted["taken"];
    EXPECT_EQ(result["lasso"]["penalty"], wanted["penalties"][taken]);
    for (size_t k = 0; k < wanted["penalties"].size(); ++k) {
      SCOPED_TRACE(k);
      const json& candidate = result["lasso"]["penalties"][k];
      EXPECT_EQ(candidate["converged"], true);
      EXPECT_EQ(candidate["selected"], wanted["selected"][k]);
      // But for what is the same for all penalties.
      const double apart =
          candidate["bic"].get<double>() - result["lasso"]["penalties"][0]["bic"].get<double>();
      EXPECT_NEAR(apart, wanted["bic"][k].get<double>() - wanted["bic"][0].get<double>(), 1e-5);
    }
    for (size_t c = 0; c < result["coefficients"].size(); ++c) {
      const json& row = result["coefficients"][c];
      const double estimate = wanted["estimates"][taken][c];
      EXPECT_NEAR(row["estimate"], estimate, 1e-6 * AtLeast(estimate, 1)) << row["term"];
      EXPECT_EQ(row["estimate"] == 0, estimate == 0) << row["term"];
      EXPECT_TRUE(row["standard_error"].is_null());
    }
    EXPECT_NEAR(result["fit"]["deviance"], wanted["deviance"][taken].get<double>(),
                1e-8 * AtLeast(wanted["deviance"][taken], 1));
    EXPECT_TRUE(result["fit"]["aic"].is_null());
    EXPECT_EQ(result["tests"], json::array());
    EXPECT_TRUE(result["vcov"].is_null());
    const study::Document& document = partita::testing::DocumentOf(outcomes.front());
    EXPECT_EQ(document.sections[1].tables.front().rows.size(), wanted["penalties"].size());
    EXPECT_THAT(document.sections[0].paragraphs[1], HasSubstr("no standard errors"));
  }
}

TEST(GlmLasso, TooFewStepsDoNotConverge) {
  const json wanted = Read("lasso.json")["birthwt"];
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], 2);
  const std::string text =
      Edited(testing::ReferenceText(wanted, "dealer", parts), "steps = 4",
             "steps = 2\nprotocol = \"aggregates\"\npenalty = {lasso = [0.001]}");
  const auto outcomes =
      partita::testing::Outcomes(partita::testing::RunStudy(text, CsvOfAll(parts)));
  const json result = partita::testing::ResultOf(outcomes.front());
  EXPECT_EQ(result["converged"], false);
  EXPECT_EQ(result["coefficients"], json::array());
  EXPECT_TRUE(result["lasso"]["penalty"].is_null());
}

// ---- what is refused

std::string Aggregates(const std::string& text) {
  return Edited(text, "method = \"glm\"\n", "method = \"glm\"\nprotocol = \"aggregates\"\n");
}
std::string Accepted(const std::string& text) {
  return Edited(text, "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
}

void ExpectRefusedPlan(const std::string& text, const std::string& what, const std::string& hint) {
  try {
    partita::testing::Prepare(text);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr(what));
    EXPECT_THAT(error.hint(), HasSubstr(hint));
  }
}

TEST(GlmAggregates, NeedsConsentAndRows) {
  const std::string text = Aggregates(testing::kGlmStudy);
  ExpectRefusedPlan(text, "tell the table of covariates", "accept = \"table of covariates\"");
  // Five columns at nine points: 36 rows.
  const auto with_rows = [&](int n) {
    std::string declared = Accepted(text);
    for (const char* block : {"n", "s", "w"}) {
      const std::string line = fmt::format("[[rows]]\nname = \"{}\"\n", block);
      declared = Edited(declared, line, line + fmt::format("count = {}\n", n));
    }
    return declared;
  };
  ExpectRefusedPlan(with_rows(12), "determine up to 36 rows, and there are 36", "iterates");
  EXPECT_NO_THROW(partita::testing::Prepare(with_rows(13)));
  const study::Plan plan = run::BuildPlan(*partita::testing::Prepare(Accepted(text)));
  EXPECT_EQ(plan.leakage_level, "aggregates");
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("up to 36 rows in principle (9 points of 5 "
                                                   "columns). north computes the points")));
  EXPECT_FALSE(plan.exposures.back().bits->passes);
}

// ---- where there is no maximum

// Rows of the study of glm_text.h; an event never happens in stage three, or smoker follows from stage.
std::vector<std::string> ClinicTables(bool separated, bool collinear) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  const char* stages[] = {"one", "two", "three"};
  std::vector<std::string> tables;
  for (int holder = 0; holder < 3; ++holder) {
    std::string csv = "age,smoker,stage,event\n";
    for (int r = 0; r < 200; ++r) {
      const auto stage = static_cast<int>(random() % 3);
      const int smoker = collinear ? (stage == 1 ? 1 : 0) : (uniform(random) < 0.4 ? 1 : 0);
      const bool event = uniform(random) < 0.4 && !(separated && stage == 2);
      csv += fmt::format("{},{},{},{}\n", 20 + std::floor(70 * uniform(random)), smoker,
                         stages[stage], event ? 1 : 0);
    }
    tables.push_back(csv);
  }
  return tables;
}

TEST(GlmAggregates, SeparationDoesNotConverge) {
  const std::string text = Accepted(Aggregates(testing::kGlmStudy));
  const auto outcomes =
      partita::testing::Outcomes(partita::testing::RunStudy(text, ClinicTables(true, false)));
  ASSERT_EQ(outcomes.size(), 4u);
  partita::testing::ExpectPlannedTraffic(outcomes);
  const json result = partita::testing::ResultOf(outcomes.front());
  EXPECT_EQ(result["converged"], false);
  EXPECT_TRUE(result["coefficients"].empty());
  EXPECT_EQ(result["path"].size(), 5u);
}

TEST(GlmAggregates, CollinearColumnsAreNamed) {
  const std::string text = Accepted(Aggregates(testing::kGlmStudy));
  const auto ends = partita::testing::RunStudy(text, ClinicTables(false, true));
  ASSERT_NE(run::RootCause(ends), nullptr);
  EXPECT_EQ(run::RootCause(ends)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(ends)->error->message(), HasSubstr("stage.two"));
}

TEST(GlmAggregates, AllAreToldWhereTheStudySaysSo) {
  const std::string text = Edited(Accepted(Aggregates(testing::kGlmStudy)), "[\"estimates\"]",
                                  "[{what = \"estimates\", to = \"all\"}]");
  const auto outcomes =
      partita::testing::Outcomes(partita::testing::RunStudy(text, ClinicTables(false, false)));
  ASSERT_EQ(outcomes.size(), 4u);
  for (size_t p = 1; p < 3; ++p)
    EXPECT_EQ(partita::testing::ResultOf(outcomes[p]), partita::testing::ResultOf(outcomes[0]));
}

// ---- the attack

double WeightAt(const Eigen::VectorXd& pattern, const Eigen::VectorXd& at) {
  const double mu = 1 / (1 + std::exp(-pattern.dot(at)));
  return mu * (1 - mu);
}

// The numbers of rows of each pattern are the unknowns of the linear equations I(b) = sum of n_k
// w_k(b) x_k x_k'; of a score beside them X'y is unknown, too, which is why only I is taken.
std::vector<double> TableFrom(const std::vector<Eigen::VectorXd>& patterns,
                              const std::vector<Eigen::VectorXd>& points,
                              const std::vector<Eigen::MatrixXd>& information) {
  const Eigen::Index p = patterns.front().size(), k = static_cast<Eigen::Index>(patterns.size());
  const auto t = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd equations(t * p * (p + 1) / 2, k);
  Eigen::VectorXd right(equations.rows());
  Eigen::Index row = 0;
  for (size_t s = 0; s < points.size(); ++s) {
    for (Eigen::Index i = 0; i < p; ++i) {
      for (Eigen::Index j = i; j < p; ++j, ++row) {
        right[row] = information[s](i, j);
        for (Eigen::Index c = 0; c < k; ++c) {
          const Eigen::VectorXd& x = patterns[static_cast<size_t>(c)];
          equations(row, c) = WeightAt(x, points[s]) * x[i] * x[j];
        }
      }
    }
  }
  const Eigen::VectorXd solved = equations.completeOrthogonalDecomposition().solve(right);
  std::vector<double> table;
  for (const double cell : solved) table.push_back(std::round(cell));
  return table;
}

constexpr int kBinaries = 5, kPatterns = 1 << kBinaries;

Eigen::VectorXd PatternOf(int number) {
  Eigen::VectorXd pattern = Eigen::VectorXd::Ones(kBinaries + 1);
  for (int bit = 0; bit < kBinaries; ++bit) pattern[bit + 1] = number >> bit & 1;
  return pattern;
}

std::string StudyOfBinaries(const std::string& protocol) {
  std::string text =
      "partita = 1\nname = \"binaries\"\n[[party]]\nname = \"one\"\nroles = [\"holder\", "
      "\"receiver\"]\nrows = [\"r\"]\n[[party]]\nname = \"two\"\nroles = [\"holder\"]\nrows = "
      "[\"s\"]\n[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n[[rows]]\nname = "
      "\"r\"\n[[rows]]\nname = \"s\"\n";
  for (const char* name : {"a", "b", "c", "d", "e", "y"})
    text += testing::VariableText(testing::Integer(name, 0, 1));
  return text +
         fmt::format(
             "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[release]\naccept = \"table of "
             "covariates\"\n[engine]\nname = \"dealer\"\n[[analysis]]\nmethod = "
             "\"glm\"\nprotocol = \"{}\"\nfamily = \"binomial\"\nformula = \"y ~ a + b + c + d + "
             "e\"\nrelease = [\"estimates\"]\n",
             protocol);
}

std::vector<Eigen::VectorXd> PathOf(const json& result) {
  std::vector<Eigen::VectorXd> path(result["path"][0]["at"].size(), Eigen::VectorXd(kBinaries + 1));
  for (size_t t = 0; t < path.size(); ++t) {
    for (int c = 0; c <= kBinaries; ++c) path[t][c] = result["path"][c]["at"][t];
  }
  return path;
}

// 300 rows of five 0/1 columns at two holders.
TEST(GlmAggregates, TwoPointsTellTheTableAndIteratesDoNot) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform;
  std::vector<double> table(kPatterns);
  std::vector<std::string> csvs(2, "a,b,c,d,e,y\n");
  std::vector<Eigen::VectorXd> patterns;
  for (int k = 0; k < kPatterns; ++k) patterns.push_back(PatternOf(k));
  const Eigen::VectorXd effects = Eigen::VectorXd::LinSpaced(kBinaries + 1, -0.8, 0.9);
  for (int r = 0; r < 300; ++r) {
    const auto number = static_cast<int>(random() % kPatterns);
    const Eigen::VectorXd& x = patterns[static_cast<size_t>(number)];
    ++table[static_cast<size_t>(number)];
    std::string& csv = csvs[static_cast<size_t>(r % 2)];
    for (int bit = 0; bit < kBinaries; ++bit) csv += fmt::format("{},", x[bit + 1]);
    csv += uniform(random) < 1 / (1 + std::exp(-x.dot(effects))) ? "1\n" : "0\n";
  }
  const auto opened = [&](const std::string& protocol) {
    const auto outcomes =
        partita::testing::Outcomes(partita::testing::RunStudy(StudyOfBinaries(protocol), csvs));
    return partita::testing::ResultOf(outcomes.at(0));
  };

  // The sums that open at the first two points, to 2^-40 of a row.
  std::vector<Eigen::VectorXd> points = PathOf(opened("aggregates"));
  points.resize(2);
  std::vector<Eigen::MatrixXd> information;
  for (const Eigen::VectorXd& point : points) {
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(kBinaries + 1, kBinaries + 1);
    for (size_t k = 0; k < patterns.size(); ++k)
      sum += table[k] * WeightAt(patterns[k], point) * patterns[k] * patterns[k].transpose();
    information.push_back(sum.unaryExpr(
        [](double value) { return std::ldexp(std::round(std::ldexp(value, 40)), -40); }));
  }
  EXPECT_EQ(TableFrom(patterns, points, information), table);

  // Of level iterates the information at the points is not open; the standard errors of the last one
  // are its only trace. The information that is most like them has their diagonal.
  const json rounded = opened("iterates");
  const std::vector<Eigen::VectorXd> last = {PathOf(rounded).back()};
  Eigen::MatrixXd guess = Eigen::MatrixXd::Zero(kBinaries + 1, kBinaries + 1);
  for (int c = 0; c <= kBinaries; ++c) {
    const double error = rounded["coefficients"][c]["standard_error"];
    guess(c, c) = 1 / (error * error);
  }
  EXPECT_NE(TableFrom(patterns, last, {guess}), table);
}

}  // namespace
}  // namespace partita::methods::glm::aggregates_test
