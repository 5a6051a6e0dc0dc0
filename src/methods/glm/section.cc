#include "methods/glm/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/glm/model.h"
#include "methods/glm/read_errors.h"
#include "study/file/sections.h"

namespace partita::methods::glm {
namespace {

using study::LocatedText;
using study::StudyFile;
using study::TableReader;

constexpr int64_t kFewestSteps = 2, kMostSteps = 25;
constexpr int kStepsOfAggregates = 8, kStepsOfSealed = 10, kStepsOfSealedCounts = 14;
constexpr double kLeastConfidence = 0.5, kMostConfidence = 0.9999;
constexpr double kLeastRidge = 1e-6, kMostRidge = 10;
constexpr study::OneRelease kRelease{
    kEstimates, "method 'glm' releases its estimates",
    "standard errors and fit open to the receiver: release = [\"estimates\"], or to everybody, as "
    "the "
    "estimates do anyway: release = [{what = \"estimates\", to = \"all\"}]"};

// Families that R has and this method has not, with what to use instead.
void RefuseAbsentFamilies(const TableReader& reader, const LocatedText& family) {
  const std::pair<const char*, const char*> absent[] = {
      {"negative-binomial",
       "take family = \"quasi-poisson\", or \"poisson\" with errors = \"robust\": the same rate "
       "ratios with standard errors that allow for overdispersion"},
      {"multinomial",
       "take family = \"binomial\" for one level against the reference at a time: [[derived]] with "
       "transform = \"cut\" or a factor of two levels, and `subset` for the rows of the two"},
      {"ordinal",
       "take family = \"binomial\" for the outcome at or above a level ([[derived]] with transform "
       "= "
       "\"cut\"): proportional odds say that its odds ratios are the same at each"}};
  for (const auto& [name, instead] : absent) {
    if (family.value == name)
      reader.Fail(family.position, fmt::format("method 'glm' has no family {}", name), instead);
  }
}

stats::glm::Law ReadLaw(const TableReader& reader) {
  const LocatedText family = reader.Text("family", "family = \"binomial\"");
  RefuseAbsentFamilies(reader, family);
  stats::glm::Law law =
      stats::glm::LawByName(reader.Choice(family, "family", stats::glm::FamilyNames()));
  const auto link = reader.OptionalText("link");
  if (!link) return law;
  std::vector<std::string> names;
  for (const stats::glm::Link known : LinksOf(law.family)) {
    // A quasi-likelihood has the first one only.
    if (names.empty() || !law.quasi) names.emplace_back(LinkName(known));
  }
  const std::string name = reader.Choice(*link, "link", names);
  for (const stats::glm::Link known : LinksOf(law.family)) {
    if (LinkName(known) == name) law.link = known;
  }
  return law;
}

Spec ReadModel(const TableReader& reader, const StudyFile& study) {
  const stats::glm::Law law = ReadLaw(reader);
  const LocatedText formula = reader.Text("formula", "formula = \"readmitted ~ age + sex\"");
  try {
    return ModelOf(law, formula.value, study.dictionary, study.derived);
  } catch (const Error& error) {
    study::FailWith(reader, formula.position, error);
  }
}

void ReadSteps(const TableReader& reader, Spec& spec) {
  const bool gaussian = spec.law.family == stats::glm::Family::kGaussian;
  const bool counts = spec.law.family == stats::glm::Family::kPoisson;
  if (spec.aggregates) spec.steps = kStepsOfAggregates;
  if (spec.sealed) spec.steps = gaussian ? 0 : counts ? kStepsOfSealedCounts : kStepsOfSealed;
  const auto steps = reader.OptionalInteger("steps");
  if (!steps) return;
  if (spec.sealed && gaussian) {
    reader.Fail(steps->position, "a gaussian model takes no steps at level sealed",
                "leave steps out");
  }
  if (steps->value < kFewestSteps || steps->value > kMostSteps) {
    reader.Fail(steps->position, fmt::format("there are {} steps", steps->value),
                fmt::format("take {} to {}; 3 are enough where there is a maximum", kFewestSteps,
                            kMostSteps));
  }
  spec.steps = static_cast<int>(steps->value);
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

// After the weights.
void ReadPenalty(const TableReader& reader, Spec& spec) {
  const auto penalty = reader.OptionalTable("penalty", {"ridge", "lasso", "firth"}, "penalty");
  if (!penalty) return;
  for (const char* absent : {"lasso", "firth"}) {
    if (penalty->Has(absent)) {
      reader.Fail(
          penalty->PositionOf(absent), fmt::format("method 'glm' has no penalty {}", absent),
          "take a ridge, which separation has a maximum with as well: penalty = {ridge = 0.01}");
    }
  }
  const auto ridge = penalty->Number("ridge", "penalty = {ridge = 0.01}");
  if (!(ridge.value >= kLeastRidge && ridge.value <= kMostRidge)) {
    reader.Fail(
        ridge.position, fmt::format("the ridge is {}", ridge.value),
        fmt::format("take {} to {}: it counts for each row, and columns are divided by their "
                    "largest bound",
                    kLeastRidge, kMostRidge));
  }
  if (!spec.weights.empty() && !spec.copies()) {
    reader.Fail(ridge.position, fmt::format("a ridge with {}", WeightsName(spec.weights_kind)),
                "a ridge counts for each row, weighted or not: leave one of the two out");
  }
  if (spec.sealed) {
    reader.Fail(ridge.position, "level sealed has no ridge",
                "take protocol = \"iterates\", or leave the penalty out");
  }
  spec.ridge = ridge.value;
}

std::shared_ptr<const study::Section> ReadGlm(const TableReader& reader, const StudyFile& study,
                                              study::AnalysisSpec& analysis) {
  if (reader.Has("privacy")) {
    reader.Fail(
        reader.PositionOf("privacy"),
        "method 'glm' opens exact estimates and draws no noise, so that it keeps no promise "
        "of differential privacy",
        "remove [analysis.privacy], or take method 'classify' or 'mcmc'");
  }
  auto section = std::make_shared<GlmSection>();
  section->spec = ReadModel(reader, study);
  analysis.protocol = kIterates;
  if (const auto protocol = reader.OptionalText("protocol"))
    analysis.protocol = reader.Choice(*protocol, "protocol", {kIterates, kAggregates, kSealed});
  section->spec.aggregates = analysis.protocol == kAggregates;
  section->spec.sealed = analysis.protocol == kSealed;
  // Whose covariances open nowhere, and whose estimates are on shares.
  if (section->spec.sealed) section->spec.terms.clear();
  ReadErrors(reader, study, section->spec);
  ReadPenalty(reader, section->spec);
  ReadSteps(reader, section->spec);
  ReadConfidence(reader, section->spec);
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  section->spec.told_to_all = study::ReadOneRelease(reader, study, kRelease, analysis);
  return section;
}

}  // namespace

study::SectionUses GlmSection::Uses() const {
  study::SectionUses uses;
  uses.functions.emplace_back(FamilyName(spec.law));
  // But at level sealed the points on the way open to all, whoever is told the rest.
  if (!spec.sealed) uses.releases.push_back({"iterates", "all", {}});
  if (spec.aggregates) uses.releases.push_back({"sums", spec.told_to_all ? "all" : "", {}});
  return uses;
}

const Spec& SpecOf(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const GlmSection&>(*analysis.section).spec;
}

study::SectionReader GlmReader() {
  return {kMethodName,
          {"family", "link", "formula", "errors", "penalty", "protocol", "steps", "confidence",
           "subset", "release", "privacy"},
          ReadGlm};
}

}  // namespace partita::methods::glm
