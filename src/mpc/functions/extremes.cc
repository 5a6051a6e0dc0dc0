#include "mpc/functions/extremes.h"

#include <algorithm>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

// How many entries of a row play each other at once: more save rounds, for more comparisons (of 20
// columns 46 in blocks of 5, 190 all at once), so that it depends on how many bits they have.
constexpr size_t kBlockBits = 240, kLargestBlock = 24;

size_t LargestBlock(const Engine& engine, const Shared& value) {
  const size_t width = BitsFor(WithBound(value, 2 * value.bound), engine.ring_bits());
  return std::clamp<size_t>(kBlockBits / width, 2, kLargestBlock);
}

// Blocks of one size of one matrix, transposed: entry i of all of them, blocks x rows each.
struct Blocks {
  size_t matrix = 0;
  std::vector<Shared> entries;
  std::vector<SharedBits> wins;  // of all entries but the last one
};

// Rows [first, first + count * size) as `count` blocks of neighbours.
Blocks BlocksOf(Engine& engine, const std::vector<Shared>& all, size_t matrix, size_t first,
                size_t count, size_t size) {
  Blocks blocks{matrix, {}, {}};
  for (size_t i = 0; i < size; ++i) {
    std::vector<size_t> rows(count);
    for (size_t b = 0; b < count; ++b) rows[b] = first + b * size + i;
    blocks.entries.push_back(engine.SelectRows(all[matrix], rows));
  }
  return blocks;
}

// Sizes differ by one at most. A block of one entry is there as well: it wins without playing.
std::vector<Blocks> AllBlocks(Engine& engine, const std::vector<Shared>& all) {
  std::vector<Blocks> list;
  for (size_t m = 0; m < all.size(); ++m) {
    const size_t entries = all[m].shape.rows;
    const size_t largest = LargestBlock(engine, all[m]), count = (entries + largest - 1) / largest;
    const size_t small = entries / count, large = entries % count;
    if (large > 0) list.push_back(BlocksOf(engine, all, m, 0, large, small + 1));
    list.push_back(BlocksOf(engine, all, m, large * (small + 1), count - large, small));
  }
  return list;
}

// Who wins against all others of its block; of equal ones the first.
void PlayBlocks(Engine& engine, std::vector<Blocks>& list) {
  std::vector<Comparison> comparisons;
  for (const Blocks& blocks : list) {
    for (size_t i = 0; i < blocks.entries.size(); ++i) {
      for (size_t j = i + 1; j < blocks.entries.size(); ++j)
        comparisons.push_back({blocks.entries[i], blocks.entries[j]});
    }
  }
  const std::vector<SharedBits> less = LessThan(engine, comparisons);
  std::vector<std::vector<SharedBits>> won;  // by entry, against each of the others
  auto next = less.begin();
  for (const Blocks& blocks : list) {
    const size_t first = won.size(), size = blocks.entries.size();
    won.resize(first + size);
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = i + 1; j < size; ++j) {
        won[first + i].push_back(engine.Not(*next));
        won[first + j].push_back(*next++);
      }
    }
    won.pop_back();  // the last one wins where nobody else does
  }
  while (true) {
    std::vector<BitProduct> products;
    for (const auto& games : won) {
      for (size_t k = 0; k + 1 < games.size(); k += 2) products.push_back({games[k], games[k + 1]});
    }
    if (products.empty()) break;
    const std::vector<SharedBits> both = engine.And(products);
    auto result = both.begin();
    for (auto& games : won) {
      std::vector<SharedBits> joined;
      for (size_t k = 0; k + 1 < games.size(); k += 2) joined.push_back(*result++);
      if (games.size() % 2 == 1) joined.push_back(games.back());
      games = std::move(joined);
    }
  }
  auto games = won.begin();
  for (Blocks& blocks : list) {
    for (size_t i = 0; i + 1 < blocks.entries.size(); ++i)
      blocks.wins.push_back((games++)->front());
  }
}

// The winners of all blocks, matrix by matrix.
std::vector<Shared> WinnersOf(Engine& engine, const std::vector<Blocks>& list, size_t matrices) {
  std::vector<SharedBits> bits;
  for (const Blocks& blocks : list) bits.insert(bits.end(), blocks.wins.begin(), blocks.wins.end());
  const std::vector<Shared> wins = engine.ToRing(bits);
  std::vector<Shared> changes(wins.size());
  ProductRound products(engine);
  size_t at = 0;
  for (const Blocks& blocks : list) {
    for (size_t i = 0; i < blocks.wins.size(); ++i, ++at) {
      const Shared& last = blocks.entries.back();
      products.Add(wins[at], engine.Subtract(blocks.entries[i], last), 2 * last.bound, changes[at]);
    }
  }
  products.Run();
  std::vector<std::vector<Shared>> parts(matrices);
  at = 0;
  for (const Blocks& blocks : list) {
    Shared winner = blocks.entries.back();
    const double bound = winner.bound;
    for (size_t i = 0; i < blocks.wins.size(); ++i)
      winner = WithBound(engine.Add(WithBound(winner, 0), WithBound(changes[at++], bound)), bound);
    parts[blocks.matrix].push_back(winner);
  }
  std::vector<Shared> winners;
  for (const std::vector<Shared>& of_matrix : parts)
    winners.push_back(engine.Concatenate(of_matrix, true));
  return winners;
}

bool AnyToPlay(const std::vector<Shared>& all) {
  return std::any_of(all.begin(), all.end(), [](const Shared& v) { return v.shape.rows > 1; });
}

void CheckColumns(std::span<const Shared> values) {
  for (const Shared& value : values) {
    if (value.shape.cols > 0) continue;
    Misuse("a row without entries has no largest one");
  }
}

// The entries of even or of odd columns; the last one of an odd number of columns is in neither.
Shared EveryOther(Engine& engine, const Shared& value, size_t first) {
  const size_t pairs = value.shape.cols / 2;
  const Shared even = engine.Slice(value, 0, 0, {value.shape.rows, 2 * pairs});
  const Shared as_pairs = Reshape(even, {value.shape.rows * pairs, 2});
  return Reshape(engine.Slice(as_pairs, 0, first, {as_pairs.shape.rows, 1}),
                 {value.shape.rows, pairs});
}

Shared WithLastColumn(Engine& engine, const Shared& winners, const Shared& before) {
  if (before.shape.cols % 2 == 0) return winners;
  const Shared parts[] = {winners,
                          engine.Slice(before, 0, before.shape.cols - 1, {before.shape.rows, 1})};
  return engine.Concatenate(parts, false);
}

// One round of the tournament between neighbours, as above.
bool HalveWithColumns(Engine& engine, std::vector<Extreme>& all) {
  std::vector<Comparison> comparisons;
  std::vector<Extreme*> playing;
  for (Extreme& extreme : all) {
    if (extreme.value.shape.cols == 1) continue;
    playing.push_back(&extreme);
    comparisons.push_back(
        {EveryOther(engine, extreme.value, 0), EveryOther(engine, extreme.value, 1)});
  }
  if (playing.empty()) return false;
  const std::vector<Shared> right_wins = engine.ToRing(LessThan(engine, comparisons));
  std::vector<Extreme> changes(playing.size());
  ProductRound products(engine);
  for (size_t i = 0; i < playing.size(); ++i) {
    const Shared& columns = playing[i]->column;
    products.Add(right_wins[i], engine.Subtract(comparisons[i].right, comparisons[i].left),
                 2 * comparisons[i].left.bound, changes[i].value);
    products.Add(right_wins[i],
                 engine.Subtract(EveryOther(engine, columns, 1), EveryOther(engine, columns, 0)),
                 columns.bound, changes[i].column);
  }
  products.Run();
  for (size_t i = 0; i < playing.size(); ++i) {
    Extreme& extreme = *playing[i];
    const Extreme before = extreme;
    const Shared value = engine.Add(comparisons[i].left, changes[i].value);
    const Shared column = engine.Add(EveryOther(engine, before.column, 0), changes[i].column);
    extreme.value = WithLastColumn(engine, WithBound(value, before.value.bound), before.value);
    extreme.column = WithLastColumn(engine, WithBound(column, before.column.bound), before.column);
  }
  return true;
}

}  // namespace

std::vector<Extreme> RowArgMax(Engine& engine, std::span<const Shared> values) {
  CheckColumns(values);
  std::vector<Extreme> all;
  for (const Shared& value : values) {
    IntMatrix columns{value.shape, std::vector<Int128>(value.shape.size())};
    for (size_t i = 0; i < columns.values.size(); ++i) {
      columns.values[i] = static_cast<Int128>(i % value.shape.cols);
    }
    all.push_back({value, WithBound(engine.Public({std::move(columns), 0}),
                                    static_cast<double>(value.shape.cols - 1))});
  }
  while (HalveWithColumns(engine, all)) {
  }
  return all;
}

std::vector<Shared> RowMax(Engine& engine, std::span<const Shared> values) {
  CheckColumns(values);
  std::vector<Shared> all;
  for (const Shared& value : values) all.push_back(engine.Transpose(value));
  while (AnyToPlay(all)) {
    std::vector<Blocks> list = AllBlocks(engine, all);
    PlayBlocks(engine, list);
    all = WinnersOf(engine, list, all.size());
  }
  for (Shared& value : all) value = engine.Transpose(value);
  return all;
}

}  // namespace partita::mpc
