#include "methods/glm/sealed/plan_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "methods/glm/counts.h"
#include "methods/glm/sealed/clusters.h"
#include "mpc/functions/cluster_sandwich.h"
#include "run/rehearse/rehearsal.h"

namespace partita::methods::glm {

using run::Refuse;

namespace {

// Calls with each party that holds the clusters' variable of a block, and the block.
template <typename Take>
void ForClusterHolders(const GlmStudy& study, Take take) {
  for (const data::Segment& segment : study.partition.segments) {
    for (const data::SegmentPart& part : segment.parts) {
      for (const size_t v : part.variables) {
        if (study.partition.variables[v] == study.task.spec.cluster) take(part, segment.block);
      }
    }
  }
}

}  // namespace

uint64_t NumClusterValues(const GlmStudy& study) {
  if (!study.task.spec.clustered()) return 0;
  const data::ColumnSchema& variable = *study.file.dictionary.Find(study.task.spec.cluster);
  if (!variable.levels.empty()) return variable.levels.size();
  constexpr double kMany = 0x1p40;  // far above what is taken
  return static_cast<uint64_t>(std::min(variable.upper - variable.lower, kMany)) + 1;
}

uint64_t NumClusterHolders(const GlmStudy& study) {
  std::set<size_t> holders;
  ForClusterHolders(study,
                    [&](const data::SegmentPart& part, size_t) { holders.insert(part.party); });
  return holders.size();
}

void RequireClusters(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  if (!spec.clustered()) return;
  const study::Position& position = study.Analysis().position;
  const bool transfers = study.file.engine.name == "ot";
  const uint64_t most = transfers ? kMostMembersByTransfers : kMostMembers;
  const uint64_t values = NumClusterValues(study), rows = *study.partition.TotalRows();
  if (values > most || values * rows > most) {
    Refuse(
        study, position,
        fmt::format("level sealed takes {} rows times values of the cluster at most{}, and "
                    "'{}' may have {} values in {} rows",
                    most, transfers ? " with engine 'ot'" : "", spec.cluster, values, rows),
        fmt::format("give '{}' closer bounds or fewer levels{}, or, of rows that are not split "
                    "by columns, take protocol = \"iterates\"",
                    spec.cluster, transfers ? ", take engine \"dealer\" or \"replicated\"" : ""));
  }
  const uint64_t holders = NumClusterHolders(study), columns = study.task.num_columns();
  const std::string hint = fmt::format(
      "give '{}' closer bounds or fewer levels, or, of rows that are not split by columns, take "
      "protocol = \"iterates\"",
      spec.cluster);
  if (values * holders * columns > kMostClusterScores) {
    Refuse(study, position,
           fmt::format("level sealed takes {} values of the cluster times holders of it and "
                       "columns at most, and '{}' may have {} values at {} holder{}, of {} columns",
                       kMostClusterScores, spec.cluster, values, holders, holders == 1 ? "" : "s",
                       columns),
           hint);
  }
  constexpr auto kMostValues = static_cast<uint64_t>(mpc::kMostClusters);
  if (values * holders > kMostValues) {
    Refuse(study, position,
           fmt::format("level sealed takes {} values of the cluster at all holders together, and "
                       "'{}' may have {} at {} holders",
                       kMostValues, spec.cluster, values, holders),
           hint);
  }
}

void RequireEnoughClusters(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  if (!spec.seals_clusters()) return;
  const uint64_t min_cell = study.file.disclosure.min_cell;
  const std::vector<uint64_t> most = MostClusters(study.layout);
  const auto fewest = std::min_element(most.begin() + 1, most.end());
  const bool beside = fewest != most.end() && *fewest < min_cell;
  const bool of_all = most.front() < LeastClusters(study.task, min_cell);
  if (!beside && !of_all) return;
  const std::string beside_own = BesideOwnText(study);
  const uint64_t values = NumClusterValues(study), holders = NumClusterHolders(study);
  const uint64_t can_be = of_all ? most.front() : *fewest;
  Refuse(
      study, study.Analysis().position,
      fmt::format("level sealed opens nothing without {}, and '{}' may have {} value{} at {} "
                  "holder{}: in the rows that are declared {} cluster{} at most{}",
                  ClustersRule(study.task, min_cell, beside_own), spec.cluster, values,
                  values == 1 ? "" : "s", holders, holders == 1 ? "" : "s", can_be,
                  can_be == 1 ? "" : "s", of_all ? "" : " without those of one of these"),
      "give the variable all of its values in the dictionary, if there are more, take a variable "
      "of more clusters, or errors = \"robust\" without cluster in [design]" +
          std::string(most.front() >= min_cell && !beside ? ", or take fewer columns" : ""));
}

std::vector<std::vector<size_t>> PooledRowsByClusters(const GlmStudy& study,
                                                      const std::vector<std::string>& row_blocks) {
  std::map<std::string, size_t> holder_of_block;
  for (const SealedBlock& block : study.layout.blocks) {
    size_t& holder = holder_of_block[study.partition.blocks[block.block].name];
    for (const SealedPart& part : block.parts) {
      if (part.clusters) holder = part.party;
    }
  }
  std::map<size_t, std::vector<size_t>> by_holder;
  for (size_t r = 0; r < row_blocks.size(); ++r)
    by_holder[holder_of_block.at(row_blocks[r])].push_back(r);
  std::vector<std::vector<size_t>> rows;
  for (auto& [holder, own] : by_holder) rows.push_back(std::move(own));
  return rows;
}

uint64_t NumOwnClusters(const GlmStudy& study, const data::Table& rows,
                        const std::vector<std::string>& row_blocks) {
  std::set<std::pair<size_t, double>> values;
  ForClusterHolders(study, [&](const data::SegmentPart& part, size_t block) {
    std::vector<size_t> of_block;
    for (size_t r = 0; r < row_blocks.size(); ++r) {
      if (row_blocks[r] == study.partition.blocks[block].name) of_block.push_back(r);
    }
    const data::Table whole = run::TakeRows(rows, of_block);
    data::Table own;  // as the holder has it
    own.num_rows = whole.num_rows;
    for (const size_t v : part.variables)
      own.columns.push_back(whole.Get(study.partition.variables[v]));
    study.DeriveColumns(own);
    run::TakenRows taken;
    run::OwnRows counts;
    const data::Column& cluster = whole.Get(study.task.spec.cluster);
    for (const size_t r : RowsTaken(study, own, taken, counts))
      values.emplace(part.party, cluster.codes.empty() ? cluster.numbers[r] : cluster.codes[r]);
  });
  return values.size();
}

std::string ClustersText(const GlmStudy& study) {
  return fmt::format(
      "Which rows are in the same cluster of {} nobody learns but the party that holds it: sums of "
      "clusters stay on shares, one for each of the {} values that the dictionary allows. A "
      "cluster is a value at one holder of which that holder has a row that it does not leave out "
      "itself: of which rows others leave out their number tells nothing, and such a value counts "
      "also where others leave out all of its rows. Whoever is told the errors and knows the "
      "clusters learns {} numbers about sums of scores within them; that none has more than half "
      "of the rows keeps them from being about a few rows alone.",
      study.task.spec.cluster, NumClusterValues(study), study.task.num_columns());
}

}  // namespace partita::methods::glm
