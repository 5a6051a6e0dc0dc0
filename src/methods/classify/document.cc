// What a classification found, for people and programs.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "methods/classify/study.h"
#include "privacy/rounded_text.h"

namespace partita::methods::classify {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> CoefficientNames(const Spec& spec) {
  std::vector<std::string> names;
  for (const data::DesignColumn& column : spec.columns) names.push_back(column.schema.name);
  names.emplace_back("(intercept)");
  return names;
}

study::DocumentSection Coefficients(const Spec& spec, const ClassificationResult& result) {
  study::DocumentSection section;
  section.heading = "Coefficients";
  study::DocumentTable table;
  table.columns = {"column"};
  const std::vector<std::string> names = CoefficientNames(spec);
  if (spec.binary()) {
    table.title = fmt::format("Log odds of {} = {}, per unit of each column", spec.outcome,
                              spec.levels[spec.positive]);
    table.columns.emplace_back("coefficient");
  } else {
    table.title = fmt::format("Log odds of each level of {} against the rest", spec.outcome);
    table.columns.insert(table.columns.end(), spec.levels.begin(), spec.levels.end());
  }
  if (result.intervals) {
    for (const char* more : {"one-step estimate", "standard error", "lower", "upper"}) {
      table.columns.emplace_back(more);
    }
  }
  for (size_t j = 0; j < names.size(); ++j) {
    const auto row = static_cast<Eigen::Index>(j);
    std::vector<study::DocumentCell> cells = {names[j]};
    for (Eigen::Index level = 0; level < result.coefficients.cols(); ++level) {
      cells.emplace_back(result.coefficients(row, level));
    }
    if (result.intervals) {
      cells.emplace_back(result.intervals->estimate(row));
      cells.emplace_back(std::sqrt(result.intervals->covariance(row, row)));
      cells.emplace_back(result.intervals->lower(row));
      cells.emplace_back(result.intervals->upper(row));
    }
    table.rows.push_back(std::move(cells));
  }
  section.tables.push_back(std::move(table));
  if (!DrawsNoise(spec.protocol)) {
    section.paragraphs.emplace_back("The coefficients are shrunk by the penalty.");
  } else {
    section.paragraphs.emplace_back(
        "The coefficients carry privacy noise and are shrunk by the penalty.");
  }
  if (spec.protocol == Protocol::kOwn) {
    section.paragraphs.emplace_back(
        "Exact, computed from this party's rows; shown here and kept in no file.");
    section.own_rows = true;
  } else if (!IsPrivate(spec.protocol)) {
    section.paragraphs.emplace_back(
        "NOT private: no privacy statement covers what was opened to find them.");
  }
  if (result.intervals) {
    section.paragraphs.push_back(fmt::format(
        "Intervals of level {:g} contain the sampling of the rows and the privacy noise. They are "
        "of "
        "the one-step estimate, which removes the penalty to first order; its step was {:.2g} "
        "standard errors long, and beyond two the intervals are too short.",
        spec.level, result.intervals->step));
  }
  if (result.hidden_curvature) {
    section.paragraphs.emplace_back(
        "There are no intervals: the noise hides the curvature of the loss. More rows, a larger "
        "epsilon or fewer columns would show it.");
  }
  return section;
}

std::vector<study::DocumentCell> ShareCells(const char* name, const Share& share) {
  return {std::string(name), share.value, share.standard_error};
}

study::DocumentSection EvaluationSection(const std::string& heading, const Evaluated& evaluation) {
  study::DocumentSection section;
  section.heading = heading;
  section.tables.push_back({"Test rows",
                            {"measure", "value", "standard error"},
                            {ShareCells("accuracy", evaluation.accuracy),
                             ShareCells("sensitivity", evaluation.sensitivity),
                             ShareCells("specificity", evaluation.specificity),
                             ShareCells("area under the ROC curve", evaluation.area)}});
  const auto& table = evaluation.confusion;
  section.tables.push_back(
      {"Confusion at a predicted probability of 1/2",
       {"", "called positive", "called negative"},
       {{std::string("positive"), table.true_positive, table.false_negative},
        {std::string("negative"), table.false_positive, table.true_negative}}});
  study::DocumentSeries roc{"classifier", {}, {}};
  for (const auto& point : evaluation.roc) {
    roc.x.push_back(point.false_positive);
    roc.y.push_back(point.true_positive);
  }
  section.plots.push_back({"ROC curve",
                           "false positive rate",
                           "true positive rate",
                           {std::move(roc), {"chance", {0, 1}, {0, 1}}}});
  if (!evaluation.calibration.empty()) {
    study::DocumentSeries calibration{"test rows", {}, {}};
    for (const auto& bin : evaluation.calibration) {
      calibration.x.push_back((bin.lower + bin.upper) / 2);
      calibration.y.push_back(bin.share_positive.value);
    }
    section.plots.push_back({"Calibration",
                             "predicted probability",
                             "share of positive rows",
                             {std::move(calibration), {"ideal", {0, 1}, {0, 1}}}});
  }
  return section;
}

study::DocumentSection LocalConfusion(const Spec& spec, const ClassificationResult& result) {
  study::DocumentSection section;
  section.heading = "Own test rows";
  section.paragraphs.emplace_back(
      "Exact, computed from this party's rows; shown here and kept in no file.");
  if (result.local_confusion.size() == 0) return section;
  study::DocumentTable table{"Rows by level (lines) and predicted level", {spec.outcome}, {}};
  table.columns.insert(table.columns.end(), spec.levels.begin(), spec.levels.end());
  for (size_t i = 0; i < spec.levels.size(); ++i) {
    std::vector<study::DocumentCell> cells = {spec.levels[i]};
    for (size_t j = 0; j < spec.levels.size(); ++j) {
      cells.emplace_back(
          result.local_confusion(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)));
    }
    table.rows.push_back(std::move(cells));
  }
  section.tables.push_back(std::move(table));
  return section;
}

Json Numbers(const Eigen::VectorXd& vector) {
  return std::vector<double>(vector.begin(), vector.end());
}

Json EvaluationJson(const Evaluated& evaluation) {
  return {{"accuracy", evaluation.accuracy.value},
          {"accuracy_standard_error", evaluation.accuracy.standard_error},
          {"sensitivity", evaluation.sensitivity.value},
          {"specificity", evaluation.specificity.value},
          {"area", evaluation.area.value},
          {"area_standard_error", evaluation.area.standard_error},
          {"positives", evaluation.positives},
          {"negatives", evaluation.negatives}};
}

std::string JsonOf(const Spec& spec, const ClassificationResult& result,
                   const std::optional<privacy::Statement>& statement) {
  Json json;
  json["outcome"] = spec.outcome;
  json["columns"] = CoefficientNames(spec);
  if (spec.protocol == Protocol::kOwn) return json.dump();  // for its own eyes
  json["coefficients"] = Json::object();
  for (Eigen::Index level = 0; level < result.coefficients.cols(); ++level) {
    const std::string& name =
        spec.binary() ? spec.levels[spec.positive] : spec.levels[static_cast<size_t>(level)];
    json["coefficients"][name] = Numbers(result.coefficients.col(level));
  }
  if (result.intervals) {
    json["intervals"] = {{"level", spec.level},
                         {"estimate", Numbers(result.intervals->estimate)},
                         {"lower", Numbers(result.intervals->lower)},
                         {"upper", Numbers(result.intervals->upper)},
                         {"step", result.intervals->step}};
  }
  if (result.evaluation) json["evaluation"] = EvaluationJson(*result.evaluation);
  if (statement) json["privacy"] = Json::parse(privacy::StatementJson(*statement));
  return json.dump();
}

}  // namespace

study::Document ClassifyDocument(const ClassifyStudy& study, const ClassificationResult& result,
                                 size_t clipped_rows) {
  const Spec& spec = study.design.spec;
  study::Document document;
  document.title =
      study.file.title.empty()
          ? fmt::format("{} of {}", study.IsPrivate() ? "Private classifier" : "Classifier",
                        spec.outcome)
          : study.file.title;
  document.sections.push_back(Coefficients(spec, result));
  if (clipped_rows > 0) {
    study::DocumentSection own;
    own.heading = "Own rows";
    own.own_rows = true;
    own.paragraphs.push_back(fmt::format(
        "{} of this party's rows were longer than row_norm and were shortened.", clipped_rows));
    document.sections.push_back(std::move(own));
  }
  if (result.evaluation) {
    document.sections.push_back(
        EvaluationSection("Evaluation with noise, all parties' test rows", *result.evaluation));
    document.sections.back().paragraphs.push_back(fmt::format(
        "Rows were counted in bins of predicted probability, with noise of {} on every count; "
        "ties in a bin leave the area between {:.3f} and {:.3f}. Standard errors contain the "
        "noise.",
        privacy::RoundedText(result.counts->noise_stddev, 3, false), result.evaluation->area_lowest,
        result.evaluation->area_highest));
  } else if (result.counts) {
    document.sections.push_back(
        {"Evaluation", {"The noise hides the test rows: there are too few of them."}});
  }
  if (spec.evaluation == Evaluation::kLocal) {
    study::DocumentSection own = LocalConfusion(spec, result);
    if (result.local) {
      study::DocumentSection evaluated = EvaluationSection(own.heading, *result.local);
      evaluated.paragraphs = own.paragraphs;
      own = std::move(evaluated);
    }
    own.own_rows = true;
    document.sections.push_back(std::move(own));
  }
  document.json = JsonOf(spec, result, study.design.statement);
  return document;
}

}  // namespace partita::methods::classify
