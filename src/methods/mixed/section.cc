#include "methods/mixed/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/mixed/model.h"
#include "study/file/sections.h"

namespace partita::methods::mixed {
namespace {

using study::LocatedText;
using study::StudyFile;
using study::TableReader;

constexpr int64_t kFewestSteps = 4, kMostSteps = 20;
constexpr double kLeastConfidence = 0.5, kMostConfidence = 0.9999;
constexpr study::OneRelease kRelease{
    kEstimates, "method 'mixed' releases its estimates",
    "the fit opens to the receiver: release = [\"estimates\"], or to everybody: release = [{what = "
    "\"estimates\", to = \"all\"}]"};

stats::glm::Law ReadFamily(const TableReader& reader) {
  const auto family = reader.OptionalText("family");
  if (!family) return stats::glm::LawOf(stats::glm::Family::kGaussian);
  return stats::glm::LawByName(
      reader.Choice(*family, "family", {"gaussian", "binomial", "poisson"}));
}

Spec ReadModel(const TableReader& reader, const StudyFile& study) {
  const stats::glm::Law law = ReadFamily(reader);
  const LocatedText formula =
      reader.Text("formula", "formula = \"score ~ age + arm + (1 | ward)\"");
  try {
    return ModelOf(law, formula.value, study.dictionary, study.derived);
  } catch (const Error& error) {
    study::FailWith(reader, formula.position, error);
  }
}

void ReadSteps(const TableReader& reader, Spec& spec) {
  const auto steps = reader.OptionalInteger("steps");
  if (!steps) return;
  if (!spec.by_path()) {
    reader.Fail(steps->position, "a linear model with a random intercept takes no steps",
                "leave steps out");
  }
  if (steps->value < kFewestSteps || steps->value > kMostSteps) {
    reader.Fail(steps->position, fmt::format("there are {} steps", steps->value),
                fmt::format("take {} to {}; 6 are enough where there is a clear maximum",
                            kFewestSteps, kMostSteps));
  }
  spec.steps = static_cast<int>(steps->value);
}

// Whether some part of a column has levels: what is counted of rows.
bool HasLevels(const Spec& spec, const data::ModelColumn& column) {
  return std::ranges::any_of(spec.covariates, [&](const data::DesignColumn& part) {
    return std::ranges::count(column.parts, part.schema.name) > 0 &&
           (!part.factor.empty() || data::IsZeroOne(part));
  });
}

// X'V^-1 X follows from the matrix: about how many rows, and rows of a group, have each two levels. With a slope also
// what those of a group have of three.
void ReadCovariance(const TableReader& reader, Spec& spec) {
  spec.covariance = spec.pairs = reader.OptionalBool(kCovariance).value_or(false);
  if (!spec.covariance || !spec.slope) return;
  const data::ModelColumn& slope = spec.columns[*spec.slope];
  if (!HasLevels(spec, slope)) return;
  reader.Fail(
      reader.PositionOf(kCovariance),
      fmt::format("the covariance matrix of a model with a random slope of {}, which has "
                  "levels",
                  slope.name),
      fmt::format("leave covariance out, or write (1 | {}): the matrix would tell what rows "
                  "of one group have of three levels, which nothing counts",
                  spec.group_name()));
}

std::shared_ptr<const study::Section> ReadMixed(const TableReader& reader, const StudyFile& study,
                                                study::AnalysisSpec& analysis) {
  if (reader.Has("privacy")) {
    reader.Fail(reader.PositionOf("privacy"),
                "method 'mixed' draws no noise, so that it keeps no promise of differential "
                "privacy",
                "remove [analysis.privacy], or take method 'mcmc', whose chains draw noise");
  }
  auto section = std::make_shared<MixedSection>();
  Spec& spec = section->spec = ReadModel(reader, study);
  if (const auto criterion = reader.OptionalText("criterion")) {
    if (!spec.linear()) {
      reader.Fail(criterion->position, "a model of this family has no other criterion",
                  "leave criterion out: the likelihood is Laplace's approximation");
    }
    if (reader.Choice(*criterion, "criterion", {kReml, kMl}) == kMl)
      spec.criterion = stats::mixed::Criterion::kMl;
  }
  analysis.protocol = spec.level();
  if (const auto protocol = reader.OptionalText("protocol"))
    analysis.protocol = reader.Choice(*protocol, "protocol", {spec.level()});
  ReadSteps(reader, spec);
  if (const auto confidence = reader.OptionalNumber("confidence")) {
    if (!(confidence->value >= kLeastConfidence && confidence->value <= kMostConfidence)) {
      reader.Fail(confidence->position, fmt::format("the confidence is {}", confidence->value),
                  "write, for example: confidence = 0.95");
    }
    spec.confidence = confidence->value;
  }
  ReadCovariance(reader, spec);
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  spec.told_to_all = study::ReadOneRelease(reader, study, kRelease, analysis);
  return section;
}

}  // namespace

study::SectionUses MixedSection::Uses() const {
  study::SectionUses uses;
  for (const std::string& name : spec.variables) uses.variables.push_back({"the formula", name});
  // The points on the way open to all, whoever is told the rest.
  if (spec.by_path()) uses.releases.push_back({kIterates, "all", {}});
  if (spec.covariance) uses.releases.push_back({kCovariance, spec.told_to_all ? "all" : "", {}});
  return uses;
}

const Spec& SpecOf(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const MixedSection&>(*analysis.section).spec;
}

study::SectionReader MixedReader() {
  return {kMethodName,
          {"formula", "family", "criterion", "protocol", "steps", "confidence", kCovariance,
           "subset", "release", "privacy"},
          ReadMixed};
}

}  // namespace partita::methods::mixed
