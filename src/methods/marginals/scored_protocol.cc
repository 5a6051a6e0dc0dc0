#include "methods/marginals/scored_protocol.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "mpc/compare.h"
#include "stats/marginals/noise.h"

namespace partita::methods::marginals {
namespace {

using mpc::Engine;
using mpc::Product;
using mpc::Shared;
using stats::marginals::CountTable;
using stats::marginals::TableSet;

// What opened, in whole units of the lift; empty where nothing is learned.
struct Opened {
  std::vector<Int128> values;
  uint64_t lift = 1;

  double Number(size_t i) const {
    return static_cast<double>(values[i]) / static_cast<double>(lift);
  }
  // Nearest whole numbers; the same on every machine.
  std::vector<int64_t> Rounded() const {
    std::vector<int64_t> rounded;
    const Int128 half = lift / 2;
    for (const Int128 value : values) {
      const Int128 magnitude = ((value < 0 ? -value : value) + half) / lift;
      rounded.push_back(static_cast<int64_t>(value < 0 ? -magnitude : magnitude));
    }
    return rounded;
  }
};

// Takes the next coordinates of the noise for every opening.
class NoisyOpenings {
 public:
  NoisyOpenings(Engine& engine, const Task& task, Shared noise)
      : engine_(engine), to_(task.to), noise_(std::move(noise)) {}

  // values: 1 x n, whole numbers.
  Opened Open(const char* release, const Shared& values, uint64_t lift) {
    const mpc::PublicMatrix factor{{{1, 1}, {Int128{lift}}}, stats::marginals::kNoiseGridBits};
    const Shared noise = engine_.Slice(noise_, 0, used_, values.shape);
    used_ += values.shape.cols;
    const Shared noisy = engine_.Add(engine_.MultiplyPublic(factor, values), noise);
    const std::vector<mpc::IntMatrix> opened = engine_.Reveal(release, {&noisy, 1}, to_);
    if (opened.empty()) return {{}, lift};
    return {opened[0].values, lift};
  }

 private:
  Engine& engine_;
  mpc::PartyIndex to_;
  Shared noise_;
  size_t used_ = 0;
};

// Of all blocks together, at most.
uint64_t MostRows(const Task& task) {
  uint64_t most = 0;
  for (const RowBlock& block : task.blocks) most += block.rows;
  return std::max<uint64_t>(most, 1);
}

// 1 x pairs: sum |N - c| over the cells of every pair. pairs: counts of all pairs, 1 x PairCells.
Shared ScoresOnShares(Engine& engine, const TableSet& set, const Shared& pairs,
                      const std::vector<int64_t>& independent, double most) {
  mpc::PublicMatrix expected{{pairs.shape, std::vector<Int128>(pairs.shape.cols, 0)}, 0};
  std::ranges::copy(independent, expected.values.values.begin());
  Shared excess = engine.Subtract(pairs, engine.Public(expected));
  excess.bound = most;  // both are from 0 to that
  const Shared negative = engine.ToRing(mpc::IsNegative(engine, {&excess, 1})).front();
  const Product product{Product::Kind::kElementwise, negative, excess};
  const Shared below = engine.Multiply({&product, 1}).front();
  const Shared distance = engine.Subtract(excess, engine.Scale(below, 2));
  const Shared column = engine.Transpose(distance);
  std::vector<Shared> scores;
  size_t first = 0;
  for (size_t t = set.attributes.size(); t < set.tables.size(); ++t) {
    const size_t cells = set.tables[t].cells();
    scores.push_back(engine.SumRows(engine.Slice(column, first, 0, {cells, 1})));
    first += cells;
  }
  return engine.Concatenate(scores, false);
}

// Places of the chosen pairs' cells among those of all pairs; what is left of `size` is `filler`.
std::vector<size_t> PlacesOf(const TableSet& set, const std::vector<size_t>& chosen, size_t size,
                             size_t filler) {
  const size_t before = stats::marginals::OneWayCells(set);
  std::vector<size_t> places;
  for (const size_t t : chosen) {
    const CountTable& table = set.tables[t];
    for (size_t i = 0; i < table.cells(); ++i) places.push_back(table.offset - before + i);
  }
  places.resize(size, filler);
  return places;
}

// The cells of the chosen pairs and as many zeros as make them OpenedLast, 1 x that.
Shared ChosenCells(Engine& engine, const Task& task, const Shared& pairs,
                   const std::vector<size_t>& chosen) {
  const Shared zero = engine.Public({{{1, 1}, {Int128{0}}}, 0});
  const std::vector<Shared> parts = {engine.Transpose(pairs), zero};
  const Shared all = engine.Concatenate(parts, true);
  const std::vector<size_t> places = PlacesOf(task.set, chosen, OpenedLast(task), pairs.shape.cols);
  return engine.Transpose(engine.SelectRows(all, places));
}

}  // namespace

std::optional<ScoredOpening> OpenByScores(Engine& engine, const Task& task,
                                          std::optional<uint64_t> rows, const Shared& counts,
                                          const NoiseDesign& design,
                                          const std::vector<Int128>& own_share) {
  const TableSet& set = task.set;
  if (!task.scored || task.to != mpc::kEverybody)
    throw Error(ErrorCode::kInternal, "pairs are chosen by scores that not all parties learn");
  const ScoredPairs& scored = *task.scored;
  const size_t d = set.attributes.size(), one_way_cells = stats::marginals::OneWayCells(set);
  const bool learns = engine.self().has_value();
  const uint64_t most = MostRows(task);
  const Shared one_way = engine.Slice(counts, 0, 0, {1, one_way_cells}),
               pairs =
                   engine.Slice(counts, 0, one_way_cells, {1, stats::marginals::PairCells(set)});
  NoisyOpenings openings(engine, task, NoiseOnShares(engine, design, own_share));

  const Opened ones = openings.Open(kOneWayRelease, one_way, scored.one_way_lift);
  const std::vector<int64_t> independent =
      learns ? stats::marginals::IndependentCounts(set, ones.Rounded(), rows, most)
             : std::vector<int64_t>{};

  engine.BeginPhase("scores");
  const Opened scores = openings.Open(
      kScoresRelease, ScoresOnShares(engine, set, pairs, independent, static_cast<double>(most)),
      scored.score_lift);
  // Where nothing is learned the first pairs stand for those that are chosen: sizes are the same.
  std::vector<size_t> chosen(scored.pairs);
  std::iota(chosen.begin(), chosen.end(), d);
  if (learns) {
    chosen = stats::marginals::ChoosePairs(
        set, scores.Rounded(), design.noise_stddev() / SelectionOf(task).pair, scored.pairs);
  }

  engine.BeginPhase("chosen pairs");
  const Opened cells =
      openings.Open(kTablesRelease, ChosenCells(engine, task, pairs, chosen), scored.pair_lift);
  if (!learns) return std::nullopt;
  ScoredOpening opening{std::vector<double>(set.num_cells, 0), {}, chosen};
  for (size_t i = 0; i < one_way_cells; ++i) opening.cells[i] = ones.Number(i);
  for (size_t p = 0; p < scores.values.size(); ++p) opening.scores.push_back(scores.Number(p));
  size_t next = 0;
  for (const size_t t : chosen) {
    for (double& cell : set.tables[t].Of(std::span<double>(opening.cells)))
      cell = cells.Number(next++);
  }
  return opening;
}

}  // namespace partita::methods::marginals
