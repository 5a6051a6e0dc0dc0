#include "methods/glm/sealed/plan_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace partita::methods::glm {

using run::Refuse;

uint64_t NumClusterValues(const GlmStudy& study) {
  if (!study.task.spec.clustered()) return 0;
  const data::ColumnSchema& variable = *study.file.dictionary.Find(study.task.spec.cluster);
  if (!variable.levels.empty()) return variable.levels.size();
  constexpr double kMany = 0x1p40;  // far above what is taken
  return static_cast<uint64_t>(std::min(variable.upper - variable.lower, kMany)) + 1;
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

std::string ClustersText(const GlmStudy& study) {
  return fmt::format(
      "Which rows are in the same cluster of {} nobody learns but the party that holds it: sums of "
      "clusters stay on shares, one for each of the {} values that the dictionary allows. A "
      "cluster "
      "is a value at one holder; one of which no row takes part does not count.",
      study.task.spec.cluster, NumClusterValues(study));
}

}  // namespace partita::methods::glm
