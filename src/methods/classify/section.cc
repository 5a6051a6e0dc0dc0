#include "methods/classify/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::methods::classify {
namespace {

using study::AnalysisSpec;
using study::LocatedText;
using study::Quote;
using study::StudyFile;
using study::TableReader;
using ClassifySpec = Spec;

constexpr size_t kMaxClassifyColumns = 1000, kMaxOutcomeLevels = 50;
constexpr int64_t kMaxClassifyIterations = 1000000;

double Within(const TableReader& reader, const std::string& key, double otherwise, double low,
              double high, const std::string& hint) {
  const auto number = reader.OptionalNumber(key);
  if (!number) return otherwise;
  if (std::isfinite(number->value) && number->value >= low && number->value <= high) {
    return number->value;
  }
  reader.Fail(number->position, fmt::format("'{}' must be from {:g} to {:g}", key, low, high),
              hint);
}

void ReadClassifyOutcome(const TableReader& reader, const StudyFile& study, ClassifySpec& spec) {
  const LocatedText outcome = reader.Text("outcome", "outcome = \"relapse\"");
  const data::Schema factors = data::WithDerivedFactors(study.dictionary, study.derived);
  const data::ColumnSchema& variable = study::FindVariable(reader, outcome, "outcome", factors);
  study::RequireLevels(reader, outcome.position, "outcome", variable);
  if (variable.levels.size() > kMaxOutcomeLevels) {
    reader.Fail(
        outcome.position,
        fmt::format("the outcome {} has {} levels", Quote(variable.name), variable.levels.size()),
        fmt::format("there is one classifier for each level; have at most {}", kMaxOutcomeLevels));
  }
  spec.outcome = variable.name;
  spec.levels = variable.levels;
  const auto positive = reader.OptionalText("positive");
  if (!spec.binary()) {
    if (positive) {
      reader.Fail(positive->position, "'positive' is for outcomes of two levels",
                  "remove it: each level gets a classifier against the rest");
    }
    return;
  }
  if (!positive) {
    reader.Fail(
        reader.position(), "an outcome of two levels needs the key 'positive'",
        fmt::format("say which level's chance is modelled: positive = \"{}\"", spec.levels.back()));
  }
  const std::string level = reader.Choice(*positive, "positive", spec.levels);
  spec.positive = static_cast<size_t>(std::find(spec.levels.begin(), spec.levels.end(), level) -
                                      spec.levels.begin());
}

// Every column of the variables that are named, numbers and contrasts.
void ReadClassifyPredictors(const TableReader& reader, const StudyFile& study, ClassifySpec& spec) {
  const auto names = reader.Texts("predictors", "predictors = [\"age\", \"sex\"]");
  study::CheckDistinct(reader, names, "predictor");
  std::vector<std::string> known = study::Names(study.dictionary);
  for (const data::DerivedVariable& derived : study.derived) known.push_back(derived.name);
  for (const LocatedText& name : names) {
    const std::string variable = reader.Choice(name, "predictors", known);
    if (variable == spec.outcome) {
      reader.Fail(name.position, Quote(variable) + " is the outcome and a predictor",
                  "remove it from one of them");
    }
    std::vector<data::DesignColumn> columns;
    for (const data::DerivedVariable& derived : study.derived) {
      if (derived.name == variable) columns = data::ColumnsOf(derived, study.dictionary);
    }
    if (const data::ColumnSchema* schema = study.dictionary.Find(variable)) {
      columns = data::ColumnsOf(*schema);
    }
    if (columns.empty()) {
      reader.Fail(name.position, Quote(variable) + " cannot be a predictor",
                  "use numbers, dates, factors and ordered variables");
    }
    spec.columns.insert(spec.columns.end(), columns.begin(), columns.end());
  }
  spec.intercept = reader.OptionalBool("intercept").value_or(true);
  if (spec.columns.empty()) {
    reader.Fail(reader.PositionOf("predictors"), "a classifier without predictors",
                "name a variable");
  }
  if (spec.columns.size() > kMaxClassifyColumns) {
    reader.Fail(reader.PositionOf("predictors"),
                fmt::format("the predictors have {} columns", spec.columns.size()),
                fmt::format("have at most {}", kMaxClassifyColumns));
  }
  const double longest = std::sqrt(static_cast<double>(spec.dimension()));
  spec.row_norm =
      Within(reader, "row_norm", methods::classify::kDefaultRowNormShare * longest, 0.01, longest,
             "values are scaled to [-1, 1]; rows that are longer than row_norm are "
             "shortened to it. Choose it without looking at the data");
}

void ReadLoss(const TableReader& reader, ClassifySpec& spec) {
  if (const auto loss = reader.OptionalText("loss")) {
    if (reader.Choice(*loss, "loss", {"logistic", "huber"}) == "huber") spec.huber_width = 0.5;
  }
  if (const auto width = reader.OptionalNumber("huber_width")) {
    if (spec.huber_width == 0) {
      reader.Fail(width->position, "'huber_width' without loss = \"huber\"", "remove it");
    }
    spec.huber_width = Within(reader, "huber_width", 0.5, 0.01, 1, "0.5 is a common choice");
  }
  if (spec.huber_width > 0 &&
      (spec.protocol == Protocol::kMinimum || spec.protocol == Protocol::kObjective)) {
    reader.Fail(
        reader.PositionOf("loss"),
        fmt::format("protocol \"{}\" has the logistic loss only", ProtocolName(spec.protocol)),
        "remove 'loss'");
  }
  if (spec.protocol == Protocol::kDescent) spec.lambda = methods::classify::kDescentLambda;
  spec.lambda =
      Within(reader, "lambda", spec.lambda, 1e-6, 100,
             "the penalty lambda/2 |w|^2 beside the mean loss, w for rows of norm 1; 0.0001 "
             "to 0.1 is usual");
}

void ReadSteps(const TableReader& reader, ClassifySpec& spec) {
  const bool descent = spec.protocol == Protocol::kDescent;
  const bool steps =
      descent || spec.protocol == Protocol::kPsgd || spec.protocol == Protocol::kFederated;
  const auto refuse = [&](const std::string& key, bool used) {
    if (used || !reader.Has(key)) return;
    reader.Fail(reader.PositionOf(key),
                fmt::format("protocol \"{}\" does not use '{}'", ProtocolName(spec.protocol), key),
                "remove it");
  };
  refuse("iterations", steps);
  for (const char* key : {"step", "sampling_rate", "clip_norm", "optimiser"}) refuse(key, descent);
  if (const auto iterations = reader.OptionalInteger("iterations")) {
    if (iterations->value < 1 || iterations->value > kMaxClassifyIterations) {
      reader.Fail(iterations->position, "'iterations' must be from 1 to 1000000",
                  "every one of them opens a sum; 30 to 1000 is usual");
    }
    spec.iterations = static_cast<uint64_t>(iterations->value);
  }
  spec.step = Within(reader, "step", spec.step, 1e-6, 1000,
                     "rows have norm at most 1, so that steps of 1 to 8 are usual");
  spec.sampling_rate =
      Within(reader, "sampling_rate", 1, 1e-6, 1,
             "the chance of a row to be in the batch of an iteration; 1: all rows");
  spec.clip_norm = Within(reader, "clip_norm", 1, 1e-6, 1,
                          "no gradient is longer than 1; smaller means less noise and more bias");
  if (const auto optimiser = reader.OptionalText("optimiser")) {
    spec.adam = reader.Choice(*optimiser, "optimiser", {"sgd", "adam"}) == "adam";
  }
}

void ReadEvaluation(const TableReader& reader, ClassifySpec& spec) {
  if (const auto evaluation = reader.OptionalText("evaluation")) {
    const std::string how = reader.Choice(*evaluation, "evaluation", {"none", "local", "private"});
    spec.evaluation = how == "local"     ? Evaluation::kLocal
                      : how == "private" ? Evaluation::kPrivate
                                         : Evaluation::kNone;
    if (how == "private" && !spec.binary()) {
      reader.Fail(evaluation->position, "evaluation = \"private\" is for outcomes of two levels",
                  "use \"local\"");
    }
    if (how == "private" && !IsPrivate(spec.protocol)) {
      reader.Fail(
          evaluation->position,
          fmt::format("protocol \"{}\" is not private, and neither would be what is told of "
                      "its classifier",
                      ProtocolName(spec.protocol)),
          "use \"local\"");
    }
  }
  const bool tests = spec.evaluation != Evaluation::kNone;
  if (!tests && reader.Has("test_share")) {
    reader.Fail(reader.PositionOf("test_share"), "'test_share' without an evaluation",
                "write evaluation = \"local\" or \"private\", or remove it");
  }
  if (reader.Has("score_bins") && spec.evaluation != Evaluation::kPrivate) {
    reader.Fail(reader.PositionOf("score_bins"), "'score_bins' is for evaluation = \"private\"",
                "remove it");
  }
  spec.test_share =
      Within(reader, "test_share", tests ? 0.2 : 0, 0.01, 0.9,
             "that share of every party's rows is held aside and not used for training");
  if (const auto bins = reader.OptionalInteger("score_bins")) {
    if (bins->value < 2 || bins->value > 1000 || bins->value % 2 != 0) {
      reader.Fail(bins->position, "'score_bins' must be an even number from 2 to 1000",
                  "rows are counted in so many bins of predicted probability; 10 is usual");
    }
    spec.score_bins = static_cast<uint64_t>(bins->value);
  }
}

void ReadIntervals(const TableReader& reader, ClassifySpec& spec) {
  const auto share = reader.OptionalNumber("interval_share");
  if (share && (!spec.binary() || spec.huber_width > 0)) {
    reader.Fail(share->position, "intervals are for the logistic loss and outcomes of two levels",
                "remove 'interval_share'");
  }
  if (share && !IsPrivate(spec.protocol)) {
    reader.Fail(share->position, "intervals are bought with privacy, which this protocol has not",
                "remove 'interval_share'");
  }
  if (!share && reader.Has("level")) {
    reader.Fail(reader.PositionOf("level"), "'level' without 'interval_share'",
                "give intervals a share of the budget, for example interval_share = 0.4");
  }
  spec.interval_share =
      Within(reader, "interval_share", 0, 0.01, 0.9,
             "the share of epsilon and delta that buys intervals of the coefficients");
  spec.level =
      Within(reader, "level", 0.95, 0.5, 0.999,
             "write level = 0.95: intervals contain the coefficient with that probability");
}

// What opens without cover has to be named, so that nobody opens it by mistake.
void ReadUncovered(const TableReader& reader, const ClassifySpec& spec, AnalysisSpec& analysis) {
  const std::string uncovered(UncoveredRelease(spec.protocol));
  const std::string_view protocol = ProtocolName(spec.protocol);
  if (uncovered.empty()) {
    if (!reader.Has("release")) return;
    reader.Fail(reader.PositionOf("release"),
                fmt::format("protocol \"{}\" opens nothing without noise, so that 'release' has "
                            "nothing to list",
                            protocol),
                "remove it");
  }
  const std::string remedy = fmt::format(
      "if that is allowed for these tables, write release = [\"{}\"]; if not, use protocol = "
      "\"dp-sgd\"",
      uncovered);
  if (!reader.Has("release")) {
    reader.Fail(reader.position(),
                fmt::format("protocol \"{}\" is NOT private: what it opens has to be listed in "
                            "'release'",
                            protocol),
                remedy);
  }
  const std::vector<LocatedText> releases = reader.Texts("release", remedy);
  if (releases.size() != 1 || releases.front().value != uncovered) {
    reader.Fail(reader.PositionOf("release"),
                fmt::format("protocol \"{}\" opens \"{}\" to all parties, and nothing else",
                            protocol, uncovered),
                remedy);
  }
  analysis.releases.push_back({uncovered, "all", releases.front().position});
}

const std::vector<std::string> kClassifyKeys = {
    "protocol",  "outcome",     "positive",   "predictors", "intercept",  "row_norm",
    "loss",      "huber_width", "lambda",     "iterations", "step",       "sampling_rate",
    "clip_norm", "optimiser",   "evaluation", "test_share", "score_bins", "interval_share",
    "level",     "privacy",     "release"};

}  // namespace

ClassifySpec ReadClassify(const TableReader& reader, const StudyFile& study) {
  ClassifySpec spec;
  const std::vector<std::string> names = ProtocolNames();
  const std::string protocol =
      reader.Choice(reader.Text("protocol", "protocol = \"dp-sgd\""), "protocol", names);
  spec.protocol =
      static_cast<Protocol>(std::find(names.begin(), names.end(), protocol) - names.begin());
  ReadClassifyOutcome(reader, study, spec);
  if (!spec.binary() && spec.protocol != Protocol::kDescent) {
    reader.Fail(reader.PositionOf("outcome"),
                fmt::format("the outcome {} has {} levels, which protocol \"dp-sgd\" alone takes",
                            Quote(spec.outcome), spec.levels.size()),
                "use protocol = \"dp-sgd\"");
  }
  ReadClassifyPredictors(reader, study, spec);
  ReadLoss(reader, spec);
  ReadSteps(reader, spec);
  ReadEvaluation(reader, spec);
  ReadIntervals(reader, spec);
  return spec;
}

study::SectionUses ClassifySection::Uses() const {
  study::SectionUses uses;  // what opens without noise stands in the study file
  const auto open = [&](const char* what) { uses.releases.push_back({what, "all", {}}); };
  if (IsPrivate(spec.protocol) && DrawsNoise(spec.protocol)) open("classifier");
  if (spec.interval_share > 0) open("intervals");
  if (spec.evaluation == Evaluation::kPrivate) open("test-counts");
  return uses;
}

const ClassifySection& ClassifyOf(const AnalysisSpec& analysis) {
  return dynamic_cast<const ClassifySection&>(*analysis.section);
}

namespace {

std::shared_ptr<const study::Section> ReadClassifyAnalysis(const TableReader& reader,
                                                           const StudyFile& study,
                                                           AnalysisSpec& analysis) {
  auto section = std::make_shared<ClassifySection>();
  section->spec = ReadClassify(reader, study);
  analysis.protocol = ProtocolName(section->spec.protocol);
  ReadUncovered(reader, section->spec, analysis);
  section->privacy = study::ReadPrivacy(reader, study);
  if (!DrawsNoise(section->spec.protocol)) {
    if (!section->privacy) return section;
    reader.Fail(reader.PositionOf("privacy"),
                fmt::format("protocol \"{}\" draws no noise, so that it keeps no promise",
                            analysis.protocol),
                "remove [analysis.privacy], or use another protocol");
  }
  if (!section->privacy) {
    reader.Fail(reader.position(), "a classifier needs [analysis.privacy]",
                "write [analysis.privacy] with epsilon, delta and adjacency = \"replace\"");
  }
  const TableReader privacy = *reader.OptionalTable(
      "privacy",
      {"epsilon", "delta", "adjacency", "norm", "known_shares", "planning_sd", "planning_rows"},
      "[analysis.privacy]");
  if (section->privacy->adjacency != privacy::Adjacency::kReplace) {
    privacy.Fail(privacy.PositionOf("adjacency"),
                 "a classifier takes every party's number of rows as public",
                 "write adjacency = \"replace\"");
  }
  for (const char* key : {"norm", "planning_sd", "planning_rows"}) {
    if (!privacy.Has(key)) continue;
    privacy.Fail(privacy.PositionOf(key), fmt::format("a classifier does not use '{}'", key),
                 std::string(key) == "norm" ? "write row_norm in the analysis" : "remove it");
  }
  uint64_t rows = 0;
  for (const study::RowBlock& block : study.blocks) rows += block.count.value_or(0);
  if (rows > 0 && section->privacy->delta * static_cast<double>(rows) > 1) {
    privacy.Fail(
        privacy.PositionOf("delta"),
        fmt::format("delta {:g} is above one over the {} rows", section->privacy->delta, rows),
        "publishing a row at random would meet such a delta; use one well below 1/n");
  }
  return section;
}

}  // namespace

study::SectionReader ClassifyReader() {
  return {"classify",
          kClassifyKeys,
          ReadClassifyAnalysis,
          false,
          nullptr,
          {{"classifier", "method = \"classify\""}, {"dp-sgd", "method = \"classify\""}}};
}

}  // namespace partita::methods::classify
