#include "methods/glm/sealed/clusters.h"

#include <algorithm>
#include <map>
#include <utility>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::PartyIndex;
using mpc::PrivateMatrix;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

PartyIndex HolderOf(const SharedBlock& block) { return block.clusters->matrix.owner; }

// Of those who hold clusters, in the order of their first blocks.
std::vector<PartyIndex> HoldersOf(const std::vector<SharedBlock>& blocks) {
  std::vector<PartyIndex> holders;
  for (const SharedBlock& block : blocks) {
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

// Rows with each value, of a holder that has them whole.
PrivateMatrix RowsOfValues(PartyIndex holder, size_t rows, size_t values, const OwnBlock* own) {
  PrivateMatrix counts{holder, {values, 1}, 0, static_cast<double>(rows), {}};
  if (own == nullptr) return counts;
  counts.read = [own](size_t first, size_t num, Int128* out) {
    std::fill(out, out + num, Int128{0});
    for (const int32_t value : own->clusters) {
      const auto at = static_cast<size_t>(value);
      if (value != kNoCluster && at >= first && at < first + num) ++out[at - first];
    }
  };
  return counts;
}

// By block, values x 1.
std::vector<Shared> CountRows(Engine& engine, const SealedLayout& layout,
                              const std::vector<SharedBlock>& blocks,
                              const std::vector<OwnBlock>& own) {
  std::vector<Shared> counts(blocks.size());
  std::vector<PrivateMatrix> inputs;
  std::vector<size_t> whole;
  mpc::ProductRound round(engine);
  for (size_t b = 0; b < blocks.size(); ++b) {
    const SharedBlock& block = blocks[b];
    if (layout.blocks[b].split()) {
      round.Add(Kind::kGram, *block.clusters, block.ones, static_cast<double>(block.rows),
                counts[b]);
      continue;
    }
    const bool self = !own.empty() && engine.self() == HolderOf(block);
    inputs.push_back(
        RowsOfValues(HolderOf(block), block.rows, layout.cluster_values, self ? &own[b] : nullptr));
    whole.push_back(b);
  }
  round.Run();
  if (inputs.empty()) return counts;
  const std::vector<Shared> shared = engine.Input(inputs);
  for (size_t i = 0; i < whole.size(); ++i) counts[whole[i]] = shared[i];
  return counts;
}

std::vector<size_t> Without(const SealedLayout& layout, const std::vector<size_t>& left_out) {
  std::vector<size_t> kept;
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    if (std::find(left_out.begin(), left_out.end(), b) == left_out.end()) kept.push_back(b);
  }
  return kept;
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

std::vector<Shared> ClusterCounts(Engine& engine, const SealedLayout& layout,
                                  const std::vector<SharedBlock>& blocks,
                                  const std::vector<OwnBlock>& own) {
  const std::vector<Shared> counts = CountRows(engine, layout, blocks, own);
  const std::vector<PartyIndex> holders = HoldersOf(blocks);
  const auto rows = static_cast<double>(layout.rows());
  std::vector<std::vector<size_t>> sets = {Without(layout, {})};
  if (layout.groups.size() > 1) {
    for (const std::vector<size_t>& group : layout.groups) sets.push_back(Without(layout, group));
  }
  // Of each holder the same blocks are looked at once.
  std::map<std::vector<size_t>, size_t> places;
  std::vector<Shared> none;  // [-count < 0]
  std::vector<std::vector<size_t>> of_set(sets.size());
  for (size_t s = 0; s < sets.size(); ++s) {
    for (const PartyIndex holder : holders) {
      std::vector<size_t> own_blocks;
      for (const size_t b : sets[s]) {
        if (HolderOf(blocks[b]) == holder) own_blocks.push_back(b);
      }
      if (own_blocks.empty()) continue;
      const auto [place, is_new] = places.emplace(own_blocks, none.size());
      of_set[s].push_back(place->second);
      if (!is_new) continue;
      Shared sum = counts[own_blocks.front()];
      for (size_t i = 1; i < own_blocks.size(); ++i) sum = engine.Add(sum, counts[own_blocks[i]]);
      none.push_back(WithBound(engine.Scale(sum, -1), rows));
    }
  }
  std::vector<Shared> numbers = engine.ToRing(mpc::IsNegative(engine, none));
  for (Shared& number : numbers) number = engine.SumRows(number);
  std::vector<Shared> clusters;
  for (const std::vector<size_t>& of : of_set) {
    Shared sum = engine.Public({{{1, 1}, {0}}, 0});
    for (const size_t place : of) sum = engine.Add(sum, numbers[place]);
    clusters.push_back(WithBound(sum, rows));
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
