#include "methods/describe/share_table.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "methods/describe/hidden_groups.h"
#include "methods/describe/mantel_haenszel.h"
#include "methods/describe/row_matrix.h"
#include "mpc/batch.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::describe {
namespace {

using mpc::Engine;
using mpc::FixedOperand;
using mpc::PrivateMatrix;
using mpc::Product;
using mpc::Shape;
using mpc::Shared;
using mpc::WithBound;

// What one party adds to the table of some rows.
struct Piece {
  size_t rows = 0;  // of Task::holders
  run::RowHolder holder;
  std::vector<size_t> variables;
  Spec spec;
  Layout layout;
  bool by_product = false;  // else in the clear
};

std::vector<Piece> PiecesOf(const Task& task) {
  std::vector<Piece> pieces;
  std::vector<size_t> all(task.spec.variables.size());
  std::iota(all.begin(), all.end(), size_t{0});
  for (size_t h = 0; h < task.holders.size(); ++h) {
    const Rows& rows = task.holders[h];
    if (rows.parts.empty()) {
      const run::RowHolder& only = rows;
      pieces.push_back({h, only, all, task.spec, Layout(task.spec)});
      continue;
    }
    for (size_t p = 0; p < rows.parts.size(); ++p) {
      const Part& part = rows.parts[p];
      if (part.variables.empty()) continue;
      const bool by_product = rows.ByProduct(p);
      Spec spec = PartSpec(task.spec, part, p == rows.selecting && !by_product);
      pieces.push_back(
          {h, {part.party, rows.max_rows}, part.variables, spec, Layout(spec), by_product});
    }
  }
  return pieces;
}

void AddInputs(const Engine& engine, const Piece& piece, const OwnNumbers& own,
               std::vector<PrivateMatrix>& inputs) {
  const Layout& layout = piece.layout;
  const std::vector<Int128> none;  // at a party without rows
  inputs.push_back(run::SumsOfHolder(engine, piece.holder, {layout.num_rows(), layout.groups}, 0, 1,
                                     own.counts));
  const size_t numbers = layout.numbers.size();
  if (numbers == 0) return;
  const Shape shape{numbers, layout.groups};
  inputs.push_back(run::SumsOfHolder(engine, piece.holder, shape, kValueBits, 1, own.sums));
  inputs.push_back(run::SumsOfHolder(engine, piece.holder, shape, 2 * kValueBits, 1, own.squares));
  for (size_t m = 0; m < numbers && NeedsHistograms(piece.spec); ++m) {
    const data::ColumnSchema& schema = piece.spec.variables[layout.numbers[m]].schema;
    const size_t cells = CellsOf(schema, piece.spec.most_cells).count;
    inputs.push_back(run::SumsOfHolder(engine, piece.holder, {cells, layout.groups}, 0, 1,
                                       own.histograms.empty() ? none : own.histograms[m]));
  }
}

// G of rows of which a part selects.
FixedOperand RegisterGroups(Engine& engine, const Task& task, const Rows& rows,
                            const OwnColumns& columns) {
  const run::RowHolder holder{rows.parts[rows.selecting].party, rows.max_rows};
  RequireRows(engine, holder, columns.groups.size());
  return engine.Register(
      RowMatrix(engine, holder, Layout(task.spec).groups + 1, 0,
                [&columns](size_t row, Int128* out) { out[columns.groups[row]] = 1; }));
}

// X of one party's variables, in the order of AddInputs.
std::vector<FixedOperand> RegisterColumns(Engine& engine, const Piece& piece,
                                          const OwnColumns& columns) {
  const Layout& layout = piece.layout;
  RequireRows(engine, piece.holder, columns.count_rows.empty() ? 0 : columns.count_rows[0].size());
  std::vector<FixedOperand> operands;
  const auto add = [&](size_t cols, int fraction_bits, auto set) {
    operands.push_back(engine.Register(RowMatrix(engine, piece.holder, cols, fraction_bits, set)));
  };
  add(layout.num_rows(), 0, [&columns](size_t row, Int128* out) {
    for (const std::vector<uint32_t>& places : columns.count_rows) {
      if (places[row] != kNoCell) out[places[row]] = 1;
    }
  });
  const size_t numbers = layout.numbers.size();
  if (numbers == 0) return operands;
  add(numbers, kValueBits, [&columns, numbers](size_t row, Int128* out) {
    for (size_t m = 0; m < numbers; ++m) out[m] = columns.values[m][row];
  });
  add(numbers, 2 * kValueBits, [&columns, numbers](size_t row, Int128* out) {
    for (size_t m = 0; m < numbers; ++m) {
      const Int128 z = columns.values[m][row];
      out[m] = z * z;
    }
  });
  for (size_t m = 0; m < numbers && NeedsHistograms(piece.spec); ++m) {
    const data::ColumnSchema& schema = piece.spec.variables[layout.numbers[m]].schema;
    add(CellsOf(schema, piece.spec.most_cells).count, 0, [&columns, m](size_t row, Int128* out) {
      const uint32_t cell = columns.cells[m][row];
      if (cell != kNoCell) out[cell] = 1;
    });
  }
  return operands;
}

// The results of a piece's inputs or products, one after the other.
class Results {
 public:
  explicit Results(const std::vector<Shared>& list) : list_(list) {}
  Shared Next() { return list_[next_++]; }

 private:
  const std::vector<Shared>& list_;
  size_t next_ = 0;
};

Shared Zeros(Engine& engine, Shape shape) {
  return engine.Public({{shape, std::vector<Int128>(shape.size())}, 0});
}

SharedTable::Own TakePiece(Engine& engine, const Task& task, const Piece& piece, Results& results) {
  const size_t groups = Layout(task.spec).groups;
  const auto most = static_cast<double>(piece.holder.max_rows);
  const auto by_group = [&](const Shared& product) {
    if (!piece.by_product) return product;
    return WithBound(engine.Slice(product, 0, 0, {product.shape.rows, groups}), most);
  };
  SharedTable::Own own;
  const Shared counts = results.Next();
  own.counts = by_group(counts);
  if (task.named) {
    const Shape column{counts.shape.rows, 1};
    own.left_out = piece.by_product && !task.hidden()
                       ? WithBound(engine.Slice(counts, 0, groups, column), most)
                       : Zeros(engine, column);
  }
  const size_t numbers = piece.layout.numbers.size();
  if (numbers == 0) return own;
  own.sums = by_group(results.Next());
  own.squares = by_group(results.Next());
  for (size_t m = 0; m < numbers && NeedsHistograms(piece.spec); ++m)
    own.histograms.push_back(by_group(results.Next()));
  return own;
}

// The pieces of the same rows as one, in the order of the table's variables.
class Joined {
 public:
  Joined(Engine& engine, const Layout& layout) : engine_(engine), layout_(layout) {}

  void Add(const Piece& piece, SharedTable::Own own) {
    for (size_t i = 0; i < piece.variables.size(); ++i) {
      for (size_t r = 0; r < piece.layout.rows_of[i]; ++r)
        count_rows_.push_back(layout_.first_row[piece.variables[i]] + r);
    }
    for (const size_t i : piece.layout.numbers) {
      const auto found =
          std::find(layout_.numbers.begin(), layout_.numbers.end(), piece.variables[i]);
      number_rows_.push_back(static_cast<size_t>(found - layout_.numbers.begin()));
    }
    owns_.push_back(std::move(own));
  }

  SharedTable::Own Join() const {
    if (owns_.size() == 1) return owns_.front();
    SharedTable::Own joined;
    joined.counts = InOrder(&SharedTable::Own::counts, count_rows_);
    joined.left_out = InOrder(&SharedTable::Own::left_out, count_rows_);
    if (number_rows_.empty()) return joined;
    joined.sums = InOrder(&SharedTable::Own::sums, number_rows_);
    joined.squares = InOrder(&SharedTable::Own::squares, number_rows_);
    std::vector<Shared> histograms;
    for (const SharedTable::Own& own : owns_)
      histograms.insert(histograms.end(), own.histograms.begin(), own.histograms.end());
    joined.histograms.resize(histograms.size());
    for (size_t i = 0; i < histograms.size(); ++i)
      joined.histograms[number_rows_[i]] = histograms[i];
    return joined;
  }

 private:
  // places: where each row of the parts, one below the other, belongs.
  Shared InOrder(Shared SharedTable::Own::*member, const std::vector<size_t>& places) const {
    std::vector<Shared> parts;
    for (const SharedTable::Own& own : owns_) {
      if ((own.*member).shape.rows > 0) parts.push_back(own.*member);
    }
    std::vector<size_t> from(places.size());
    for (size_t i = 0; i < places.size(); ++i) from[places[i]] = i;
    return engine_.SelectRows(engine_.Concatenate(parts, true), from);
  }

  Engine& engine_;
  const Layout& layout_;
  std::vector<size_t> count_rows_, number_rows_;
  std::vector<SharedTable::Own> owns_;
};

}  // namespace

bool HasStrata(const Spec& spec) {
  return spec.compared.mantel_haenszel && !TwoValued(spec).empty();
}

SharedTable ShareTable(Engine& engine, const Task& task, const OwnNumbers& own,
                       const OwnColumns& columns) {
  const Layout layout(task.spec);
  const std::vector<Piece> pieces = PiecesOf(task);
  std::vector<std::optional<mpc::Operand>> groups(task.holders.size());
  std::vector<PrivateMatrix> inputs;
  std::vector<Product> products;
  for (const Piece& piece : pieces) {
    if (!piece.by_product) {
      AddInputs(engine, piece, own, inputs);
      continue;
    }
    std::optional<mpc::Operand>& of_rows = groups[piece.rows];
    const Rows& rows = task.holders[piece.rows];
    if (!of_rows && rows.hidden) of_rows = ShareHiddenGroups(engine, task, rows, columns);
    if (!of_rows) of_rows = RegisterGroups(engine, task, rows, columns);
    for (FixedOperand& operand : RegisterColumns(engine, piece, columns))
      products.push_back({Product::Kind::kGram, std::move(operand), *of_rows});
  }
  for (const run::RowHolder& holder : task.holders) {
    if (!HasStrata(task.spec)) break;
    inputs.push_back(run::SumsOfHolder(engine, holder, {TwoValued(task.spec).size(), kStratumTerms},
                                       kStratumBits, 1, own.stratum));
  }
  mpc::Batch batch(engine);
  const auto shared_inputs = batch.Input(inputs);
  const auto shared_products = batch.Multiply(products);
  batch.Flush();
  Results of_inputs(shared_inputs.Get()), of_products(shared_products.Get());
  std::vector<Joined> joined(task.holders.size(), Joined(engine, layout));
  for (const Piece& piece : pieces) {
    joined[piece.rows].Add(
        piece, TakePiece(engine, task, piece, piece.by_product ? of_products : of_inputs));
  }
  SharedTable table;
  for (const Joined& of_rows : joined) table.by_holder.push_back(of_rows.Join());
  for (SharedTable::Own& of_holder : table.by_holder) {
    if (HasStrata(task.spec)) of_holder.stratum = of_inputs.Next();
  }
  return table;
}

}  // namespace partita::methods::describe
