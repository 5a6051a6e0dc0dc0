// Real tables (tests/references/survival/real.json) against R's survival: the twins in the clear to the
// figures, and whole studies on every engine within half a step of their grids.
#include "tests/methods/real_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "methods/survival/cox/study.h"
#include "stats/survival/after_cox.h"
#include "stats/survival/cox_robust.h"
#include "tests/paths.h"
#include "tests/thorough.h"

namespace partita::methods::survival::real_tables_test {
namespace {

using nlohmann::json;
using real::Parties;

const json& References() {
  static const json all = [] {
    std::ifstream file(FixturePath("references/survival/real.json"));
    return json::parse(file);
  }();
  return all;
}
const json& TableOf(const json& wanted) {
  return References()["tables"][wanted["table"].get<std::string>()];
}

std::vector<size_t> HoldersOf(const json& wanted, const Parties& parties) {
  return real::HolderOfRows(TableOf(wanted), parties.holders, wanted.value("cluster", ""));
}

// Of the rows that R took as many are asked for.
std::string RealText(const json& wanted, const Parties& parties) {
  const json& table = TableOf(wanted);
  std::string text = real::HeadText(parties, HoldersOf(wanted, parties), wanted["rows"]);
  text += fmt::format(
      "[[variable]]\nname = \"outcome\"\ntype = \"survival\"\ntime = \"{}\"\nevent = \"{}\"\nlower "
      "= "
      "{}\nupper = {}\n",
      wanted["time"].get<std::string>(), wanted["event"].get<std::string>(),
      table["lower"].get<double>(), table["upper"].get<double>());
  for (const std::string name : wanted["used"])
    text += real::VariableText(name, table["columns"][name]);
  text += "[design]\nsite = \"ignore\"\nmissing = \"complete\"\n";
  if (wanted.contains("cluster"))
    text += fmt::format("cluster = \"{}\"\n", wanted["cluster"].get<std::string>());
  text += fmt::format("[[analysis]]\nmethod = \"survival\"\nformula = \"{}\"\ncell = {}\n",
                      wanted["formula"].get<std::string>(), wanted["cell"].get<double>());
  if (wanted.contains("report")) text += fmt::format("report = {}\n", wanted["report"].dump());
  return text;
}

// ---- hazard ratios

// errors: of the study; empty: of clusters where there are such, else of the model.
std::string CoxText(const json& wanted, const Parties& parties, const std::string& errors = "") {
  std::string text = RealText(wanted, parties) + "model = \"cox\"\nrelease = [\"estimates\"]\n";
  text += fmt::format("ties = \"{}\"\nph_test = \"identity\"\nconcordance = true\n",
                      wanted["ties"].get<std::string>());
  if (wanted["ties"] == "efron")
    text += fmt::format("most_ties = {}\n", std::max<size_t>(2, wanted["most_ties"]));
  const std::string own = wanted.contains("cluster") ? "cluster" : "model";
  return text + fmt::format("errors = \"{}\"\n", errors.empty() ? own : errors);
}

CoxStudy CoxStudyOf(const std::string& text) {
  return PrepareCoxStudy(ParseStudyFile(text, "study.toml"));
}

// All rows that R took, in the clear: of one holder.
stats::survival::CoxRows PlainRows(const CoxStudy& study, const json& wanted,
                                   const Parties& parties) {
  data::Table pooled = real::RowsOf(study, TableOf(wanted), HoldersOf(wanted, parties)).pooled;
  study.DeriveColumns(pooled);
  run::TakenRows taken;
  run::OwnRows counts;
  const std::vector<size_t> rows = TakeRows(study, pooled, study.used, taken, counts);
  return PooledCoxRows(study.task.cells, {CoxRowsOf(study.task.spec, study.Tables(),
                                                    study.task.cells, 0, pooled, rows)});
}

void ExpectTwin(const json& wanted) {
  const Parties parties = {"dealer", 2};
  const CoxStudy study = CoxStudyOf(CoxText(wanted, parties));
  stats::survival::CoxRows rows = PlainRows(study, wanted, parties);
  const stats::survival::Ties ties = study.task.spec.ties;
  ASSERT_EQ(rows.time.size(), wanted["rows"].get<size_t>());
  ASSERT_EQ(study.task.num_columns(), wanted["estimate"].size());
  const stats::survival::CoxFit fit = FitCox(rows, ties);
  EXPECT_TRUE(fit.converged);
  const auto clusters = CoxRobustAt(rows, fit.point, ties);
  rows.cluster.clear();
  const auto robust = CoxRobustAt(rows, fit.point, ties);
  const auto tests = TestProportional(rows, fit.point, ties, [](double t) { return t; });
  const auto near = [](double value, const json& by_r, double figure) {
    EXPECT_NEAR(value, by_r.get<double>(), figure * std::max(1.0, std::abs(by_r.get<double>())));
  };
  for (size_t c = 0; c < study.task.num_columns(); ++c) {
    SCOPED_TRACE(study.task.spec.columns[c].name);
    const auto i = static_cast<Eigen::Index>(c);
    const double unit = 1 / HalfOf(study.task.spec.columns[c]), error = wanted["standard_error"][c];
    EXPECT_NEAR(fit.point[i] * unit, wanted["estimate"][c].get<double>(), 1e-7 * error);
    EXPECT_NEAR(fit.standard_errors[i] * unit, error, 1e-7 * error);
    const double of_rows = wanted["robust_error"][c];
    EXPECT_NEAR(robust.standard_errors[i] * unit, of_rows, 1e-6 * of_rows);
    if (wanted.contains("cluster")) {
      const double of_clusters = wanted["cluster_error"][c];
      EXPECT_NEAR(clusters.standard_errors[i] * unit, of_clusters, 1e-6 * of_clusters);
    }
    near(tests.columns[i], wanted["proportional"][c], 1e-6);
  }
  near(tests.all, wanted["proportional"].back(), 1e-6);
  near(fit.null_log_likelihood, wanted["log_likelihood"][0], 1e-10);
  near(fit.log_likelihood, wanted["log_likelihood"][1], 1e-10);
  near(fit.score_test, wanted["score"], 1e-8);
  near(fit.wald_test, wanted["wald"], 1e-6);
  near(robust.wald_test, wanted["robust_wald"], 1e-5);
  if (wanted.contains("cluster")) near(clusters.wald_test, wanted["cluster_wald"], 1e-5);
  std::vector<double> predictors;
  for (Eigen::Index i = 0; i < rows.x.rows(); ++i)
    predictors.push_back(rows.x.row(i).dot(fit.point));
  near(ConcordanceOf(rows, predictors).value(), wanted["concordance"], 1e-12);
}

TEST(SurvivalRealTables, HazardRatiosInTheClearAreThoseOfR) {
  for (const auto& [name, wanted] : References()["cox"].items()) {
    SCOPED_TRACE(name);
    ExpectTwin(wanted);
  }
}

// Estimates and what does not depend on them; RunReal compares everything else with the twin at the
// point that opened, and the twin is R's.
void ExpectCoxStudy(const json& wanted, const Parties& parties, const std::string& errors = "") {
  SCOPED_TRACE(parties.engine);
  const CoxStudy study = CoxStudyOf(CoxText(wanted, parties, errors));
  const json result = real::RunReal(study, TableOf(wanted), HoldersOf(wanted, parties)).result;
  if (result.is_null()) return;
  ASSERT_EQ(result["converged"], true);
  EXPECT_EQ(result["rows"], wanted["rows"]);
  EXPECT_EQ(result["events"], wanted["events"]);
  if (wanted.contains("cluster") && errors.empty()) {
    EXPECT_EQ(result["clusters"], wanted["clusters"]);
  }
  for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
    const json& row = result["coefficients"][c];
    SCOPED_TRACE(row["term"]);
    const double step = row["step"], error = wanted["standard_error"][c];
    EXPECT_LE(step, 0x1p-6 * 1.01 * error);
    EXPECT_NEAR(row["estimate"], wanted["estimate"][c].get<double>(),
                (0.5 + 0x1p-8) * step + 1e-4 * error);
  }
  const json& fit = result["fit"];
  EXPECT_NEAR(fit["null_log_likelihood"], wanted["log_likelihood"][0].get<double>(), 0x1p-7 + 1e-4);
  EXPECT_NEAR(fit["score"]["chi_square"], wanted["score"].get<double>(), 0x1p-7 + 1e-4);
}

struct Case {
  std::string name;
  Parties parties;
  std::string errors = "";
};

// Every table on one engine but those for later, by transfers and polynomials small ones; thorough all on all.
struct Engines {
  std::vector<std::string> transfers, polynomials, later;
};
std::vector<Case> CasesOf(const json& all, const Engines& engines) {
  const auto among = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<Case> quick, more;
  size_t turn = 0;
  for (const auto& [name, wanted] : all.items()) {
    const size_t of_turn = among(engines.later, name)         ? real::kParties.size()
                           : among(engines.transfers, name)   ? real::kTransfers
                           : among(engines.polynomials, name) ? real::kPolynomials
                                                              : turn++ % 2;
    for (size_t engine = 0; engine < real::kParties.size(); ++engine)
      (engine == of_turn ? quick : more).push_back({name, real::kParties[engine]});
  }
  return Cases(quick, more);
}

TEST(SurvivalRealTables, HazardRatiosOfStudiesAreThoseOfR) {
  const json& all = References()["cox"];
  for (const Case& of : CasesOf(all, {{"gehan"}, {"cgd", "rats"}, {"kidney", "ovarian"}})) {
    SCOPED_TRACE(of.name);
    ExpectCoxStudy(all[of.name], of.parties);
  }
}

TEST(SurvivalRealTables, RobustErrorsOfStudiesAreThoseOfR) {
  const json& all = References()["cox"];
  std::vector<Case> more;
  for (const auto& [name, wanted] : all.items())
    more.push_back({name, real::kParties[more.size() % 2], "robust"});
  for (const Case& of : Cases<Case>({{"heart", real::kParties[0], "robust"},
                                     {"melanoma", real::kParties[1], "robust"},
                                     {"stanford2", real::kParties[0], "robust"}},
                                    more)) {
    SCOPED_TRACE(of.name);
    ExpectCoxStudy(all[of.name], of.parties, of.errors);
  }
}

// ---- curves

std::string CurvesText(const json& wanted, const Parties& parties) {
  return RealText(wanted, parties) + "release = [\"curves\"]\n";
}

// Of a number that opened on a grid; the figure is what such a number may err before.
double OnGrid(double step) { return (0.5 + 0x1p-8) * step + 1e-6; }

void ExpectPoint(const json& point, const json& wanted, size_t k) {
  EXPECT_EQ(point["events"], wanted["events"][k]);
  EXPECT_EQ(point["remaining"], wanted["remaining"][k]);
  if (point["remaining"] == 0 || point["step_of_log"].is_null()) return;
  const double step = point["step_of_log"], error = wanted["error_of_log"][k];
  const auto log_of = [](const json& value) { return std::log(value.get<double>()); };
  EXPECT_LE(step, 0x1p-6 * 1.01 * error);
  EXPECT_NEAR(log_of(point["survival"]), log_of(wanted["survival"][k]), OnGrid(step));
  EXPECT_NEAR(point["standard_error_of_log"], error, OnGrid(step));
  EXPECT_NEAR(log_of(point["lower"]), log_of(wanted["lower"][k]), 2.96 * OnGrid(step));
  EXPECT_NEAR(log_of(point["upper"]), log_of(wanted["upper"][k]), 2.96 * OnGrid(step));
}

// Whether all events of a group between two report times are of one holder, after the last one: whether
// there are few, which ends are not compared.
bool NonePasses(const json& wanted, const std::vector<size_t>& holders, size_t group, double time) {
  const std::vector<double> report = wanted["report"];
  const auto next = std::lower_bound(report.begin(), report.end(), time);
  if (next == report.end()) return true;
  const double from = next == report.begin() ? 0 : *(next - 1);
  const json& columns = TableOf(wanted)["columns"];
  const auto value = [&](const std::string& name, size_t row) {
    return columns[name]["values"][row];
  };
  std::set<size_t> with_events;
  for (size_t row = 0; row < holders.size(); ++row) {
    const bool grouped = !wanted["used"].empty();
    const double left = value(wanted["time"], row);
    if (left <= from || left > *next || value(wanted["event"], row) != 1) continue;
    if (!grouped || value(wanted["used"][0], row) == group + 1) with_events.insert(holders[row]);
  }
  return with_events.size() < 2;
}

// Where too few events of other holders lie around one, a part of the time opens that it is in, if any part
// has enough.
void ExpectMedian(const json& median, const json& wanted,
                  const std::function<bool(double)>& none_passes, size_t& exact) {
  const std::vector<std::string> names = {"estimate", "lower", "upper"};
  for (size_t m = 0; m < names.size(); ++m) {
    SCOPED_TRACE(names[m]);
    const json& within = median["within"][names[m]];
    if (!median[names[m]].is_null()) {
      EXPECT_EQ(median[names[m]], wanted[m]);
      ++exact;
    } else if (!within.is_null()) {
      ASSERT_TRUE(wanted[m].is_number());
      EXPECT_LE(within[0].get<double>(), wanted[m].get<double>());
      EXPECT_GE(within[1].get<double>(), wanted[m].get<double>());
    } else {
      EXPECT_TRUE(wanted[m].is_null() || none_passes(wanted[m])) << wanted[m];
    }
  }
}

void ExpectCurvesStudy(const json& wanted, const Parties& parties, size_t& exact) {
  SCOPED_TRACE(parties.engine);
  const auto study = partita::testing::Prepare(CurvesText(wanted, parties));
  const json result = real::RunReal(*study, TableOf(wanted), HoldersOf(wanted, parties)).result;
  if (result.is_null()) return;
  ASSERT_EQ(result["curves"].size(), wanted["curves"].size());
  for (size_t g = 0; g < wanted["curves"].size(); ++g) {
    SCOPED_TRACE(g);
    const json& curve = result["curves"][g];
    ASSERT_EQ(curve["withheld"], false);
    EXPECT_EQ(curve["rows"], wanted["curves"][g]["rows"]);
    for (size_t k = 0; k < wanted["report"].size(); ++k)
      ExpectPoint(curve["points"][k], wanted["curves"][g], k);
    ExpectMedian(
        curve["median"], wanted["curves"][g]["median"],
        [&](double time) { return NonePasses(wanted, HoldersOf(wanted, parties), g, time); },
        exact);
  }
  if (!wanted.contains("log_rank")) return;
  const json &test = result["log_rank"], &by_r = wanted["log_rank"];
  ASSERT_EQ(test["withheld"], false);
  EXPECT_NEAR(test["chi_square"], by_r["chi_square"].get<double>(), OnGrid(0x1p-6));
  for (size_t g = 0; g < by_r["observed"].size(); ++g) {
    const json& row = test["groups"][g];
    EXPECT_EQ(row["observed"], by_r["observed"][g]);
    EXPECT_NEAR(row["expected"], by_r["expected"][g].get<double>(), OnGrid(row["step"]));
    EXPECT_NEAR(row["standard_error"], by_r["error"][g].get<double>(), OnGrid(row["step"]));
  }
}

TEST(SurvivalRealTables, CurvesOfStudiesAreThoseOfR) {
  const json& all = References()["curves"];
  size_t exact = 0;
  for (const Case& of : CasesOf(all, {{"gehan", "aml"}, {"leuk"}, {"ovarian"}})) {
    SCOPED_TRACE(of.name);
    ExpectCurvesStudy(all[of.name], of.parties, exact);
  }
  EXPECT_GT(exact, 45u);  // of 102
}

}  // namespace
}  // namespace partita::methods::survival::real_tables_test
