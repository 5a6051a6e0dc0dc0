#include "methods/mle/moments/pattern_counts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Operand;
using mpc::PrivateMatrix;
using mpc::Product;
using mpc::Shared;

std::vector<size_t> AllParts(const PatternTask& task) {
  std::vector<size_t> parts(task.parts.size());
  std::iota(parts.begin(), parts.end(), size_t{0});
  return parts;
}

// Those of a block that have columns of the table.
std::vector<size_t> Contributors(const PatternTask& task, const std::vector<size_t>& holders) {
  std::vector<size_t> contributors;
  std::copy_if(holders.begin(), holders.end(), std::back_inserter(contributors),
               [&](size_t h) { return !task.holders[h].parts.empty(); });
  return contributors;
}

// Blocks that the same holders have and one of them counts: one input for all of them.
std::vector<PatternCounts> CountInTheClear(Engine& engine, const PatternTask& task,
                                           const OwnPatterns& own) {
  std::map<std::vector<size_t>, std::vector<size_t>> blocks;
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    const std::vector<size_t>& holders = task.blocks[b].holders;
    if (Contributors(task, holders).size() == 1) blocks[holders].push_back(b);
  }
  std::vector<PatternCounts> counts;
  std::vector<PrivateMatrix> inputs;
  for (const auto& [holders, numbers] : blocks) {
    const mpc::PartyIndex party = task.holders[Contributors(task, holders).front()].party;
    PrivateMatrix input{party, {NumCells(task), 1}, 0, 0, nullptr};
    std::vector<Int128> rows(NumCells(task), 0);
    for (const size_t b : numbers) {
      input.bound += static_cast<double>(task.blocks[b].max_rows);
      if (engine.self() != party) continue;
      for (const uint32_t cell : own[b]) ++rows[cell];
    }
    if (engine.self() == party) {
      input.read = [rows = std::move(rows)](size_t first, size_t num, Int128* out) {
        std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(first), num, out);
      };
    }
    inputs.push_back(std::move(input));
    counts.push_back({holders, {}});
  }
  if (inputs.empty()) return counts;
  const std::vector<Shared> shared = engine.Input(inputs);
  for (size_t i = 0; i < counts.size(); ++i) counts[i].cells = shared[i];
  return counts;
}

// Of the rows of one block which have each pattern of some parts: n x patterns, zeros and ones.
struct Indicators {
  std::vector<size_t> parts;
  size_t width = 0;
  size_t holder = 0;      // whose they are, unless
  bool combined = false;  // of several holders' parts, and then
  Shared shared;
};

// A block whose columns several holders have. Every round records products and takes the results.
class SplitCount {
 public:
  SplitCount(Engine& engine, const PatternTask& task, size_t block, const OwnPatterns& own)
      : engine_(engine), task_(task), block_(block), own_(own) {
    for (const size_t h : Contributors(task, task.blocks[block].holders)) {
      const std::vector<size_t>& parts = task.holders[h].parts;
      factors_.push_back({parts, NumPatterns(task, parts), h, false, {}});
    }
  }

  // Adds this round's products; none: finished.
  void Record(std::vector<Product>& products) {
    if (factors_.empty()) return;
    std::stable_sort(factors_.begin(), factors_.end(),
                     [](const Indicators& a, const Indicators& b) { return a.width > b.width; });
    const Indicators &narrow = factors_.back(), &wide = *(factors_.end() - 2);
    if (factors_.size() == 2) {
      products.push_back(
          {Product::Kind::kGram, Columns(narrow, 0, narrow.width), Columns(wide, 0, wide.width)});
      return;
    }
    // The wide side's are masked and opened once for all products.
    const Operand all =
        wide.combined ? Operand(wide.shared) : Operand(engine_.Register(Own(wide, 0, wide.width)));
    for (size_t pattern = 0; pattern < narrow.width; ++pattern)
      products.push_back({Product::Kind::kElementwise, all, Columns(narrow, pattern, 1)});
  }

  // Takes the results in the order in which they were recorded.
  void Take(std::vector<Shared>::const_iterator& result) {
    if (factors_.empty()) return;
    const Indicators narrow = std::move(factors_.back());
    factors_.pop_back();
    const Indicators wide = std::move(factors_.back());
    factors_.pop_back();
    Indicators both = narrow;
    both.parts.insert(both.parts.end(), wide.parts.begin(), wide.parts.end());
    both.width *= wide.width;
    if (factors_.empty()) {
      cells_ = InOrder(*result++, both.parts);
      return;
    }
    const auto end = result + static_cast<std::ptrdiff_t>(narrow.width);
    both.combined = true;
    both.shared = engine_.Concatenate(std::vector<Shared>(result, end), false);
    result = end;
    factors_.push_back(std::move(both));
  }

  PatternCounts Counts() const { return {task_.blocks[block_].holders, cells_}; }

 private:
  PrivateMatrix Own(const Indicators& factor, size_t first, size_t width) const {
    const mpc::PartyIndex party = task_.holders[factor.holder].party;
    PrivateMatrix matrix{party, {task_.blocks[block_].max_rows, width}, 0, 1, nullptr};
    if (engine_.self() == party) {
      matrix.read = [&patterns = own_[block_], first, width](size_t first_row, size_t num_rows,
                                                             Int128* out) {
        for (size_t r = first_row; r < first_row + num_rows; ++r) {
          for (size_t column = 0; column < width; ++column)
            *out++ = Int128{patterns[r] == first + column};
        }
      };
    }
    return matrix;
  }

  Operand Columns(const Indicators& factor, size_t first, size_t width) const {
    if (!factor.combined) return Own(factor, first, width);
    return engine_.Slice(factor.shared, 0, first, {task_.blocks[block_].max_rows, width});
  }

  // A cross product, its rows below each other, in the order of the cells.
  Shared InOrder(const Shared& product, const std::vector<size_t>& parts) const {
    std::vector<Shared> rows;
    for (size_t i = 0; i < product.shape.rows; ++i)
      rows.push_back(engine_.Transpose(engine_.Slice(product, i, 0, {1, product.shape.cols})));
    std::vector<size_t> place(NumCells(task_));
    for (size_t cell = 0; cell < place.size(); ++cell) place[cell] = PatternOf(task_, cell, parts);
    return engine_.SelectRows(engine_.Concatenate(rows, true), place);
  }

  Engine& engine_;
  const PatternTask& task_;
  size_t block_;
  const OwnPatterns& own_;
  std::vector<Indicators> factors_;  // still to be multiplied
  Shared cells_;
};

}  // namespace

size_t NumPatterns(const PatternTask& task, const std::vector<size_t>& parts) {
  size_t patterns = 1;
  for (const size_t part : parts) patterns *= task.parts[part];
  return patterns;
}

size_t NumCells(const PatternTask& task) { return NumPatterns(task, AllParts(task)); }

size_t PatternOf(const PatternTask& task, size_t cell, const std::vector<size_t>& parts) {
  std::vector<size_t> digits(task.parts.size());
  for (size_t part = task.parts.size(); part-- > 0; cell /= task.parts[part])
    digits[part] = cell % task.parts[part];
  size_t pattern = 0;
  for (const size_t part : parts) pattern = pattern * task.parts[part] + digits[part];
  return pattern;
}

std::vector<PatternCounts> CountPatterns(Engine& engine, const PatternTask& task,
                                         const OwnPatterns& own) {
  std::vector<PatternCounts> counts = CountInTheClear(engine, task, own);
  std::vector<SplitCount> split;
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    if (Contributors(task, task.blocks[b].holders).size() > 1)
      split.emplace_back(engine, task, b, own);
  }
  while (true) {
    std::vector<Product> products;
    for (SplitCount& block : split) block.Record(products);
    if (products.empty()) break;
    const std::vector<Shared> results = engine.Multiply(products);
    auto next = results.begin();
    for (SplitCount& block : split) block.Take(next);
  }
  for (const SplitCount& block : split) counts.push_back(block.Counts());
  return counts;
}

}  // namespace partita::methods::mle
