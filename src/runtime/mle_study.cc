#include "runtime/mle_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/scaling.h"
#include "data/suggest.h"

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
  options.function = spec.function;
  options.model = spec.model;
  options.group = spec.group;
  options.group_equal = spec.group_equal;
  options.std_lv = spec.std_lv;
  options.meanstructure = spec.meanstructure;
  options.fixed_x = spec.fixed_x;
  options.information = spec.information == "observed" ? stats::Information::kObserved
                                                       : stats::Information::kExpected;
  return options;
}

methods::mle::MomentsTask MakeTask(const MleStudy& study) {
  methods::mle::MomentsTask task;
  task.num_variables = study.analysis.variables.size();
  task.num_groups = std::max<size_t>(1, study.analysis.group_levels.size());
  task.receiver = study.receiver;
  for (const data::Segment& segment : study.partition.segments) {
    const data::RowBlock& rows = study.partition.blocks[segment.block];
    methods::mle::RowBlock block;
    block.name = rows.name;
    if (segment.shared()) block.count = rows.count;
    for (const data::SegmentPart& part : segment.parts) {
      methods::mle::BlockHolder holder;
      holder.party = part.party;
      for (size_t v = 0; v < task.num_variables; ++v) {
        for (size_t held : part.variables) {
          if (study.partition.variables[held] == study.analysis.variables[v].name)
            holder.variables.push_back(v);
        }
      }
      for (size_t held : part.variables) {
        if (study.partition.variables[held] == study.analysis.options.group)
          holder.holds_group = true;
      }
      if (!holder.variables.empty() || holder.holds_group)
        block.holders.push_back(std::move(holder));
    }
    task.max_rows += rows.count.value_or(kMaxUndeclaredRows);
    task.blocks.push_back(std::move(block));
  }
  task.fraction_bits = data::MomentFractionBits(task.max_rows);
  return task;
}

std::string ListOf(const std::vector<data::ColumnSchema>& variables) {
  std::string list;
  for (const data::ColumnSchema& variable : variables)
    list += (list.empty() ? "" : ", ") + variable.name;
  return list;
}

void RefuseTooFewRows(const MleStudy& study) {
  const std::optional<uint64_t> rows = study.partition.TotalRows();
  if (rows && *rows <= study.task.num_variables) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: {} rows cannot identify the covariances of {} variables",
                            study.file.file_name, *rows, study.task.num_variables),
                "use fewer variables or more rows");
  }
}

}  // namespace

MleStudy PrepareMleStudy(study::StudyFile file) {
  MleStudy study;
  study.file = std::move(file);
  OrderParties(study);
  try {
    study.partition = MakeStudyPartition(study);
  } catch (const Error& error) {
    throw Error(error.code(), study.file.file_name + ": " + error.message(), error.hint());
  }
  study.row_columns = {study.file.table.key, study.file.table.block};
  try {
    study.analysis =
        methods::mle::PrepareAnalysis(Options(study.file.analysis), study.file.dictionary);
  } catch (const Error& error) {
    throw Error(error.code(),
                At(study.file, study.file.analysis.model_position) + ": model: " + error.message(),
                error.hint());
  }
  study.task = MakeTask(study);
  RefuseTooFewRows(study);
  study.shared_blocks = match::SharedBlocks(study.partition);
  study.releases = {{methods::mle::kMomentsRelease,
                     fmt::format("n, sums and cross products of {} over all rows{}",
                                 ListOf(study.analysis.variables),
                                 study.analysis.group_levels.empty()
                                     ? std::string()
                                     : ", for each level of " + study.analysis.options.group),
                     study.parties[study.receiver].name, "exact", 1, study.receiver,
                     methods::mle::NumReleasedValues(study.task)}};
  return study;
}

std::vector<std::string> PartyNames(const MleStudy& study) {
  std::vector<std::string> names;
  for (const study::Party& party : study.parties) names.push_back(party.name);
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
