#include "methods/marginals/protocol.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/error.h"
#include "mpc/batch.h"
#include "stats/marginals/noise.h"

namespace partita::methods::marginals {
namespace {

using mpc::Engine;
using mpc::FixedOperand;
using mpc::IntMatrix;
using mpc::PrivateMatrix;
using mpc::Product;
using mpc::Shared;
using stats::marginals::Codes;
using stats::marginals::CountTable;
using stats::marginals::kNoiseGridBits;
using stats::marginals::TableSet;

// A share beyond that many standard deviations has a probability below 2^-2900.
constexpr double kLargestShare = 64;

// Where an attribute stands among those of a part.
std::optional<size_t> PositionOf(const BlockPart& part, uint32_t attribute) {
  const auto found = std::ranges::lower_bound(part.attributes, attribute);
  const bool has = found != part.attributes.end() && *found == attribute;
  return has ? std::optional<size_t>(found - part.attributes.begin()) : std::nullopt;
}

// Adds the tables of the attributes that this part has whole.
void AddOwnTables(const TableSet& set, const BlockPart& part, const Codes& codes,
                  std::vector<Int128>& cells) {
  const size_t own = part.attributes.size();
  if (codes.size() != own)
    throw Error(ErrorCode::kInternal, "a holder lacks a column of its codes");
  for (size_t i = 0; i < own; ++i) {
    const CountTable& one = set.tables[part.attributes[i]];
    for (const uint16_t code : codes[i]) cells[one.offset + code] += 1;
    for (size_t j = i + 1; j < own; ++j) {
      const CountTable& pair = set.Pair(part.attributes[i], part.attributes[j]);
      for (size_t n = 0; n < codes[i].size(); ++n) {
        cells[pair.offset + size_t{codes[i][n]} * pair.columns + codes[j][n]] += 1;
      }
    }
  }
  for (const CountTable& triple : set.Triples()) {
    const auto a = PositionOf(part, triple.first), b = PositionOf(part, triple.second),
               c = PositionOf(part, *triple.third);
    if (!a || !b || !c) continue;
    const uint32_t last = set.attributes[*triple.third].levels;
    for (size_t n = 0; n < codes[*a].size(); ++n) {
      cells[triple.offset + size_t{codes[*a][n]} * triple.columns + size_t{codes[*b][n]} * last +
            codes[*c][n]] += 1;
    }
  }
}

mpc::RowReader ReadRow(const std::vector<Int128>& row) {
  return [&row](size_t, size_t num_rows, Int128* out) {
    if (num_rows > 0) std::ranges::copy(row, out);
  };
}

// By party with rows: what it counts by itself, over all blocks.
std::vector<PrivateMatrix> OwnCounts(const Engine& engine, const Task& task,
                                     const std::vector<LocalBlock>& local,
                                     std::vector<Int128>& own) {
  std::vector<uint64_t> most(engine.num_parties(), 0);
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    for (const BlockPart& part : task.blocks[b].parts) {
      most[part.party] += task.blocks[b].rows;
      if (engine.self() == part.party) AddOwnTables(task.set, part, local.at(b).codes, own);
    }
  }
  std::vector<PrivateMatrix> inputs;
  for (mpc::PartyIndex party = 0; party < most.size(); ++party) {
    if (most[party] == 0) continue;
    inputs.push_back(
        {party, {1, task.set.num_cells}, 0, static_cast<double>(most[party]), nullptr});
    if (engine.self() == party) inputs.back().read = ReadRow(own);
  }
  return inputs;
}

// 0/1 columns of a part: of an attribute, or of two of a triple whose third another part has.
struct LevelGroup {
  std::vector<uint32_t> attributes;  // one, or two, increasing
  size_t first = 0, levels = 0;      // of its columns
};
// Columns that are masked together.
struct LevelColumns {
  std::vector<LevelGroup> groups;
  size_t width = 0;
};
// Of attributes by themselves and of pairs: never multiplied with pairs of another part.
struct PartColumns {
  LevelColumns ones, twos;
};

void AddGroup(const TableSet& set, const std::vector<uint32_t>& attributes, LevelColumns& columns) {
  if (std::ranges::find(columns.groups, attributes, &LevelGroup::attributes) !=
      columns.groups.end())
    return;
  size_t levels = 1;
  for (const uint32_t a : attributes) levels *= set.attributes[a].levels;
  columns.groups.push_back({attributes, columns.width, levels});
  columns.width += levels;
}

std::vector<uint32_t> AttributesHere(const CountTable& table, const BlockPart& part) {
  std::vector<uint32_t> here;
  for (const uint32_t a : table.Attributes()) {
    if (PositionOf(part, a)) here.push_back(a);
  }
  return here;
}

PartColumns ColumnsOf(const TableSet& set, const BlockPart& part) {
  PartColumns columns;
  for (const uint32_t a : part.attributes) AddGroup(set, {a}, columns.ones);
  for (const CountTable& triple : set.Triples()) {
    const std::vector<uint32_t> here = AttributesHere(triple, part);
    if (here.size() == 2) AddGroup(set, here, columns.twos);
  }
  return columns;
}

FixedOperand RegisterLevels(Engine& engine, const Task& task, const RowBlock& block,
                            const BlockPart& part, const LevelColumns& columns,
                            const LocalBlock* local) {
  const size_t width = columns.width;
  PrivateMatrix matrix{part.party, {block.rows, width}, 0, 1, nullptr};
  if (engine.self() == part.party) {
    for (const std::vector<uint16_t>& column : local->codes) {
      if (column.size() == block.rows) continue;
      throw Error(ErrorCode::kInternal, "a split block has another number of rows than agreed");
    }
    // The columns of codes of each group; of one attribute it stands alone.
    struct Source {
      size_t first, of_one, levels, of_two;
      bool two;
    };
    std::vector<Source> sources;
    for (const LevelGroup& group : columns.groups) {
      const bool two = group.attributes.size() == 2;
      const size_t last = group.attributes.back();
      sources.push_back({group.first, *PositionOf(part, group.attributes.front()),
                         two ? task.set.attributes[last].levels : 1,
                         *PositionOf(part, group.attributes.back()), two});
    }
    matrix.read = [sources, width, local](size_t first_row, size_t num_rows, Int128* out) {
      std::fill_n(out, num_rows * width, Int128{0});
      for (size_t n = 0; n < num_rows; ++n, out += width) {
        for (const Source& source : sources) {
          const size_t level = local->codes[source.of_one][first_row + n] * source.levels +
                               (source.two ? local->codes[source.of_two][first_row + n] : 0);
          out[source.first + level] = 1;
        }
      }
    };
  }
  return engine.Register(std::move(matrix));
}

// Columns of two holders of one block that are multiplied.
struct Crossed {
  const LevelColumns* left;
  const LevelColumns* right;
};

// The groups whose product is a table; none: the table is not of these columns.
struct Halves {
  const LevelGroup* left;
  const LevelGroup* right;
};
std::optional<Halves> HalvesOf(const CountTable& table, const Crossed& crossed) {
  const std::vector<uint32_t> attributes = table.Attributes();
  for (const LevelGroup& left : crossed.left->groups) {
    if (!std::ranges::includes(attributes, left.attributes)) continue;
    std::vector<uint32_t> others;
    std::ranges::set_difference(attributes, left.attributes, std::back_inserter(others));
    const auto right = std::ranges::find(crossed.right->groups, others, &LevelGroup::attributes);
    if (right != crossed.right->groups.end()) return Halves{&left, &*right};
  }
  return std::nullopt;
}

// Of two parts of a block the products that some table needs.
std::vector<Crossed> CrossedOf(const TableSet& set, const PartColumns& left,
                               const PartColumns& right) {
  std::vector<Crossed> all = {
      {&left.ones, &right.ones}, {&left.twos, &right.ones}, {&left.ones, &right.twos}};
  std::erase_if(all, [&](const Crossed& crossed) {
    return std::ranges::none_of(
        set.tables, [&](const CountTable& table) { return HalvesOf(table, crossed).has_value(); });
  });
  return all;
}

// Rectangles of a product that make a table, one after the other; each a row.
struct Piece {
  bool turned = false;  // of the transpose
  size_t top = 0, side = 0, cells = 0;
};

// Of a table of which one part has `tall` attributes, as rows, and the other `wide`.
void AddPieces(const TableSet& set, const CountTable& table, const LevelGroup& tall,
               const LevelGroup& wide, bool turned, std::vector<Piece>& pieces) {
  const std::vector<uint32_t> attributes = table.Attributes();
  const auto add = [&](bool over, size_t top, size_t side, size_t cells) {
    pieces.push_back({over ? !turned : turned, top, side, cells});
  };
  if (attributes.front() != tall.attributes.front()) {
    AddPieces(set, table, wide, tall, !turned, pieces);
    return;
  }
  if (attributes.back() == wide.attributes.back()) {
    for (size_t r = 0; r < tall.levels; ++r) add(false, tall.first + r, wide.first, wide.levels);
    return;
  }
  // The first and the last attribute are `tall`, the middle one is `wide`.
  const size_t last = set.attributes[attributes.back()].levels;
  for (size_t i = 0; i < tall.levels / last; ++i) {
    for (size_t r = 0; r < wide.levels; ++r) add(true, wide.first + r, tall.first + i * last, last);
  }
}

// 1 x num_cells: the tables that this product has; 0 elsewhere.
Shared CrossTables(Engine& engine, const TableSet& set, const Crossed& crossed,
                   const Shared& product) {
  const Shared transposed = engine.Transpose(product);
  std::vector<Shared> row;
  size_t zeros = 0;
  const auto add_zeros = [&] {
    if (zeros > 0) row.push_back(engine.Public({{{1, zeros}, std::vector<Int128>(zeros)}, 0}));
    zeros = 0;
  };
  for (const CountTable& table : set.tables) {
    const std::optional<Halves> halves = HalvesOf(table, crossed);
    if (!halves) {
      zeros += table.cells();
      continue;
    }
    add_zeros();
    std::vector<Piece> pieces;
    AddPieces(set, table, *halves->left, *halves->right, false, pieces);
    for (const Piece& piece : pieces) {
      row.push_back(engine.Slice(piece.turned ? transposed : product, piece.top, piece.side,
                                 {1, piece.cells}));
    }
  }
  add_zeros();
  return engine.Concatenate(row, false);
}

std::vector<PrivateMatrix> NoiseInputs(const Engine& engine, const NoiseDesign& design,
                                       const std::vector<Int128>& own_share) {
  const double largest = std::ldexp(
      kLargestShare * privacy::StddevUpperBound(design.noise.share_variance), -kNoiseGridBits);
  std::vector<PrivateMatrix> inputs;
  for (uint32_t party = 0; party < design.noise.sharing.parties; ++party) {
    inputs.push_back({party, {1, design.noise.dimension}, kNoiseGridBits, largest, nullptr});
    if (engine.self() != party) continue;
    if (own_share.size() != design.noise.dimension) {
      throw Error(ErrorCode::kInternal, "a computing party has no noise of its own to add");
    }
    inputs.back().read = ReadRow(own_share);
  }
  return inputs;
}

// Counts of measured tables times their lifts, on the grid: a product for each run of tables with
// one lift.
Shared Lifted(Engine& engine, const Task& task, const Shared& counts) {
  const std::vector<CountTable>& tables = task.set.tables;
  std::vector<Shared> parts;
  for (size_t t = 0; t < tables.size();) {
    const size_t first = tables[t].offset;
    const uint64_t lift = LiftOf(task, t);
    size_t cells = 0;
    for (; t < tables.size() && LiftOf(task, t) == lift; ++t) cells += tables[t].cells();
    if (lift == 0) continue;
    const mpc::PublicMatrix factor{{{1, 1}, {Int128{lift}}}, kNoiseGridBits};
    parts.push_back(engine.MultiplyPublic(factor, engine.Slice(counts, 0, first, {1, cells})));
  }
  return parts.size() == 1 ? parts.front() : engine.Concatenate(parts, false);
}

}  // namespace

Shared NoiseOnShares(Engine& engine, const NoiseDesign& design,
                     const std::vector<Int128>& own_share) {
  const std::vector<Shared> shares = engine.Input(NoiseInputs(engine, design, own_share));
  Shared noise = shares.front();
  for (size_t i = 1; i < shares.size(); ++i) noise = engine.Add(noise, shares[i]);
  return noise;
}

uint64_t LiftOf(const Task& task, size_t table) {
  return task.lifts.empty() ? stats::marginals::kUnitLift : task.lifts[table];
}

stats::marginals::TableWeights WeightsOf(const Task& task) {
  stats::marginals::TableWeights weights;
  for (const uint64_t lift : task.lifts)
    weights.push_back(std::ldexp(static_cast<double>(lift), -kNoiseGridBits));
  return weights;
}

stats::marginals::Selection SelectionOf(const Task& task) {
  const auto weight = [](uint64_t lift) {
    return std::ldexp(static_cast<double>(lift), -kNoiseGridBits);
  };
  return {task.scored->pairs, weight(task.scored->one_way_lift), weight(task.scored->score_lift),
          weight(task.scored->pair_lift)};
}

size_t OpenedLast(const Task& task) {
  if (task.scored) return stats::marginals::MostCells(task.set, task.scored->pairs);
  size_t cells = 0;
  for (size_t t = 0; t < task.set.tables.size(); ++t)
    cells += LiftOf(task, t) > 0 ? task.set.tables[t].cells() : 0;
  return cells;
}

size_t NoiseDimension(const Task& task) {
  return OpenedLast(task) + (task.scored ? stats::marginals::OneWayCells(task.set) +
                                               stats::marginals::NumPairs(task.set)
                                         : 0);
}

size_t LevelsOfPart(const TableSet& set, const BlockPart& part) {
  const PartColumns columns = ColumnsOf(set, part);
  return columns.ones.width + columns.twos.width;
}

double ProductsPerRow(const TableSet& set, const RowBlock& block) {
  double products = 0;
  for (size_t i = 0; i < block.parts.size(); ++i) {
    const PartColumns left = ColumnsOf(set, block.parts[i]);
    for (size_t j = i + 1; j < block.parts.size(); ++j) {
      const PartColumns right = ColumnsOf(set, block.parts[j]);
      for (const Crossed& crossed : CrossedOf(set, left, right))
        products += static_cast<double>(crossed.left->width * crossed.right->width);
    }
  }
  return products;
}

const CountTable* TripleOfThreeParts(const TableSet& set, const RowBlock& block) {
  for (const CountTable& triple : set.Triples()) {
    const auto has_one = [&](const BlockPart& part) {
      return AttributesHere(triple, part).size() == 1;
    };
    if (std::ranges::count_if(block.parts, has_one) == 3) return &triple;
  }
  return nullptr;
}

void CheckTask(const Task& task) {
  for (const RowBlock& block : task.blocks) {
    if (TripleOfThreeParts(task.set, block) != nullptr)
      throw Error(ErrorCode::kInternal, "the columns of a triple lie at three holders");
    std::vector<uint32_t> attributes;
    for (const BlockPart& part : block.parts) {
      if (!std::ranges::is_sorted(part.attributes) || part.attributes.empty()) {
        throw Error(ErrorCode::kInternal, "attributes of a holder are not in their order");
      }
      attributes.insert(attributes.end(), part.attributes.begin(), part.attributes.end());
    }
    std::ranges::sort(attributes);
    for (uint32_t a = 0; a < std::max(attributes.size(), task.set.attributes.size()); ++a) {
      if (a < attributes.size() && attributes.size() == task.set.attributes.size() &&
          attributes[a] == a) {
        continue;
      }
      throw Error(ErrorCode::kInternal, "the holders' columns do not tile a block of rows");
    }
  }
}

Shared CountOnShares(Engine& engine, const Task& task, const std::vector<LocalBlock>& local) {
  CheckTask(task);
  std::vector<std::vector<PartColumns>> columns(task.blocks.size());  // by block, by part
  std::vector<Product> products;
  std::vector<Crossed> crossed;
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    const RowBlock& block = task.blocks[b];
    if (block.parts.size() < 2) continue;
    for (const BlockPart& part : block.parts) columns[b].push_back(ColumnsOf(task.set, part));
    std::map<const LevelColumns*, FixedOperand> registered;
    const auto operand = [&](size_t part, const LevelColumns* of) {
      const auto found = registered.find(of);
      if (found != registered.end()) return found->second;
      const LocalBlock* own = engine.self() ? &local.at(b) : nullptr;
      return registered[of] = RegisterLevels(engine, task, block, block.parts[part], *of, own);
    };
    for (size_t i = 0; i < block.parts.size(); ++i) {
      for (size_t j = i + 1; j < block.parts.size(); ++j) {
        for (const Crossed& one : CrossedOf(task.set, columns[b][i], columns[b][j])) {
          const FixedOperand left = operand(i, one.left), right = operand(j, one.right);
          products.push_back({Product::Kind::kGram, left, right});
          crossed.push_back(one);
        }
      }
    }
  }
  std::vector<Int128> own(task.set.num_cells, 0);
  const std::vector<PrivateMatrix> inputs = OwnCounts(engine, task, local, own);
  mpc::Batch batch(engine);
  auto shared_counts = batch.Input(inputs);
  auto shared_products = batch.Multiply(products);
  batch.Flush();
  std::vector<Shared> parts = shared_counts.Get();
  for (size_t p = 0; p < crossed.size(); ++p) {
    parts.push_back(CrossTables(engine, task.set, crossed[p], shared_products.Get()[p]));
  }
  Shared counts = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) counts = engine.Add(counts, parts[i]);
  return counts;
}

std::optional<std::vector<double>> OpenTables(Engine& engine, const Task& task,
                                              const Shared& counts, const NoiseDesign& design,
                                              const std::vector<Int128>& own_share) {
  const Shared vector =
      engine.Add(Lifted(engine, task, counts), NoiseOnShares(engine, design, own_share));
  const std::vector<IntMatrix> opened = engine.Reveal(kTablesRelease, {&vector, 1}, task.to);
  if (opened.empty() || opened[0].values.empty()) return std::nullopt;
  std::vector<double> cells;
  size_t next = 0;
  for (size_t t = 0; t < task.set.tables.size(); ++t) {
    const auto unit = static_cast<double>(LiftOf(task, t));
    for (size_t i = 0; i < task.set.tables[t].cells(); ++i)
      cells.push_back(unit > 0 ? static_cast<double>(opened[0].values[next++]) / unit : 0);
  }
  return cells;
}

}  // namespace partita::methods::marginals
