#include "methods/mle/moments/split_products.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "mpc/fixed_point.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::IntMatrix;
using mpc::PrivateMatrix;
using mpc::Product;
using mpc::Shared;

constexpr int kResultBits = 124;  // of the largest sum: the smallest ring (engine shamir) has 127
constexpr size_t kSplitRowsPerRead = 1024;

int SplitRowBits(const RobustTask& task) {
  size_t rows = 0;
  for (const RowBlock& block : task.moments.blocks) {
    if (IsSplit(block)) rows += *block.count;
  }
  return static_cast<int>(std::ceil(std::log2(static_cast<double>(rows))));
}

// Columns of the analysis that a holder has: their numbers there, and among its own columns.
struct HeldColumns {
  std::vector<size_t> variables;
  std::vector<size_t> positions;
};

HeldColumns ColumnsOf(const RobustTask& task, const BlockHolder& holder) {
  HeldColumns held;
  for (size_t i = 0; i < task.variables.size(); ++i) {
    const auto found =
        std::find(holder.variables.begin(), holder.variables.end(), task.variables[i]);
    if (found == holder.variables.end()) continue;
    held.variables.push_back(i);
    held.positions.push_back(static_cast<size_t>(found - holder.variables.begin()));
  }
  return held;
}

// The cells whose selectors make those of a group.
std::vector<size_t> CellsOf(const RobustTask& task, size_t group) {
  const size_t cell = task.cells[group];
  const auto& difference = task.moments.cells[cell].difference;
  if (!difference) return {cell};
  std::vector<size_t> cells = {difference->total};
  cells.insert(cells.end(), difference->others.begin(), difference->others.end());
  return cells;
}

// u of a holder's own columns in one group.
class OwnColumns {
 public:
  OwnColumns(const RobustTask& task, const BlockHolder& holder, const LocalBlock& local,
             const stats::StatisticsScale& scale, const stats::FeatureFrame& frame, size_t group)
      : held_(ColumnsOf(task, holder)),
        width_(holder.variables.size()),
        fraction_bits_(task.moments.fraction_bits),
        local_(&local),
        scale_(scale),
        frame_(frame) {
    const size_t total = CellsOf(task, group).front();
    if (holder.Selects(total)) selector_ = &local.selectors[total];
  }

  size_t num_rows() const { return local_->num_rows; }

  // num_rows x columns. Throws kBadData beyond kLargestDeviation.
  MatrixXd Read(size_t first, size_t num_rows) const {
    std::vector<Int128> cells(num_rows * width_);
    local_->values(first, num_rows, cells.data());
    MatrixXd out = MatrixXd::Zero(static_cast<Index>(num_rows), columns());
    for (size_t r = 0; r < num_rows; ++r) {
      if (selector_ != nullptr && (*selector_)[first + r] == 0) continue;
      for (Index c = 0; c < columns(); ++c) {
        const auto at = static_cast<size_t>(c);
        const auto v = static_cast<Index>(held_.variables[at]);
        const double value =
            scale_.centre[v] +
            scale_.half_width[v] *
                std::ldexp(static_cast<double>(cells[r * width_ + held_.positions[at]]),
                           -fraction_bits_);
        out(static_cast<Index>(r), c) = (value - frame_.mean[v]) / frame_.root(v, v);
      }
    }
    if (out.size() > 0 && !(out.cwiseAbs().maxCoeff() < kLargestDeviation)) {
      throw Error(ErrorCode::kBadData,
                  "some rows lie so far from the fitted model that robust standard errors cannot "
                  "be computed with them where columns are split",
                  "look for values 64 standard deviations from the mean in the columns of the "
                  "analysis");
    }
    return out;
  }

 private:
  Index columns() const { return static_cast<Index>(held_.variables.size()); }

  HeldColumns held_;
  size_t width_;
  int fraction_bits_;
  const LocalBlock* local_;
  stats::StatisticsScale scale_;
  stats::FeatureFrame frame_;
  const std::vector<int32_t>* selector_ = nullptr;
};

// A holder's columns as they are shared: u, and after all u the products of every two of them.
struct ColumnReaders {
  mpc::RowReader columns;   // at f
  mpc::RowReader features;  // at 2 f
};

mpc::RowReader EncodeColumns(std::shared_ptr<const OwnColumns> own, int bits, bool products) {
  return [own = std::move(own), bits, products](size_t first, size_t num_rows, Int128* out) {
    const MatrixXd u = own->Read(first, num_rows);
    for (Index r = 0; r < u.rows(); ++r) {
      for (Index i = 0; i < u.cols(); ++i) *out++ = mpc::EncodeFixed(u(r, i), bits);
      for (Index i = 0; products && i < u.cols(); ++i) {
        for (Index j = i; j < u.cols(); ++j) *out++ = mpc::EncodeFixed(u(r, i) * u(r, j), bits);
      }
    }
  };
}

// About the model's means and deviations. Refused here, before anything is sent, if at all.
ColumnReaders ReadAboutModel(const std::shared_ptr<const OwnColumns>& own, int f) {
  for (size_t first = 0; first < own->num_rows(); first += kSplitRowsPerRead)
    own->Read(first, std::min(kSplitRowsPerRead, own->num_rows() - first));
  return {EncodeColumns(own, f, false), EncodeColumns(own, 2 * f, true)};
}

// Half away from zero.
Int128 DropBits(Int128 value, int bits) {
  if (bits == 0) return value;
  const Int128 half = Int128{1} << (bits - 1);
  return value < 0 ? -((half - value) >> bits) : (value + half) >> bits;
}

// Cells by the public bounds, as whole numbers: their products are exact.
class OwnCells {
 public:
  OwnCells(const RobustTask& task, const BlockHolder& holder, const LocalBlock& local, size_t group,
           int bits)
      : held_(ColumnsOf(task, holder)),
        width_(holder.variables.size()),
        dropped_bits_(task.moments.fraction_bits - bits),
        local_(&local) {
    const size_t total = CellsOf(task, group).front();
    if (holder.Selects(total)) selector_ = &local.selectors[total];
  }

  // num_rows x columns, row by row.
  std::vector<Int128> Read(size_t first, size_t num_rows) const {
    std::vector<Int128> cells(num_rows * width_), out;
    local_->values(first, num_rows, cells.data());
    for (size_t r = 0; r < num_rows; ++r) {
      const bool kept = selector_ == nullptr || (*selector_)[first + r] != 0;
      for (const size_t position : held_.positions)
        out.push_back(kept ? DropBits(cells[r * width_ + position], dropped_bits_) : 0);
    }
    return out;
  }
  size_t columns() const { return held_.positions.size(); }

 private:
  HeldColumns held_;
  size_t width_;
  int dropped_bits_;
  const LocalBlock* local_;
  const std::vector<int32_t>* selector_ = nullptr;
};

ColumnReaders ReadByBounds(const std::shared_ptr<const OwnCells>& own, int f) {
  const auto columns = [own](size_t first, size_t num_rows, Int128* out) {
    const std::vector<Int128> u = own->Read(first, num_rows);
    std::copy(u.begin(), u.end(), out);
  };
  const auto features = [own, f](size_t first, size_t num_rows, Int128* out) {
    const std::vector<Int128> u = own->Read(first, num_rows);
    const size_t k = own->columns();
    for (auto row = u.begin(); row != u.end(); row += static_cast<std::ptrdiff_t>(k)) {
      for (size_t i = 0; i < k; ++i) *out++ = row[static_cast<std::ptrdiff_t>(i)] << f;
      for (size_t i = 0; i < k; ++i) {
        for (size_t j = i; j < k; ++j)
          *out++ = row[static_cast<std::ptrdiff_t>(i)] * row[static_cast<std::ptrdiff_t>(j)];
      }
    }
  };
  return {columns, features};
}

// How the columns of this party in a block and group are read.
using MakeReaders = std::function<ColumnReaders(const BlockHolder& holder, const LocalBlock& local,
                                                size_t group, int f)>;

// The rows of one split block in one group.
struct Part {
  size_t block = 0, group = 0;
  std::vector<HeldColumns> held;   // by holder that has columns
  std::vector<Shared> columns;     // u, n x columns at f
  std::vector<Shared> features;    // u and products of two of these columns at 2 f
  std::vector<Shared> crossed;     // one column of a holder times all those of a later one, at 2 f
  std::optional<Shared> selector;  // n x 1; none: all rows
  Shared t;                        // n x D at 2 f
  Shared selected;                 // the same, zero in rows that are not in the group
};

class SplitRows {
 public:
  // largest: of every |u|; f: fraction bits of u.
  SplitRows(Engine& engine, const RobustTask& task, double largest, int f)
      : engine_(engine), task_(task), largest_(largest), f_(f) {}

  // One round of inputs.
  void Input(const RobustLocal& local, const MakeReaders& readers) {
    std::vector<PrivateMatrix> inputs;
    for (size_t b = 0; b < task_.moments.blocks.size(); ++b) {
      if (!IsSplit(task_.moments.blocks[b])) continue;
      for (size_t g = 0; g < task_.cells.size(); ++g) {
        AddColumns(b, g, local, readers, inputs);
        for (const size_t cell : CellsOf(task_, g)) AddSelectors(b, cell, local, inputs);
      }
    }
    const std::vector<Shared> shared = engine_.Input(inputs);
    auto next = shared.begin();
    for (size_t b = 0, part = 0; b < task_.moments.blocks.size(); ++b) {
      if (!IsSplit(task_.moments.blocks[b])) continue;
      for (size_t g = 0; g < task_.cells.size(); ++g, ++part) {
        for (size_t h = 0; h < parts_[part].held.size(); ++h) {
          parts_[part].columns.push_back(*next++);
          parts_[part].features.push_back(*next++);
        }
        for (const size_t cell : CellsOf(task_, g)) {
          std::vector<Shared>& factors = factors_[{b, cell}];
          if (!factors.empty()) continue;
          const size_t num = SelectingHolders(b, cell).size();
          factors.assign(next, next + static_cast<std::ptrdiff_t>(num));
          next += static_cast<std::ptrdiff_t>(num);
        }
      }
    }
  }

  // A round of products for every selecting holder but the first.
  void MultiplySelectors() {
    while (true) {
      std::vector<Product> products;
      for (const auto& [key, factors] : factors_) {
        if (factors.size() > 1)
          products.push_back({Product::Kind::kElementwise, factors[0], factors[1]});
      }
      if (products.empty()) break;
      const std::vector<Shared> results = engine_.Multiply(products);
      auto next = results.begin();
      for (auto& [key, factors] : factors_) {
        if (factors.size() < 2) continue;
        factors.erase(factors.begin());
        factors.front() = *next++;
      }
    }
    for (Part& part : parts_) part.selector = SelectorOf(part);
  }

  // One round.
  void MultiplyColumns() {
    std::vector<Product> products;
    for (const Part& part : parts_) {
      const size_t rows = *task_.moments.blocks[part.block].count;
      ForEachCrossed(part, [&](size_t a, size_t column, size_t b) {
        products.push_back({Product::Kind::kElementwise,
                            engine_.Slice(part.columns[a], 0, column, {rows, 1}), part.columns[b]});
      });
    }
    const std::vector<Shared> results =
        products.empty() ? std::vector<Shared>() : engine_.Multiply(products);
    auto next = results.begin();
    for (Part& part : parts_) {
      ForEachCrossed(part, [&](size_t, size_t, size_t) { part.crossed.push_back(*next++); });
      part.t = part.selected = Features(part);
    }
  }

  // One round, if any group has selectors.
  void Select() {
    std::vector<Product> products;
    for (const Part& part : parts_) {
      if (part.selector) products.push_back({Product::Kind::kElementwise, *part.selector, part.t});
    }
    if (products.empty()) return;
    const std::vector<Shared> results = engine_.Multiply(products);
    auto next = results.begin();
    for (Part& part : parts_) {
      if (part.selector) part.selected = *next++;
    }
  }

  // One round, and a truncation.
  Shared Sum(int bits) {
    std::vector<Product> products;
    for (const Part& part : parts_)
      products.push_back({Product::Kind::kGram, part.selected, part.t});
    const std::vector<Shared> results = engine_.Multiply(products);
    std::vector<std::optional<Shared>> sums(task_.cells.size());
    for (size_t i = 0; i < parts_.size(); ++i) {
      std::optional<Shared>& sum = sums[parts_[i].group];
      sum = sum ? engine_.Add(*sum, results[i]) : results[i];
    }
    std::vector<Shared> upper;
    for (const std::optional<Shared>& sum : sums) {
      const size_t d = sum->shape.rows;
      for (size_t i = 0; i < d; ++i)
        upper.push_back(engine_.Transpose(engine_.Slice(*sum, i, i, {1, d - i})));
    }
    Shared column = engine_.Concatenate(upper, true);
    column.fraction_bits += RowBits(task_);
    column.bound = std::ldexp(column.bound, -RowBits(task_));
    return engine_.Rescale({&column, 1}, bits).front();
  }

 private:
  void AddColumns(size_t b, size_t g, const RobustLocal& local, const MakeReaders& readers,
                  std::vector<PrivateMatrix>& inputs) {
    const RowBlock& block = task_.moments.blocks[b];
    Part part;
    part.block = b;
    part.group = g;
    for (const BlockHolder& holder : block.holders) {
      const HeldColumns held = ColumnsOf(task_, holder);
      const size_t k = held.variables.size();
      if (k == 0) continue;
      PrivateMatrix columns{holder.party, {*block.count, k}, f_, largest_, nullptr};
      PrivateMatrix features{
          holder.party, {*block.count, k + k * (k + 1) / 2}, 2 * f_, largest_ * largest_, nullptr};
      if (engine_.self() == holder.party) {
        ColumnReaders own = readers(holder, local.blocks[b], g, f_);
        columns.read = std::move(own.columns);
        features.read = std::move(own.features);
      }
      inputs.push_back(std::move(columns));
      inputs.push_back(std::move(features));
      part.held.push_back(held);
    }
    parts_.push_back(std::move(part));
  }

  std::vector<const BlockHolder*> SelectingHolders(size_t b, size_t cell) const {
    std::vector<const BlockHolder*> holders;
    for (const BlockHolder& holder : task_.moments.blocks[b].holders) {
      if (holder.Selects(cell)) holders.push_back(&holder);
    }
    return holders;
  }

  void AddSelectors(size_t b, size_t cell, const RobustLocal& local,
                    std::vector<PrivateMatrix>& inputs) {
    if (!asked_.insert({{b, cell}, true}).second) return;
    for (const BlockHolder* holder : SelectingHolders(b, cell)) {
      PrivateMatrix matrix{holder->party, {*task_.moments.blocks[b].count, 1}, 0, 1, nullptr};
      if (engine_.self() == holder->party) {
        matrix.read = [weights = &local.blocks[b].selectors[cell]](size_t first, size_t num,
                                                                   Int128* out) {
          for (size_t r = 0; r < num; ++r) out[r] = (*weights)[first + r];
        };
      }
      inputs.push_back(std::move(matrix));
    }
  }

  Shared Ones(size_t rows, int bits) {
    return engine_.Public(
        {IntMatrix{{rows, 1}, std::vector<Int128>(rows, Int128{1} << bits)}, bits});
  }

  std::optional<Shared> SelectorOf(const Part& part) {
    const size_t rows = *task_.moments.blocks[part.block].count;
    const auto of = [&](size_t cell) -> std::optional<Shared> {
      const std::vector<Shared>& factors = factors_.at({part.block, cell});
      return factors.empty() ? std::nullopt : std::optional<Shared>(factors.front());
    };
    const std::vector<size_t> cells = CellsOf(task_, part.group);
    std::optional<Shared> selector = of(cells.front());
    for (size_t i = 1; i < cells.size(); ++i) {
      const std::optional<Shared> other = of(cells[i]);
      selector =
          engine_.Subtract(selector ? *selector : Ones(rows, 0), other ? *other : Ones(rows, 0));
      selector->bound = 1;  // the others are disjoint parts of the total
    }
    return selector;
  }

  template <typename F>
  void ForEachCrossed(const Part& part, F f) const {
    for (size_t a = 0; a < part.held.size(); ++a) {
      for (size_t b = a + 1; b < part.held.size(); ++b) {
        for (size_t c = 0; c < part.held[a].variables.size(); ++c) f(a, c, b);
      }
    }
  }

  // t in the order of stats::FeatureProducts.
  Shared Features(const Part& part) {
    const size_t rows = *task_.moments.blocks[part.block].count;
    const size_t p = task_.variables.size();
    std::vector<std::optional<Shared>> columns(1 + p + p * (p + 1) / 2);
    const auto place = [&](size_t at, const Shared& from, size_t column) {
      columns[at] = engine_.Slice(from, 0, column, {rows, 1});
    };
    const auto pair = [p](size_t i, size_t j) {
      if (i > j) std::swap(i, j);
      return 1 + p + i * p - i * (i + 1) / 2 + j;  // i p - i (i - 1) / 2 pairs come before (i, i)
    };
    columns[0] = Ones(rows, 2 * f_);
    for (size_t h = 0; h < part.held.size(); ++h) {
      const std::vector<size_t>& held = part.held[h].variables;
      size_t next = 0;
      for (const size_t v : held) place(1 + v, part.features[h], next++);
      for (size_t i = 0; i < held.size(); ++i) {
        for (size_t j = i; j < held.size(); ++j)
          place(pair(held[i], held[j]), part.features[h], next++);
      }
    }
    size_t next = 0;
    ForEachCrossed(part, [&](size_t a, size_t c, size_t b) {
      const Shared& crossed = part.crossed[next++];
      const std::vector<size_t>& others = part.held[b].variables;
      for (size_t j = 0; j < others.size(); ++j)
        place(pair(part.held[a].variables[c], others[j]), crossed, j);
    });
    std::vector<Shared> all;
    for (const std::optional<Shared>& column : columns) all.push_back(column.value());
    return engine_.Concatenate(all, false);
  }

  Engine& engine_;
  const RobustTask& task_;
  double largest_;
  int f_;
  std::vector<Part> parts_;  // by block, then group
  using BlockCell = std::pair<size_t, size_t>;
  std::map<BlockCell, bool> asked_;
  std::map<BlockCell, std::vector<Shared>> factors_;  // selectors still to be multiplied
};

}  // namespace

int RowBits(const RobustTask& task) {
  return static_cast<int>(std::ceil(std::log2(static_cast<double>(task.moments.max_rows))));
}

bool IsSplit(const RowBlock& block) { return block.holders.size() > 1; }

bool HasSplitBlocks(const RobustTask& task) {
  return std::any_of(task.moments.blocks.begin(), task.moments.blocks.end(), IsSplit);
}

namespace {

Shared ProductsOf(Engine& engine, const RobustTask& task, const RobustLocal& local, double largest,
                  int f, const MakeReaders& readers, int bits) {
  SplitRows rows(engine, task, largest, f);
  rows.Input(local, readers);
  rows.MultiplySelectors();
  rows.MultiplyColumns();
  rows.Select();
  return rows.Sum(bits);
}

}  // namespace

Shared SplitProducts(Engine& engine, const RobustTask& task, const RobustLocal& local,
                     const stats::StatisticsScale& scale,
                     const std::vector<stats::FeatureFrame>& frames, int bits) {
  const int f =
      (kResultBits - static_cast<int>(std::log2(kLargestProduct)) - SplitRowBits(task)) / 4;
  const auto readers = [&](const BlockHolder& holder, const LocalBlock& block, size_t group,
                           int f_bits) {
    return ReadAboutModel(
        std::make_shared<const OwnColumns>(task, holder, block, scale, frames[group], group),
        f_bits);
  };
  return ProductsOf(engine, task, local, kLargestDeviation, f, readers, bits);
}

int BoundedCellBits(const RobustTask& task) {
  return std::min(task.moments.fraction_bits, (kResultBits - SplitRowBits(task)) / 4);
}

Shared BoundedProducts(Engine& engine, const RobustTask& task, const RobustLocal& local, int bits) {
  const auto readers = [&](const BlockHolder& holder, const LocalBlock& block, size_t group,
                           int f_bits) {
    return ReadByBounds(std::make_shared<const OwnCells>(task, holder, block, group, f_bits),
                        f_bits);
  };
  return ProductsOf(engine, task, local, 1, BoundedCellBits(task), readers, bits);
}

}  // namespace partita::methods::mle
