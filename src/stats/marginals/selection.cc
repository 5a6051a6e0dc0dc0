#include "stats/marginals/selection.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "base/int128.h"
#include "stats/blr/variates.h"
#include "stats/marginals/junction_tree.h"

namespace partita::stats::marginals {
namespace {

// Not negative numbers.
UInt128 RoundedRatio(UInt128 numerator, UInt128 denominator) {
  return (numerator + denominator / 2) / denominator;
}

// Counts of one attribute without negative ones; all equal where nothing is left.
std::vector<uint64_t> Clipped(const CountTable& table, std::span<const int64_t> one_way,
                              uint64_t most) {
  std::vector<uint64_t> clipped;
  uint64_t sum = 0;
  for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
    const auto count = static_cast<uint64_t>(std::max<int64_t>(one_way[i], 0));
    clipped.push_back(std::min(count, most));
    sum += clipped.back();
  }
  if (sum == 0) std::ranges::fill(clipped, 1);
  return clipped;
}

uint64_t SumOf(const std::vector<uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

struct GainOfPair {
  int64_t gain;
  size_t table;
};

// Adds pairs, in the order of their gains, to those that are chosen.
class PairChoice {
 public:
  PairChoice(const TableSet& set, const std::vector<GainOfPair>& gains, size_t pairs)
      : set_(set), gains_(gains), pairs_(pairs) {}

  // Kruskal's forest; its junction tree stays small.
  void AddForest() {
    std::vector<uint32_t> root(set_.attributes.size());
    std::iota(root.begin(), root.end(), 0U);
    for (const GainOfPair& pair : gains_) {
      const CountTable& table = set_.tables[pair.table];
      const uint32_t from = root[table.first], to = root[table.second];
      if (from != to && AddSmall(pair.table)) std::ranges::replace(root, from, to);
    }
  }
  // Others with which it stays small.
  void AddWhatFits() {
    for (const GainOfPair& pair : gains_) AddSmall(pair.table);
  }
  void AddAny() {
    for (const GainOfPair& pair : gains_) {
      if (IsOpen(pair.table)) chosen_.push_back(pair.table);
    }
  }

  std::vector<size_t> Take() {
    std::ranges::sort(chosen_);
    return std::move(chosen_);
  }

 private:
  bool IsOpen(size_t table) const {
    return chosen_.size() < pairs_ && std::ranges::find(chosen_, table) == chosen_.end();
  }
  bool AddSmall(size_t table) {
    if (!IsOpen(table)) return false;
    edges_.emplace_back(set_.tables[table].first, set_.tables[table].second);
    if (TreeCells(set_, edges_) > static_cast<double>(kTreeCells)) {
      edges_.pop_back();
      return false;
    }
    chosen_.push_back(table);
    return true;
  }

  const TableSet& set_;
  const std::vector<GainOfPair>& gains_;
  size_t pairs_;
  std::vector<size_t> chosen_;
  std::vector<Edge> edges_;
};

int64_t Rounded(double value) { return std::llround(std::clamp(value, -1e15, 1e15)); }

}  // namespace

Selection SelectionFor(const TableSet& set, uint32_t pairs, privacy::Adjacency adjacency) {
  const auto one_way = static_cast<double>(set.attributes.size()),
             all_pairs = static_cast<double>(NumPairs(set)), chosen = static_cast<double>(pairs);
  // A replaced row changes two cells of a table and a score by 2, squares 2 and 4; an added one one
  // cell and a score by 1.
  const double of_a_score = adjacency == privacy::Adjacency::kReplace ? 2 : 1;
  const auto weight = [&](double share, double tables) {
    return std::sqrt(share * (one_way + chosen) / tables);
  };
  return {pairs, weight(kOneWayShare, one_way), weight(kScoreShare, of_a_score * all_pairs),
          weight(kPairShare, chosen)};
}

size_t OneWayCells(const TableSet& set) {
  const CountTable& last = set.tables[set.attributes.size() - 1];
  return last.offset + last.cells();
}

size_t MostCells(const TableSet& set, size_t pairs) {
  std::vector<size_t> cells;
  for (size_t t = set.attributes.size(); t < set.tables.size(); ++t)
    cells.push_back(set.tables[t].cells());
  std::ranges::sort(cells, std::greater<>());
  cells.resize(std::min(pairs, cells.size()));
  return std::accumulate(cells.begin(), cells.end(), size_t{0});
}

std::vector<int64_t> IndependentCounts(const TableSet& set, std::span<const int64_t> one_way,
                                       std::optional<uint64_t> rows, uint64_t most) {
  const size_t d = set.attributes.size();
  if (one_way.size() != OneWayCells(set))
    throw Error(ErrorCode::kUsage, "There is not one number for each level", "");
  std::vector<std::vector<uint64_t>> counts;
  std::vector<uint64_t> sums;
  for (size_t a = 0; a < d; ++a) {
    counts.push_back(Clipped(set.tables[a], one_way, most));
    sums.push_back(SumOf(counts.back()));
  }
  const auto smallest = std::ranges::min_element(set.attributes, {}, &Attribute::levels);
  const uint64_t total =
      rows.value_or(std::min(sums[static_cast<size_t>(smallest - set.attributes.begin())], most));
  std::vector<int64_t> independent;
  for (size_t t = d; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    const UInt128 all = UInt128{sums[table.first]} * sums[table.second];
    for (const uint64_t first : counts[table.first]) {
      for (const uint64_t second : counts[table.second]) {
        const UInt128 count = RoundedRatio(UInt128{first} * second * total, all);
        independent.push_back(static_cast<int64_t>(std::min<UInt128>(count, most)));
      }
    }
  }
  return independent;
}

std::vector<double> ScoresOf(const TableSet& set, std::span<const double> counts,
                             std::span<const int64_t> independent) {
  std::vector<double> scores;
  const size_t first = OneWayCells(set);
  for (size_t t = set.attributes.size(); t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    double score = 0;
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i)
      score += std::abs(counts[i] - static_cast<double>(independent[i - first]));
    scores.push_back(score);
  }
  return scores;
}

std::vector<size_t> ChoosePairs(const TableSet& set, std::span<const int64_t> scores,
                                double pair_stddev, size_t pairs) {
  const size_t d = set.attributes.size();
  if (scores.size() != NumPairs(set) || pairs > scores.size())
    throw Error(ErrorCode::kUsage, "There is not one score for each pair, or too few", "");
  std::vector<GainOfPair> gains;
  for (size_t t = d; t < set.tables.size(); ++t) {
    const double noise = std::sqrt(2 / std::numbers::pi) * pair_stddev;
    gains.push_back(
        {scores[t - d] - Rounded(noise * static_cast<double>(set.tables[t].cells())), t});
  }
  std::ranges::stable_sort(gains, std::greater<>(), &GainOfPair::gain);
  PairChoice choice(set, gains, pairs);
  choice.AddForest();
  choice.AddWhatFits();
  choice.AddAny();
  return choice.Take();
}

TableWeights WeightsOfChosen(const TableSet& set, const Selection& selection,
                             std::span<const size_t> chosen) {
  TableWeights weights(set.tables.size(), 0);
  std::fill_n(weights.begin(), set.attributes.size(), selection.one_way);
  for (const size_t table : chosen) weights[table] = selection.pair;
  return weights;
}

NoisyTables MeasureByScores(const TableSet& set, std::span<const double> counts,
                            const Selection& selection, double noise_stddev,
                            std::optional<double> rows, crypto::RandomSource& source) {
  blr::Variates variates(source);
  NoisyTables noisy = {std::vector<double>(set.num_cells, 0), noise_stddev, rows};
  const auto open = [&](const CountTable& table, double weight) {
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i)
      noisy.cells[i] = counts[i] + noise_stddev / weight * variates.Normal();
  };
  const size_t d = set.attributes.size();
  for (size_t a = 0; a < d; ++a) open(set.tables[a], selection.one_way);
  std::vector<int64_t> one_way, scores;
  for (size_t i = 0; i < OneWayCells(set); ++i) one_way.push_back(Rounded(noisy.cells[i]));
  const std::span<const double> first = set.tables[0].Of(counts);
  const double sum = std::accumulate(first.begin(), first.end(), 0.0);
  std::optional<uint64_t> known;
  if (rows) known = static_cast<uint64_t>(*rows);
  const std::vector<int64_t> independent =
      IndependentCounts(set, one_way, known, std::max<uint64_t>(static_cast<uint64_t>(sum), 1));
  for (const double score : ScoresOf(set, counts, independent))
    scores.push_back(Rounded(score + noise_stddev / selection.score * variates.Normal()));
  const std::vector<size_t> chosen =
      ChoosePairs(set, scores, noise_stddev / selection.pair, selection.pairs);
  for (const size_t table : chosen) open(set.tables[table], selection.pair);
  noisy.weights = WeightsOfChosen(set, selection, chosen);
  return noisy;
}

}  // namespace partita::stats::marginals
