#include "methods/mle/moments/shared_moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "methods/mle/moments/own_moments.h"
#include "mpc/batch.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::FixedOperand;
using mpc::IntMatrix;
using mpc::PartyIndex;
using mpc::PrivateMatrix;
using mpc::Product;
using mpc::PublicMatrix;
using mpc::Shape;
using mpc::Shared;

mpc::RowReader ReadFrom(std::vector<Int128> values, size_t cols) {
  return [values = std::move(values), cols](size_t first_row, size_t num_rows, Int128* out) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first_row * cols), num_rows * cols,
                out);
  };
}

// Running sums on shares, by cell.
class Accumulator {
 public:
  Accumulator(Engine& engine, const MomentsTask& task) : engine_(engine), task_(task) {
    const size_t p = task.num_variables;
    cells_.assign(task.cells.size(), {Zero({1, 1}, 0), Zero({1, p}, task.fraction_bits),
                                      Zero({p, p}, 2 * task.fraction_bits)});
  }

  // Of all variables.
  void Add(size_t cell, const Shared& count, const Shared& sums, const Shared& cross) {
    AddCount(cell, count);
    AddTo(cells_[cell].sums, sums);
    AddTo(cells_[cell].cross, cross);
  }
  void AddCount(size_t cell, const Shared& count) { AddTo(cells_[cell].count, count); }
  // 1 x |columns|: sums of some of the variables.
  void AddSums(size_t cell, const Shared& sums, const std::vector<size_t>& columns) {
    AddTo(cells_[cell].sums, engine_.MultiplyPublic(sums, Selection(columns)));
  }
  // |rows| x |columns| products of two disjoint sets of variables: goes above and below the
  // diagonal.
  void AddPair(size_t cell, const Shared& products, const std::vector<size_t>& rows,
               const std::vector<size_t>& columns) {
    const Shared placed = Bounded(Place(products, rows, columns));
    AddTo(cells_[cell].cross, engine_.Add(placed, Bounded(engine_.Transpose(placed))));
  }
  // Products of a set of variables with itself.
  void AddSquare(size_t cell, const Shared& products, const std::vector<size_t>& columns) {
    AddTo(cells_[cell].cross, Place(products, columns, columns));
  }

  // Fills in the cells that are differences of others.
  std::vector<SharedMoments> Finish() {
    for (size_t c = 0; c < cells_.size(); ++c) {
      if (!task_.cells[c].difference) continue;
      cells_[c] = cells_[task_.cells[c].difference->total];
      for (size_t other : task_.cells[c].difference->others) {
        SubtractFrom(cells_[c].count, cells_[other].count);
        SubtractFrom(cells_[c].sums, cells_[other].sums);
        SubtractFrom(cells_[c].cross, cells_[other].cross);
      }
    }
    return std::move(cells_);
  }

 private:
  Shared Zero(Shape shape, int fraction_bits) {
    return engine_.Public({IntMatrix{shape, std::vector<Int128>(shape.size())}, fraction_bits});
  }

  // Every entry of every intermediate is a sum over distinct rows of weighted values or products,
  // so its magnitude is at most the total weight times the largest product, however many terms were
  // added: state half of that (two are about to be added) instead of the sum of the terms' bounds.
  Shared Bounded(Shared a) const {
    a.bound = static_cast<double>(task_.max_rows) * task_.value_bound * task_.value_bound / 2;
    return a;
  }
  void AddTo(Shared& sum, const Shared& term) { sum = engine_.Add(Bounded(sum), Bounded(term)); }
  void SubtractFrom(Shared& sum, const Shared& term) {
    sum = engine_.Subtract(Bounded(sum), Bounded(term));
  }

  // 0/1 matrix |columns| x num_variables.
  PublicMatrix Selection(const std::vector<size_t>& columns) const {
    IntMatrix selection{{columns.size(), task_.num_variables},
                        std::vector<Int128>(columns.size() * task_.num_variables)};
    for (size_t i = 0; i < columns.size(); ++i)
      selection.values[i * task_.num_variables + columns[i]] = 1;
    return {std::move(selection), 0};
  }
  Shared Place(const Shared& products, const std::vector<size_t>& rows,
               const std::vector<size_t>& columns) {
    const Shared wide = engine_.MultiplyPublic(products, Selection(columns));
    return engine_.Transpose(engine_.MultiplyPublic(engine_.Transpose(wide), Selection(rows)));
  }

  Engine& engine_;
  const MomentsTask& task_;
  std::vector<SharedMoments> cells_;
};

// A block that several holders share, with everybody's columns registered once for all its cells.
struct SplitBlock {
  SplitBlock(Engine& engine, const MomentsTask& moments_task, const RowBlock& row_block,
             const LocalBlock* local_block)
      : task(moments_task), block(row_block), local(local_block) {
    for (const BlockHolder& holder : block.holders) {
      PrivateMatrix matrix{holder.party,
                           {*block.count, holder.variables.size()},
                           task.fraction_bits,
                           task.value_bound,
                           nullptr};
      if (engine.self() == holder.party) matrix.read = local->values;
      values.push_back(holder.variables.empty() ? FixedOperand{}
                                                : engine.Register(std::move(matrix)));
      if (!holder.variables.empty()) with_columns.push_back(values.size() - 1);
    }
  }

  const std::vector<size_t>& Variables(size_t holder) const {
    return block.holders[holder].variables;
  }

  const MomentsTask& task;
  const RowBlock& block;
  const LocalBlock* local;
  std::vector<FixedOperand> values;  // by holder
  std::vector<size_t> with_columns;  // holders that have columns
};

// The secret products of one cell in one split block: every round records products and takes their
// results.
class SecretCell {
 public:
  SecretCell(Engine& engine, const SplitBlock& split, size_t cell)
      : engine_(engine), split_(split), cell_(cell) {}
  virtual ~SecretCell() = default;
  // Adds this round's products; none: finished.
  virtual void Record(std::vector<Product>& products) = 0;
  // Takes the results in the order in which they were recorded.
  virtual void Take(std::vector<Shared>::const_iterator& result, Accumulator& total) = 0;

 protected:
  bool Mine(size_t holder) const { return engine_.self() == split_.block.holders[holder].party; }

  // The weights of one selecting holder, n x 1.
  FixedOperand RegisterSelector(size_t holder) {
    PrivateMatrix matrix{split_.block.holders[holder].party,
                         {*split_.block.count, 1},
                         0,
                         static_cast<double>(split_.task.max_weight),
                         nullptr};
    if (Mine(holder)) {
      matrix.read = [weights = &split_.local->selectors[cell_]](size_t first, size_t num,
                                                                Int128* out) {
        for (size_t r = 0; r < num; ++r) out[r] = (*weights)[first + r];
      };
    }
    return engine_.Register(std::move(matrix));
  }

  // At most one holder's weights exceed 1, so that a product of weights is at most max_weight; what
  // the engine multiplied up is larger.
  Shared Weighted(Shared a, double value_bound) const {
    a.bound = static_cast<double>(split_.task.max_weight) * value_bound;
    return a;
  }

  // Products of selected (shared) columns of the given holders with their plain columns.
  template <typename F>
  void ForEachPair(const std::vector<size_t>& holders, F f) const {
    for (size_t i = 0; i < holders.size(); ++i) {
      for (size_t j = i; j < holders.size(); ++j) f(i, j);
    }
  }
  void RecordSelected(const std::vector<size_t>& holders, const std::vector<Shared>& selected,
                      std::vector<Product>& products) const {
    ForEachPair(holders, [&](size_t i, size_t j) {
      products.push_back({Product::Kind::kGram, selected[i], split_.values[holders[j]]});
    });
  }
  void TakeSelected(const std::vector<size_t>& holders, std::vector<Shared>::const_iterator& result,
                    Accumulator& total) const {
    ForEachPair(holders, [&](size_t i, size_t j) {
      if (i == j) {
        total.AddSquare(cell_, *result++, split_.Variables(holders[i]));
      } else {
        total.AddPair(cell_, *result++, split_.Variables(holders[i]), split_.Variables(holders[j]));
      }
    });
  }

  Engine& engine_;
  const SplitBlock& split_;
  size_t cell_;
  size_t round_ = 0;
};

// All rows of the block: X_a^T X_b for every pair of holders.
class WholeBlock : public SecretCell {
 public:
  using SecretCell::SecretCell;
  void Record(std::vector<Product>& products) override {
    if (round_ > 0) return;
    ForEachUnlike([&](size_t a, size_t b) {
      products.push_back({Product::Kind::kGram, split_.values[a], split_.values[b]});
    });
  }
  void Take(std::vector<Shared>::const_iterator& result, Accumulator& total) override {
    if (round_++ > 0) return;
    ForEachUnlike([&](size_t a, size_t b) {
      total.AddPair(cell_, *result++, split_.Variables(a), split_.Variables(b));
    });
  }

 private:
  template <typename F>
  void ForEachUnlike(F f) const {
    for (size_t i = 0; i < split_.with_columns.size(); ++i) {
      for (size_t j = i + 1; j < split_.with_columns.size(); ++j)
        f(split_.with_columns[i], split_.with_columns[j]);
    }
  }
};

// Holder g selects: with its weights d and its own weighted columns it needs one round for the
// products with anything of its own, and one more for those among the others.
class OneSelector : public SecretCell {
 public:
  OneSelector(Engine& engine, const SplitBlock& split, size_t cell, size_t selecting)
      : SecretCell(engine, split, cell), selecting_(selecting) {
    weights_ = RegisterSelector(selecting);
    if (!split.Variables(selecting).empty()) own_ = engine.Register(OwnWeighted());
    for (size_t a : split.with_columns) {
      if (a != selecting) others_.push_back(a);
    }
  }

  void Record(std::vector<Product>& products) override {
    if (round_ == 1) RecordSelected(others_, selected_, products);
    if (round_ > 0) return;
    for (size_t a : others_) {
      products.push_back({Product::Kind::kGram, weights_, split_.values[a]});
      if (own_) products.push_back({Product::Kind::kGram, *own_, split_.values[a]});
      products.push_back({Product::Kind::kElementwise, weights_, split_.values[a]});
    }
  }

  void Take(std::vector<Shared>::const_iterator& result, Accumulator& total) override {
    if (round_ == 1) TakeSelected(others_, result, total);
    if (round_++ > 0) return;
    for (size_t a : others_) {
      total.AddSums(cell_, *result++, split_.Variables(a));
      if (own_) total.AddPair(cell_, *result++, split_.Variables(selecting_), split_.Variables(a));
      selected_.push_back(Weighted(*result++, split_.task.value_bound));
    }
  }

 private:
  PrivateMatrix OwnWeighted() const {
    const size_t cols = split_.Variables(selecting_).size();
    PrivateMatrix matrix{split_.block.holders[selecting_].party,
                         {*split_.block.count, cols},
                         split_.task.fraction_bits,
                         split_.task.max_weight * split_.task.value_bound,
                         nullptr};
    if (Mine(selecting_)) {
      matrix.read = [local = split_.local, cell = cell_, cols](size_t first, size_t num,
                                                               Int128* out) {
        local->values(first, num, out);
        for (size_t r = 0; r < num; ++r) {
          const Int128 weight = local->selectors[cell][first + r];
          for (size_t c = 0; c < cols; ++c) out[r * cols + c] *= weight;
        }
      };
    }
    return matrix;
  }

  size_t selecting_;
  FixedOperand weights_;
  std::optional<FixedOperand> own_;  // the selecting holder's columns, weighted
  std::vector<size_t> others_;       // holders with columns but the selecting one
  std::vector<Shared> selected_;     // by other
};

// Several holders select: their weights are multiplied into one shared column, one holder a round.
class ManySelectors : public SecretCell {
 public:
  ManySelectors(Engine& engine, const SplitBlock& split, size_t cell,
                const std::vector<size_t>& selecting)
      : SecretCell(engine, split, cell) {
    for (size_t holder : selecting) weights_.push_back(RegisterSelector(holder));
  }

  void Record(std::vector<Product>& products) override {
    if (Finished()) return;
    if (round_ == 0) {
      products.push_back({Product::Kind::kElementwise, weights_[0], weights_[1]});
    } else if (round_ + 1 < weights_.size()) {
      products.push_back({Product::Kind::kElementwise, *selector_, weights_[round_ + 1]});
    } else if (round_ + 1 == weights_.size()) {
      for (size_t a : split_.with_columns)
        products.push_back({Product::Kind::kElementwise, *selector_, split_.values[a]});
    } else if (round_ == weights_.size()) {
      RecordSelected(split_.with_columns, selected_, products);
    }
  }

  void Take(std::vector<Shared>::const_iterator& result, Accumulator& total) override {
    if (Finished()) return;
    if (round_ + 1 < weights_.size()) {
      selector_ = Weighted(*result++, 1);
      if (round_ + 2 == weights_.size()) total.AddCount(cell_, engine_.SumRows(*selector_));
    } else if (round_ + 1 == weights_.size()) {
      for (size_t a : split_.with_columns) {
        selected_.push_back(Weighted(*result++, split_.task.value_bound));
        total.AddSums(cell_, engine_.SumRows(selected_.back()), split_.Variables(a));
      }
    } else if (round_ == weights_.size()) {
      TakeSelected(split_.with_columns, result, total);
    }
    ++round_;
  }

 private:
  bool Finished() const {
    return split_.task.cells[cell_].only_count && round_ + 1 >= weights_.size();
  }

  std::vector<FixedOperand> weights_;  // by selecting holder
  std::optional<Shared> selector_;     // product of the first round_ + 1 of them, n x 1
  std::vector<Shared> selected_;       // by holder with columns
};

// Null where the holders know on their own all that is wanted.
std::unique_ptr<SecretCell> MakeSecretCell(Engine& engine, const SplitBlock& split, size_t cell) {
  std::vector<size_t> selecting;
  for (size_t h = 0; h < split.block.holders.size(); ++h) {
    if (split.block.holders[h].Selects(cell)) selecting.push_back(h);
  }
  if (split.task.cells[cell].only_count && selecting.size() < 2) return nullptr;
  if (selecting.empty()) return std::make_unique<WholeBlock>(engine, split, cell);
  if (selecting.size() == 1)
    return std::make_unique<OneSelector>(engine, split, cell, selecting[0]);
  return std::make_unique<ManySelectors>(engine, split, cell, selecting);
}

// Parties that hold any cell, ascending.
std::vector<PartyIndex> Holders(const MomentsTask& task) {
  std::vector<PartyIndex> parties;
  for (const RowBlock& block : task.blocks) {
    for (const BlockHolder& holder : block.holders) parties.push_back(holder.party);
  }
  std::sort(parties.begin(), parties.end());
  parties.erase(std::unique(parties.begin(), parties.end()), parties.end());
  return parties;
}

// Three matrices per holder: counts 1 x cells, sums cells x variables, cross (cells variables) x
// variables.
std::vector<PrivateMatrix> OwnInputs(Engine& engine, const MomentsTask& task,
                                     const OwnMoments* own) {
  const size_t p = task.num_variables, cells = task.cells.size();
  const double bound = static_cast<double>(task.max_rows) * task.value_bound * task.value_bound;
  std::vector<PrivateMatrix> inputs;
  for (PartyIndex holder : Holders(task)) {
    PrivateMatrix counts{holder, {1, cells}, 0, bound, nullptr};
    PrivateMatrix sums{holder, {cells, p}, task.fraction_bits, bound, nullptr};
    PrivateMatrix cross{holder, {cells * p, p}, 2 * task.fraction_bits, bound, nullptr};
    if (engine.self() == holder) {
      if (own == nullptr) throw Error(ErrorCode::kInternal, "a holder brings no sums of its own");
      counts.read = ReadFrom(own->counts, cells);
      sums.read = ReadFrom(own->sums, p);
      cross.read = ReadFrom(own->cross, p);
    }
    inputs.insert(inputs.end(), {std::move(counts), std::move(sums), std::move(cross)});
  }
  return inputs;
}

void AddOwnInputs(Engine& engine, const MomentsTask& task, const std::vector<Shared>& shares,
                  Accumulator& total) {
  const size_t p = task.num_variables;
  for (size_t i = 0; i + 2 < shares.size(); i += 3) {
    for (size_t c = 0; c < task.cells.size(); ++c) {
      if (task.cells[c].difference) continue;
      total.Add(c, engine.Slice(shares[i], 0, c, {1, 1}), engine.Slice(shares[i + 1], c, 0, {1, p}),
                engine.Slice(shares[i + 2], c * p, 0, {p, p}));
    }
  }
}

}  // namespace

void ValidateTask(const MomentsTask& task) {
  for (const RowBlock& block : task.blocks) {
    if (block.holders.empty()) {
      throw Error(ErrorCode::kInternal, fmt::format("row block '{}' has no holder", block.name));
    }
    if (block.holders.size() > 1 && !block.count) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("row block '{}' is shared by several holders but has no count", block.name),
          "add `count = ...` to its [[rows]] entry in the study file");
    }
  }
  if (!task.centred.empty()) {
    for (const RowBlock& block : task.blocks) {
      for (const BlockHolder& holder : block.holders) {
        const bool selects =
            std::find(holder.selects.begin(), holder.selects.end(), true) != holder.selects.end();
        if (block.holders.size() > 1 && selects) {
          throw Error(ErrorCode::kInternal, "a split block with centred values has selectors");
        }
      }
    }
  }
  for (size_t c = 0; c < task.cells.size(); ++c) {
    if (!task.cells[c].difference) continue;
    std::vector<size_t> before = task.cells[c].difference->others;
    before.push_back(task.cells[c].difference->total);
    if (std::any_of(before.begin(), before.end(), [&](size_t b) { return b >= c; })) {
      throw Error(ErrorCode::kInternal, "a cell of rows is a difference of later ones");
    }
  }
}

std::vector<SharedMoments> ComputeMoments(Engine& engine, const MomentsTask& task,
                                          const std::vector<LocalBlock>& local) {
  ValidateTask(task);
  std::optional<OwnMoments> own;
  if (engine.self() && local.size() == task.blocks.size())
    own = AddOwnMoments(task, *engine.self(), local);
  return ComputeMomentsPart(engine, task, local, true, own ? &*own : nullptr);
}

std::vector<SharedMoments> ComputeMomentsPart(Engine& engine, const MomentsTask& task,
                                              const std::vector<LocalBlock>& local, bool with_own,
                                              const OwnMoments* own) {
  ValidateTask(task);
  if (engine.self() && local.size() != task.blocks.size()) {
    throw Error(ErrorCode::kInternal, "the moments need one local entry per row block");
  }
  std::vector<SplitBlock> split;
  split.reserve(task.blocks.size());
  std::vector<std::unique_ptr<SecretCell>> secret;
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    if (task.blocks[b].holders.size() < 2) continue;
    split.emplace_back(engine, task, task.blocks[b], engine.self() ? &local[b] : nullptr);
    for (size_t c = 0; c < task.cells.size(); ++c) {
      if (task.cells[c].difference) continue;
      if (auto cell = MakeSecretCell(engine, split.back(), c)) secret.push_back(std::move(cell));
    }
  }

  // The first round also shares the holders' own sums.
  Accumulator total(engine, task);
  std::vector<PrivateMatrix> inputs;
  if (with_own) inputs = OwnInputs(engine, task, own);
  for (bool first = true;; first = false) {
    std::vector<Product> products;
    for (const auto& cell : secret) cell->Record(products);
    if (!first && products.empty()) break;
    mpc::Batch batch(engine);
    auto own_shares = batch.Input(inputs);
    auto product_shares = batch.Multiply(products);
    batch.Flush();
    if (!inputs.empty()) AddOwnInputs(engine, task, own_shares.Get(), total);
    auto result = product_shares.Get().cbegin();
    for (const auto& cell : secret) cell->Take(result, total);
    inputs.clear();
  }
  return total.Finish();
}

}  // namespace partita::methods::mle
