#include "methods/mle/pooled_moments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
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

constexpr size_t kRowsPerRead = 4096;

// Sums are kept by slot: slots 0..num_groups-2 are those groups, the last slot is the total over
// all groups. The last group is the total less the others, which saves one secret product per
// column.
size_t TotalSlot(const MomentsTask& task) { return task.num_groups - 1; }

const BlockHolder* GroupHolder(const RowBlock& block) {
  for (const BlockHolder& holder : block.holders) {
    if (holder.holds_group) return &holder;
  }
  return nullptr;
}

// The holder that counts the rows of a block (by group, where there are groups).
const BlockHolder& CountingHolder(const MomentsTask& task, const RowBlock& block) {
  return task.num_groups > 1 ? *GroupHolder(block) : block.holders.front();
}

void Validate(const MomentsTask& task) {
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
    if (task.num_groups > 1 && GroupHolder(block) == nullptr) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("nobody holds the grouping factor for row block '{}'", block.name),
                  "list the grouping factor among the columns of one holder of that block");
    }
  }
}

// Moments of a single holder's own cells, all blocks together, by slot.
struct OwnMoments {
  std::vector<Int128> counts;  // slots
  std::vector<Int128> sums;    // slots x variables
  std::vector<Int128> cross;   // slots x variables x variables
};

void AddRow(const MomentsTask& task, const BlockHolder& holder, const Int128* row, size_t slot,
            OwnMoments& own) {
  const size_t p = task.num_variables;
  for (size_t i = 0; i < holder.variables.size(); ++i) {
    const size_t vi = holder.variables[i];
    own.sums[slot * p + vi] += row[i];
    for (size_t j = 0; j <= i; ++j) {
      const size_t vj = holder.variables[j];
      const Int128 product = row[i] * row[j];
      own.cross[(slot * p + vi) * p + vj] += product;
      if (vi != vj) own.cross[(slot * p + vj) * p + vi] += product;
    }
  }
}

// What the holder can add up alone: everything about its own columns, by group only where it holds
// the grouping factor.
OwnMoments AddOwnCells(const MomentsTask& task, PartyIndex self,
                       const std::vector<LocalBlock>& local) {
  const size_t p = task.num_variables, slots = task.num_groups;
  OwnMoments own{std::vector<Int128>(slots), std::vector<Int128>(slots * p),
                 std::vector<Int128>(slots * p * p)};
  std::vector<Int128> rows;
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    for (const BlockHolder& holder : task.blocks[b].holders) {
      if (holder.party != self) continue;
      const LocalBlock& data = local[b];
      const bool by_group = holder.holds_group && task.num_groups > 1;
      const bool counts = &CountingHolder(task, task.blocks[b]) == &holder;
      const size_t width = holder.variables.size();
      rows.resize(kRowsPerRead * width);
      for (size_t first = 0; first < data.num_rows; first += kRowsPerRead) {
        const size_t num = std::min(kRowsPerRead, data.num_rows - first);
        if (width > 0) data.values(first, num, rows.data());
        for (size_t r = 0; r < num; ++r) {
          const size_t group =
              by_group ? static_cast<size_t>(data.groups[first + r]) : TotalSlot(task);
          AddRow(task, holder, rows.data() + r * width, TotalSlot(task), own);
          if (counts) own.counts[TotalSlot(task)] += 1;
          if (group == TotalSlot(task)) continue;
          AddRow(task, holder, rows.data() + r * width, group, own);
          if (counts) own.counts[group] += 1;
        }
      }
    }
  }
  return own;
}

mpc::RowReader ReadFrom(std::vector<Int128> values, size_t cols) {
  return [values = std::move(values), cols](size_t first_row, size_t num_rows, Int128* out) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first_row * cols), num_rows * cols,
                out);
  };
}

// Running sums on shares, by slot.
class Accumulator {
 public:
  Accumulator(Engine& engine, const MomentsTask& task) : engine_(engine), task_(task) {
    const size_t p = task.num_variables;
    counts_ = Zero({1, task.num_groups}, 0);
    sums_.assign(task.num_groups, Zero({1, p}, task.fraction_bits));
    cross_.assign(task.num_groups, Zero({p, p}, 2 * task.fraction_bits));
  }

  void AddCounts(const Shared& counts) { counts_ = Add(counts_, counts); }
  // 1 x num_variables.
  void AddSums(size_t slot, const Shared& sums) { sums_[slot] = Add(sums_[slot], sums); }
  // num_variables x num_variables.
  void AddCross(size_t slot, const Shared& cross) { cross_[slot] = Add(cross_[slot], cross); }

  // 1 x |columns|: sums of some of the variables.
  void AddSums(size_t slot, const Shared& sums, const std::vector<size_t>& columns) {
    AddSums(slot, engine_.MultiplyPublic(sums, Selection(columns)));
  }
  // |rows| x |columns| products of two disjoint sets of variables: goes above and below the
  // diagonal.
  void AddPair(size_t slot, const Shared& products, const std::vector<size_t>& rows,
               const std::vector<size_t>& columns) {
    const Shared placed = Place(products, rows, columns);
    AddCross(slot, Add(placed, engine_.Transpose(placed)));
  }
  // Products of a set of variables with itself.
  void AddSquare(size_t slot, const Shared& products, const std::vector<size_t>& columns) {
    AddCross(slot, Place(products, columns, columns));
  }

  // Everything of every group, ready to open: counts, then sums and cross of each group.
  std::vector<Shared> ByGroup() {
    const size_t last = TotalSlot(task_);
    for (size_t g = 0; g < last; ++g) {
      sums_[last] = Subtract(sums_[last], sums_[g]);
      cross_[last] = Subtract(cross_[last], cross_[g]);
    }
    std::vector<Shared> all = {counts_};
    for (size_t g = 0; g < task_.num_groups; ++g) {
      all.push_back(sums_[g]);
      all.push_back(cross_[g]);
    }
    return all;
  }

 private:
  Shared Zero(Shape shape, int fraction_bits) {
    return engine_.Public({IntMatrix{shape, std::vector<Int128>(shape.size())}, fraction_bits});
  }

  // Every entry of every intermediate is a sum of distinct rows' values (products) in [-1, 1], so
  // its magnitude is at most the total number of rows however many terms were added: state that
  // instead of the sum of the terms' bounds.
  Shared Bounded(Shared a) const {
    a.bound = static_cast<double>(task_.max_rows) / 2;
    return a;
  }
  Shared Add(const Shared& a, const Shared& b) { return engine_.Add(Bounded(a), Bounded(b)); }
  Shared Subtract(const Shared& a, const Shared& b) {
    return engine_.Subtract(Bounded(a), Bounded(b));
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
  Shared counts_;
  std::vector<Shared> sums_, cross_;
};

// The secret products of one block that several holders share.
class SplitBlock {
 public:
  SplitBlock(Engine& engine, const MomentsTask& task, const RowBlock& block,
             const LocalBlock* local)
      : engine_(engine), task_(task), block_(block), local_(local) {
    for (const BlockHolder& holder : block.holders) {
      values_.push_back(holder.variables.empty() ? FixedOperand{}
                                                 : engine.Register(Values(holder)));
    }
    if (task.num_groups == 1) return;
    group_holder_ = GroupHolder(block);
    for (size_t g = 0; g < TotalSlot(task); ++g) {
      indicators_.push_back(engine.Register(Indicator(g)));
      if (!group_holder_->variables.empty())
        own_by_group_.push_back(engine.Register(OwnByGroup(g)));
    }
  }

  // First round: products of two private matrices.
  void RecordPrivateProducts(std::vector<Product>& products) {
    ForEachPair([&](size_t a, size_t b) {
      if (a != b) products.push_back({Product::Kind::kGram, values_[a], values_[b]});
    });
    for (size_t g = 0; g < indicators_.size(); ++g) {
      ForEachOther([&](size_t a) {
        products.push_back({Product::Kind::kGram, indicators_[g], values_[a]});
        if (!own_by_group_.empty())
          products.push_back({Product::Kind::kGram, own_by_group_[g], values_[a]});
        products.push_back({Product::Kind::kElementwise, indicators_[g], values_[a]});
      });
    }
  }

  // Takes the results in the order in which they were recorded.
  void TakePrivateProducts(std::vector<Shared>::const_iterator& result, Accumulator& total) {
    ForEachPair([&](size_t a, size_t b) {
      if (a != b) total.AddPair(TotalSlot(task_), *result++, Variables(a), Variables(b));
    });
    for (size_t g = 0; g < indicators_.size(); ++g) {
      ForEachOther([&](size_t a) {
        total.AddSums(g, *result++, Variables(a));
        if (!own_by_group_.empty())
          total.AddPair(g, *result++, group_holder_->variables, Variables(a));
        selected_.push_back(*result++);
      });
    }
  }

  // Second round, with groups: the selected rows (shared) times the other holders' columns.
  void RecordSelectedProducts(std::vector<Product>& products) {
    ForEachSelectedPair([&](size_t, size_t, size_t b, const Shared& selected) {
      products.push_back({Product::Kind::kGram, selected, values_[b]});
    });
  }

  void TakeSelectedProducts(std::vector<Shared>::const_iterator& result, Accumulator& total) {
    ForEachSelectedPair([&](size_t g, size_t a, size_t b, const Shared&) {
      if (a == b) {
        total.AddSquare(g, *result++, Variables(a));
      } else {
        total.AddPair(g, *result++, Variables(a), Variables(b));
      }
    });
  }

 private:
  const std::vector<size_t>& Variables(size_t holder) const {
    return block_.holders[holder].variables;
  }

  // Holders a <= b that have columns.
  template <typename F>
  void ForEachPair(F f) const {
    for (size_t a = 0; a < block_.holders.size(); ++a) {
      for (size_t b = a; b < block_.holders.size(); ++b) {
        if (!Variables(a).empty() && !Variables(b).empty()) f(a, b);
      }
    }
  }
  // Holders with columns other than the holder of the grouping factor.
  template <typename F>
  void ForEachOther(F f) const {
    for (size_t a = 0; a < block_.holders.size(); ++a) {
      if (!block_.holders[a].holds_group && !Variables(a).empty()) f(a);
    }
  }
  template <typename F>
  void ForEachSelectedPair(F f) const {
    size_t next = 0;
    for (size_t g = 0; g < indicators_.size(); ++g) {
      ForEachOther([&](size_t a) {
        const Shared& selected = selected_[next++];
        ForEachOther([&](size_t b) {
          if (b >= a) f(g, a, b, selected);
        });
      });
    }
  }

  bool Mine(const BlockHolder& holder) const { return engine_.self() == holder.party; }

  PrivateMatrix Values(const BlockHolder& holder) const {
    return {holder.party,
            {*block_.count, holder.variables.size()},
            task_.fraction_bits,
            1.0,
            Mine(holder) ? local_->values : nullptr};
  }

  PrivateMatrix Indicator(size_t group) const {
    PrivateMatrix matrix{group_holder_->party, {*block_.count, 1}, 0, 1.0, nullptr};
    if (Mine(*group_holder_)) {
      matrix.read = [codes = &local_->groups, group](size_t first, size_t num, Int128* out) {
        for (size_t r = 0; r < num; ++r)
          out[r] = (*codes)[first + r] == static_cast<int32_t>(group) ? 1 : 0;
      };
    }
    return matrix;
  }

  // The group holder's own columns, zero outside the group.
  PrivateMatrix OwnByGroup(size_t group) const {
    PrivateMatrix matrix = Values(*group_holder_);
    if (Mine(*group_holder_)) {
      matrix.read = [local = local_, group, cols = matrix.shape.cols](size_t first, size_t num,
                                                                      Int128* out) {
        local->values(first, num, out);
        for (size_t r = 0; r < num; ++r) {
          if (local->groups[first + r] != static_cast<int32_t>(group))
            std::fill_n(out + r * cols, cols, Int128{0});
        }
      };
    }
    return matrix;
  }

  Engine& engine_;
  const MomentsTask& task_;
  const RowBlock& block_;
  const LocalBlock* local_;
  const BlockHolder* group_holder_ = nullptr;
  std::vector<FixedOperand> values_;      // by holder
  std::vector<FixedOperand> indicators_;  // by group but the last
  std::vector<FixedOperand>
      own_by_group_;              // by group but the last; empty if the group holder has no columns
  std::vector<Shared> selected_;  // by group but the last, then by other holder
};

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

// Three matrices per holder: counts 1 x slots, sums slots x variables, cross (slots variables) x
// variables.
std::vector<PrivateMatrix> OwnInputs(Engine& engine, const MomentsTask& task,
                                     const std::vector<LocalBlock>& local) {
  const size_t p = task.num_variables, slots = task.num_groups;
  const double bound = static_cast<double>(task.max_rows);
  std::vector<PrivateMatrix> inputs;
  for (PartyIndex holder : Holders(task)) {
    PrivateMatrix counts{holder, {1, slots}, 0, bound, nullptr};
    PrivateMatrix sums{holder, {slots, p}, task.fraction_bits, bound, nullptr};
    PrivateMatrix cross{holder, {slots * p, p}, 2 * task.fraction_bits, bound, nullptr};
    if (engine.self() == holder) {
      OwnMoments own = AddOwnCells(task, holder, local);
      counts.read = ReadFrom(std::move(own.counts), slots);
      sums.read = ReadFrom(std::move(own.sums), p);
      cross.read = ReadFrom(std::move(own.cross), p);
    }
    inputs.insert(inputs.end(), {std::move(counts), std::move(sums), std::move(cross)});
  }
  return inputs;
}

void RequireCount(const MomentsTask& task, Int128 n) {
  if (n < 0 || n > static_cast<Int128>(task.max_rows)) {
    throw Error(ErrorCode::kPeerFault, "the opened number of rows is impossible",
                "a party departed from the protocol: compare versions and run the study again");
  }
}

std::vector<IntegerMoments> Decode(const MomentsTask& task, std::vector<IntMatrix> opened) {
  const size_t last = TotalSlot(task);
  std::vector<IntegerMoments> groups(task.num_groups);
  for (size_t g = 0; g < task.num_groups; ++g) {
    groups[g].n = opened[0].values[g];
    groups[g].sum = std::move(opened[1 + 2 * g].values);
    groups[g].cross = std::move(opened[2 + 2 * g].values);
  }
  // Counts of honest holders add up to at most max_rows; anything else is a peer's doing.
  Int128 counted = 0;
  for (size_t g = 0; g < last; ++g) {
    RequireCount(task, groups[g].n);
    counted += groups[g].n;
  }
  RequireCount(task, groups[last].n);
  groups[last].n -= counted;
  RequireCount(task, groups[last].n);
  return groups;
}

}  // namespace

uint64_t NumReleasedValues(const MomentsTask& task) {
  return task.num_groups * (1 + task.num_variables + task.num_variables * task.num_variables);
}

std::vector<IntegerMoments> PooledMoments(Engine& engine, const MomentsTask& task,
                                          const std::vector<LocalBlock>& local) {
  Validate(task);
  if (engine.self() && local.size() != task.blocks.size()) {
    throw Error(ErrorCode::kInternal, "the pooled moments need one local entry per row block");
  }
  engine.BeginPhase("moments");

  std::vector<SplitBlock> split;
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    if (task.blocks[b].holders.size() < 2) continue;
    split.emplace_back(engine, task, task.blocks[b], engine.self() ? &local[b] : nullptr);
  }

  // One flush for the holders' own sums and all products of private matrices.
  std::vector<PrivateMatrix> own = OwnInputs(engine, task, local);
  std::vector<Product> products;
  for (SplitBlock& block : split) block.RecordPrivateProducts(products);
  mpc::Batch batch(engine);
  auto own_shares = batch.Input(own);
  auto product_shares = batch.Multiply(products);
  batch.Flush();

  Accumulator total(engine, task);
  const size_t p = task.num_variables;
  const std::vector<Shared>& shares = own_shares.Get();
  for (size_t i = 0; i + 2 < shares.size(); i += 3) {
    total.AddCounts(shares[i]);
    for (size_t slot = 0; slot < task.num_groups; ++slot) {
      total.AddSums(slot, engine.Slice(shares[i + 1], slot, 0, {1, p}));
      total.AddCross(slot, engine.Slice(shares[i + 2], slot * p, 0, {p, p}));
    }
  }
  auto result = product_shares.Get().cbegin();
  for (SplitBlock& block : split) block.TakePrivateProducts(result, total);

  if (task.num_groups > 1 && !split.empty()) {
    std::vector<Product> selected;
    for (SplitBlock& block : split) block.RecordSelectedProducts(selected);
    const std::vector<Shared> selected_shares = engine.Multiply(selected);
    result = selected_shares.cbegin();
    for (SplitBlock& block : split) block.TakeSelectedProducts(result, total);
  }

  std::vector<IntMatrix> opened = engine.Reveal(kMomentsRelease, total.ByGroup(), task.receiver);
  if (engine.self() != task.receiver) return {};
  return Decode(task, std::move(opened));
}

std::vector<IntegerMoments> PlaintextMoments(const MomentsTask& task,
                                             const std::vector<std::vector<Int128>>& values,
                                             const std::vector<std::vector<int32_t>>& groups) {
  const size_t p = task.num_variables;
  std::vector<IntegerMoments> moments(task.num_groups,
                                      {0, std::vector<Int128>(p), std::vector<Int128>(p * p)});
  for (size_t b = 0; b < values.size(); ++b) {
    const size_t num_rows = p == 0 ? 0 : values[b].size() / p;
    for (size_t r = 0; r < num_rows; ++r) {
      IntegerMoments& group = moments[task.num_groups > 1 ? static_cast<size_t>(groups[b][r]) : 0];
      const Int128* row = values[b].data() + r * p;
      group.n += 1;
      for (size_t i = 0; i < p; ++i) {
        group.sum[i] += row[i];
        for (size_t j = 0; j < p; ++j) group.cross[i * p + j] += row[i] * row[j];
      }
    }
  }
  return moments;
}

}  // namespace partita::methods::mle
