#include "methods/survival/result.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "methods/survival/medians.h"
#include "stats/survival/log_rank.h"

namespace partita::methods::survival {
namespace {

std::string NameOf(const Spec& spec, size_t group) {
  return spec.group ? spec.group->schema.levels[group] : "all";
}

std::vector<CurvePoint> PointsOf(const Spec& spec, const OpenedCurves& opened, size_t group) {
  const double z = boost::math::quantile(
      boost::math::complement(boost::math::normal(), (1 - spec.confidence) / 2));
  std::vector<CurvePoint> points;
  uint64_t before = opened.rows[group];
  for (size_t r = 0; r < spec.report.size(); ++r) {
    const size_t entry = r * spec.num_groups() + group;
    CurvePoint point;
    point.time = spec.grid.End(spec.report[r]);
    point.events = opened.events[entry];
    point.remaining = opened.remaining[entry];
    point.censored = before - point.remaining - point.events;
    before = point.remaining;
    if (point.remaining > 0) {
      point.step = opened.steps[entry];
      point.error_of_log = opened.errors[entry];
      const double log_survival = std::min(opened.log_survival[entry], 0.0);
      point.survival = std::exp(log_survival);
      point.lower = std::exp(log_survival - z * point.error_of_log);
      point.upper = std::min(1.0, std::exp(log_survival + z * point.error_of_log));
    }
    points.push_back(point);
  }
  return points;
}

MedianTime TimeOf(const TimeGrid& grid, const MedianPlace& place) {
  MedianTime time{grid.End(place.last), {}};
  if (place.first < place.last) time.after = grid.End(std::max<size_t>(place.first, 1) - 1);
  return time;
}

GroupCurve CurveOf(const Spec& spec, const OpenedCurves& opened, size_t group) {
  GroupCurve curve;
  curve.name = NameOf(spec, group);
  curve.withheld = !opened.passes[group];
  if (curve.withheld) return curve;
  curve.rows = opened.rows[group];
  curve.points = PointsOf(spec, opened, group);
  for (const CurvePoint& point : curve.points) curve.events += point.events;
  const std::vector<MedianPlace> places = MedianPlaces(spec);
  std::optional<MedianTime>* const medians[] = {&curve.median, &curve.median_lower,
                                                &curve.median_upper};
  for (size_t m = 0; m < kMediansOfGroup; ++m) {
    const uint64_t place = opened.medians[group * kMediansOfGroup + m];
    if (place > 0) *medians[m] = TimeOf(spec.grid, places.at(place - 1));
  }
  return curve;
}

LogRankTest TestOf(const Spec& spec, const OpenedLogRank& opened) {
  LogRankTest test;
  test.withheld = !opened.passes;
  if (test.withheld) return test;
  for (size_t g = 0; g < spec.num_groups(); ++g) {
    LogRankRow row{NameOf(spec, g), {}, {}, opened.differences[g], opened.errors[g],
                   opened.steps[g]};
    if (opened.shows_observed) {
      row.observed = opened.observed[g];
      row.expected = static_cast<double>(opened.observed[g]) - opened.differences[g];
    }
    test.rows.push_back(std::move(row));
    if (opened.steps[g] > 0) ++test.df;
  }
  test.df = std::max(test.df - 1, 0);
  test.chi_square = test.df > 0 ? std::max(opened.chi_square, 0.0) : 0;
  test.p_value = stats::survival::ChiSquareTail(test.chi_square, test.df);
  return test;
}

}  // namespace

SurvivalCurves CurvesOfOpened(const Spec& spec, const OpenedCurves& opened) {
  SurvivalCurves curves;
  for (size_t g = 0; g < spec.num_groups(); ++g) curves.groups.push_back(CurveOf(spec, opened, g));
  if (opened.log_rank) curves.test = TestOf(spec, *opened.log_rank);
  return curves;
}

}  // namespace partita::methods::survival
