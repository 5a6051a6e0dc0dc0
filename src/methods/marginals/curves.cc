#include "methods/marginals/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/csv_writer.h"
#include "methods/marginals/counts.h"

namespace partita::methods::marginals {
namespace {

using Json = nlohmann::ordered_json;
using stats::survival::NoisedMedian;
using stats::survival::NoisedPoint;

constexpr char kNone[] = "-";

using Curve = std::vector<NoisedPoint>;

double TwoSided(double confidence) {
  return boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2);
}

std::string GroupName(const CurveCells& cells, size_t group) {
  return cells.groups ? cells.groups->schema.levels[group] : "all";
}

std::string GroupTitle(const CurveCells& cells) {
  return cells.groups ? cells.groups->schema.name : "group";
}

std::string PercentText(const CurveCells& cells) {
  return fmt::format("{:g} %", 100 * cells.confidence);
}

std::string TimeName(const CurveCells& cells) {
  const data::ColumnSchema& outcome = cells.outcome;
  return outcome.unit.empty() || outcome.unit == outcome.time_column
             ? outcome.time_column
             : fmt::format("{} ({})", outcome.time_column, outcome.unit);
}

double BeginOf(const CurveCells& cells, size_t interval) {
  return interval == 0 ? cells.outcome.lower : cells.ends[interval - 1];
}

stats::survival::NoisyExits ExitsOf(const CurveCells& cells, const OpenedTables& opened,
                                    size_t group) {
  return ExitsOfGroup(cells, group, opened.noisy.cells, opened.noisy.noise_stddev);
}

// As counted.
double RowsOf(const stats::survival::NoisyExits& exits) {
  double rows = exits.after;
  for (size_t j = 0; j < exits.events.size(); ++j) rows += exits.events[j] + exits.left[j];
  return rows;
}

std::string NumberText(double value) { return fmt::format("{:.4g}", value); }

study::DocumentTable CurveTable(const CurveCells& cells, const std::vector<Curve>& curves) {
  study::DocumentTable table;
  table.columns = {GroupTitle(cells),
                   TimeName(cells),
                   "survival",
                   "std. error",
                   "of it noise",
                   PercentText(cells) + " from",
                   "to"};
  for (size_t g = 0; g < curves.size(); ++g) {
    for (const size_t j : cells.report) {
      const NoisedPoint& point = curves[g][j];
      const double survival = point.survival.value_or(0);
      const auto text = [&](double value) { return point.survival ? NumberText(value) : kNone; };
      table.rows.push_back({GroupName(cells, g), fmt::format("{}", cells.ends[j]), text(survival),
                            text(survival * point.error_of_log),
                            text(survival * point.noise_of_log), NumberText(point.lower),
                            NumberText(point.upper)});
    }
  }
  return table;
}

// "383 (+-12)": with the noise's interval.
std::string FollowedText(double followed, double deviation, double z) {
  return fmt::format("{:.0f} (±{:.0f})", std::round(followed) + 0.0, std::ceil(z * deviation));
}

study::DocumentTable FollowedTable(const CurveCells& cells, const OpenedTables& opened,
                                   const std::vector<Curve>& curves) {
  study::DocumentTable table;
  table.columns = {GroupTitle(cells), "all"};
  for (const size_t j : cells.report)
    table.columns.push_back(fmt::format("after {}", cells.ends[j]));
  const double z = TwoSided(cells.confidence);
  for (size_t g = 0; g < curves.size(); ++g) {
    const stats::survival::NoisyExits exits = ExitsOf(cells, opened, g);
    const double deviation =
        exits.noise_stddev * std::sqrt(static_cast<double>(cells.cells_of_group()));
    std::vector<study::DocumentCell> row = {GroupName(cells, g),
                                            FollowedText(RowsOf(exits), deviation, z)};
    for (const size_t j : cells.report) {
      row.emplace_back(FollowedText(curves[g][j].followed, curves[g][j].followed_noise, z));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

study::DocumentTable MedianTable(const CurveCells& cells, const std::vector<Curve>& curves) {
  study::DocumentTable table;
  table.columns = {GroupTitle(cells), "median", PercentText(cells) + " from", "to"};
  for (size_t g = 0; g < curves.size(); ++g) {
    const NoisedMedian median = stats::survival::MedianOf(curves[g]);
    table.rows.push_back({GroupName(cells, g),
                          median.estimate
                              ? fmt::format("{} to {}", BeginOf(cells, *median.estimate),
                                            cells.ends[*median.estimate])
                              : kNone,
                          median.lower ? fmt::format("{}", BeginOf(cells, *median.lower)) : kNone,
                          median.upper ? fmt::format("{}", cells.ends[*median.upper]) : kNone});
  }
  return table;
}

study::DocumentTable DifferenceTable(const CurveCells& cells, const std::vector<Curve>& curves) {
  study::DocumentTable table;
  table.title = fmt::format("Survival less that of {}", GroupName(cells, 0));
  table.columns = {GroupTitle(cells), TimeName(cells), "difference", PercentText(cells) + " from",
                   "to"};
  for (size_t g = 1; g < curves.size(); ++g) {
    for (const size_t j : cells.report) {
      const auto difference = stats::survival::DifferenceOf(curves[g][j], curves[0][j]);
      const auto text = [&](double value) { return difference ? NumberText(value) : kNone; };
      table.rows.push_back({GroupName(cells, g), fmt::format("{}", cells.ends[j]),
                            text(difference ? difference->estimate : 0),
                            text(difference ? difference->lower : 0),
                            text(difference ? difference->upper : 0)});
    }
  }
  return table;
}

// Lines join what is known at the ends of intervals; the interval at each report time, those of several
// curves side by side.
study::DocumentPlot CurvePlot(const CurveCells& cells, const std::vector<Curve>& curves) {
  constexpr double kApart = 0.01;  // of the axis
  study::DocumentPlot plot;
  plot.title = "Survival by " + (cells.groups ? cells.groups->schema.name : std::string("time"));
  plot.x_label = TimeName(cells);
  plot.y_label = "survival";
  plot.note = fmt::format(
      "From noised counts: known at the ends of intervals only, which lines join. Bars are "
      "intervals of "
      "{} at the report times{}.",
      PercentText(cells), curves.size() > 1 ? ", side by side" : "");
  const double width = cells.ends.back() - cells.outcome.lower;
  std::vector<study::DocumentSeries> bars;
  for (size_t g = 0; g < curves.size(); ++g) {
    const double aside =
        kApart * width * (static_cast<double>(g) - 0.5 * static_cast<double>(curves.size() - 1));
    study::DocumentSeries line{GroupName(cells, g), {cells.outcome.lower}, {1}, {}};
    for (size_t j = 0; j < cells.ends.size(); ++j) {
      if (!curves[g][j].survival) break;
      line.x.push_back(cells.ends[j] + aside);
      line.y.push_back(*curves[g][j].survival);
    }
    for (const size_t j : cells.report) {
      const double x = cells.ends[j] + aside;
      if (curves[g][j].survival)
        bars.push_back({line.name, {x, x}, {curves[g][j].lower, curves[g][j].upper}});
    }
    if (line.x.size() > 1) plot.series.push_back(std::move(line));
  }
  plot.series.insert(plot.series.end(), bars.begin(), bars.end());
  return plot;
}

bool HasGaps(const CurveCells& cells, const std::vector<Curve>& curves) {
  return std::ranges::any_of(
      curves, [&](const Curve& curve) { return !curve[cells.report.back()].survival; });
}

study::DocumentSection CurveSection(const MarginalsStudy& study, const OpenedTables& opened,
                                    const std::vector<Curve>& curves) {
  const CurveCells& cells = *study.spec.curves;
  study::DocumentSection section;
  section.heading = "Curves";
  section.paragraphs.push_back(
      fmt::format("{}, from counts with noise of standard deviation {} rows of who had the event "
                  "and who left without it in "
                  "each of {} intervals of time.",
                  cells.formula, study.NoiseText(), cells.ends.size()));
  section.tables = {CurveTable(cells, curves), FollowedTable(cells, opened, curves),
                    MedianTable(cells, curves)};
  if (curves.size() > 1) section.tables.push_back(DifferenceTable(cells, curves));
  study::DocumentPlot plot = CurvePlot(cells, curves);
  if (!plot.series.empty()) section.plots.push_back(std::move(plot));
  section.paragraphs.push_back(
      "Intervals of survival and of differences contain sampling, the noise, and that nobody knows "
      "when "
      "within an interval rows leave without the event: the estimate takes half of them for having "
      "left before "
      "its events. Those who are followed have the noise alone. A median lies in the interval of "
      "time that is "
      "shown; from and to are where its interval begins and ends.");
  if (HasGaps(cells, curves)) {
    section.paragraphs.push_back(fmt::format(
        "A dash: those who are followed further are fewer than {:g} standard deviations of their "
        "noise, and may "
        "be noise. Fewer intervals of time, fewer groups or a larger epsilon show more.",
        stats::survival::kClearOfNoise));
  }
  section.paragraphs.emplace_back(
      "There is no log-rank test: its law is that of exact counts, and under noise it would reject "
      "too often.");
  return section;
}

std::string CurvesCsv(const CurveCells& cells, const std::vector<Curve>& curves) {
  std::string csv = "strata,time,n.after,estimate,std.error,conf.low,conf.high\n";
  for (size_t g = 0; g < curves.size(); ++g) {
    for (size_t j = 0; j < cells.ends.size(); ++j) {
      const NoisedPoint& point = curves[g][j];
      csv += fmt::format("{},{},{}", data::QuotedField(GroupName(cells, g), ','), cells.ends[j],
                         point.followed);
      csv += point.survival
                 ? fmt::format(",{},{}", *point.survival, *point.survival * point.error_of_log)
                 : std::string(",,");
      csv += fmt::format(",{},{}\n", point.lower, point.upper);
    }
  }
  return csv;
}

Json PointsJson(const CurveCells& cells, const stats::survival::NoisyExits& exits,
                const Curve& curve) {
  Json points = Json::array();
  for (size_t j = 0; j < curve.size(); ++j) {
    const NoisedPoint& point = curve[j];
    const auto known = [&](double value) { return point.survival ? Json(value) : Json(nullptr); };
    const double survival = point.survival.value_or(0);
    points.push_back({{"time", cells.ends[j]},
                      {"events", exits.events[j]},
                      {"censored", exits.left[j]},
                      {"remaining", point.followed},
                      {"remaining_noise", point.followed_noise},
                      {"survival", known(survival)},
                      {"standard_error", known(survival * point.error_of_log)},
                      {"standard_error_of_log", known(point.error_of_log)},
                      {"noise_of_log", known(point.noise_of_log)},
                      {"lower", point.lower},
                      {"upper", point.upper}});
  }
  return points;
}

// As of exact curves, whose medians may be known as two times between which they lie.
Json MedianJson(const CurveCells& cells, const Curve& curve) {
  const NoisedMedian median = stats::survival::MedianOf(curve);
  Json within = nullptr, lower = nullptr, upper = nullptr;
  if (median.estimate) within = {BeginOf(cells, *median.estimate), cells.ends[*median.estimate]};
  if (median.lower) lower = BeginOf(cells, *median.lower);
  if (median.upper) upper = cells.ends[*median.upper];
  return {{"estimate", nullptr},
          {"lower", lower},
          {"upper", upper},
          {"within", {{"estimate", within}, {"lower", nullptr}, {"upper", nullptr}}}};
}

Json CurveJson(const CurveCells& cells, const OpenedTables& opened, size_t group,
               const Curve& curve) {
  const stats::survival::NoisyExits exits = ExitsOf(cells, opened, group);
  return {{"group", cells.groups ? Json(GroupName(cells, group)) : Json(nullptr)},
          {"withheld", false},
          {"rows", RowsOf(exits)},
          {"points", PointsJson(cells, exits, curve)},
          {"median", MedianJson(cells, curve)}};
}

Json DifferencesJson(const CurveCells& cells, const std::vector<Curve>& curves) {
  Json differences = Json::array();
  for (size_t g = 1; g < curves.size(); ++g) {
    for (const size_t j : cells.report) {
      const auto difference = stats::survival::DifferenceOf(curves[g][j], curves[0][j]);
      if (!difference) continue;
      differences.push_back({{"group", GroupName(cells, g)},
                             {"reference", GroupName(cells, 0)},
                             {"time", cells.ends[j]},
                             {"estimate", difference->estimate},
                             {"lower", difference->lower},
                             {"upper", difference->upper}});
    }
  }
  return differences;
}

Json JsonOf(const MarginalsStudy& study, const OpenedTables& opened,
            const std::vector<Curve>& curves) {
  const CurveCells& cells = *study.spec.curves;
  Json json = {{"formula", cells.formula},
               {"confidence", cells.confidence},
               {"group", cells.groups ? Json(cells.groups->schema.name) : Json(nullptr)},
               {"report", Json::array()},
               {"rows", study.rows() ? Json(*study.rows()) : Json(nullptr)},
               {"noise_stddev", study.design.noise_stddev()},
               {"curves", Json::array()},
               {"log_rank", nullptr},
               {"differences", DifferencesJson(cells, curves)},
               {"model", kTablesFile},
               {"privacy", Json::parse(opened.privacy)}};
  for (const size_t j : cells.report) json["report"].push_back(cells.ends[j]);
  for (size_t g = 0; g < curves.size(); ++g)
    json["curves"].push_back(CurveJson(cells, opened, g, curves[g]));
  return json;
}

}  // namespace

std::vector<Curve> CurvesOf(const MarginalsStudy& study, const OpenedTables& opened) {
  const CurveCells& cells = *study.spec.curves;
  std::vector<Curve> curves;
  for (size_t group = 0; group < cells.num_groups(); ++group) {
    curves.push_back(stats::survival::NoisedCurve(ExitsOf(cells, opened, group), cells.confidence));
  }
  return curves;
}

std::vector<CurveWidth> CurveWidthsFor(const MarginalsStudy& study, double rows) {
  const CurveCells& cells = *study.spec.curves;
  const auto intervals = cells.ends.size();
  const double each = rows / static_cast<double>(cells.num_groups() * cells.cells_of_group());
  const std::vector<double> even(intervals, each);
  const Curve curve = stats::survival::NoisedCurve({even, even, each, study.design.noise_stddev()},
                                                   cells.confidence);
  const double z = TwoSided(cells.confidence);
  std::vector<CurveWidth> widths;
  for (const size_t j : cells.report) {
    const NoisedPoint& point = curve[j];
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    widths.push_back(point.survival ? CurveWidth{z * *point.survival * point.noise_of_log,
                                                 z * *point.survival * point.error_of_log}
                                    : CurveWidth{kInfinity, kInfinity});
  }
  return widths;
}

study::Document NoisedCurvesDocument(const MarginalsStudy& study, const MarginalsRun& result) {
  const OpenedTables opened = OpenedBy(study, result);
  const std::vector<Curve> curves = CurvesOf(study, opened);
  study::Document document;
  document.title = study.file.title.empty() ? "Survival in " + study.file.name : study.file.title;
  document.sections = {CurveSection(study, opened, curves), StatementSection(study)};
  document.files = {{kCurvesFile, CurvesCsv(*study.spec.curves, curves)},
                    {kCountsFile, CountsCsv(study, opened)},
                    {kTablesFile, TablesJson(opened)}};
  document.json = JsonOf(study, opened, curves).dump();
  return document;
}

}  // namespace partita::methods::marginals
