#include "methods/glm/sealed/risk.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/counts.h"
#include "methods/glm/sealed/row_values.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/scoring_step.h"
#include "stats/glm/risk.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::SharedBits;
using mpc::WithBound;
using stats::glm::kRiskBins;
using Kind = mpc::Product::Kind;

// Bins of stats/glm/risk.h: of 2^-kBinBits, from -kMostLogOdds to kMostLogOdds.
constexpr int kBinBits = 4;
constexpr double kMostLogOdds = 8;
constexpr size_t kDigit = 16, kBitsOfBin = 8;
static_assert(kRiskBins == kDigit * kDigit && kRiskBins == size_t{1} << kBitsOfBin);
static_assert(2 * kMostLogOdds * (1 << kBinBits) == kRiskBins);

std::vector<size_t> PlanesFrom(size_t first, size_t count) {
  std::vector<size_t> planes(count);
  for (size_t i = 0; i < count; ++i) planes[i] = first + i;
  return planes;
}

// Indicators of pairs of digits: of a from 0 to m - 1 and b from 0 to k - 1 given by theirs those of k a + b. Several
// pairs at once.
struct DigitPair {
  SharedBits high, low;
};
std::vector<SharedBits> JoinDigits(Engine& engine, const std::vector<DigitPair>& pairs) {
  std::vector<mpc::BitProduct> products;
  for (const DigitPair& pair : pairs) {
    std::vector<size_t> high, low;
    for (size_t a = 0; a < pair.high.width; ++a) {
      for (size_t b = 0; b < pair.low.width; ++b) {
        high.push_back(a);
        low.push_back(b);
      }
    }
    products.push_back({engine.SelectPlanes(pair.high, high), engine.SelectPlanes(pair.low, low)});
  }
  return engine.And(products);
}

// Indicators of the high and the low digit of each row's bin, kDigit planes each. bits: of the predictor and
// kMostLogOdds; low: whether it is below -kMostLogOdds; under: below kMostLogOdds.
std::vector<SharedBits> DigitsOfBins(Engine& engine, const SharedBits& bits, const SharedBits& low,
                                     const SharedBits& under) {
  const size_t first = static_cast<size_t>(mpc::kStepBits - kBinBits);
  const std::vector<size_t> times(kBitsOfBin, 0);
  const std::vector<mpc::BitProduct> within = {
      {engine.SelectPlanes(bits, PlanesFrom(first, kBitsOfBin)),
       engine.SelectPlanes(engine.Xor(low, under), times)}};
  const SharedBits bin =
      engine.Xor(engine.And(within).front(), engine.SelectPlanes(engine.Not(under), times));
  // Indicators of each bit: of 0, then of 1.
  std::vector<SharedBits> digits;
  for (size_t bit = 0; bit < kBitsOfBin; ++bit) {
    const SharedBits one = engine.SelectPlanes(bin, std::vector<size_t>{bit});
    const std::vector<SharedBits> both = {engine.Not(one), one};
    digits.push_back(engine.JoinPlanes(both));
  }
  // The highest first.
  std::reverse(digits.begin(), digits.end());
  while (digits.size() > 2) {
    std::vector<DigitPair> pairs;
    for (size_t i = 0; i < digits.size(); i += 2) pairs.push_back({digits[i], digits[i + 1]});
    digits = JoinDigits(engine, pairs);
  }
  return digits;
}

// Planes as columns: rows x width.
Shared AsColumns(Engine& engine, const Shared& planes, size_t rows) {
  std::vector<Shared> columns;
  for (size_t first = 0; first < planes.shape.rows; first += rows)
    columns.push_back(engine.Slice(planes, first, 0, {rows, 1}));
  return WithBound(engine.Concatenate(columns, false), 1);
}

struct RowMarks {
  Shared below;      // n x (G - 1): whether the predictor is below the cut point
  Shared high, low;  // n x kDigit: indicators of the bin's digits
};

RowMarks MarksOf(Engine& engine, const std::vector<double>& limits, const Shared& predictor) {
  const auto plus = [&](double constant) {
    return mpc::PlusConstant(engine, predictor, constant, predictor.bound + std::abs(constant));
  };
  std::vector<Shared> differences;
  for (const double limit : limits) differences.push_back(plus(-limit));
  differences.push_back(plus(kMostLogOdds));
  differences.push_back(plus(-kMostLogOdds));
  std::vector<SharedBits> negative = mpc::IsNegative(engine, differences);
  const std::vector<Shared> shifted = {plus(kMostLogOdds)};
  const size_t num_bits = static_cast<size_t>(mpc::kStepBits - kBinBits) + kBitsOfBin;
  const SharedBits bits = mpc::LowestBits(engine, shifted, num_bits).front();
  const SharedBits under = negative.back();
  negative.pop_back();
  const SharedBits low = negative.back();
  negative.pop_back();
  const std::vector<SharedBits> digits = DigitsOfBins(engine, bits, low, under);
  const std::vector<SharedBits> marks = {engine.JoinPlanes(negative), digits[0], digits[1]};
  const std::vector<Shared> numbers = engine.ToRing(marks);
  const size_t rows = predictor.shape.rows;
  return {AsColumns(engine, numbers[0], rows), AsColumns(engine, numbers[1], rows),
          AsColumns(engine, numbers[2], rows)};
}

// By row: copies (empty: one each), events and the probability of one, copies counted.
struct RowCounts {
  Shared copies, events, expected;
};

Shared JoinedBlocks(Engine& engine, const std::vector<SharedBlock>& blocks,
                    Shared SharedBlock::*column) {
  std::vector<Shared> columns;
  for (const SharedBlock& block : blocks) columns.push_back(block.*column);
  return engine.Concatenate(columns, true);
}

// What a block adds below each cut point, (G - 1) x 1 each.
struct BelowCuts {
  Shared rows, events, expected;
};

// From what is below cut points and in all to what is between two of them.
Shared Differences(Engine& engine, const Shared& below, double most) {
  const size_t groups = below.shape.rows;
  const std::vector<Shared> shifted = {engine.Scale(engine.Slice(below, 0, 0, {1, 1}), 0),
                                       engine.Slice(below, 0, 0, {groups - 1, 1})};
  return WithBound(engine.Subtract(below, engine.Concatenate(shifted, true)), most);
}

// A row of `value` at `place`, 0 elsewhere.
Shared AtPlace(Engine& engine, const Shared& value, size_t place, size_t rows) {
  const std::vector<Shared> both = {engine.Scale(value, 0), value};
  std::vector<size_t> from(rows, 0);
  from[place] = 1;
  return WithBound(engine.SelectRows(engine.Concatenate(both, true), from), value.bound);
}

class RiskCounter {
 public:
  RiskCounter(Engine& engine, const Task& task, const SealedRisk& risk)
      : engine_(engine), task_(task), risk_(risk), most_(static_cast<double>(task.max_rows())) {
    for (const double cut : task.spec.cuts) limits_.push_back(std::log(cut / (1 - cut)));
  }

  SharedRisk At(const LastRows& last) {
    const RowMarks marks = MarksOf(engine_, limits_, last.predictor);
    RowCounts counts = CountsOf(last.mean);
    // Of the low digit, times what is counted.
    Shared low_rows = marks.low, low_events;
    mpc::ProductRound weigh(engine_);
    if (copies()) {
      weigh.Add(marks.low, counts.copies, counts.copies.bound, low_rows);
      weigh.Add(last.mean, counts.copies, counts.copies.bound, counts.expected);
    }
    weigh.Add(marks.low, counts.events, counts.events.bound, low_events);
    weigh.Run();

    mpc::ProductRound sums(engine_);
    Shared bin_rows, bin_events;
    sums.Add(Kind::kGram, marks.high, low_rows, most_, bin_rows);
    sums.Add(Kind::kGram, marks.high, low_events, most_, bin_events);
    std::vector<BelowCuts> below(risk_.blocks->size());
    AddBelow(marks.below, counts, sums, below);
    sums.Run();

    SharedRisk risk;
    Shared left_out;
    risk.expected = Expected(counts, below);
    for (size_t g = 0; g < risk_.layout->groups.size(); ++g) {
      risk.cells.push_back(CellsOf(g, counts, below));
      if (copies()) continue;
      const Shared own = LeftOut(g);
      left_out = g == 0 ? own : engine_.Add(left_out, own);
    }
    risk.bins = Bins(bin_rows, bin_events, left_out);
    if (!copies()) {
      const Shared half = mpc::TimesPowerOfTwo(left_out, -1);
      const Shared lifted = mpc::Lift(engine_, half, kMeanBits);
      risk.expected = WithBound(
          engine_.Subtract(risk.expected, AtPlace(engine_, lifted, PlaceOfZero(), NumGroups())),
          most_);
    }
    return risk;
  }

 private:
  bool copies() const { return task_.spec.copies(); }
  size_t NumGroups() const { return limits_.size() + 1; }
  // The group of a predictor of 0, as it is compared.
  size_t PlaceOfZero() const {
    size_t place = 0;
    while (place < limits_.size() && mpc::EncodeFixed(limits_[place], mpc::kStepBits) <= 0) ++place;
    return place;
  }

  RowCounts CountsOf(const Shared& mean) {
    RowCounts counts;
    if (copies())
      counts.copies = WithBound(JoinedBlocks(engine_, *risk_.blocks, &SharedBlock::weights),
                                task_.spec.most_weight);
    counts.events = WithBound(JoinedBlocks(engine_, *risk_.blocks, &SharedBlock::weighted_outcome),
                              copies() ? task_.spec.most_weight : 1);
    counts.expected = mean;
    return counts;
  }

  // Of a column of all rows that of a block.
  Shared OfBlock(const Shared& column, size_t block) {
    size_t first = 0;
    for (size_t b = 0; b < block; ++b) first += (*risk_.blocks)[b].rows;
    const mpc::Shape shape{(*risk_.blocks)[block].rows, column.shape.cols};
    return WithBound(engine_.Slice(column, first, 0, shape), column.bound);
  }

  // Sums of each block below cut points.
  void AddBelow(const Shared& below, const RowCounts& counts, mpc::ProductRound& sums,
                std::vector<BelowCuts>& made) {
    for (size_t b = 0; b < made.size(); ++b) {
      const Shared marks = OfBlock(below, b);
      if (copies()) {
        sums.Add(Kind::kGram, marks, OfBlock(counts.copies, b), most_, made[b].rows);
      } else {
        made[b].rows = engine_.Transpose(engine_.SumRows(marks));
      }
      sums.Add(Kind::kGram, marks, OfBlock(counts.events, b), most_, made[b].events);
      sums.Add(Kind::kGram, marks, OfBlock(counts.expected, b), most_, made[b].expected);
    }
  }

  // below the cut points, and in all: G x 1.
  Shared WithAll(const Shared& below, const Shared& all) {
    const std::vector<Shared> parts = {below, all};
    return WithBound(engine_.Concatenate(parts, true), most_);
  }

  Shared Expected(const RowCounts& counts, const std::vector<BelowCuts>& below) {
    Shared sum = below.front().expected;
    for (size_t b = 1; b < below.size(); ++b) sum = engine_.Add(sum, below[b].expected);
    return Differences(engine_, WithAll(sum, engine_.SumRows(counts.expected)), most_);
  }

  // With those that take no part, where rows have no copies.
  Shared RowsOf(const RowCounts& counts, size_t block) {
    if (copies()) return engine_.SumRows(OfBlock(counts.copies, block));
    const auto rows = static_cast<Int128>((*risk_.blocks)[block].rows);
    return engine_.Public({{{1, 1}, {rows}}, 0});
  }

  // Rows that take no part.
  Shared LeftOut(size_t group) {
    double rows = 0;
    for (const size_t b : risk_.layout->groups[group])
      rows += static_cast<double>((*risk_.blocks)[b].rows);
    return mpc::PlusConstant(engine_, engine_.Scale(risk_.rows_taken[group], -1), rows, rows);
  }

  // Rows without an event between two cut points, then those with one.
  Shared CellsOf(size_t group, const RowCounts& counts, const std::vector<BelowCuts>& below) {
    Shared rows, events;
    for (const size_t b : risk_.layout->groups[group]) {
      const Shared of_rows = WithAll(below[b].rows, RowsOf(counts, b));
      const Shared of_events = WithAll(below[b].events, engine_.SumRows(OfBlock(counts.events, b)));
      rows = rows.payload == nullptr ? of_rows : engine_.Add(rows, of_rows);
      events = events.payload == nullptr ? of_events : engine_.Add(events, of_events);
    }
    rows = Differences(engine_, rows, most_);
    events = Differences(engine_, events, most_);
    Shared others = engine_.Subtract(rows, events);
    if (!copies())
      others =
          engine_.Subtract(others, AtPlace(engine_, LeftOut(group), PlaceOfZero(), NumGroups()));
    const std::vector<Shared> cells = {WithBound(others, most_), events};
    return WithBound(engine_.Concatenate(cells, true), most_);
  }

  Shared Bins(const Shared& rows, const Shared& events, const Shared& left_out) {
    const auto flat = [](const Shared& table) { return mpc::Reshape(table, {kRiskBins, 1}); };
    Shared others = engine_.Subtract(flat(rows), flat(events));
    if (!copies())
      others = engine_.Subtract(others, AtPlace(engine_, left_out, kRiskBins / 2, kRiskBins));
    const std::vector<Shared> bins = {WithBound(others, most_), WithBound(flat(events), most_)};
    return WithBound(engine_.Concatenate(bins, true), most_);
  }

  Engine& engine_;
  const Task& task_;
  const SealedRisk& risk_;
  const double most_;
  std::vector<double> limits_;  // logits of the cut points
};

}  // namespace

SealedRisk SealedRiskOf(Engine& engine, const Task& task, const SealedLayout& layout,
                        const std::vector<SharedBlock>& blocks, const std::vector<Shared>& counts,
                        uint64_t min_cell) {
  SealedRisk risk{&layout, &blocks, {}, min_cell};
  for (const Shared& of_group : counts)
    risk.rows_taken.push_back(RowsFrom(engine, task, {of_group}));
  return risk;
}

SharedRisk SealedRiskAt(Engine& engine, const Task& task, const SealedRisk& risk,
                        const LastRows& last) {
  return RiskCounter(engine, task, risk).At(last);
}

}  // namespace partita::methods::glm
