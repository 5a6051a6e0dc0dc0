#include "methods/glm/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/glm/model.h"
#include "methods/glm/nested.h"
#include "methods/glm/read_errors.h"
#include "methods/glm/read_penalty.h"
#include "study/file/sections.h"

namespace partita::methods::glm {
namespace {

using study::LocatedText;
using study::StudyFile;
using study::TableReader;

constexpr char kCovariance[] = "covariance";
constexpr int64_t kFewestSteps = 2, kMostSteps = 25;
constexpr int kStepsOfMore = 4, kStepsOfGamma = 6, kMoreStepsOfAggregates = 12;
constexpr int kStepsOfLasso = 5;       // of each penalty
constexpr int kMostStepsOfLasso = 50;  // of all
constexpr int kStepsOfAggregates = 8, kStepsOfSealed = 10, kStepsOfSealedCounts = 14,
              kStepsOfSealedGamma = 8;
constexpr double kLeastConfidence = 0.5, kMostConfidence = 0.9999;
constexpr study::OneRelease kRelease{
    kEstimates, "method 'glm' releases its estimates",
    "standard errors and fit open to the receiver: release = [\"estimates\"], or to everybody, as "
    "the "
    "estimates do anyway: release = [{what = \"estimates\", to = \"all\"}]"};

stats::glm::Law ReadLaw(const TableReader& reader) {
  const LocatedText family = reader.Text("family", "family = \"binomial\"");
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
  const bool gamma = spec.law.family == stats::glm::Family::kGamma;
  const bool more = HasMoreParameters(spec.law) || spec.firth;
  if (more) spec.steps = kStepsOfMore;
  // Scoring of gamma models comes closer by a factor of 3 to 100 a step, as their data are, not by squares.
  if (gamma) spec.steps = kStepsOfGamma;
  if (spec.aggregates) spec.steps = more || gamma ? kMoreStepsOfAggregates : kStepsOfAggregates;
  if (spec.sealed) {
    spec.steps = gaussian ? 0
                 : counts ? kStepsOfSealedCounts
                 : gamma  ? kStepsOfSealedGamma
                          : kStepsOfSealed;
  }
  const auto penalties = static_cast<int>(spec.lasso.size());
  if (penalties > 0) spec.steps = penalties * kStepsOfLasso;
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
  spec.steps = static_cast<int>(steps->value) * std::max(penalties, 1);
  if (penalties > 0 && spec.steps > kMostStepsOfLasso) {
    reader.Fail(steps->position,
                fmt::format("{} penalties with {} steps each open the sums of {} points", penalties,
                            steps->value, spec.steps + 1),
                fmt::format("take penalties times steps of {} at most", kMostStepsOfLasso));
  }
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

// Families with parameters beside those of columns are fit as R's glm.nb, polr and multinom, which have
// none of these; robust errors as R's sandwich. After errors and weights.
void RequirePlainFit(const TableReader& reader, const StudyFile& study, const Spec& spec) {
  if (!HasMoreParameters(spec.law)) return;
  const std::string of_family = fmt::format(" of family {}", FamilyName(spec.law));
  if (spec.errors == Errors::kRobustAdjusted) {
    reader.Fail(reader.position(), "errors HC1" + of_family,
                "take errors = \"robust\" or \"cluster\", or leave the key out");
  }
  if (!spec.weights.empty() && !spec.copies()) {
    reader.Fail(study.design.position,
                fmt::format("{}{}", WeightsName(spec.weights_kind), of_family),
                "leave the weights out, or say that they are frequencies: weights_type = "
                "\"frequency\"");
  }
  if (study.design.site == study::SiteEffect::kFixed) {
    reader.Fail(study.design.position, "effects of sites" + of_family,
                "write site = \"ignore\", or take family poisson or binomial");
  }
  if (spec.sealed) {
    reader.Fail(reader.position(),
                "level sealed has no family " + std::string(FamilyName(spec.law)),
                "take protocol = \"iterates\"");
  }
}

void ReadRiskGroups(const TableReader& reader, const StudyFile& study, Spec& spec) {
  constexpr char kRiskGroups[] = "risk_groups", kCuts[] = "cuts";
  constexpr size_t kMostCuts = 20;
  const auto groups = reader.OptionalTable(kRiskGroups, {kCuts});
  if (!groups) return;
  const study::Position position = reader.PositionOf(kRiskGroups);
  if (spec.law.family != stats::glm::Family::kBinomial) {
    reader.Fail(position, "risk groups are of binomial models",
                "leave [analysis.risk_groups] out, or take family = \"binomial\"");
  }
  // Rows of a holder without, or only with, the event have no part in the fit: they would be in the
  // totals and in no group, and the difference may be one person.
  if (study.design.site == study::SiteEffect::kFixed) {
    reader.Fail(position, "risk groups with effects of sites, which leave no holder",
                "write site = \"ignore\", or leave [analysis.risk_groups] out");
  }
  if (!spec.weights.empty() && !spec.copies())
    reader.Fail(position, "risk groups of weighted rows", "leave one of the two out");
  if (!spec.lasso.empty()) {
    reader.Fail(position, "risk groups with a lasso, whose estimates are not the last point",
                "leave one of the two out");
  }
  const std::string example = "cuts = [0.1, 0.2, 0.5]";
  double last = 0;
  for (const auto& cut : groups->Values(kCuts, false, example)) {
    if (!(cut.value > 0 && cut.value < 1)) {
      groups->Fail(cut.position, fmt::format("the cut point {} is not between 0 and 1", cut.value),
                   "probabilities, such as " + example);
    }
    if (cut.value <= last)
      groups->Fail(cut.position, "cut points do not rise", "write, for example: " + example);
    last = cut.value;
    spec.cuts.push_back(cut.value);
  }
  if (spec.cuts.empty() || spec.cuts.size() > kMostCuts) {
    groups->Fail(groups->PositionOf(kCuts),
                 spec.cuts.empty() ? "there is no cut point"
                                   : fmt::format("there are more than {} cut points", kMostCuts),
                 "write, for example: " + example);
  }
}

// The information at the estimates follows from the covariance matrix: of 0/1 columns how many rows have each
// two of them, so that pairs are counted, too.
void ReadCovariance(const TableReader& reader, Spec& spec) {
  spec.covariance = reader.OptionalBool(kCovariance).value_or(false);
  if (!spec.covariance) return;
  const study::Position position = reader.PositionOf(kCovariance);
  if (spec.aggregates) {
    reader.Fail(position, "at level aggregates the covariance matrix is there anyway",
                "leave covariance out: it follows from the sums, and result.json has it");
  }
  if (spec.sealed) {
    reader.Fail(position, "level sealed opens standard errors and no covariance matrix",
                "take protocol = \"iterates\", or leave covariance out");
  }
  if (spec.clustered()) {
    reader.Fail(position,
                "the covariance matrix with errors of clusters: beside those of other errors of "
                "the same rows it would tell what two rows of one cluster have, which nothing "
                "counts",
                "leave covariance out: standard errors of clusters open without it");
  }
  spec.pairs = true;
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
  ReadErrors(reader, study, section->spec);
  RequirePlainFit(reader, study, section->spec);
  ReadPenalty(reader, study, section->spec);
  ReadSteps(reader, section->spec);
  ReadConfidence(reader, section->spec);
  ReadNested(reader, study, section->spec);
  ReadRiskGroups(reader, study, section->spec);
  ReadCovariance(reader, section->spec);
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
  if (spec.covariance) uses.releases.push_back({kCovariance, spec.told_to_all ? "all" : "", {}});
  if (spec.aggregates) uses.releases.push_back({"sums", spec.told_to_all ? "all" : "", {}});
  return uses;
}

const Spec& SpecOf(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const GlmSection&>(*analysis.section).spec;
}

study::SectionReader GlmReader() {
  return {kMethodName,
          {"family", "link", "formula", "errors", "penalty", "protocol", "steps", "confidence",
           "nested", "risk_groups", kCovariance, "subset", "release", "privacy"},
          ReadGlm};
}

}  // namespace partita::methods::glm
