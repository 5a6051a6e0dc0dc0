#include "methods/glm/sealed/clusters.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "mpc/functions/arithmetic.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::PartyIndex;
using mpc::PrivateMatrix;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

// Who holds the clusters of a block.
PartyIndex HolderOf(const SharedBlock& block) { return block.clusters->matrix.owner; }
PartyIndex HolderOf(const SealedBlock& block) {
  return std::find_if(block.parts.begin(), block.parts.end(),
                      [](const SealedPart& part) { return part.clusters; })
      ->party;
}

// Of those who hold clusters, in the order of their first blocks.
template <typename Block>
std::vector<PartyIndex> HoldersOf(const std::vector<Block>& blocks) {
  std::vector<PartyIndex> holders;
  for (const Block& block : blocks) {
    const PartyIndex holder = HolderOf(block);
    if (std::find(holders.begin(), holders.end(), holder) == holders.end())
      holders.push_back(holder);
  }
  return holders;
}

PrivateMatrix MembersOf(PartyIndex holder, size_t rows, size_t values, const OwnBlock* own) {
  PrivateMatrix members{holder, {rows, values}, 0, 1, {}};
  if (own == nullptr) return members;
  members.read = [own, values](size_t first, size_t num, Int128* out) {
    std::fill(out, out + num * values, Int128{0});
    for (size_t r = 0; r < num; ++r) {
      const int32_t value = own->clusters[first + r];
      if (value != kNoCluster) out[r * values + static_cast<size_t>(value)] = 1;
    }
  };
  return members;
}

// Rows with each value, copies counted, of a holder that has them whole.
PrivateMatrix RowsOfValues(PartyIndex holder, size_t values, double most, const OwnBlock* own) {
  PrivateMatrix counts{holder, {values, 1}, 0, most, {}};
  if (own == nullptr) return counts;
  counts.read = [own, copies = own->weights.size() > 0](size_t first, size_t num, Int128* out) {
    std::fill(out, out + num, Int128{0});
    for (size_t r = 0; r < own->clusters.size(); ++r) {
      const int32_t value = own->clusters[r];
      const auto at = static_cast<size_t>(value);
      if (value == kNoCluster || at < first || at >= first + num) continue;
      out[at - first] +=
          copies ? static_cast<Int128>(own->weights[static_cast<Eigen::Index>(r)]) : 1;
    }
  };
  return counts;
}

// By block, values x 1.
std::vector<Shared> CountRows(Engine& engine, const Task& task, const SealedLayout& layout,
                              const std::vector<SharedBlock>& blocks,
                              const std::vector<OwnBlock>& own) {
  std::vector<Shared> counts(blocks.size());
  std::vector<PrivateMatrix> inputs;
  std::vector<size_t> whole;
  mpc::ProductRound round(engine);
  for (size_t b = 0; b < blocks.size(); ++b) {
    const SharedBlock& block = blocks[b];
    const auto rows = static_cast<double>(block.rows);
    if (layout.blocks[b].split()) {
      round.Add(Kind::kGram, *block.clusters, block.ones, rows, counts[b]);
      continue;
    }
    const PartyIndex holder = HolderOf(layout.blocks[b]);
    const bool self = !own.empty() && engine.self() == holder;
    const double copies = task.spec.copies() ? task.spec.most_weight : 1;
    inputs.push_back(
        RowsOfValues(holder, layout.cluster_values, copies * rows, self ? &own[b] : nullptr));
    whole.push_back(b);
  }
  round.Run();
  if (inputs.empty()) return counts;
  const std::vector<Shared> shared = engine.Input(inputs);
  for (size_t i = 0; i < whole.size(); ++i) counts[whole[i]] = shared[i];
  return counts;
}

// Values of which the holder has rows in these blocks that it does not leave out.
PrivateMatrix NumberOfValues(PartyIndex holder, size_t values, const std::vector<size_t>& of,
                             const std::vector<OwnBlock>* own) {
  PrivateMatrix number{holder, {1, 1}, 0, static_cast<double>(values), {}};
  if (own == nullptr) return number;
  number.read = [of, own](size_t, size_t, Int128* out) {
    std::set<int32_t> found;
    for (const size_t b : of) found.insert((*own)[b].clusters.begin(), (*own)[b].clusters.end());
    found.erase(kNoCluster);
    *out = static_cast<Int128>(found.size());
  };
  return number;
}

// All rows, then those without each group, where there are several.
struct RowSet {
  std::vector<size_t> groups, blocks;
};
std::vector<RowSet> RowSetsOf(const SealedLayout& layout) {
  const size_t groups = layout.groups.size();
  std::vector<RowSet> sets(groups > 1 ? groups + 1 : 1);
  for (size_t s = 0; s < sets.size(); ++s) {
    for (size_t g = 0; g < groups; ++g) {
      if (g + 1 == s) continue;
      sets[s].groups.push_back(g);
      sets[s].blocks.insert(sets[s].blocks.end(), layout.groups[g].begin(), layout.groups[g].end());
    }
    std::sort(sets[s].blocks.begin(), sets[s].blocks.end());
  }
  return sets;
}

std::vector<size_t> BlocksOf(PartyIndex holder, const RowSet& set, const SealedLayout& layout) {
  std::vector<size_t> own;
  for (const size_t b : set.blocks) {
    if (HolderOf(layout.blocks[b]) == holder) own.push_back(b);
  }
  return own;
}

// By row set.
std::vector<Shared> NumbersOfClusters(Engine& engine, const SealedLayout& layout,
                                      const std::vector<RowSet>& sets,
                                      const std::vector<OwnBlock>& own) {
  std::map<std::vector<size_t>, size_t> places;  // the same blocks are counted once
  std::vector<PrivateMatrix> inputs;
  std::vector<std::vector<size_t>> of_set(sets.size());
  for (size_t s = 0; s < sets.size(); ++s) {
    for (const PartyIndex holder : HoldersOf(layout.blocks)) {
      const std::vector<size_t> of = BlocksOf(holder, sets[s], layout);
      if (of.empty()) continue;
      const auto [place, is_new] = places.emplace(of, inputs.size());
      of_set[s].push_back(place->second);
      if (!is_new) continue;
      const bool self = !own.empty() && engine.self() == holder;
      inputs.push_back(NumberOfValues(holder, layout.cluster_values, of, self ? &own : nullptr));
    }
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  std::vector<Shared> numbers;
  for (const std::vector<size_t>& of : of_set) {
    Shared sum = shared[of.front()];
    for (size_t i = 1; i < of.size(); ++i) sum = engine.Add(sum, shared[of[i]]);
    numbers.push_back(WithBound(sum, static_cast<double>(layout.rows())));
  }
  return numbers;
}

}  // namespace

void RegisterClusters(Engine& engine, const SealedLayout& layout, const std::vector<OwnBlock>& own,
                      std::vector<SharedBlock>& blocks) {
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (const SealedPart& part : layout.blocks[b].parts) {
      if (!part.clusters) continue;
      const bool self = !own.empty() && engine.self() == part.party;
      blocks[b].clusters = engine.Register(
          MembersOf(part.party, blocks[b].rows, layout.cluster_values, self ? &own[b] : nullptr));
    }
  }
}

std::vector<uint64_t> MostClusters(const SealedLayout& layout) {
  std::vector<uint64_t> most;
  for (const RowSet& set : RowSetsOf(layout)) {
    uint64_t clusters = 0;
    for (const PartyIndex holder : HoldersOf(layout.blocks)) {
      uint64_t rows = 0;
      for (const size_t b : BlocksOf(holder, set, layout)) rows += layout.blocks[b].rows;
      clusters += std::min<uint64_t>(layout.cluster_values, rows);
    }
    most.push_back(clusters);
  }
  return most;
}

SealedClusters CountClusters(Engine& engine, const Task& task, const SealedLayout& layout,
                             const std::vector<SharedBlock>& blocks,
                             const std::vector<OwnBlock>& own,
                             const std::vector<Shared>& by_group) {
  const std::vector<Shared> counts = CountRows(engine, task, layout, blocks, own);
  const std::vector<RowSet> sets = RowSetsOf(layout);
  SealedClusters clusters;
  clusters.numbers = NumbersOfClusters(engine, layout, sets, own);
  const auto most = static_cast<double>(task.max_rows());
  for (const RowSet& set : sets) {
    std::vector<Shared> of_groups;
    for (const size_t g : set.groups) of_groups.push_back(by_group[g]);
    const Shared rows = engine.SelectRows(RowsFrom(engine, task, of_groups),
                                          std::vector<size_t>(layout.cluster_values, 0));
    for (const PartyIndex holder : HoldersOf(layout.blocks)) {
      const std::vector<size_t> of = BlocksOf(holder, set, layout);
      if (of.empty()) continue;
      Shared sum = counts[of.front()];
      for (size_t i = 1; i < of.size(); ++i) sum = engine.Add(sum, counts[of[i]]);
      clusters.room.push_back(WithBound(engine.Subtract(rows, engine.Scale(sum, 2)), most));
    }
  }
  return clusters;
}

Shared ScoresOfClusters(Engine& engine, const std::vector<SharedBlock>& blocks,
                        const std::vector<Shared>& residuals) {
  std::vector<std::vector<Shared>> scores(blocks.size());
  mpc::ProductRound of_rows(engine);
  for (size_t b = 0; b < blocks.size(); ++b) {
    scores[b].resize(blocks[b].parts.size());
    for (size_t p = 0; p < scores[b].size(); ++p) {
      of_rows.Add(residuals[b], blocks[b].parts[p].operand, residuals[b].bound, scores[b][p]);
    }
  }
  of_rows.Run();
  std::vector<Shared> sums(blocks.size());
  mpc::ProductRound of_clusters(engine);
  double most = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const double of_block = residuals[b].bound * static_cast<double>(blocks[b].rows);
    of_clusters.Add(Kind::kGram, *blocks[b].clusters, engine.Concatenate(scores[b], false),
                    of_block, sums[b]);
    most += of_block;
  }
  of_clusters.Run();
  std::vector<Shared> by_holder;
  for (const PartyIndex holder : HoldersOf(blocks)) {
    Shared all;
    for (size_t b = 0; b < blocks.size(); ++b) {
      if (HolderOf(blocks[b]) != holder) continue;
      const Shared ordered =
          engine.SelectRows(engine.Transpose(sums[b]), PlacesOfColumns(blocks[b]));
      all = all.payload == nullptr ? ordered : engine.Add(all, ordered);
    }
    by_holder.push_back(engine.Transpose(all));
  }
  return WithBound(engine.Concatenate(by_holder, true), most);
}

}  // namespace partita::methods::glm
