// Curves on shares against their twin in plain code, on every engine, with exactly the messages of
// the plan: counts, log S and its error on their grid, medians, the log-rank test, what is withheld.
#include "methods/survival/protocol.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "methods/survival/medians.h"
#include "methods/survival/plain_curves.h"
#include "privacy/release_rule.h"
#include "tests/methods/survival/tables.h"
#include "tests/mpc/harness.h"

namespace partita::methods::survival::protocol_test {
namespace {

using mpc::Engine;
using testing::DrawPatients;
using testing::FollowUpSpec;
using testing::Patient;

constexpr int kGridBits = 6;
// Half a step, the guard bits, and what arithmetic errs before it is rounded.
constexpr double kRounding = 0.5 + 0x1p-9 + 0x1p-8;

struct Options {
  std::string kind = "dealer";
  uint64_t min_cell = 5;
  uint64_t max_rows = 0;  // of each holder; 0: as many as it has
  bool to_all = false;
};

using Parts = std::vector<std::vector<Patient>>;

struct Ran {
  std::optional<OpenedCurves> opened;
  std::vector<uint64_t> depth;
};

Task TaskOf(const Spec& spec, const Parts& parts, const Options& options) {
  Task task;
  task.spec = spec;
  task.grid_bits = kGridBits;
  task.to = options.to_all ? mpc::kEverybody : 1;
  for (size_t h = 0; h < parts.size(); ++h) {
    const uint64_t rows = std::max<uint64_t>(parts[h].size(), 1);
    task.holders.push_back({h, options.max_rows == 0 ? rows : options.max_rows});
  }
  return task;
}

std::vector<OwnCounts> CountsOf(const Spec& spec, const Parts& parts) {
  std::vector<OwnCounts> own;
  for (const std::vector<Patient>& part : parts) {
    std::vector<size_t> rows(part.size());
    std::iota(rows.begin(), rows.end(), size_t{0});
    own.push_back(CountOwn(spec, testing::TableOf(spec, part), rows));
  }
  return own;
}

Ran RunCurves(const Spec& spec, const Parts& parts, const Options& options) {
  const Task task = TaskOf(spec, parts, options);
  const std::vector<OwnCounts> own = CountsOf(spec, parts);
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = parts.size();
  run.releases = {{kCurvesRelease, "curves", "one", "exact", 1, task.to, NumOpened(task)}};
  std::vector<std::optional<OpenedCurves>> opened(parts.size());
  const OwnCounts none;
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const RiskSets sets = ShareRiskSets(engine, task, self ? own[*self] : none);
    const std::optional<OpenedCurves> curves = OpenCurves(engine, task, sets, options.min_cell);
    if (self) opened[*self] = curves;
  });
  result.ThrowIfFailed();
  for (size_t p = 0; p < opened.size(); ++p)
    EXPECT_EQ(opened[p].has_value(), options.to_all || p == 1) << p;
  return {opened[1], result.depth};
}

// The step of the rule's grid, within the precision that release_grid.h states.
void ExpectStep(double step, double error) {
  const double exponent = std::log2(step), wanted = std::log2(error) - kGridBits;
  EXPECT_EQ(exponent, std::round(exponent));
  EXPECT_LE(exponent, wanted + 0x1p-9);
  EXPECT_GT(exponent, wanted - 1 - 0x1p-9);
}

struct Seen {
  size_t curves = 0, withheld = 0, points = 0, medians = 0, medians_in_parts = 0,
         medians_withheld = 0, tests = 0, observed = 0;
};

void ExpectPoint(const OpenedCurves& opened, const PlainCurves& twin, const Spec& spec,
                 size_t report, size_t group, Seen& seen) {
  const size_t entry = report * spec.num_groups() + group;
  EXPECT_EQ(opened.events[entry], twin.Events(report, group));
  EXPECT_EQ(opened.remaining[entry], twin.Remaining(report, group));
  const auto curve = stats::survival::KaplanMeier(twin.RowsOf(group));
  stats::survival::CurveStep at;
  for (const auto& step : curve) {
    if (step.time <= spec.grid.End(spec.report[report])) at = step;
  }
  if (twin.Remaining(report, group) == 0 || at.variance == 0) {
    EXPECT_EQ(opened.steps[entry], 0);
    EXPECT_EQ(opened.log_survival[entry], 0);
    return;
  }
  ++seen.points;
  ExpectStep(opened.steps[entry], std::sqrt(at.variance));
  EXPECT_NEAR(opened.log_survival[entry], at.log_survival, kRounding * opened.steps[entry]);
  EXPECT_NEAR(opened.errors[entry], std::sqrt(at.variance), kRounding * opened.steps[entry]);
}

void ExpectLogRank(const OpenedLogRank& opened, const PlainCurves& twin, Seen& seen) {
  EXPECT_EQ(opened.passes, twin.LogRankPasses());
  EXPECT_EQ(opened.shows_observed, twin.ShowsObserved());
  const stats::survival::LogRank test = twin.LogRank();
  for (size_t g = 0; g < test.observed.size(); ++g) {
    SCOPED_TRACE(g);
    const auto i = static_cast<Eigen::Index>(g);
    const double error = std::sqrt(test.variance(i, i));
    if (!opened.passes || error < 1e-6) {
      EXPECT_EQ(opened.steps[g], 0);
      EXPECT_EQ(opened.differences[g], 0);
      EXPECT_EQ(opened.observed[g], opened.shows_observed ? test.observed[g] : 0);
      continue;
    }
    EXPECT_EQ(opened.observed[g], opened.shows_observed ? test.observed[g] : 0);
    ExpectStep(opened.steps[g], error);
    EXPECT_NEAR(opened.differences[g], static_cast<double>(test.observed[g]) - test.expected[i],
                kRounding * opened.steps[g]);
    EXPECT_NEAR(opened.errors[g], error, kRounding * opened.steps[g]);
  }
  EXPECT_NEAR(opened.chi_square, opened.passes ? test.chi_square : 0,
              std::ldexp(kRounding, -kGridBits));
  if (opened.passes) ++seen.tests;
  if (opened.shows_observed) ++seen.observed;
}

Seen ExpectTwin(const Spec& spec, const Parts& parts, const Options& options) {
  SCOPED_TRACE(fmt::format("{} of {}", options.kind, parts.size()));
  const OpenedCurves opened = RunCurves(spec, parts, options).opened.value();
  const std::vector<OwnCounts> own = CountsOf(spec, parts);
  const PlainCurves twin(spec, own, options.min_cell);
  Seen seen;
  for (size_t g = 0; g < spec.num_groups(); ++g) {
    SCOPED_TRACE(fmt::format("group {}", g));
    EXPECT_EQ(opened.passes[g], twin.CurvePasses(g));
    ++(opened.passes[g] ? seen.curves : seen.withheld);
    EXPECT_EQ(opened.rows[g], opened.passes[g] ? twin.Rows(g) : 0);
    for (size_t r = 0; r < spec.report.size(); ++r) {
      SCOPED_TRACE(fmt::format("report {}", r));
      if (opened.passes[g]) {
        ExpectPoint(opened, twin, spec, r, g, seen);
        continue;
      }
      const size_t entry = r * spec.num_groups() + g;
      EXPECT_EQ(opened.events[entry] + opened.remaining[entry], 0u);
      EXPECT_EQ(opened.steps[entry], 0);
      EXPECT_EQ(opened.log_survival[entry], 0);
      EXPECT_EQ(opened.errors[entry], 0);
    }
    const std::vector<uint64_t> medians(
        opened.medians.begin() + static_cast<std::ptrdiff_t>(kMediansOfGroup * g),
        opened.medians.begin() + static_cast<std::ptrdiff_t>(kMediansOfGroup * (g + 1)));
    EXPECT_EQ(medians, twin.MedianPlaces(g));
    for (const uint64_t place : medians) {
      ++(place == 0                ? seen.medians_withheld
         : place > spec.grid.cells ? seen.medians_in_parts
                                   : seen.medians);
    }
  }
  EXPECT_EQ(opened.log_rank.has_value(), spec.num_groups() > 1);
  if (opened.log_rank) ExpectLogRank(*opened.log_rank, twin, seen);
  return seen;
}

Parts DrawParts(uint64_t seed, const std::vector<size_t>& rows, size_t arms, double upper) {
  std::mt19937_64 random(seed);
  Parts parts;
  for (const size_t n : rows) parts.push_back(DrawPatients(random, n, arms, upper));
  return parts;
}

TEST(SurvivalProtocol, OpensCurvesOnEveryEngine) {
  const Spec spec = FollowUpSpec(2, 100, {20, 40, 60});
  const Seen seen = ExpectTwin(spec, DrawParts(1, {220, 260}, 2, 100), {.kind = "dealer"});
  EXPECT_EQ(seen.curves, 2u);
  EXPECT_EQ(seen.points, 6u);
  EXPECT_EQ(seen.medians, 6u);
  EXPECT_EQ(seen.tests, 1u);
  ExpectTwin(spec, DrawParts(2, {120, 200, 90}, 2, 100), {.kind = "dealer", .to_all = true});
  ExpectTwin(spec, DrawParts(3, {150, 100, 120}, 2, 100), {.kind = "replicated"});
  const Spec few = FollowUpSpec(2, 30, {10, 20});
  ExpectTwin(few, DrawParts(4, {150, 100, 120}, 2, 30), {.kind = "shamir"});
}

TEST(SurvivalProtocol, OpensCurvesByTransfers) {
  const Spec spec = FollowUpSpec(2, 8, {3, 6});
  ExpectTwin(spec, DrawParts(5, {60, 70}, 2, 8), {.kind = "ot"});
}

TEST(SurvivalProtocol, OpensOneCurveAndFour) {
  const Spec one = FollowUpSpec(1, 60, {15, 30});
  const Seen seen = ExpectTwin(one, DrawParts(6, {90, 80, 100}, 1, 60), {});
  EXPECT_EQ(seen.curves, 1u);
  EXPECT_EQ(seen.tests, 0u);
  const Spec four = FollowUpSpec(4, 60, {20, 35});
  EXPECT_EQ(ExpectTwin(four, DrawParts(7, {300, 320, 280}, 4, 60), {}).tests, 1u);
}

// As many rows as nobody declared, and far more than there are.
TEST(SurvivalProtocol, IsAsPreciseForAnyBoundOfRows) {
  const Spec spec = FollowUpSpec(2, 60, {15, 30});
  for (const uint64_t most : {uint64_t{1} << 20, uint64_t{1} << 27})
    ExpectTwin(spec, DrawParts(8, {160, 150}, 2, 60), {.max_rows = most});
}

// Of 20 small tables some curves pass, some do not; some medians open.
TEST(SurvivalProtocol, WithholdsWhatIsSmall) {
  Seen total;
  const Spec spec = FollowUpSpec(2, 24, {5, 10});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const size_t rows = 16 + 14 * (seed % 5);
    const Seen seen =
        ExpectTwin(spec, DrawParts(100 + seed, {rows, rows, rows + 9}, 2, 24), {.min_cell = 3});
    total.curves += seen.curves;
    total.withheld += seen.withheld;
    total.medians += seen.medians;
    total.medians_in_parts += seen.medians_in_parts;
    total.medians_withheld += seen.medians_withheld;
    total.tests += seen.tests;
    total.observed += seen.observed;
  }
  EXPECT_GT(total.curves, 8u);
  EXPECT_GT(total.withheld, 8u);
  EXPECT_GT(total.medians, 10u);
  EXPECT_GT(total.medians_in_parts, 5u);
  EXPECT_GT(total.medians_withheld, 10u);
  EXPECT_GT(total.tests, 5u);
  EXPECT_GT(total.observed, 2u);
  EXPECT_GT(total.tests, total.observed);
}

// Levels cover all cells with nested parts that no report time cuts, down to those between two times.
TEST(SurvivalMedians, PartsLieBetweenReportTimes) {
  for (const auto& [upper, report] : std::vector<std::pair<double, std::vector<double>>>{
           {100, {20, 40, 67}}, {5, {0, 3, 5}}, {1, {1}}}) {
    const Spec spec = FollowUpSpec(1, upper, report);
    const std::vector<MedianLevel> levels = MedianLevels(spec);
    const std::vector<MedianPlace> places = MedianPlaces(spec);
    ASSERT_EQ(levels.size(), 5u);
    for (size_t l = 0; l < levels.size(); ++l) {
      for (size_t c = 0; c < spec.grid.cells; ++c) {
        const MedianPlace& place = places.at(levels[l].place[c] - 1);
        EXPECT_LE(place.first, c);
        EXPECT_GE(place.last, c);
        if (l == 0) {
          EXPECT_EQ(place.first, place.last);
          continue;
        }
        EXPECT_EQ(place.first, levels[l].first[c]);
        EXPECT_EQ(place.last, levels[l].last[c]);
        for (const size_t time : spec.report) EXPECT_EQ(place.first <= time, place.last <= time);
        if (l == 1) continue;
        EXPECT_LE(place.first, levels[l - 1].first[c]);
        EXPECT_GE(place.last, levels[l - 1].last[c]);
      }
    }
    EXPECT_EQ(levels.back().first.front(), 0u);
    EXPECT_EQ(levels.back().last.front(), spec.report.front());
  }
}

std::vector<Patient> Repeat(const Patient& patient, size_t times) {
  return std::vector<Patient>(times, patient);
}

std::vector<Patient> Together(std::vector<Patient> patients, const std::vector<Patient>& more) {
  patients.insert(patients.end(), more.begin(), more.end());
  return patients;
}

// Seven early deaths, five of whom one holder has: the other two are what it is left with.
TEST(SurvivalProtocol, WithholdsWhatIsSmallBesideOnesOwn) {
  const Spec spec = FollowUpSpec(1, 20, {5, 15});
  const std::vector<Patient> rest = Together(Repeat({8, true, 0}, 12), Repeat({20, false, 0}, 20));
  const Parts parts = {Together(rest, Repeat({3, true, 0}, 5)),
                       Together(rest, Repeat({3, true, 0}, 2))};
  EXPECT_FALSE(RunCurves(spec, parts, {}).opened->passes[0]);
  ExpectTwin(spec, parts, {});
  ExpectTwin(spec, parts, {.min_cell = 2});
}

// Deaths far apart: the day of the median has no other near it; of each holder two lie in an eighth of
// the time to the report, three in a quarter, six in a half.
TEST(SurvivalProtocol, ShowsMediansOfFewEventsAsParts) {
  const Spec spec = FollowUpSpec(1, 320, {320});
  std::vector<Patient> patients;
  for (int death = 1; death <= 12; ++death) patients.push_back({27.0 * death - 7, true, 0});
  const Parts parts = {patients, Repeat({320, false, 0}, 10)};
  // The other holder has no deaths, so that without the first one's there are none.
  EXPECT_EQ(RunCurves(spec, parts, {}).opened->medians.front(), 0u);
  ExpectTwin(spec, parts, {});
  const Parts mixed = {Together(patients, Repeat({320, false, 0}, 5)),
                       Together(patients, Repeat({320, false, 0}, 5))};
  const std::vector<MedianPlace> places = MedianPlaces(spec);
  for (const auto& [min_cell, cells] :
       std::vector<std::pair<uint64_t, size_t>>{{1, 1}, {2, 40}, {3, 80}, {4, 161}, {5, 161}}) {
    SCOPED_TRACE(min_cell);
    const uint64_t least = min_cell;
    const uint64_t median = RunCurves(spec, mixed, {.min_cell = least}).opened->medians.front();
    ASSERT_GT(median, 0u);
    const MedianPlace& place = places.at(median - 1);
    EXPECT_EQ(place.last + 1 - place.first, cells);
    ExpectTwin(spec, mixed, {.min_cell = least});
  }
}

// All censored; time 0; the last report time at the bound; all die; one cell has all the events; a
// site with no row or one; a group without rows, without events, with one row.
TEST(SurvivalProtocol, HoldsAtTheEdges) {
  const Spec spec = FollowUpSpec(2, 20, {5, 12, 20});
  const Parts drawn = DrawParts(9, {120, 130}, 2, 20);
  Parts censored = drawn;
  for (auto& part : censored)
    for (Patient& patient : part) patient.died = false;
  ExpectTwin(spec, censored, {});
  Parts at_zero = drawn;
  for (auto& part : at_zero)
    for (size_t i = 0; i < 20; ++i) part[i].days = 0;
  ExpectTwin(spec, at_zero, {});
  Parts dead = drawn;
  for (auto& part : dead)
    for (Patient& patient : part) patient.died = true;
  ExpectTwin(spec, dead, {});
  Parts tied = drawn;
  for (auto& part : tied)
    for (Patient& patient : part)
      if (patient.died) patient.days = 7;
  ExpectTwin(spec, tied, {});
  ExpectTwin(spec, {drawn[0], {}, drawn[1]}, {});
  ExpectTwin(spec, {drawn[0], {}}, {});
  ExpectTwin(spec, {drawn[0], {{4, true, 1}}, drawn[1]}, {});
  Parts one_arm = drawn;
  for (auto& part : one_arm)
    for (Patient& patient : part) patient.arm = 1;
  ExpectTwin(spec, one_arm, {});
  one_arm[0][0].arm = 0;
  ExpectTwin(spec, one_arm, {.min_cell = 1});
  Parts immortal = drawn;
  for (auto& part : immortal)
    for (Patient& patient : part) patient.died = patient.died && patient.arm == 1;
  ExpectTwin(spec, immortal, {});
  ExpectTwin(FollowUpSpec(3, 20, {5, 12}), drawn, {});
  ExpectTwin(FollowUpSpec(2, 1, {0, 1}), DrawParts(10, {60, 60}, 2, 1), {});
}

// The messages tell nothing of what is withheld.
TEST(SurvivalProtocol, CostsTheSameWhateverIsWithheld) {
  const Spec spec = FollowUpSpec(2, 30, {10, 20});
  const Parts parts = DrawParts(11, {60, 60}, 2, 30);
  const Ran strict = RunCurves(spec, parts, {.min_cell = 1000});
  const Ran open = RunCurves(spec, parts, {.min_cell = 1});
  EXPECT_EQ(strict.depth, open.depth);
  EXPECT_EQ(strict.opened->rows, (std::vector<uint64_t>{0, 0}));
  EXPECT_GT(open.opened->rows[0], 0u);
}

// Exactly min_rows rows are enough; everybody hears so.
TEST(SurvivalProtocol, CountsRows) {
  const Spec spec = FollowUpSpec(2, 10, {5});
  const Parts parts = DrawParts(12, {15, 10}, 2, 10);
  const Task task = TaskOf(spec, parts, {});
  const std::vector<OwnCounts> own = CountsOf(spec, parts);
  for (const auto& [asked, enough] : std::vector<std::pair<uint64_t, bool>>{
           {1, true}, {25, true}, {26, false}, {uint64_t{1} << 60, false}}) {
    const uint64_t min_rows = asked;
    mpc::testing::RunOptions run;
    run.releases = {{kDisclosureRelease, "one bit", "all", "exact", 1, mpc::kEverybody, 1}};
    std::vector<std::optional<bool>> answers(2);
    const OwnCounts none;
    const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
      const std::optional<size_t> self = engine.self();
      const RiskSets sets = ShareRiskSets(engine, task, self ? own[*self] : none);
      const std::optional<bool> answer = EnoughRows(engine, task, sets, min_rows);
      EXPECT_EQ(answer.has_value(), self.has_value());
      if (self) answers[*self] = answer;
    });
    result.ThrowIfFailed();
    for (const auto& answer : answers) EXPECT_EQ(answer, enough) << min_rows;
  }
}

TEST(SurvivalTimeGrid, CoversTheBounds) {
  const TimeGrid days = data::GridOf(testing::OutcomeSchema(30), 1);
  EXPECT_EQ(days.cells, 31u);
  for (size_t day = 0; day <= 30; ++day) {
    EXPECT_EQ(days.Of(static_cast<double>(day)), day);
    EXPECT_EQ(days.EndingAt(static_cast<double>(day)), day);
  }
  EXPECT_EQ(days.Of(2.5), 3u);
  EXPECT_EQ(days.Of(-1), 0u);
  EXPECT_EQ(days.Of(99), 30u);
  EXPECT_FALSE(days.EndingAt(2.5));
  EXPECT_FALSE(days.EndingAt(31));
  const TimeGrid weeks = data::GridOf(testing::OutcomeSchema(30), 7);
  EXPECT_EQ(weeks.cells, 6u);
  EXPECT_EQ(weeks.Of(0), 0u);
  EXPECT_EQ(weeks.Of(7), 1u);
  EXPECT_EQ(weeks.Of(8), 2u);
  EXPECT_EQ(weeks.Of(30), 5u);
  const TimeGrid tenths = data::GridOf(testing::OutcomeSchema(1), 0.1);
  EXPECT_EQ(tenths.cells, 11u);
  for (int tenth = 0; tenth <= 10; ++tenth)
    EXPECT_EQ(tenths.Of(tenth / 10.0), static_cast<size_t>(tenth));
  EXPECT_THROW(data::GridOf(testing::OutcomeSchema(20000), 1), Error);
}

}  // namespace
}  // namespace partita::methods::survival::protocol_test
