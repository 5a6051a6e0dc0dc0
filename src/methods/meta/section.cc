#include "methods/meta/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::methods::meta {
namespace {

using stats::meta::Estimator;
using study::LocatedText;
using study::Quote;
using study::StudyFile;
using study::TableReader;

constexpr double kLeastConfidence = 0.5, kMostConfidence = 0.9999;
constexpr char kHartungKnapp[] = "hartung-knapp", kNormal[] = "normal";
constexpr Estimator kEstimators[] = {Estimator::kReml, Estimator::kDerSimonianLaird,
                                     Estimator::kFixed};
constexpr study::OneRelease kRelease{
    kReleased, "method 'meta' releases its pooled result",
    "it opens to the receiver: release = [\"pooled\"], or to everybody: release = [{what = "
    "\"pooled\", to = \"all\"}]"};

const data::ColumnSchema& NumberOf(const TableReader& reader, const StudyFile& study,
                                   const char* key, const char* example) {
  const LocatedText name = reader.Text(key, example);
  const data::ColumnSchema& column = study::FindVariable(reader, name, key, study.dictionary);
  if (column.type != data::ColumnType::kNumeric) {
    reader.Fail(name.position, fmt::format("{} is not numeric", Quote(column.name)),
                "estimates and their standard errors are variables with type = \"numeric\"");
  }
  return column;
}

void ReadVariables(const TableReader& reader, const StudyFile& study, Spec& spec) {
  spec.estimate = NumberOf(reader, study, "estimate", "estimate = \"log_odds_ratio\"");
  spec.standard_error =
      NumberOf(reader, study, "standard_error", "standard_error = \"log_odds_ratio_se\"");
  const study::Position position = reader.PositionOf("standard_error");
  if (spec.estimate.name == spec.standard_error.name)
    reader.Fail(position, "estimate and standard error are one variable", "name two");
  if (!(spec.standard_error.lower > 0) || spec.least_error() < kLeastError) {
    reader.Fail(position,
                fmt::format("standard errors may be as small as {:g}, and numbers as large as {:g}",
                            spec.standard_error.lower, spec.unit()),
                fmt::format("give {} a lower bound of at least {:g}, or closer bounds to both",
                            Quote(spec.standard_error.name), kLeastError * spec.unit()));
  }
}

// Whether there is a formula.
bool ReadOwnModel(const TableReader& reader, const StudyFile& study, Spec& spec) {
  const auto formula = reader.OptionalText("formula");
  if (!formula) {
    for (const char* key : {"family", "term", "largest", "subset"}) {
      if (!reader.Has(key)) continue;
      reader.Fail(reader.PositionOf(key), fmt::format("'{}' is without a formula", key),
                  "write, for example: formula = \"relapse ~ arm + age\"");
    }
    return false;
  }
  for (const char* key : {"estimate", "standard_error", "ratios"}) {
    if (!reader.Has(key)) continue;
    reader.Fail(reader.PositionOf(key), fmt::format("'{}' is beside a formula", key),
                "sites bring either estimates that they have, or coefficients of a formula");
  }
  const LocatedText family = reader.Text("family", "family = \"binomial\"");
  const LocatedText term = reader.Text("term", "term = \"arm.treated\"");
  const std::string name = reader.Choice(family, "family", FamilyNames());
  try {
    spec.model = OwnModelOf(name, formula->value, term.value, study.dictionary, study.derived);
  } catch (const Error& error) {
    study::FailWith(reader, formula->position, error);
  }
  spec.ratios = HasRatios(spec.model->law);
  if (!reader.Has("largest") && !spec.ratios)
    reader.Number("largest", "largest = 50  # no estimate and no standard error is larger");
  if (const auto largest = reader.OptionalNumber("largest")) {
    if (!(largest->value > 0)) {
      reader.Fail(largest->position, fmt::format("largest is {:g}", largest->value),
                  "write, for example: largest = 8");
    }
    spec.largest = largest->value;
  }
  return true;
}

void ReadEstimator(const TableReader& reader, Spec& spec) {
  if (const auto text = reader.OptionalText("estimator")) {
    std::vector<std::string> names;
    for (const Estimator known : kEstimators) names.emplace_back(EstimatorName(known));
    const std::string name = reader.Choice(*text, "estimator", names);
    for (const Estimator known : kEstimators) {
      if (name == EstimatorName(known)) spec.estimator = known;
    }
  }
  spec.hartung_knapp = !spec.fixed();
  const auto interval = reader.OptionalText("interval");
  if (!interval) return;
  spec.hartung_knapp =
      reader.Choice(*interval, "interval", {kHartungKnapp, kNormal}) == kHartungKnapp;
  if (spec.fixed() && spec.hartung_knapp) {
    reader.Fail(interval->position, "a fixed effect has no interval of Hartung and Knapp",
                "leave `interval` out, or take estimator = \"reml\"");
  }
}

void ReadMinSites(const TableReader& reader, Spec& spec) {
  const auto sites = reader.OptionalInteger("min_sites");
  if (!sites) return;
  if (sites->value < static_cast<int64_t>(kFewestSites)) {
    reader.Fail(sites->position, fmt::format("{} sites are too few", sites->value),
                fmt::format("pool {} at least: of two, each finds the other's", kFewestSites));
  }
  spec.min_sites = static_cast<uint64_t>(sites->value);
}

void ReadConfidence(const TableReader& reader, Spec& spec) {
  const auto confidence = reader.OptionalNumber("confidence");
  if (!confidence) return;
  if (!(confidence->value >= kLeastConfidence && confidence->value <= kMostConfidence)) {
    reader.Fail(confidence->position, fmt::format("the confidence is {}", confidence->value),
                "write, for example: confidence = 0.95");
  }
  spec.confidence = confidence->value;
}

std::shared_ptr<const study::Section> ReadMeta(const TableReader& reader, const StudyFile& study,
                                               study::AnalysisSpec& analysis) {
  if (reader.Has("privacy")) {
    reader.Fail(reader.PositionOf("privacy"),
                "method 'meta' draws no noise, so that it keeps no promise of differential privacy",
                "remove [analysis.privacy]; noise is drawn where the sites' estimates are made");
  }
  auto section = std::make_shared<MetaSection>();
  Spec& spec = section->spec;
  if (!ReadOwnModel(reader, study, spec)) {
    ReadVariables(reader, study, spec);
    spec.ratios = reader.OptionalBool("ratios").value_or(false);
  }
  ReadEstimator(reader, spec);
  ReadMinSites(reader, spec);
  ReadConfidence(reader, spec);
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  analysis.protocol = kPooled;
  if (const auto protocol = reader.OptionalText("protocol"))
    analysis.protocol = reader.Choice(*protocol, "protocol", {kPooled, kSiteEstimates});
  spec.site_estimates = analysis.protocol == kSiteEstimates;
  spec.told_to_all = study::ReadOneRelease(reader, study, kRelease, analysis);
  return section;
}

}  // namespace

double Spec::least_error() const { return model ? kLeastError : standard_error.lower / unit(); }

const std::string& Spec::pooled_name() const {
  return model ? model->columns[model->term].name : estimate.name;
}

double Spec::unit() const {
  if (model) return largest;
  return std::max({std::abs(estimate.lower), std::abs(estimate.upper), standard_error.upper});
}

const char* EstimatorName(Estimator estimator) {
  switch (estimator) {
    case Estimator::kFixed:
      return "fixed";
    case Estimator::kDerSimonianLaird:
      return "dersimonian-laird";
    case Estimator::kReml:
      break;
  }
  return "reml";
}

study::SectionUses MetaSection::Uses() const {
  study::SectionUses uses;
  if (spec.model) {
    for (const std::string& name : spec.model->variables)
      uses.variables.push_back({"the formula", name});
    return uses;
  }
  uses.variables.push_back({"the estimate", spec.estimate.name});
  uses.variables.push_back({"the standard error", spec.standard_error.name});
  return uses;
}

const Spec& SpecOf(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const MetaSection&>(*analysis.section).spec;
}

study::SectionReader MetaReader() {
  return {
      kMethodName,
      {"estimate", "standard_error", "formula", "family", "term", "largest", "subset", "protocol",
       "estimator", "interval", "min_sites", "ratios", "confidence", "release", "privacy"},
      ReadMeta};
}

}  // namespace partita::methods::meta
