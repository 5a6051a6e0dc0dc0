#include "runtime/mle_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/suggest.h"
#include "methods/mle/publish.h"
#include "mpc/shamir_schedule.h"
#include "runtime/computations.h"
#include "runtime/private_study.h"
#include "runtime/sealed_analyses.h"
#include "runtime/supported.h"

namespace partita::runtime {
namespace {

std::string At(const study::StudyFile& file, const study::Position& position) {
  return fmt::format("{}:{}:{}", file.file_name, position.line, position.column);
}

void OrderParties(MleStudy& study) {
  for (const study::Party& party : study.file.parties) {
    if (!party.dealer) study.parties.push_back(party);
  }
  study.num_computing = study.parties.size();
  for (const study::Party& party : study.file.parties) {
    if (party.dealer) study.parties.push_back(party);
  }
  for (size_t i = 0; i < study.parties.size(); ++i) {
    if (study.parties[i].receiver) study.receiver = i;
  }
  const bool replicated = study.file.engine.name == "replicated";
  if (replicated && study.num_computing != 3) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format(
            "{}: engine 'replicated' runs with exactly three computing parties, this study has {}",
            study.file.file_name, study.num_computing),
        "use engine 'dealer', which takes any number of parties and one dealer");
  }
  if (study.file.engine.name == "ot" && study.num_computing != 2) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: engine 'ot' runs with exactly two computing parties, this study has {}",
                    study.file.file_name, study.num_computing),
        "use engine 'dealer', which takes any number of parties and one dealer");
  }
  if (study.file.engine.name == "shamir") mpc::shamir::CheckNumParties(study.num_computing);
  if (study.num_computing < 2) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: a study needs at least two computing parties", study.file.file_name),
        "add a [[party]] with the role \"holder\", or one that only receives the result");
  }
}

data::Partition MakeStudyPartition(const MleStudy& study) {
  std::vector<std::string> variables;
  for (const data::ColumnSchema& column : study.file.dictionary.columns)
    variables.push_back(column.name);
  std::vector<data::RowBlock> blocks;
  for (const study::RowBlock& block : study.file.blocks)
    blocks.push_back({block.name, block.count});
  std::vector<data::Holder> holders;
  for (size_t i = 0; i < study.parties.size(); ++i) {
    const study::Party& party = study.parties[i];
    if (party.holder) holders.push_back({party.name, i, party.columns, party.rows});
  }
  return data::MakePartition(std::move(variables), std::move(blocks), std::move(holders));
}

methods::mle::MleOptions Options(const study::AnalysisSpec& spec) {
  methods::mle::MleOptions options;
  options.name = spec.name;
  options.function = spec.function;
  options.model = spec.model;
  options.group = spec.group;
  options.group_equal = spec.group_equal;
  options.std_lv = spec.std_lv;
  options.meanstructure = spec.meanstructure;
  options.fixed_x = spec.fixed_x;
  options.robust = spec.robust;
  options.information = spec.information == "observed" ? stats::Information::kObserved
                                                       : stats::Information::kExpected;
  return options;
}

void PrepareModels(MleStudy& study) {
  for (const study::AnalysisSpec& spec : study.file.analyses) {
    PreparedAnalysis prepared;
    try {
      prepared.analysis =
          methods::mle::PrepareAnalysis(Options(spec), study.factors, study.columns);
    } catch (const Error& error) {
      throw Error(error.code(), At(study.file, spec.model_position) + ": model: " + error.message(),
                  error.hint());
    }
    study.analyses.push_back(std::move(prepared));
  }
}

std::string ListOf(const Computation& computation, const std::vector<size_t>& variables) {
  std::string list;
  for (size_t v : variables)
    list += (list.empty() ? "" : ", ") + computation.variables[v].schema.name;
  return list;
}

std::string MomentsText(const MleStudy& study, const Computation& computation, const RowSet& rows) {
  const bool some =
      rows.release.pairs.size() < methods::mle::AllPairs(rows.release.variables).size();
  const char* noise = !study.privacy                ? ""
                      : study.privacy->public_count ? " with noise (but on n)"
                                                    : " with noise";
  return fmt::format(
      "n, sums and cross products of {} {}{}{}", ListOf(computation, rows.release.variables),
      RowsText(study, rows), noise,
      some ? "; only cross products of variables that one analysis uses together" : "");
}

void AddLikelihoodReleases(const MleStudy& study, size_t index,
                           std::vector<mpc::Release>& releases) {
  for (mpc::Release& release : methods::mle::LikelihoodReleases(study.analyses[index].analysis,
                                                                LikelihoodTaskOf(study, index),
                                                                study.parties[study.receiver].name))
    releases.push_back(std::move(release));
}

std::vector<mpc::Release> PlanReleases(const MleStudy& study) {
  const std::string& receiver = study.parties[study.receiver].name;
  std::vector<mpc::Release> releases;
  if (!study.privacy) {
    releases.push_back({methods::mle::kDisclosureRelease,
                        fmt::format("whether each of {} counts reaches its minimum, one bit each",
                                    study.checks.size()),
                        "all", "exact", 1, mpc::kEverybody, study.checks.size()});
  }
  for (const Computation& computation : study.computations) {
    for (const RowSet& rows : computation.row_sets) {
      if (computation.protocol == kLikelihood) {
        for (size_t a : rows.analyses) AddLikelihoodReleases(study, a, releases);
        continue;
      }
      if (computation.protocol == kSealed) {
        for (size_t a : rows.analyses) {
          for (mpc::Release& release : SealedReleasesOf(study, a))
            releases.push_back(std::move(release));
        }
        continue;
      }
      releases.push_back({rows.release.id, MomentsText(study, computation, rows), receiver,
                          study.privacy ? methods::mle::MechanismText(*study.privacy) : "exact", 1,
                          study.receiver, NumReleasedValues(rows.release)});
    }
  }
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    const methods::mle::MleAnalysis& analysis = study.analyses[a].analysis;
    if (study.file.analyses[a].robust) {
      for (mpc::Release& release :
           methods::mle::RobustReleases(analysis, RobustTaskOf(study, a), receiver))
        releases.push_back(std::move(release));
    }
    for (const study::ReleaseSpec& release : study.file.analyses[a].releases) {
      const std::optional<size_t> to = TellsEstimatesTo(study, release);
      if (!to) continue;
      releases.push_back(
          {methods::mle::ResultRelease(analysis),
           fmt::format("estimates, standard errors and fit measures of analysis '{}'",
                       study.file.analyses[a].name),
           release.to, study.privacy ? "computed from the noised moments" : "exact", 1, *to,
           methods::mle::NumPublishedValues(analysis)});
    }
  }
  return releases;
}

}  // namespace

MleStudy PrepareMleStudy(study::StudyFile file) {
  MleStudy study;
  study.file = std::move(file);
  OrderParties(study);
  try {
    study.partition = MakeStudyPartition(study);
    study.factors = data::WithDerivedFactors(study.file.dictionary, study.file.derived);
    study.columns = data::DesignColumns(study.file.dictionary, study.file.derived);
  } catch (const Error& error) {
    throw Error(error.code(), study.file.file_name + ": " + error.message(), error.hint());
  }
  study.row_columns = {study.file.table.key, study.file.table.block};
  RequireSupportedDesign(study);
  PrepareModels(study);
  RequireSupportedPrivacy(study);
  PlanComputations(study);
  RequireSupportedAnalyses(study);
  if (IsPrivate(study.file)) {
    study.privacy = DesignPrivacy(study);
    study.privacy_statement = StatePrivacy(study);
  } else {
    study.checks = PlanDisclosureChecks(study, study.file.disclosure);
  }
  study.shared_blocks = match::SharedBlocks(study.partition);
  study.releases = PlanReleases(study);
  return study;
}

int IntegerBits(const MleStudy& study) { return study.file.engine.name == "shamir" ? 127 : 128; }

std::string RowsText(const MleStudy& study, const RowSet& rows) {
  std::vector<data::Condition> conditions = study.file.population.subset;
  conditions.insert(conditions.end(), rows.subset.begin(), rows.subset.end());
  std::string text =
      conditions.empty() ? "over all rows" : "over the rows where " + ConditionsText(conditions);
  if (study.file.design.missing == study::MissingPolicy::kComplete)
    text += conditions.empty() ? " that are complete" : " and that are complete";
  if (study.file.design.site == study::SiteEffect::kFixed)
    text += ", of deviations from the means of each row block";
  if (!study.file.design.weights.empty()) text += ", weighted by " + study.file.design.weights;
  if (!rows.group.empty()) text += ", for each level of " + rows.group;
  return text;
}

methods::mle::LikelihoodTask LikelihoodTaskOf(const MleStudy& study, size_t analysis) {
  const methods::mle::MomentsTask& moments =
      study.computations[study.analyses[analysis].computation].task;
  methods::mle::LikelihoodTask task;
  task.fraction_bits = moments.fraction_bits;
  task.max_rows = moments.max_rows;
  task.centre = study.receiver;
  task.name = study.file.analyses[analysis].name;
  task.value_bound = moments.value_bound;
  task.integer_bits = IntegerBits(study);
  return task;
}

methods::mle::RobustTask RobustTaskOf(const MleStudy& study, size_t analysis) {
  const PreparedAnalysis& prepared = study.analyses[analysis];
  const Computation& computation = study.computations[prepared.computation];
  methods::mle::RobustTask task;
  task.name = study.file.analyses[analysis].name;
  task.clustered = !study.file.design.cluster.empty();
  task.receiver = study.receiver;
  task.variables = prepared.variables;
  task.cells = computation.row_sets[prepared.row_set].cells;
  task.moments = computation.task;
  return task;
}

std::string RobustPhase(const MleStudy& study, size_t analysis) {
  return "robust " + study.file.analyses[analysis].name;
}

std::string LikelihoodPhase(const MleStudy& study, size_t analysis) {
  return "likelihood " + study.file.analyses[analysis].name;
}

std::optional<size_t> TellsEstimatesTo(const MleStudy& study, const study::ReleaseSpec& release) {
  if (release.what != "estimates" || release.to.empty()) return std::nullopt;
  if (release.to == "all") return mpc::kEverybody;
  const size_t to = PartyByName(study, release.to);
  return to == study.receiver ? std::nullopt : std::optional<size_t>(to);
}

std::string SourceVariable(const MleStudy& study, const std::string& name) {
  for (const data::DerivedVariable& derived : study.file.derived) {
    if (derived.name == name) return derived.from;
  }
  return name;
}

std::vector<std::string> PartyNames(const MleStudy& study) {
  std::vector<std::string> names;
  for (const study::Party& party : study.parties) names.push_back(party.name);
  return names;
}

std::vector<std::string> OnlineNames(const MleStudy& study) {
  std::vector<std::string> names = PartyNames(study);
  if (study.file.engine.stored_correlations) names.resize(study.num_computing);
  return names;
}

size_t PartyByName(const MleStudy& study, const std::string& name) {
  const std::vector<std::string> names = PartyNames(study);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("study '{}' has no party '{}'", study.file.name, name),
                data::SuggestionHint(name, names));
  }
  return static_cast<size_t>(found - names.begin());
}

}  // namespace partita::runtime
