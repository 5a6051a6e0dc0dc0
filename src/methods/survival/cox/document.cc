#include "methods/survival/cox/document.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/csv_writer.h"
#include "data/factor_coding.h"
#include "report/covariance_json.h"

namespace partita::methods::survival {
namespace {

using Json = nlohmann::ordered_json;

std::string IntervalText(double confidence) { return fmt::format("{:g} % from", 100 * confidence); }

const char* NameOfErrors(const CoxSpec& spec) {
  return spec.clustered() ? kClusterErrors : spec.robust ? kRobustErrors : kModelErrors;
}

std::string ErrorsText(const CoxSpec& spec) {
  if (spec.clustered()) return "; standard errors of the clusters of " + spec.cluster;
  return spec.robust ? "; robust standard errors" : "";
}

study::DocumentTable CoefficientTable(const CoxSpec& spec, const CoxResult& result) {
  study::DocumentTable table;
  table.columns = {"term", "log hazard ratio", "std. error",
                   "z",    "p-value",          IntervalText(spec.confidence),
                   "to"};
  for (const CoxCoefficient& row : result.coefficients) {
    table.rows.push_back({row.term, row.estimate, row.standard_error, row.inference.statistic,
                          row.inference.p_value, row.inference.lower, row.inference.upper});
  }
  return table;
}

study::DocumentTable HazardTable(const CoxSpec& spec, const CoxResult& result) {
  study::DocumentTable table;
  table.columns = {"term", "hazard ratio", IntervalText(spec.confidence), "to"};
  for (const CoxCoefficient& row : result.coefficients) {
    table.rows.push_back({row.term, std::exp(row.estimate), std::exp(row.inference.lower),
                          std::exp(row.inference.upper)});
  }
  return table;
}

std::string RoundingText(const CoxTask& task) {
  if (task.spec.covariance) {
    return fmt::format(
        "Estimates are rounded to grids of at most 2^-{} of the standard error, covariances to "
        "steps of the products of two such grids{}; standard errors, intervals and ratios are "
        "computed from the rounded numbers. The covariance matrix is in the result's JSON (vcov). "
        "Numbers of rows and events are exact.",
        task.grid_bits, task.spec.robust ? " (of robust errors)" : "");
  }
  return fmt::format(
      "Estimates and standard errors are rounded to grids of at most 2^-{} of the standard "
      "error{}; intervals and ratios are computed from the rounded numbers. Numbers of rows and "
      "events are exact.",
      task.grid_bits,
      task.spec.robust ? " (estimates of the model's, robust errors of their own)" : "");
}

study::DocumentIntervals HazardPlot(const CoxResult& result) {
  study::DocumentIntervals plot{"Intervals of hazard ratios", "hazard ratio", true, {}};
  for (const CoxCoefficient& row : result.coefficients) {
    plot.rows.push_back({row.term, std::exp(row.inference.lower), std::exp(row.estimate),
                         std::exp(row.inference.upper)});
  }
  return plot;
}

study::DocumentTable CoxTestTable(const CoxSpec& spec, const CoxResult& result) {
  study::DocumentTable table;
  table.columns = {"test of all terms", "chi-square", "degrees of freedom", "p-value"};
  const auto add = [&](const char* name, const CoxTest& test) {
    table.rows.push_back(
        {name, test.chi_square, static_cast<double>(spec.columns.size()), test.p_value});
  };
  add("likelihood ratio", result.likelihood_ratio);
  if (result.wald) add(spec.robust ? "Wald, robust" : "Wald", *result.wald);
  add("score", result.score);
  return table;
}

study::DocumentTable ProportionalTable(const CoxSpec& spec, const CoxResult& result) {
  study::DocumentTable table;
  table.columns = {"proportional hazards", "chi-square", "degrees of freedom", "p-value"};
  for (size_t c = 0; c < result.proportional.size(); ++c) {
    const bool all = c == spec.columns.size();
    const CoxTest& test = result.proportional[c];
    table.rows.push_back({all ? std::string("all terms") : spec.columns[c].name, test.chi_square,
                          all ? static_cast<double>(c) : 1.0, test.p_value});
  }
  return table;
}

Json ProportionalJson(const CoxSpec& spec, const CoxResult& result) {
  if (result.proportional.empty()) return nullptr;
  Json json = {{"transform", kIdentity}, {"terms", Json::array()}};
  for (size_t c = 0; c < spec.columns.size(); ++c) {
    json["terms"].push_back({{"term", spec.columns[c].name},
                             {"chi_square", result.proportional[c].chi_square},
                             {"p_value", result.proportional[c].p_value}});
  }
  json["all"] = {{"chi_square", result.proportional.back().chi_square},
                 {"df", spec.columns.size()},
                 {"p_value", result.proportional.back().p_value}};
  return json;
}

study::DocumentTable CoxFitTable(const CoxSpec& spec, const CoxResult& result) {
  study::DocumentTable table;
  table.columns = {"fit", "value"};
  table.rows = {{"rows", static_cast<double>(result.rows)},
                {"events", static_cast<double>(result.events)}};
  if (spec.clustered()) table.rows.push_back({"clusters", static_cast<double>(result.clusters)});
  table.rows.push_back({"log-likelihood without terms", result.null_log_likelihood});
  table.rows.push_back({"log-likelihood", result.log_likelihood});
  table.rows.push_back({"AIC", result.aic});
  if (result.concordance) table.rows.push_back({"concordance", *result.concordance});
  table.rows.push_back({"steps", static_cast<double>(spec.steps)});
  return table;
}

study::DocumentTable HazardsTable(const CoxSpec& spec, const CoxResult& result) {
  study::DocumentTable table;
  if (!spec.stratum.empty()) table.columns = {spec.stratum};
  table.columns.insert(table.columns.end(), {spec.outcome.time_column, "at covariates 0",
                                             "at the middles of their bounds", "survival there"});
  for (const ReportedHazard& row : result.hazards) {
    std::vector<study::DocumentCell> cells;
    if (!spec.stratum.empty()) cells.emplace_back(row.stratum);
    cells.emplace_back(fmt::format("{:g}", row.time));
    for (const double value : {row.at_zero, row.at_middle, std::exp(-row.at_middle)})
      cells.emplace_back(value);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

study::DocumentSection HazardsSection(const CoxTask& task, const CoxResult& result) {
  study::DocumentSection section;
  section.heading = "Cumulative hazard";
  if (!result.hazards.empty()) section.tables.push_back(HazardsTable(task.spec, result));
  section.paragraphs.push_back(fmt::format(
      "The baseline, ties by {}: of a row whose columns are all 0, as R's basehaz with centered = "
      "FALSE, and of one whose columns are in the middle between their bounds. The logarithm is "
      "rounded to a grid of at most 2^-{} of its standard error.",
      task.spec.most_ties > 1 ? "Efron" : "Breslow", task.grid_bits));
  for (const std::string& stratum : result.withheld_hazards) {
    section.paragraphs.push_back(fmt::format(
        "Withheld of {}: between two report times, or after the last, too few rows would leave "
        "with "
        "the event or without, or enter, of all holders or without one holder's own. Fewer report "
        "times show more.",
        stratum));
  }
  return section;
}

Json HazardsJson(const CoxResult& result) {
  Json json = {{"withheld", result.withheld_hazards}, {"cumulated", Json::array()}};
  for (const ReportedHazard& row : result.hazards) {
    json["cumulated"].push_back({{"stratum", row.stratum.empty() ? Json() : Json(row.stratum)},
                                 {"time", row.time},
                                 {"at_zero", row.at_zero},
                                 {"at_middle", row.at_middle},
                                 {"step_of_log", row.step_of_log}});
  }
  return json;
}

study::DocumentTable CoxPathTable(const CoxResult& result) {
  study::DocumentTable table;
  table.columns = {"term"};
  for (size_t t = 0; t < result.path.front().at.size(); ++t)
    table.columns.push_back(fmt::format("after step {}", t + 1));
  for (const CoxPath& row : result.path) {
    std::vector<study::DocumentCell> cells = {row.term};
    for (const double value : row.at) cells.emplace_back(value);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string CoefficientsCsv(const CoxResult& result) {
  std::string csv =
      "term,estimate,std.error,statistic,p.value,conf.low,conf.high,ratio,ratio.low,ratio.high\n";
  for (const CoxCoefficient& row : result.coefficients) {
    csv += data::QuotedField(row.term, ',');
    for (const double value :
         {row.estimate, row.standard_error, row.inference.statistic, row.inference.p_value,
          row.inference.lower, row.inference.upper, std::exp(row.estimate),
          std::exp(row.inference.lower), std::exp(row.inference.upper)})
      csv += fmt::format(",{}", value);
    csv += "\n";
  }
  return csv;
}

Json CoefficientJson(const CoxCoefficient& row) {
  return {{"term", row.term},
          {"estimate", row.estimate},
          {"standard_error", row.standard_error},
          {"step", row.step},
          {"statistic", row.inference.statistic},
          {"p_value", row.inference.p_value},
          {"lower", row.inference.lower},
          {"upper", row.inference.upper},
          {"ratio",
           {{"estimate", std::exp(row.estimate)},
            {"lower", std::exp(row.inference.lower)},
            {"upper", std::exp(row.inference.upper)}}}};
}

std::string CoxJson(const CoxTask& task, const data::Schema& factors, const CoxResult& result) {
  const CoxSpec& spec = task.spec;
  Json strata = Json::array();
  if (!spec.stratum.empty()) strata.push_back(spec.stratum);
  if (spec.by_site) strata.push_back(kSite);
  Json json = {{"formula", spec.formula},       {"model", kCoxModel},
               {"ties", NameOfTies(spec)},      {"errors", NameOfErrors(spec)},
               {"strata", std::move(strata)},   {"cell", spec.grid.width},
               {"converged", result.converged}, {"steps", spec.steps},
               {"confidence", spec.confidence}, {"rows", result.rows},
               {"events", result.events}};
  json["clusters"] = spec.clustered() ? Json(result.clusters) : Json(nullptr);
  json["factors"] = data::FactorCodingsJson(spec, factors);
  json["coefficients"] = Json::array();
  for (const CoxCoefficient& row : result.coefficients)
    json["coefficients"].push_back(CoefficientJson(row));
  std::vector<std::string> terms;
  for (const CoxCoefficient& row : result.coefficients) terms.push_back(row.term);
  json["vcov"] = report::CovarianceJson(terms, result.covariance, result.covariance_steps);
  json["fit"] = nullptr;
  if (result.converged) {
    const auto test = [&](const CoxTest& of) {
      return Json{
          {"chi_square", of.chi_square}, {"df", spec.columns.size()}, {"p_value", of.p_value}};
    };
    json["fit"] = {{"null_log_likelihood", result.null_log_likelihood},
                   {"log_likelihood", result.log_likelihood},
                   {"aic", result.aic},
                   {"likelihood_ratio", test(result.likelihood_ratio)},
                   {"wald", result.wald ? test(*result.wald) : Json()},
                   {"score", test(result.score)},
                   {"proportional", ProportionalJson(spec, result)},
                   {"concordance", result.concordance ? Json(*result.concordance) : Json()},
                   {"hazard", spec.report.empty() ? Json() : HazardsJson(result)}};
  }
  json["path"] = Json::array();
  for (const CoxPath& row : result.path)
    json["path"].push_back({{"term", row.term}, {"at", row.at}});
  json["warnings"] = result.warnings;
  return json.dump();
}

study::DocumentSection NotConverged(const CoxResult& result) {
  study::DocumentSection section;
  section.heading = "Not converged";
  section.paragraphs.emplace_back(
      "There are no estimates: after the last step the score was not zero, a linear predictor was "
      "beyond all bounds, a column became collinear, or a robust standard error was more than 32 "
      "times that of the model. The points below are steps on the way and "
      "not estimates of anything.");
  if (!result.moving.empty()) {
    std::string names;
    for (const std::string& name : result.moving) names += (names.empty() ? "" : ", ") + name;
    section.paragraphs.push_back(fmt::format(
        "The last step still moved by more than a standard error: {}. If these are far from 0 and "
        "move on step by step, all events are at one end of them (the likelihood grows for ever), "
        "and there is no finite estimate: join levels, or leave the term out.",
        names));
  }
  section.paragraphs.emplace_back(
      "If nothing runs away, ask for more steps in a new study (`steps`).");
  section.tables.push_back(CoxPathTable(result));
  return section;
}

}  // namespace

study::Document CoxDocument(const std::string& title, const CoxTask& task,
                            const data::Schema& factors, const CoxResult& result) {
  const CoxSpec& spec = task.spec;
  study::Document document;
  document.title = title;
  document.json = CoxJson(task, factors, result);
  if (!result.converged) {
    document.ending = study::Ending::kNotConverged;
    document.sections.push_back(NotConverged(result));
    return document;
  }
  study::DocumentSection coefficients;
  coefficients.heading = "Hazard ratios";
  coefficients.paragraphs.push_back(spec.formula + ", Cox's proportional hazards, ties by " +
                                    (spec.most_ties > 1 ? "Efron" : "Breslow") + ErrorsText(spec) +
                                    ".");
  if (std::string coding = data::CodingText(spec, factors, ""); !coding.empty())
    coefficients.paragraphs.push_back(std::move(coding));
  coefficients.tables = {CoefficientTable(spec, result), HazardTable(spec, result)};
  coefficients.intervals.push_back(HazardPlot(result));
  coefficients.paragraphs.push_back(RoundingText(task));
  if (spec.robust) {
    coefficients.paragraphs.emplace_back(
        "The likelihood ratio and score tests are of the model; standard errors and Wald's test "
        "hold "
        "in large samples also where hazards are not proportional. " +
        std::string(spec.clustered() ? "Only these allow rows of a cluster to depend on each other."
                                     : "All of them take the rows for independent."));
  }
  for (const std::string& warning : result.warnings) coefficients.paragraphs.push_back(warning);
  study::DocumentSection fit;
  fit.heading = "Fit";
  fit.tables = {CoxTestTable(spec, result), CoxFitTable(spec, result)};
  if (!result.proportional.empty()) {
    fit.tables.insert(fit.tables.begin() + 1, ProportionalTable(spec, result));
    fit.paragraphs.emplace_back(
        "Proportional hazards: whether the log hazard ratios change linearly with time, as R's "
        "cox.zph with transform = \"identity\". A small p-value says that a term's ratio is not "
        "the "
        "same early and late.");
  }
  document.files.push_back({kCoxFile, CoefficientsCsv(result)});
  document.sections = {std::move(coefficients), std::move(fit)};
  if (!spec.report.empty()) document.sections.push_back(HazardsSection(task, result));
  return document;
}

}  // namespace partita::methods::survival
