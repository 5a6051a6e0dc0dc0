#include "methods/mle/moments/pattern_cells.h"

#include <algorithm>
#include <utility>

#include "mpc/compare.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::IntMatrix;
using mpc::Shared;

double MostRows(const PatternTask& task) {
  double rows = 0;
  for (const CellBlock& block : task.blocks) rows += static_cast<double>(block.max_rows);
  return rows;
}

// Numbers that must be `least` or more wherever rows occur. They are 0 where none do.
struct Claim {
  Shared number, rows;  // columns of one length
  uint64_t least = 0;
};

class Claims {
 public:
  Claims(Engine& engine, const PatternTask& task, std::vector<PatternCounts> counts)
      : engine_(engine), task_(task), counts_(std::move(counts)), most_(MostRows(task)) {}

  std::vector<Claim> Make(uint64_t minimum) {
    const Shared all = *Sum([](const PatternCounts&) { return true; });
    std::vector<Claim> claims = {{all, all, minimum}};
    for (size_t h = 0; h < task_.holders.size(); ++h) {
      const std::vector<size_t>& own = task_.holders[h].parts;
      const std::optional<Shared> others = Sum([h](const PatternCounts& counts) {
        return std::count(counts.holders.begin(), counts.holders.end(), h) == 0;
      });
      if (others) {
        const Shared rows = Margin(*others, own);
        claims.push_back({rows, rows, minimum});
      }
      const Shared margin = Margin(all, own);
      for (size_t part = 0; part < task_.parts.size(); ++part) {
        if (std::count(own.begin(), own.end(), part) == 0)
          claims.push_back(TwoValues(all, margin, own, part));
      }
    }
    return claims;
  }

 private:
  template <typename F>
  std::optional<Shared> Sum(const F& belongs) {
    std::optional<Shared> sum;
    for (const PatternCounts& counts : counts_) {
      if (belongs(counts)) sum = sum ? engine_.Add(*sum, counts.cells) : counts.cells;
    }
    if (sum) sum->bound = most_;
    return sum;
  }

  // Rows of each pattern of these parts, in their order.
  Shared Margin(const Shared& cells, const std::vector<size_t>& parts) {
    std::vector<std::vector<size_t>> members(NumPatterns(task_, parts));
    for (size_t cell = 0; cell < NumCells(task_); ++cell)
      members[PatternOf(task_, cell, parts)].push_back(cell);
    std::optional<Shared> sum;
    for (size_t i = 0; i < members.front().size(); ++i) {
      std::vector<size_t> one_of_each;
      for (const std::vector<size_t>& of_pattern : members) one_of_each.push_back(of_pattern[i]);
      const Shared term = engine_.SelectRows(cells, one_of_each);
      sum = sum ? engine_.Add(*sum, term) : term;
    }
    sum->bound = most_;
    return *sum;
  }

  // Of the rows of each own pattern and each value of `lacked` some have another value.
  Claim TwoValues(const Shared& cells, const Shared& margin, std::vector<size_t> own,
                  size_t lacked) {
    own.push_back(lacked);
    const Shared with_value = Margin(cells, own);
    std::vector<size_t> pattern(with_value.shape.rows);
    for (size_t i = 0; i < pattern.size(); ++i) pattern[i] = i / task_.parts[lacked];
    const Shared rows = engine_.SelectRows(margin, pattern);
    return {engine_.Subtract(rows, with_value), rows, 1};
  }

  Engine& engine_;
  const PatternTask& task_;
  std::vector<PatternCounts> counts_;
  double most_;
};

// Whole numbers less `subtrahend`, which is at most one more than `most` of them.
Shared Less(Engine& engine, const Shared& numbers, uint64_t subtrahend, double most) {
  const std::vector<Int128> constant(numbers.shape.size(), static_cast<Int128>(subtrahend));
  Shared difference =
      engine.Subtract(numbers, engine.Public({IntMatrix{numbers.shape, constant}, 0}));
  difference.bound = most + 1;
  return difference;
}

}  // namespace

std::optional<bool> PatternCellsPass(Engine& engine, const PatternTask& task,
                                     const OwnPatterns& own, uint64_t minimum) {
  const double most = MostRows(task);
  // More than there can be rows is as unreachable as any larger number.
  const uint64_t reachable = std::min(minimum, static_cast<uint64_t>(most) + 1);
  std::vector<Shared> numbers, rows;
  for (const Claim& claim :
       Claims(engine, task, CountPatterns(engine, task, own)).Make(reachable)) {
    numbers.push_back(Less(engine, claim.number, claim.least, most));
    rows.push_back(Less(engine, claim.rows, 1, most));
  }
  const std::vector<Shared> differences = {engine.Concatenate(numbers, true),
                                           engine.Concatenate(rows, true)};
  const std::vector<mpc::SharedBits> below = mpc::IsNegative(engine, differences);
  // Without rows a number is 0, which is below what it must be as well.
  const std::vector<mpc::SharedBits> fails = {engine.Xor(below[0], below[1])};
  const Shared failures = engine.SumRows(engine.ToRing(fails).front());
  const auto num_claims = static_cast<double>(differences.front().shape.rows);
  const std::vector<Shared> surplus = {Less(engine, failures, 1, num_claims)};
  const std::vector<mpc::BitMatrix> passes =
      engine.RevealBits(kPatternCellsRelease, mpc::IsNegative(engine, surplus), mpc::kEverybody);
  if (!engine.self()) return std::nullopt;
  return mpc::GetBit(passes.front(), 0, 0);
}

}  // namespace partita::methods::mle
