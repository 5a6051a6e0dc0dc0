#include "methods/survival/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/csv_writer.h"

namespace partita::methods::survival {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kWithheld[] = "withheld", kNone[] = "-";

std::string PercentText(double confidence) { return fmt::format("{:g} %", 100 * confidence); }

std::string NumberText(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : kNone;
}

std::string MedianText(const std::optional<MedianTime>& median) {
  if (!median) return kNone;
  const std::string time = fmt::format("{:.6g}", median->time);
  return median->after ? fmt::format("{:.6g} to {}", *median->after, time) : time;
}

double ErrorOf(const CurvePoint& point) { return *point.survival * point.error_of_log; }

std::string TimeName(const Spec& spec) {
  const std::string& unit = spec.outcome.unit;
  return unit.empty() || unit == spec.outcome.time_column
             ? spec.outcome.time_column
             : fmt::format("{} ({})", spec.outcome.time_column, unit);
}

std::string GroupName(const Spec& spec) { return spec.group ? spec.group->schema.name : "group"; }

study::DocumentTable CurveTable(const Spec& spec, const SurvivalCurves& curves) {
  study::DocumentTable table;
  table.columns = {GroupName(spec),
                   TimeName(spec),
                   "events",
                   "survival",
                   "std. error",
                   PercentText(spec.confidence) + " from",
                   "to"};
  for (const GroupCurve& curve : curves.groups) {
    if (curve.withheld) {
      table.rows.push_back({curve.name, kWithheld, kNone, kNone, kNone, kNone, kNone});
      continue;
    }
    for (const CurvePoint& point : curve.points) {
      const auto text = [&](double value) {
        return NumberText(point.survival ? std::optional(value) : std::nullopt);
      };
      table.rows.push_back({curve.name, fmt::format("{:g}", point.time),
                            fmt::format("{}", point.events), text(point.survival.value_or(0)),
                            text(point.survival ? ErrorOf(point) : 0), text(point.lower),
                            text(point.upper)});
    }
  }
  return table;
}

study::DocumentTable AtRiskTable(const Spec& spec, const SurvivalCurves& curves) {
  study::DocumentTable table;
  table.columns = {GroupName(spec), "all"};
  for (const size_t cell : spec.report)
    table.columns.push_back(fmt::format("after {:g}", spec.grid.End(cell)));
  for (const GroupCurve& curve : curves.groups) {
    std::vector<study::DocumentCell> row = {curve.name};
    row.emplace_back(curve.withheld ? kWithheld : fmt::format("{}", curve.rows));
    for (size_t r = 0; r < spec.report.size(); ++r)
      row.emplace_back(curve.withheld ? kNone : fmt::format("{}", curve.points[r].remaining));
    table.rows.push_back(std::move(row));
  }
  return table;
}

study::DocumentTable MedianTable(const Spec& spec, const SurvivalCurves& curves) {
  study::DocumentTable table;
  table.columns = {GroupName(spec), "median", PercentText(spec.confidence) + " from", "to"};
  for (const GroupCurve& curve : curves.groups) {
    table.rows.push_back({curve.name, curve.withheld ? kWithheld : MedianText(curve.median),
                          MedianText(curve.median_lower), MedianText(curve.median_upper)});
  }
  return table;
}

study::DocumentTable TestTable(const Spec& spec, const LogRankTest& test) {
  study::DocumentTable table;
  table.columns = {GroupName(spec), "observed", "expected", "observed - expected", "std. error"};
  for (const LogRankRow& row : test.rows)
    table.rows.push_back({row.name, row.observed ? fmt::format("{}", *row.observed) : kWithheld,
                          row.observed ? NumberText(row.expected) : kWithheld,
                          NumberText(row.difference), NumberText(row.error)});
  return table;
}

// Between two report times the curve, which falls, is somewhere in the box from what it is at the
// earlier to what it is at the later; nothing is drawn after the last one. A band of boxes, then the
// interval at each time as a line of no width.
void AddCurve(const Spec& spec, const GroupCurve& curve, study::DocumentPlot& plot) {
  study::DocumentSeries boxes{curve.name, {}, {}, {}};
  double time = spec.grid.lower, survival = 1;
  std::vector<study::DocumentSeries> intervals;
  for (const CurvePoint& point : curve.points) {
    if (!point.survival || point.time <= spec.grid.lower) continue;
    boxes.x.insert(boxes.x.end(), {time, point.time});
    boxes.y.insert(boxes.y.end(), {*point.survival, *point.survival});
    boxes.upper.insert(boxes.upper.end(), {survival, survival});
    intervals.push_back({curve.name, {point.time, point.time}, {point.lower, point.upper}});
    time = point.time;
    survival = *point.survival;
  }
  if (boxes.x.empty()) return;
  plot.series.push_back(std::move(boxes));
  plot.series.insert(plot.series.end(), intervals.begin(), intervals.end());
}

// More curves than this have no boxes, which would hide one another.
constexpr size_t kMostBoxes = 2;

// A line that joins what is known at the report times, and the interval at each; `aside` of the axis
// of times away from them, since intervals of several curves would lie on one another.
void AddJoined(const Spec& spec, const GroupCurve& curve, double aside, study::DocumentPlot& plot) {
  study::DocumentSeries line{curve.name, {spec.grid.lower}, {1}, {}};
  std::vector<study::DocumentSeries> intervals;
  for (const CurvePoint& point : curve.points) {
    if (!point.survival || point.time <= spec.grid.lower) continue;
    const double x = point.time + aside;
    line.x.push_back(x);
    line.y.push_back(*point.survival);
    intervals.push_back({curve.name, {x, x}, {point.lower, point.upper}});
  }
  if (intervals.empty()) return;
  plot.series.push_back(std::move(line));
  plot.series.insert(plot.series.end(), intervals.begin(), intervals.end());
}

study::DocumentPlot CurvePlot(const Spec& spec, const SurvivalCurves& curves) {
  study::DocumentPlot plot;
  plot.title = "Survival by " + (spec.group ? spec.group->schema.name : std::string("time"));
  plot.x_label = TimeName(spec);
  plot.y_label = "survival";
  const auto shown = static_cast<size_t>(
      std::ranges::count_if(curves.groups, [](const GroupCurve& of) { return !of.withheld; }));
  const bool boxes = shown <= kMostBoxes;
  plot.note = fmt::format(
      "Known at the report times only: bars are intervals of {} there, {}.",
      PercentText(spec.confidence),
      boxes ? "and between two of them the curve is somewhere in the box"
            : "side by side; lines only join them, and the curve, which falls, may be anywhere "
              "between its values at two times");
  constexpr double kApart = 0.01;  // of the axis
  double number = -0.5 * static_cast<double>(shown - (shown > 0 ? 1 : 0));
  for (const GroupCurve& curve : curves.groups) {
    if (curve.withheld) continue;
    const double width = curve.points.empty() ? 0 : curve.points.back().time - spec.grid.lower;
    boxes ? AddCurve(spec, curve, plot) : AddJoined(spec, curve, number * kApart * width, plot);
    ++number;
  }
  return plot;
}

std::string CurvesCsv(const SurvivalCurves& curves) {
  std::string csv = "strata,time,n.event,n.censor,n.after,estimate,std.error,conf.low,conf.high\n";
  for (const GroupCurve& curve : curves.groups) {
    for (const CurvePoint& point : curve.points) {
      csv += fmt::format("{},{},{},{},{}", data::QuotedField(curve.name, ','), point.time,
                         point.events, point.censored, point.remaining);
      csv += point.survival ? fmt::format(",{},{},{},{}\n", *point.survival, ErrorOf(point),
                                          point.lower, point.upper)
                            : std::string(",,,,\n");
    }
  }
  return csv;
}

Json NumberJson(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json MedianJson(const GroupCurve& curve) {
  Json exact, within;
  const auto add = [&](const char* name, const std::optional<MedianTime>& median) {
    const bool part = median && median->after;
    exact[name] = median && !part ? Json(median->time) : Json(nullptr);
    within[name] = part ? Json({*median->after, median->time}) : Json(nullptr);
  };
  add("estimate", curve.median);
  add("lower", curve.median_lower);
  add("upper", curve.median_upper);
  exact["within"] = std::move(within);
  return exact;
}

Json PointJson(const CurvePoint& point) {
  const auto known = [&](double value) { return point.survival ? Json(value) : Json(nullptr); };
  return {{"time", point.time},
          {"events", point.events},
          {"censored", point.censored},
          {"remaining", point.remaining},
          {"survival", NumberJson(point.survival)},
          {"standard_error", known(point.survival ? ErrorOf(point) : 0)},
          {"standard_error_of_log", known(point.error_of_log)},
          {"lower", known(point.lower)},
          {"upper", known(point.upper)},
          {"step_of_log", known(point.step)}};
}

Json CurveJson(const GroupCurve& curve, bool grouped) {
  Json json = {{"group", grouped ? Json(curve.name) : Json(nullptr)}, {"withheld", curve.withheld}};
  if (curve.withheld) return json;
  json["rows"] = curve.rows;
  json["points"] = Json::array();
  for (const CurvePoint& point : curve.points) json["points"].push_back(PointJson(point));
  json["median"] = MedianJson(curve);
  return json;
}

Json TestJson(const LogRankTest& test) {
  Json json = {{"withheld", test.withheld}};
  if (test.withheld) return json;
  json["groups"] = Json::array();
  for (const LogRankRow& row : test.rows) {
    json["groups"].push_back({{"group", row.name},
                              {"observed", row.observed ? Json(*row.observed) : Json(nullptr)},
                              {"expected", NumberJson(row.expected)},
                              {"difference", row.difference},
                              {"standard_error", row.error},
                              {"step", row.step}});
  }
  json["chi_square"] = test.chi_square;
  json["df"] = test.df;
  json["p_value"] = test.p_value;
  return json;
}

std::string JsonOf(const Spec& spec, const SurvivalCurves& curves) {
  Json json = {{"formula", spec.formula}, {"confidence", spec.confidence}};
  json["group"] = spec.group ? Json(spec.group->schema.name) : Json(nullptr);
  json["cell"] = spec.grid.width;
  json["curves"] = Json::array();
  for (const GroupCurve& curve : curves.groups)
    json["curves"].push_back(CurveJson(curve, spec.group.has_value()));
  json["log_rank"] = curves.test ? TestJson(*curves.test) : Json(nullptr);
  return json.dump();
}

std::vector<std::string> MedianNotes(const SurvivalCurves& curves, uint64_t min_cell) {
  bool lacking = false, parts = false;
  for (const GroupCurve& curve : curves.groups) {
    for (const auto& median : {curve.median, curve.median_lower, curve.median_upper}) {
      lacking = lacking || !median;
      parts = parts || (median && median->after);
    }
  }
  std::vector<std::string> notes;
  if (parts) {
    notes.push_back(fmt::format(
        "Two times: it lies between them; around it are fewer than {} events, of all holders or "
        "without one holder's own.",
        min_cell));
  }
  if (lacking) {
    notes.push_back(fmt::format(
        "A dash: the curve, or the bound, stays above one half, or fewer than {} events lie "
        "between the report times around the place.",
        min_cell));
  }
  return notes;
}

study::DocumentSection CurveSection(const Task& task, const SurvivalCurves& curves,
                                    uint64_t min_cell) {
  const Spec& spec = task.spec;
  study::DocumentSection section;
  section.heading = "Curves";
  section.paragraphs.push_back(spec.formula + ", by Kaplan and Meier.");
  section.tables = {CurveTable(spec, curves)};
  study::DocumentPlot plot = CurvePlot(spec, curves);
  if (!plot.series.empty()) section.plots.push_back(std::move(plot));
  section.paragraphs.push_back(fmt::format(
      "Counts are exact; events are those since the report time before. The logarithm of survival "
      "and its standard error are rounded to a grid of at most 2^-{} of that error, and the rest "
      "is "
      "computed from them. Survival is left out where no row is followed further.",
      task.grid_bits));
  const auto withheld = [](const GroupCurve& curve) { return curve.withheld; };
  if (std::any_of(curves.groups.begin(), curves.groups.end(), withheld)) {
    section.paragraphs.push_back(fmt::format(
        "Withheld: between two report times, or after the last, there would be fewer than {} rows "
        "of the group that had the event, or that left without, of all holders or without one "
        "holder's own. Fewer report times show more.",
        min_cell));
  }
  return section;
}

study::DocumentSection TestSection(const Spec& spec, const LogRankTest& test, uint64_t min_cell) {
  study::DocumentSection section;
  section.heading = "Log-rank test";
  if (test.withheld) {
    section.paragraphs.push_back(fmt::format(
        "Withheld: some group would have fewer than {} rows or events, of all holders or without "
        "one holder's own.",
        min_cell));
    return section;
  }
  section.paragraphs.push_back(
      fmt::format("Chi-square {:.4g} on {} degrees of freedom, p = {:.4g}.", test.chi_square,
                  test.df, test.p_value));
  section.tables = {TestTable(spec, test)};
  if (!test.rows.front().observed) {
    section.paragraphs.push_back(fmt::format(
        "Observed and expected events are withheld: after the last report time some group would "
        "have fewer than {} events, of all holders or without one holder's own.",
        min_cell));
  }
  return section;
}

}  // namespace

study::Document CurvesDocument(const std::string& title, const Task& task,
                               const SurvivalCurves& curves, uint64_t min_cell) {
  const Spec& spec = task.spec;
  study::Document document;
  document.title = title;
  document.json = JsonOf(spec, curves);
  document.files.push_back({kCurvesFile, CurvesCsv(curves)});
  document.sections.push_back(CurveSection(task, curves, min_cell));
  study::DocumentSection at_risk{"Followed further", {}, {AtRiskTable(spec, curves)}};
  study::DocumentSection medians{"Medians", {}, {MedianTable(spec, curves)}};
  medians.paragraphs = MedianNotes(curves, min_cell);
  document.sections.push_back(std::move(at_risk));
  document.sections.push_back(std::move(medians));
  if (curves.test) document.sections.push_back(TestSection(spec, *curves.test, min_cell));
  return document;
}

}  // namespace partita::methods::survival
