// Regressions at level sealed of rows of which nobody knows which match: equal to the fit in the clear of
// the rows that all lists have; what a holder sees is the same whichever of its rows match, also where
// columns are collinear or an outcome does not occur there; what would tell is refused by name.
#include <gmock/gmock.h>

#include <cmath>

#include "methods/glm/document.h"
#include "methods/glm/result.h"
#include "methods/glm/study.h"
#include "run/party/build_plan.h"
#include "run/party/local_data.h"
#include "run/rehearse/rehearsal.h"
#include "stats/glm/fit.h"
#include "stats/glm/risk.h"
#include "stats/glm/robust.h"
#include "tests/run/matching/hidden_lists.h"
#include "tests/run/matching/hidden_views.h"

namespace partita::run::hidden_glm_test {
namespace {

using namespace hidden_lists;  // NOLINT(google-build-using-namespace)

using methods::glm::CountTables;
using methods::glm::GlmRun;
using methods::glm::GlmStudy;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kRounding = 0.5 + 0x1p-9;

// The rows are too few for the release rule.
const std::string kAccept = "[release]\naccept = \"table of covariates\"\n";

std::string Glm(const std::string& family, const std::string& formula,
                const std::string& more = "") {
  return fmt::format(
      "method = \"glm\"\nprotocol = \"sealed\"\nfamily = \"{}\"\nformula = \"{}\"\n"
      "release = [\"estimates\"]\n{}",
      family, formula, more);
}

StudyParts Parts(const std::string& analysis, const std::string& engine = "dealer") {
  StudyParts parts{.analysis = analysis, .engine = engine};
  parts.more = kAccept;
  return parts;
}

const std::string kRiskGroups = "[analysis.risk_groups]\ncuts = [0.5]\n";

class HiddenGlmTest : public HiddenLists {
 protected:
  stats::glm::Rows JoinedRows(const GlmStudy& study) const {
    data::Table table;
    for (const data::ColumnSchema& schema : study.file.dictionary.columns) {
      table.columns.emplace_back();
      table.columns.back().schema = schema;
    }
    const auto number = [](const std::string& cell) {
      return cell.empty() ? std::nan("") : std::stod(cell);
    };
    for (const Row& row : people_) {
      if (!lists_.AllHave(row.id)) continue;
      ++table.num_rows;
      for (data::Column& column : table.columns) {
        const std::string& name = column.schema.name;
        if (name == "sex") {
          column.codes.push_back(row.sex == "f" ? 0 : 1);
        } else {
          column.numbers.push_back(number(name == "x"   ? row.x
                                          : name == "y" ? row.y
                                          : name == "z" ? row.z
                                                        : row.w));
        }
      }
    }
    study.DeriveColumns(table);
    TakenRows taken;
    OwnRows counts;
    const std::vector<size_t> rows = methods::glm::RowsTaken(study, table, taken, counts);
    return OwnDataOf(study.task.spec, CountTables(study.task.spec, study.factors), table, rows)
        .rows;
  }

  // Estimates, standard errors, deviances and numbers of rows are those of the join in the clear.
  void ExpectTheJoinsFit(const StudyParts& parts) {
    SCOPED_TRACE(parts.engine + parts.design + parts.analysis);
    const std::unique_ptr<const Study> prepared = Prepared(StudyText(rows_, parts));
    const auto& study = dynamic_cast<const GlmStudy&>(*prepared);
    const std::vector<PartyEnd> ends = Run(StudyText(rows_, parts));
    for (const PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
    const PartyEnd& analyst = EndOf(ends, "analyst");
    const auto& run = dynamic_cast<const GlmRun&>(*analyst.outcome->protocol);
    const methods::glm::Spec& spec = study.task.spec;
    const stats::glm::Limits limits = study.task.units.limits;
    const stats::glm::Rows rows = JoinedRows(study);
    const stats::glm::Fit twin = stats::glm::FitRows(spec.law, rows, limits, spec.intercept);
    const stats::glm::PointSums sums =
        stats::glm::SumsAt(spec.law, rows, twin.maximum.point, limits);
    const Eigen::VectorXd errors =
        spec.robust() ? stats::glm::SandwichErrors(
                            sums.information,
                            stats::glm::MeatAt(spec.law, rows, twin.maximum.point, limits).meat)
                      : twin.standard_errors;
    const methods::glm::FittedModel& told = run.fitted.model.value();
    ASSERT_TRUE(told.converged);
    EXPECT_EQ(told.rows, static_cast<uint64_t>(rows.y.size()));
    EXPECT_EQ(told.events, spec.law.binary ? static_cast<uint64_t>(rows.y.sum()) : 0);
    for (Eigen::Index j = 0; j < rows.x.cols(); ++j) {
      const double step = told.steps[j], error = errors[j];
      // As of rows that are not hidden: 1e-4 of a standard error before it is rounded.
      EXPECT_NEAR(run.fitted.points.back()[j], twin.maximum.point[j],
                  kRounding * step + 1e-4 * error);
      EXPECT_NEAR(told.standard_errors[j], error, kRounding * step + 1e-4 * error);
    }
    const methods::glm::ModelFit fit =
        methods::glm::FitOf(study.task, told.rows, told.events, told.totals);
    const bool gaussian = spec.law.family == stats::glm::Family::kGaussian;
    const double unit = gaussian ? spec.outcome.scale * spec.outcome.scale : 1;
    const double total = std::ldexp(kRounding, -study.task.grid_bits) + 2e-4;
    const auto error_of = [&](double deviance) {
      return gaussian ? deviance * unit * total / static_cast<double>(told.rows) : total;
    };
    EXPECT_NEAR(fit.deviance, twin.deviance * unit, error_of(twin.deviance));
    EXPECT_NEAR(fit.null_deviance.value(), twin.null_deviance * unit, error_of(twin.null_deviance));
    if (!spec.cuts.empty()) ExpectGroups(study, told, rows, twin.maximum.point);
    for (const char* const holder : kHolders) {
      const PartyOutcome& outcome = *EndOf(ends, holder).outcome;
      EXPECT_EQ(outcome.result, nullptr);
      // It takes part in opening the fit, and gets none of its numbers.
      for (const Opening& opening : outcome.openings) {
        EXPECT_EQ(opening.release_id, "fit");
        for (const mpc::IntMatrix& matrix : opening.values) EXPECT_TRUE(matrix.values.empty());
      }
      EXPECT_EQ(outcome.checks.size(), 1U);
    }
  }

  // Of the rows of the join alone, to a row: none is close to the cut point.
  void ExpectGroups(const GlmStudy& study, const methods::glm::FittedModel& told,
                    const stats::glm::Rows& rows, const Eigen::VectorXd& point) {
    const stats::glm::RiskTable table = RiskTableAt(study.task.spec.law, rows, point,
                                                    study.task.units.limits, study.task.spec.cuts);
    const methods::glm::Risk risk = methods::glm::RiskOf(study.task.spec, told.risk);
    ASSERT_TRUE(risk.shown);
    for (size_t g = 0; g < risk.groups.size(); ++g) {
      const auto i = static_cast<Eigen::Index>(g);
      EXPECT_EQ(risk.groups[g].rows, table.others[i] + table.events[i]);
      EXPECT_EQ(risk.groups[g].events, table.events[i]);
      EXPECT_NEAR(risk.groups[g].expected, table.expected[i], 0.02);
    }
    const stats::glm::BinnedArea area = stats::glm::AreaOf(table.bin_others, table.bin_events);
    EXPECT_NEAR(risk.area, area.area, 0x1p-10);
  }

  // The ends of a study of these people in such lists.
  std::vector<PartyEnd> EndsOf(const Lists& lists, const StudyParts& parts) {
    lists_ = lists;
    group_.reset();
    group_ = std::make_unique<MatchingGroup>(MatchingText(kExact));
    Write(false);
    results_ = group_->RunAndSave();
    rows_ = Hidden(results_[0].record, results_[0].rows.size(), "exact");
    return Run(StudyText(rows_, parts));
  }
};

TEST_F(HiddenGlmTest, EqualsTheFitOfTheRowsThatAllHave) {
  Match(kExact);
  ExpectTheJoinsFit(Parts(Glm("gaussian", "y ~ x + z + sex")));
  ExpectTheJoinsFit(Parts(Glm("binomial", "sex ~ x + y")));
  ExpectTheJoinsFit(Parts(Glm("poisson", "w ~ x * sex")));
  Match(kNobody);
  ExpectTheJoinsFit(Parts(Glm("binomial", "sex ~ x + y", "errors = \"robust\"\n")));
  ExpectTheJoinsFit(Parts(Glm("binomial", "sex ~ x + y", kRiskGroups)));
}

TEST_F(HiddenGlmTest, OnOtherEngines) {
  Match(kExact);
  ExpectTheJoinsFit(Parts(Glm("gaussian", "y ~ x + z"), "shamir"));
  ExpectTheJoinsFit(Parts(Glm("binomial", "sex ~ x"), "shamir"));
}

// The model is of office's variables alone, whose list has 20 people who are not in all: the others have a
// say in which rows take part all the same. (A position that two holders share is one of all three.)
TEST_F(HiddenGlmTest, AHolderWithoutVariablesSelectsAsWell) {
  Match(kExact);
  ExpectTheJoinsFit(Parts(Glm("gaussian", "y ~ w")));
  ExpectTheJoinsFit(Parts(Glm("gaussian", "y ~ x")));
}

TEST_F(HiddenGlmTest, SubsetsAndIncompleteRows) {
  Match(kExact, 12);
  StudyParts parts = Parts(Glm("gaussian", "y ~ x + z"));
  parts.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  ExpectTheJoinsFit(parts);
  parts.more += "[population]\nsubset = [{variable = \"x\", at_least = -8}]\n";
  ExpectTheJoinsFit(parts);
}

TEST_F(HiddenGlmTest, EnoughRowsAreThoseOfTheJoin) {
  Match(kNobody);
  const std::string text = StudyText(rows_, Parts(Glm("gaussian", "y ~ x")));
  const auto with = [&](const std::string& min_rows) {
    std::string changed = text;
    changed.replace(changed.find("min_rows = 10"), 13, "min_rows = " + min_rows);
    const std::vector<PartyEnd> ends = Run(changed);
    return ends[0].error ? ends[0].error->message() : std::string("ran");
  };
  EXPECT_EQ(with("50"), "ran");
  EXPECT_THAT(with("51"), HasSubstr("at least 51 rows"));
}

// Clinic and registry have the same tables in both worlds; of the first their ids 20 to 69 match, of the
// second 30 to 79. In the first clinic's column is the same in all rows that match, and so is registry's
// outcome: a column that follows from others, an outcome that does not occur; in the second they vary. No
// holder can tell the worlds from each other.
TEST_F(HiddenGlmTest, HoldersSeeTheSameWhicheverRowsMatch) {
  const Lists first{{20, 15, 0}, {80, 90, 70}}, second{{20, 15, 30}, {80, 90, 120}};
  for (const std::string& analysis :
       {Glm("gaussian", "y ~ x + z"), Glm("binomial", "sex ~ x + y"),
        Glm("binomial", "sex ~ x + y", kRiskGroups), Glm("poisson", "w ~ x + sex")}) {
    SCOPED_TRACE(analysis);
    people_ = People(0);
    for (Row& row : people_) {
      if (row.id >= 70 && row.id % 2 == 0) row.sex = "m";
      if (!first.AllHave(row.id)) continue;
      row.x = "2.5";
      row.sex = "f";
    }
    const std::vector<PartyEnd> constant = EndsOf(first, Parts(analysis));
    const std::vector<PartyEnd> varied = EndsOf(second, Parts(analysis));
    for (const char* const holder : {"clinic", "office", "registry"})
      EXPECT_EQ(ViewOf(EndOf(constant, holder)), ViewOf(EndOf(varied, holder))) << holder;
    const auto& told = dynamic_cast<const GlmRun&>(*EndOf(constant, "analyst").outcome->protocol)
                           .fitted.model.value();
    EXPECT_FALSE(told.converged);
    EXPECT_EQ(told.rows, 50U);
    EXPECT_EQ(told.events, 0U);
    for (const double total : told.totals) EXPECT_EQ(total, 0);
    for (const double number : told.risk) EXPECT_EQ(number, 0);
    EXPECT_TRUE(dynamic_cast<const GlmRun&>(*EndOf(varied, "analyst").outcome->protocol)
                    .fitted.model.value()
                    .converged);
  }
}

// One row of the join has the outcome: below min_cell, which the receiver is not told apart, nor the
// number.
TEST_F(HiddenGlmTest, ASmallCountIsAFitThatIsWithheld) {
  people_ = People(0);
  for (Row& row : people_) row.sex = row.id == 40 || !Lists().AllHave(row.id) ? "m" : "f";
  for (const std::string& analysis : {Glm("gaussian", "y ~ x + sex"), Glm("binomial", "sex ~ x")}) {
    const std::vector<PartyEnd> ends = EndsOf(Lists(), Parts(analysis));
    const PartyEnd& analyst = EndOf(ends, "analyst");
    const auto& told = dynamic_cast<const GlmRun&>(*analyst.outcome->protocol).fitted.model.value();
    EXPECT_FALSE(told.converged);
    EXPECT_EQ(told.events, 0U);
    EXPECT_THAT(analyst.outcome->checks, Each(Field(&CheckOutcome::passed, true)));
    EXPECT_EQ(analyst.outcome->checks.size(), 1U);
  }
}

// ------------------------------------------------------------------- without tables

const std::string kAny = Hidden(crypto::Sha256Of(AsBytes("any")), 200, "exact");

// With registry's columns at office, for engines of a fixed number of parties.
std::string TwoHolders(std::string text) {
  const std::string registry = Party("registry", "\"holder\"", "\"z\", \"sex\"");
  text.erase(text.find(registry), registry.size());
  return text.replace(text.find("\"y\", \"w\""), 8, "\"y\", \"w\", \"z\", \"sex\"");
}

TEST(HiddenGlmRehearsalTest, EqualsTheClearAtThePlannedCost) {
  for (const std::string& text :
       {StudyText(kAny, Parts(Glm("gaussian", "y ~ x + z"))),
        StudyText(kAny, Parts(Glm("poisson", "w ~ x + sex"))),
        StudyText(kAny, Parts(Glm("binomial", "sex ~ x + y"), "shamir")),
        StudyText(kAny, Parts(Glm("binomial", "sex ~ x + y", "penalty = {ridge = 0.02}\n"))),
        StudyText(kAny, Parts(Glm("binomial", "sex ~ x + y", kRiskGroups))),
        TwoHolders(StudyText(kAny, Parts(Glm("binomial", "sex ~ x + y"), "replicated")))}) {
    SCOPED_TRACE(text);
    SilentProgress progress;
    const Rehearsal rehearsal = Rehearse(*Prepared(text), {}, progress);
    EXPECT_LT(rehearsal.rows, 190U);
    EXPECT_GT(rehearsal.rows, 100U);
    EXPECT_TRUE(rehearsal.converged());
    EXPECT_TRUE(rehearsal.passed(6)) << rehearsal.lowest_digits();
  }
}

TEST(HiddenGlmPlanTest, SaysWhatHoldersAreTold) {
  const study::Plan plan =
      BuildPlan(*Prepared(StudyText(kAny, Parts(Glm("binomial", "sex ~ x + y")))));
  EXPECT_THAT(plan.assumptions,
              Contains(HasSubstr("holders are told whether there are enough rows, "
                                 "and nothing else")));
  EXPECT_THAT(plan.assumptions, Not(Contains(HasSubstr("to everybody"))));
  EXPECT_EQ(plan.releases.size(), 2U);
  EXPECT_THAT(plan.checks, Contains(Field(&study::PlanCheck::rule,
                                          HasSubstr("nobody is told that it was this"))));
  EXPECT_EQ(plan.exposures.at(0).bits->rows, 14U - 4U);
}

TEST(HiddenGlmRefusalsTest, WhatWouldTellIsRefusedByName) {
  EXPECT_EQ(Refusal(StudyText(kAny, Parts(Glm("gaussian", "y ~ x + sex")))), "accepted");
  std::string iterates = Glm("gaussian", "y ~ x");
  iterates.replace(iterates.find("sealed"), 6, "iterates");
  EXPECT_THAT(Refusal(StudyText(kAny, Parts(iterates))),
              HasSubstr("which rows match is hidden, and at level iterates"));
  std::string to_all = Glm("gaussian", "y ~ x");
  to_all.replace(to_all.find("[\"estimates\"]"), 13, "[{what = \"estimates\", to = \"all\"}]");
  EXPECT_THAT(Refusal(StudyText(kAny, Parts(to_all))),
              HasSubstr("tells estimates to others than the receiver"));
  EXPECT_THAT(Refusal(StudyText(kAny, Parts(Glm("gaussian", "y ~ x",
                                                "subset = [{variable = \"x\", at_least = 0}]\n")))),
              HasSubstr("has a subset of its own"));
  StudyParts weighted = Parts(Glm("gaussian", "y ~ x"));
  weighted.design += "weights = \"w\"\nweights_type = \"frequency\"\n";
  EXPECT_THAT(Refusal(StudyText(kAny, weighted)), HasSubstr("with weights one row could decide"));
  StudyParts clustered = Parts(Glm("gaussian", "y ~ x", "errors = \"cluster\"\n"));
  clustered.design += "cluster = \"w\"\n";
  EXPECT_THAT(Refusal(StudyText(kAny, clustered)),
              HasSubstr("whether there are enough clusters would be one more"));
  std::string reads = StudyText(kAny, Parts(Glm("gaussian", "y ~ x")));
  reads.erase(reads.find(Party("analyst", "\"receiver\"", "")),
              Party("analyst", "\"receiver\"", "").size());
  reads.replace(reads.find("roles = [\"holder\"]"), 18, "roles = [\"holder\", \"receiver\"]");
  EXPECT_THAT(Refusal(reads),
              HasSubstr("the receiver 'clinic' holds rows of which it may not know"));
}

}  // namespace
}  // namespace partita::run::hidden_glm_test
