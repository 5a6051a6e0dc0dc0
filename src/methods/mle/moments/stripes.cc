#include "methods/mle/moments/stripes.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "run/method/stripes.h"

namespace partita::methods::mle {
namespace {

bool IsCut(const RowBlock& block) { return block.holders.size() > 1; }

LocalBlock CutBlock(const LocalBlock& whole, const run::RowRange& range) {
  LocalBlock cut;
  cut.num_rows = range.count;
  if (whole.values) {
    cut.values = [values = whole.values, from = range.first](
                     size_t first, size_t num, Int128* out) { values(from + first, num, out); };
  }
  cut.selectors.resize(whole.selectors.size());
  for (size_t c = 0; c < whole.selectors.size(); ++c) {
    if (whole.selectors[c].empty()) continue;
    const auto first = whole.selectors[c].begin() + static_cast<std::ptrdiff_t>(range.first);
    cut.selectors[c].assign(first, first + static_cast<std::ptrdiff_t>(range.count));
  }
  return cut;
}

// This party's part of a block that is cut; null: it has none.
const BlockHolder* PartOf(const RowBlock& block, mpc::PartyIndex party) {
  for (const BlockHolder& holder : block.holders) {
    if (IsCut(block) && holder.party == party) return &holder;
  }
  return nullptr;
}

template <typename T>
void WriteAll(const std::vector<T>& values, ByteWriter& writer) {
  writer.Blob({reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
}

template <typename T>
std::vector<T> ReadAll(size_t size, ByteReader& reader) {
  const Bytes bytes = reader.Blob(size * sizeof(T));
  if (bytes.size() != size * sizeof(T))
    throw Error(ErrorCode::kInternal, "a stripe has fewer rows than its task");
  std::vector<T> values(size);
  if (size > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

MomentsTask StripeTask(const MomentsTask& task, size_t stripe, size_t stripes) {
  MomentsTask cut = task;
  for (RowBlock& block : cut.blocks) {
    if (IsCut(block)) block.count = run::StripeOf(*block.count, stripe, stripes).count;
  }
  return cut;
}

StripeLocal StripeLocalOf(const MomentsTask& task, mpc::PartyIndex self,
                          const std::vector<LocalBlock>& local, size_t stripe, size_t stripes) {
  if (local.size() != task.blocks.size())
    throw Error(ErrorCode::kInternal, "the moments need one local entry per row block");
  StripeLocal cut;
  cut.blocks.resize(task.blocks.size());
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    const RowBlock& block = task.blocks[b];
    if (PartOf(block, self) != nullptr)
      cut.blocks[b] = CutBlock(local[b], run::StripeOf(*block.count, stripe, stripes));
  }
  if (stripe == 0) cut.own = AddOwnMoments(task, self, local);
  return cut;
}

void EncodeStripeLocal(const MomentsTask& task, mpc::PartyIndex self, const StripeLocal& local,
                       ByteWriter& writer) {
  if (local.own) throw Error(ErrorCode::kInternal, "the first stripe stays where it is");
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    const BlockHolder* part = PartOf(task.blocks[b], self);
    if (part == nullptr) continue;
    const LocalBlock& block = local.blocks[b];
    std::vector<Int128> values(block.num_rows * part->variables.size());
    if (!values.empty()) block.values(0, block.num_rows, values.data());
    WriteAll(values, writer);
    for (size_t c = 0; c < task.cells.size(); ++c) {
      if (part->Selects(c)) WriteAll(block.selectors[c], writer);
    }
  }
}

StripeLocal DecodeStripeLocal(const MomentsTask& task, mpc::PartyIndex self, ByteReader& reader) {
  StripeLocal local;
  local.blocks.resize(task.blocks.size());
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    const BlockHolder* part = PartOf(task.blocks[b], self);
    if (part == nullptr) continue;
    LocalBlock& block = local.blocks[b];
    block.num_rows = *task.blocks[b].count;
    const size_t width = part->variables.size();
    if (width > 0) {
      const auto values = std::make_shared<const std::vector<Int128>>(
          ReadAll<Int128>(block.num_rows * width, reader));
      block.values = [values, width](size_t first, size_t num, Int128* out) {
        std::copy_n(values->begin() + static_cast<std::ptrdiff_t>(first * width), num * width, out);
      };
    } else {
      ReadAll<Int128>(0, reader);
    }
    block.selectors.resize(task.cells.size());
    for (size_t c = 0; c < task.cells.size(); ++c) {
      if (part->Selects(c)) block.selectors[c] = ReadAll<int32_t>(block.num_rows, reader);
    }
  }
  return local;
}

std::vector<SharedMoments> ComputeStripe(mpc::Engine& engine, const MomentsTask& task,
                                         size_t stripe, size_t stripes, const StripeLocal* local) {
  std::vector<SharedMoments> cells =
      ComputeMomentsPart(engine, StripeTask(task, stripe, stripes),
                         local == nullptr ? std::vector<LocalBlock>() : local->blocks, stripe == 0,
                         local != nullptr && local->own ? &*local->own : nullptr);
  // Of the sum over all stripes, also where this one adds nothing.
  for (SharedMoments& cell : cells) {
    for (mpc::Shared* value : {&cell.count, &cell.sums, &cell.cross})
      value->bound = static_cast<double>(task.max_rows) * task.value_bound * task.value_bound;
  }
  return cells;
}

void AppendMoments(const std::vector<SharedMoments>& cells, std::vector<mpc::Shared>& out) {
  for (const SharedMoments& cell : cells)
    out.insert(out.end(), {cell.count, cell.sums, cell.cross});
}

std::vector<SharedMoments> TakeMoments(size_t cells, std::vector<mpc::Shared>::const_iterator& at) {
  std::vector<SharedMoments> moments;
  for (size_t c = 0; c < cells; ++c) {
    SharedMoments& cell = moments.emplace_back();
    cell.count = *at++;
    cell.sums = *at++;
    cell.cross = *at++;
  }
  return moments;
}

}  // namespace partita::methods::mle
