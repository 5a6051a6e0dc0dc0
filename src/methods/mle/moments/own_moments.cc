#include "methods/mle/moments/own_moments.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <utility>

#include "base/error.h"

namespace partita::methods::mle {
namespace {

constexpr size_t kRowsPerRead = 4096;

// Adds weight * row to the sums and products of one cell.
void AddRow(const MomentsTask& task, const BlockHolder& holder, const Int128* row, Int128 weight,
            size_t cell, OwnMoments& own) {
  const size_t p = task.num_variables;
  for (size_t i = 0; i < holder.variables.size(); ++i) {
    const size_t vi = holder.variables[i];
    const Int128 weighted = weight * row[i];
    own.sums[cell * p + vi] += weighted;
    for (size_t j = 0; j <= i; ++j) {
      own.cross[(cell * p + vi) * p + holder.variables[j]] += weighted * row[j];
    }
  }
}

// AddRow fills one triangle in the order of the holder's variables.
void MirrorCross(const MomentsTask& task, const BlockHolder& holder, size_t cell, OwnMoments& own) {
  const size_t p = task.num_variables;
  for (size_t i = 0; i < holder.variables.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const size_t vi = holder.variables[i], vj = holder.variables[j];
      own.cross[(cell * p + vj) * p + vi] = own.cross[(cell * p + vi) * p + vj];
    }
  }
}

// s_i s_j / n, rounded half away from zero.
Int128 ProductOverCount(Int128 a, Int128 b, Int128 n) {
  using Wide = boost::multiprecision::int256_t;
  const Wide product = Wide(a) * Wide(b);
  const Wide magnitude = (2 * abs(product) + Wide(n)) / (2 * Wide(n));
  return static_cast<Int128>(product < 0 ? Wide(-magnitude) : magnitude);
}

// Moments of deviations from the block's own means, for a holder of whole rows.
void Centre(const MomentsTask& task, OwnMoments& block) {
  const size_t p = task.num_variables;
  for (size_t c = 0; c < task.cells.size(); ++c) {
    const Int128 n = block.counts[c];
    if (n == 0) continue;
    Int128* sums = block.sums.data() + c * p;
    Int128* cross = block.cross.data() + c * p * p;
    for (size_t i = 0; i < p; ++i) {
      for (size_t j = 0; j < p; ++j) {
        if (task.Centred(i) && task.Centred(j))
          cross[i * p + j] -= ProductOverCount(sums[i], sums[j], n);
      }
    }
    for (size_t i = 0; i < p; ++i) {
      if (task.Centred(i)) sums[i] = 0;
    }
  }
}

void AddTo(std::vector<Int128>& sum, const std::vector<Int128>& term) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
}

// The cells whose rows the holder knows, and whose moments do not follow from others'.
std::vector<size_t> CellsOf(const MomentsTask& task, const RowBlock& block,
                            const BlockHolder& holder) {
  std::vector<size_t> cells;
  for (size_t c = 0; c < task.cells.size(); ++c) {
    if (!task.cells[c].difference && KnowsRows(block, holder, c)) cells.push_back(c);
  }
  return cells;
}

void AddRows(const MomentsTask& task, const RowBlock& block, const BlockHolder& holder,
             const LocalBlock& data, OwnMoments& own) {
  const std::vector<size_t> cells = CellsOf(task, block, holder);
  const size_t width = holder.variables.size();
  std::vector<Int128> rows(kRowsPerRead * width);
  for (size_t first = 0; first < data.num_rows; first += kRowsPerRead) {
    const size_t num = std::min(kRowsPerRead, data.num_rows - first);
    if (width > 0) data.values(first, num, rows.data());
    for (size_t c : cells) {
      const bool counts = CountingHolder(block, c) == &holder;
      const int32_t* weights = holder.Selects(c) ? data.selectors[c].data() + first : nullptr;
      for (size_t r = 0; r < num; ++r) {
        const Int128 weight = weights == nullptr ? 1 : weights[r];
        if (weight == 0) continue;
        AddRow(task, holder, rows.data() + r * width, weight, c, own);
        if (counts) own.counts[c] += weight;
      }
    }
  }
}

// Once all rows are added.
void Complete(const MomentsTask& task, const RowBlock& block, const BlockHolder& holder,
              OwnMoments& own) {
  for (size_t c : CellsOf(task, block, holder)) MirrorCross(task, holder, c, own);
  if (!task.centred.empty() && block.holders.size() == 1) Centre(task, own);
}

OwnMoments OfBlock(const MomentsTask& task, const RowBlock& block, const BlockHolder& holder,
                   const LocalBlock& data) {
  if (data.passed) return *data.passed;
  OwnMoments own = NoMoments(task);
  AddRows(task, block, holder, data, own);
  Complete(task, block, holder, own);
  return own;
}

}  // namespace

bool KnowsRows(const RowBlock& block, const BlockHolder& holder, size_t cell) {
  return std::none_of(block.holders.begin(), block.holders.end(), [&](const BlockHolder& other) {
    return &other != &holder && other.Selects(cell);
  });
}

const BlockHolder* CountingHolder(const RowBlock& block, size_t cell) {
  const BlockHolder* selecting = nullptr;
  for (const BlockHolder& holder : block.holders) {
    if (!holder.Selects(cell)) continue;
    if (selecting != nullptr) return nullptr;
    selecting = &holder;
  }
  return selecting != nullptr ? selecting : &block.holders.front();
}

PassingBlock::PassingBlock(const MomentsTask& task, size_t block, mpc::PartyIndex self)
    : task_(task),
      block_(task.blocks.at(block)),
      holder_(block_.holders.front()),
      own_(NoMoments(task)) {
  if (block_.holders.size() != 1 || holder_.party != self)
    throw Error(ErrorCode::kInternal, "rows of a block of several holders cannot pass");
}

void PassingBlock::Add(const LocalBlock& piece) {
  AddRows(task_, block_, holder_, piece, own_);
  num_rows_ += piece.num_rows;
}

LocalBlock PassingBlock::Finish() {
  Complete(task_, block_, holder_, own_);
  LocalBlock block;
  block.num_rows = num_rows_;
  block.passed = std::make_shared<const OwnMoments>(std::move(own_));
  return block;
}

LocalBlock BlockOfSums(const MomentsTask& task, size_t block, size_t num_rows, OwnMoments own) {
  const RowBlock& rows = task.blocks.at(block);
  if (rows.holders.size() != 1)
    throw Error(ErrorCode::kInternal, "sums of a block of several holders");
  Complete(task, rows, rows.holders.front(), own);
  LocalBlock local;
  local.num_rows = num_rows;
  local.passed = std::make_shared<const OwnMoments>(std::move(own));
  return local;
}

OwnMoments NoMoments(const MomentsTask& task) {
  const size_t p = task.num_variables, cells = task.cells.size();
  return {std::vector<Int128>(cells), std::vector<Int128>(cells * p),
          std::vector<Int128>(cells * p * p)};
}

OwnMoments AddOwnMoments(const MomentsTask& task, mpc::PartyIndex self,
                         const std::vector<LocalBlock>& local) {
  OwnMoments own = NoMoments(task);
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    for (const BlockHolder& holder : task.blocks[b].holders) {
      if (holder.party != self) continue;
      const OwnMoments of_block = OfBlock(task, task.blocks[b], holder, local[b]);
      AddTo(own.counts, of_block.counts);
      AddTo(own.sums, of_block.sums);
      AddTo(own.cross, of_block.cross);
    }
  }
  return own;
}

}  // namespace partita::methods::mle
