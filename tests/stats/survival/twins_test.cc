// Curves, log-rank and Cox in the clear against R's survfit, survdiff and coxph
// (tests/references/survival/survival.json), and at the edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "stats/survival/after_cox.h"
#include "stats/survival/cox.h"
#include "stats/survival/cox_robust.h"
#include "stats/survival/curve.h"
#include "stats/survival/log_rank.h"
#include "tests/stats/survival/tables.h"

namespace partita::stats::survival::twins_test {
namespace {

using nlohmann::json;
using testing::TextColumns;

json References() {
  std::ifstream file(FixturePath("references/survival/survival.json"));
  return json::parse(file);
}

void ExpectNear(double value, const json& wanted, double unit = 1) {
  EXPECT_NEAR(value, wanted.get<double>(), 1e-10 * unit);
}

void ExpectOptional(const std::optional<double>& value, const json& wanted) {
  ASSERT_EQ(value.has_value(), !wanted.is_null());
  if (value) {
    EXPECT_EQ(*value, wanted.get<double>());
  }
}

std::vector<std::vector<Observation>> GroupsOf(const json& wanted) {
  const TextColumns columns = testing::ReadTable(wanted["data"]);
  std::vector<std::vector<Observation>> groups;
  for (const std::string group : wanted["groups"]) {
    std::vector<Observation>& rows = groups.emplace_back();
    for (size_t r = 0; r < columns.at("time").size(); ++r) {
      if (columns.at("group")[r] != group) continue;
      rows.push_back({std::stod(columns.at("time")[r]), columns.at("status")[r] == "1"});
    }
  }
  return groups;
}

void ExpectCurve(const std::vector<Observation>& rows, const json& wanted) {
  const std::vector<CurveStep> curve = KaplanMeier(rows);
  ASSERT_EQ(curve.size(), wanted["time"].size());
  for (size_t i = 0; i < curve.size(); ++i) {
    EXPECT_EQ(curve[i].time, wanted["time"][i].get<double>());
    EXPECT_EQ(curve[i].at_risk, wanted["at_risk"][i].get<uint64_t>());
    EXPECT_EQ(curve[i].events, wanted["events"][i].get<uint64_t>());
    ExpectNear(std::exp(curve[i].log_survival), wanted["survival"][i]);
    EXPECT_EQ(std::isfinite(curve[i].variance), !wanted["error_of_log"][i].is_null());
    if (std::isfinite(curve[i].variance))
      ExpectNear(std::sqrt(curve[i].variance), wanted["error_of_log"][i]);
  }
  for (size_t k = 0; k < wanted["report"].size(); ++k) {
    const Interval at = SurvivalAt(curve, wanted["report"][k], 0.95);
    ExpectNear(at.estimate, wanted["survival_at"][k]);
    if (wanted["lower_at"][k].is_null()) continue;
    ExpectNear(at.lower, wanted["lower_at"][k]);
    ExpectNear(at.upper, wanted["upper_at"][k]);
  }
  const Median median = MedianOf(curve, 0.95);
  ExpectOptional(median.estimate, wanted["median"]);
  ExpectOptional(median.lower, wanted["median_lower"]);
  ExpectOptional(median.upper, wanted["median_upper"]);
}

TEST(SurvivalTwins, CurvesAreThoseOfR) {
  const json all = References();
  size_t curves = 0;
  for (const auto& [name, wanted] : all.items()) {
    if (!wanted.contains("curves")) continue;
    SCOPED_TRACE(name);
    const auto groups = GroupsOf(wanted);
    for (size_t g = 0; g < groups.size(); ++g, ++curves) {
      SCOPED_TRACE(g);
      ExpectCurve(groups[g], wanted["curves"][g]);
    }
  }
  EXPECT_EQ(curves, 13u);
}

TEST(SurvivalTwins, LogRankIsThatOfR) {
  const json all = References();
  size_t tests = 0;
  for (const auto& [name, wanted] : all.items()) {
    if (!wanted.contains("chi_square")) continue;
    SCOPED_TRACE(name);
    ++tests;
    const LogRank test = LogRankOf(GroupsOf(wanted));
    const size_t k = test.observed.size();
    EXPECT_EQ(test.df + 1, static_cast<int>(k));
    for (size_t g = 0; g < k; ++g) {
      const auto i = static_cast<Eigen::Index>(g);
      EXPECT_EQ(test.observed[g], wanted["observed"][g].get<uint64_t>());
      ExpectNear(test.expected[i], wanted["expected"][g], 100);
      for (size_t h = 0; h < k; ++h)
        ExpectNear(test.variance(i, static_cast<Eigen::Index>(h)), wanted["variance"][g * k + h],
                   100);
    }
    ExpectNear(test.chi_square, wanted["chi_square"], 100);
  }
  EXPECT_EQ(tests, 4u);
}

struct CoxCase {
  std::vector<std::string> covariates;
  std::string stratum;
};
CoxCase CaseOf(const std::string& formula) {
  if (formula.ends_with("strata(sex)")) return {{"age", "ph.ecog"}, "sex"};
  if (formula.ends_with("strata(celltype)")) return {{"trt", "karno", "age"}, "celltype"};
  return {{"age", "sex", "ph.ecog"}, ""};
}

CoxRows CoxRowsOf(const json& wanted) {
  const TextColumns columns = testing::ReadTable(wanted["data"]);
  const CoxCase of = CaseOf(wanted["formula"]);
  const size_t n = columns.at("time").size();
  const bool late = columns.contains("enter");
  std::vector<size_t> at_risk;
  for (size_t r = 0; r < n; ++r) {
    if (!late || std::stod(columns.at("enter")[r]) < std::stod(columns.at("time")[r]))
      at_risk.push_back(r);
  }
  CoxRows rows;
  rows.x.resize(static_cast<Eigen::Index>(at_risk.size()),
                static_cast<Eigen::Index>(of.covariates.size()));
  std::vector<std::string> strata;
  for (const size_t r : at_risk) {
    const auto row = static_cast<Eigen::Index>(rows.time.size());
    if (late) rows.entry.push_back(std::stod(columns.at("enter")[r]));
    rows.time.push_back(std::stod(columns.at("time")[r]));
    rows.event.push_back(columns.at("status")[r] == "1" ? 1 : 0);
    for (size_t c = 0; c < of.covariates.size(); ++c)
      rows.x(row, static_cast<Eigen::Index>(c)) = std::stod(columns.at(of.covariates[c])[r]);
    if (of.stratum.empty()) continue;
    const std::string& stratum = columns.at(of.stratum)[r];
    const auto found = std::find(strata.begin(), strata.end(), stratum);
    rows.stratum.push_back(static_cast<int>(found - strata.begin()));
    if (found == strata.end()) strata.push_back(stratum);
  }
  return rows;
}

// R sorts strata, CoxRowsOf numbers them as they come.
int StratumInR(const json& wanted, int sorted) {
  const CoxCase of = CaseOf(wanted["formula"]);
  if (of.stratum.empty()) return 0;
  std::vector<std::string> found;
  const auto table = testing::ReadTable(wanted["data"]);
  for (const std::string& level : table.at(of.stratum)) {
    if (std::find(found.begin(), found.end(), level) == found.end()) found.push_back(level);
  }
  std::vector<std::string> levels = found;
  std::sort(levels.begin(), levels.end());
  const auto place = std::find(found.begin(), found.end(), levels[static_cast<size_t>(sorted)]);
  return static_cast<int>(place - found.begin());
}

// Institutions of lung.
CoxRows WithClusters(CoxRows rows, const json& wanted) {
  const TextColumns columns = testing::ReadTable(wanted["data"]);
  const bool late = columns.contains("enter");
  for (size_t r = 0; r < columns.at("inst").size(); ++r) {
    if (!late || std::stod(columns.at("enter")[r]) < std::stod(columns.at("time")[r]))
      rows.cluster.push_back(std::stoi(columns.at("inst")[r]));
  }
  return rows;
}

// Pairs in R: concordant, discordant, tied in the predictor.
void ExpectAfterCox(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties,
                    const json& wanted) {
  const Eigen::VectorXd predictor = rows.x * point;
  // Rows with the same covariates have the same predictor, to the last digit.
  std::vector<double> predictors;
  for (const double value : predictor) predictors.push_back(std::round(value * 1e9));
  const Concordance pairs = ConcordanceOf(rows, predictors);
  EXPECT_EQ(pairs.concordant, wanted["pairs"][0]);
  EXPECT_EQ(pairs.discordant, wanted["pairs"][1]);
  EXPECT_EQ(pairs.tied, wanted["pairs"][2]);
  EXPECT_NEAR(pairs.value(), wanted["concordance"].get<double>(), 1e-12);
  const json& hazard = wanted["hazard"];
  const size_t reports = hazard["report"].size();
  for (size_t k = 0; k < hazard["cumulated"].size(); ++k) {
    const double by_r = hazard["cumulated"][k];
    EXPECT_NEAR(
        CumulatedHazard(rows, point, ties, StratumInR(wanted, static_cast<int>(k / reports)),
                        hazard["report"][k % reports]),
        by_r, 1e-7 * by_r);
  }
}

TEST(SurvivalTwins, CoxIsThatOfR) {
  const json all = References();
  size_t fits = 0, clustered = 0;
  for (const auto& [name, wanted] : all.items()) {
    if (!wanted.contains("ties")) continue;
    SCOPED_TRACE(name);
    ++fits;
    const Ties ties = wanted["ties"] == "efron" ? Ties::kEfron : Ties::kBreslow;
    const CoxRows rows = CoxRowsOf(wanted);
    const CoxFit fit = FitCox(rows, ties);
    EXPECT_TRUE(fit.converged);
    for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
      const auto i = static_cast<Eigen::Index>(c);
      const double error = wanted["standard_error"][c];
      EXPECT_NEAR(fit.point[i], wanted["estimate"][c].get<double>(), 1e-8 * error);
      EXPECT_NEAR(fit.standard_errors[i], error, 1e-8 * error);
    }
    ExpectNear(fit.null_log_likelihood, wanted["log_likelihood"][0], 1000);
    ExpectNear(fit.log_likelihood, wanted["log_likelihood"][1], 1000);
    ExpectNear(fit.score_test, wanted["score"], 1000);
    // R rounds this one to two digits.
    EXPECT_NEAR(fit.wald_test, wanted["wald"].get<double>(), 0.0051);
    const ProportionalTest test =
        TestProportional(rows, fit.point, ties, [](double t) { return t; });
    const json& proportional = wanted["proportional"];
    for (size_t c = 0; c + 1 < proportional.size(); ++c)
      ExpectNear(test.columns[static_cast<Eigen::Index>(c)], proportional[c], 1000);
    ExpectNear(test.all, proportional.back(), 1000);
    const CoxRobust robust = CoxRobustAt(rows, fit.point, ties);
    for (size_t c = 0; c < wanted["robust_error"].size(); ++c) {
      const double error = wanted["robust_error"][c];
      EXPECT_NEAR(robust.standard_errors[static_cast<Eigen::Index>(c)], error, 1e-7 * error);
    }
    ExpectNear(robust.wald_test, wanted["robust_wald"], 1e5);
    ExpectAfterCox(rows, fit.point, ties, wanted);
    if (wanted.contains("cluster_error")) {
      ++clustered;
      const CoxRobust of_clusters = CoxRobustAt(WithClusters(rows, wanted), fit.point, ties);
      for (size_t c = 0; c < wanted["cluster_error"].size(); ++c) {
        const double error = wanted["cluster_error"][c];
        EXPECT_NEAR(of_clusters.standard_errors[static_cast<Eigen::Index>(c)], error, 1e-7 * error);
      }
      ExpectNear(of_clusters.wald_test, wanted["cluster_wald"], 1e5);
    }
  }
  EXPECT_EQ(fits, 9u);
  EXPECT_EQ(clustered, 7u);
}

TEST(SurvivalTwins, HoldAtTheEdges) {
  EXPECT_TRUE(KaplanMeier({}).empty());
  EXPECT_EQ(SurvivalAt({}, 1, 0.95).estimate, 1);
  // All censored: the curve stays at 1.
  const auto censored = KaplanMeier({{1, false}, {2, false}});
  EXPECT_EQ(SurvivalAt(censored, 9, 0.95).estimate, 1);
  EXPECT_FALSE(MedianOf(censored, 0.95).estimate);
  // Half have the event at 2, the next one is at 5: the middle, as R has it.
  const auto half = KaplanMeier({{0, true}, {2, true}, {5, true}, {7, true}});
  EXPECT_EQ(half.front().time, 0);
  EXPECT_EQ(MedianOf(half, 0.95).estimate, 3.5);
  EXPECT_EQ(SurvivalAt(half, 7, 0.95).estimate, 0);
  // Of one group, of two with rows, of groups that are equal.
  EXPECT_EQ(LogRankOf({{{1, true}, {2, true}}}).df, 0);
  EXPECT_EQ(ChiSquareTail(0, 0), 1);
  const LogRank equal = LogRankOf({{{1, true}, {2, false}}, {}, {{1, true}, {2, false}}});
  EXPECT_EQ(equal.df, 1);
  EXPECT_NEAR(equal.chi_square, 0, 1e-12);
  EXPECT_EQ(equal.expected[1], 0);
}

// Score and information are the derivatives of the likelihood.
TEST(SurvivalTwins, CoxSumsAreDerivatives) {
  const json all = References();
  for (const Ties ties : {Ties::kBreslow, Ties::kEfron}) {
    const CoxRows rows = CoxRowsOf(all["cox_months_breslow"]);
    Eigen::VectorXd point(3);
    point << 0.01, -0.4, 0.3;
    const CoxSums sums = CoxSumsAt(rows, point, ties);
    for (Eigen::Index i = 0; i < 3; ++i) {
      const double step = 1e-5;
      const Eigen::VectorXd away = step * Eigen::VectorXd::Unit(3, i);
      const CoxSums up = CoxSumsAt(rows, point + away, ties);
      const CoxSums down = CoxSumsAt(rows, point - away, ties);
      const double scale = std::sqrt(sums.information(i, i));
      EXPECT_NEAR((up.log_likelihood - down.log_likelihood) / (2 * step), sums.score[i],
                  1e-4 * scale);
      for (Eigen::Index j = 0; j < 3; ++j)
        EXPECT_NEAR((down.score[j] - up.score[j]) / (2 * step), sums.information(i, j),
                    1e-4 * scale * std::sqrt(sums.information(j, j)));
    }
  }
}

}  // namespace
}  // namespace partita::stats::survival::twins_test
