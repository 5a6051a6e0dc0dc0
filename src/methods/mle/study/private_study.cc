#include "methods/mle/study/private_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "privacy/sampling/release_statement.h"
#include "run/method/hidden_rows.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::mle {
namespace {

using run::Refuse;

const study::PrivacySpec& Promise(const MleStudy& study) {
  return *MleOf(study.file.analyses.front()).privacy;
}

// Every analysis as the first.
void RequireOneRelease(const MleStudy& study) {
  const study::AnalysisSpec& first = study.file.analyses.front();
  for (const study::AnalysisSpec& spec : study.file.analyses) {
    if (MleOf(spec).privacy.has_value() != MleOf(first).privacy.has_value()) {
      const study::AnalysisSpec& exact = MleOf(spec).privacy ? first : spec;
      Refuse(study, exact.position,
             fmt::format("analysis '{}' is exact and analysis '{}' is private: an exact release "
                         "would undo the noise of the other",
                         exact.name, MleOf(spec).privacy ? spec.name : first.name),
             "give every analysis the same [analysis.privacy], or make two studies of it");
    }
    if (!MleOf(spec).privacy) continue;
    if (!MleOf(spec).privacy->SamePromise(*MleOf(first).privacy)) {
      Refuse(study, MleOf(spec).privacy->position,
             fmt::format("the privacy of analysis '{}' is not that of analysis '{}': all share one "
                         "noisy release",
                         spec.name, first.name),
             "write equal epsilon, delta, adjacency, norm and known_shares in all of them");
    }
    if (!(spec.subset == first.subset) || MleOf(spec).group != MleOf(first).group) {
      Refuse(study, spec.position,
             fmt::format("analysis '{}' has other rows or groups than analysis '{}': all private "
                         "analyses share one noisy release of one set of rows",
                         spec.name, first.name),
             "move the subset to [population], or make a study of its own for it");
    }
  }
}

void RequireMethod(const MleStudy& study, const study::AnalysisSpec& spec) {
  if (spec.protocol != kPooledMoments) {
    Refuse(study, MleOf(spec).privacy->position,
           fmt::format("[analysis.privacy] is not for protocol '{}', which opens exact numbers",
                       spec.protocol),
           "use protocol = \"pooled-moments\"");
  }
  if (MleOf(spec).robust) {
    Refuse(study, spec.position,
           fmt::format("analysis '{}' is private and asks for robust standard errors, which need "
                       "another exact sum",
                       spec.name),
           "leave out robust = true");
  }
}

void RequirePrivateDesign(const MleStudy& study) {
  const study::DesignSpec& design = study.file.design;
  if (!design.weights.empty()) {
    Refuse(study, design.position,
           "[analysis.privacy] does not go with weights: one row would count for many",
           "leave out the weights, or expand the rows and declare max_rows_per_person");
  }
  if (design.site == study::SiteEffect::kFixed) {
    Refuse(study, design.position,
           "[analysis.privacy] does not go with site = \"fixed\": the means of the sites would "
           "depend on the rows without noise",
           "use site = \"ignore\"");
  }
}

void RequireHiddenCount(const MleStudy& study) {
  if (Promise(study).adjacency == privacy::Adjacency::kReplace) return;
  for (const study::RowBlock& block : study.file.blocks) {
    if (!block.count) continue;
    Refuse(study, Promise(study).position,
           fmt::format("adjacency = \"add-remove\" protects the number of rows, but block '{}' "
                       "declares its count",
                       block.name),
           "use adjacency = \"replace\", or remove the count if one party holds the block alone");
  }
}

// Whom the statement is about where nobody knows which rows match, and whom not.
void AddHiddenCaveats(const MleStudy& study, privacy::Statement& statement) {
  if (!run::HasHiddenRows(study)) return;
  const study::RowMatch& match = *study.file.blocks.front().match;
  statement.caveats.emplace_back(
      "One row that is added to one holder's list, left out of it or replaced there, its key "
      "included, and one person replaced by another in all lists, change one row of the join at "
      "most into another one: that is what is bounded here. Several persons' rows changed in "
      "several lists at once are not one person. The matching has one pass and leaves out no "
      "duplicates, which every holder's program asks of its result.");
  const bool linked = !match.linker.empty();
  statement.caveats.push_back(
      linked ? fmt::format("{} saw in the matching who is in which lists, as pseudonyms, and any "
                           "two holders together know who is in all of them: from these the "
                           "bounds protect what rows say, not whether somebody is in a list.",
                           match.linker)
             : std::string("That somebody is in a list is protected from a holder only if it "
                           "followed the protocol of the matching."));
  statement.caveats.emplace_back(
      match.count == study::MatchCount::kNobody
          ? "How many people match is told by this noise alone."
          : "How many people match was told by the matching, with noise of its own: its epsilon "
            "stands in its plan and adds up with this one in the privacy ledger.");
}

}  // namespace

bool HasPrivacy(const study::StudyFile& file) {
  return std::any_of(
      file.analyses.begin(), file.analyses.end(),
      [](const study::AnalysisSpec& spec) { return MleOf(spec).privacy.has_value(); });
}

void RequireSupportedPrivacy(const MleStudy& study) {
  if (!HasPrivacy(study.file)) return;
  RequireOneRelease(study);
  RequirePrivateDesign(study);
  RequireHiddenCount(study);
  for (size_t a = 0; a < study.file.analyses.size(); ++a) {
    RequireMethod(study, study.file.analyses[a]);
    PlanningRows(study, a);
  }
}

uint64_t PlanningRows(const MleStudy& study, size_t analysis) {
  const study::PrivacySpec& spec = *MleOf(study.file.analyses[analysis]).privacy;
  if (spec.planning_rows) return *spec.planning_rows;
  if (const std::optional<uint64_t> rows = study.partition.TotalRows()) return *rows;
  Refuse(study, spec.position,
         "[analysis.privacy] needs planning_rows, because not every row block declares its count",
         "write how many rows you expect in all, for example planning_rows = 2000; it only serves "
         "the forecast of the standard errors");
}

PrivateMoments DesignPrivacy(const MleStudy& study) {
  const study::PrivacySpec& spec = Promise(study);
  PrivacyPromise promise;
  promise.epsilon = spec.epsilon;
  promise.delta = spec.delta;
  promise.adjacency = spec.adjacency;
  promise.norm = spec.norm;
  promise.known_shares = spec.known_shares;
  promise.max_rows_per_person = study.file.population.max_rows_per_person;
  const Computation& computation = study.computations.front();
  return DesignPrivateMoments(promise, computation.task, computation.row_sets.front().release,
                              static_cast<uint32_t>(study.num_computing));
}

privacy::Statement StatePrivacy(const MleStudy& study) {
  const PrivateMoments& design = *study.privacy;
  privacy::GaussianRelease release{{},
                                   design.noise,
                                   run::StructureOf(study.file.engine),
                                   design.promise.adjacency,
                                   design.sensitivity,
                                   design.replace_sensitivity,
                                   privacy::Delta(design.promise.delta),
                                   0,
                                   !run::HasHiddenRows(study)};
  for (size_t p = 0; p < study.num_computing; ++p) release.parties.push_back(study.parties[p].name);
  privacy::Statement statement = privacy::StateRelease(release);
  run::AddStudyCaveats(study, statement);
  AddHiddenCaveats(study, statement);
  return statement;
}

std::vector<study::PlanPrivacy> StatementRows(const MleStudy& study) {
  return run::PlanPrivacyRows(study.privacy_statement);
}

std::vector<std::string> StatementSentences(const MleStudy& study) {
  std::vector<std::string> sentences = run::PlanPrivacySentences(study.privacy_statement);
  sentences.push_back(
      "No disclosure checks are run: their answers would be exact functions of the data.");
  if (study.file.population.max_rows_per_person > 1) {
    sentences.push_back(fmt::format("The noise is sized for a {} with up to {} rows.",
                                    study.file.population.unit,
                                    study.file.population.max_rows_per_person));
  }
  return sentences;
}

study::PlanExposure PrivateExposure(const MleStudy& study) {
  const Computation& computation = study.computations.front();
  const RowSet& rows = computation.row_sets.front();
  study::PlanExposure exposure;
  exposure.of = rows.release.id;
  exposure.to = study.parties[study.receiver].name;
  exposure.opened = NumReleasedValues(rows.release);
  const uint64_t k = rows.release.variables.size();
  exposure.statistics = rows.cells.size() * (1 + k + k * (k + 1) / 2);
  exposure.level = run::kNoisedStatistics;
  exposure.exposes = {fmt::format("the listed moments with noise on each number ({})",
                                  MechanismText(*study.privacy)),
                      study.privacy->public_count
                          ? "the exact number of rows, which adjacency \"replace\" treats "
                            "as public"
                          : "the number of rows with noise"};
  return exposure;
}

}  // namespace partita::methods::mle
