#include "mpc/row_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "mpc/prime_field.h"

namespace partita::mpc {
namespace {

constexpr size_t kBlockBytes = size_t{32} << 10;

// The largest magnitude a matrix may hold: its bound on the grid, and one unit for rounding.
Int128 LargestInteger(const PrivateMatrix& matrix) {
  const double largest = std::ldexp(matrix.bound, matrix.fraction_bits);
  return static_cast<Int128>(std::min(largest, std::ldexp(1.0, 126))) + 1;
}

template <typename R>
void CheckBounds(const PrivateMatrix& matrix, size_t first, std::span<const Int128> rows) {
  // The tiny rings exist for exhaustive tests, where values wrap on purpose.
  if constexpr (R::kBits < 32) return;
  const Int128 largest = LargestInteger(matrix);
  auto beyond =
      std::find_if(rows.begin(), rows.end(), [&](Int128 v) { return v > largest || v < -largest; });
  if (beyond == rows.end()) return;
  auto at = static_cast<size_t>(beyond - rows.begin());
  throw Error(ErrorCode::kBadData,
              fmt::format("row {}, column {} of a private matrix lies beyond its bound {}",
                          first + at / matrix.shape.cols, at % matrix.shape.cols, matrix.bound),
              "check the data against the schema's bounds, or widen the bounds");
}

}  // namespace

size_t RowsPerBlock(size_t cols, size_t element_bytes) {
  return std::max<size_t>(1, kBlockBytes / std::max<size_t>(1, cols * element_bytes));
}

template <typename R>
ConstWords<R> RowSource<R>::Rows(size_t first, size_t count) const {
  if (memory != nullptr)
    return {memory + (first - first_in_memory) * shape.cols, count * shape.cols};
  if (scratch->size() < count * shape.cols) scratch->resize(count * shape.cols);
  Words<R> rows(scratch->data(), count * shape.cols);
  if (!rows.empty()) fill(first, count, rows);
  return rows;
}

template <typename R>
RowSource<R> FromMemory(Shape shape, ConstWords<R> words, size_t first) {
  // A pointer must be set even when there is nothing to point to.
  static const typename R::Word kNothing{};
  RowSource<R> source;
  source.shape = shape;
  source.memory = words.empty() ? &kNothing : words.data();
  source.first_in_memory = first;
  return source;
}

template <typename R>
RowSource<R> FromTape(Shape shape, Tape& tape, uint64_t offset) {
  RowSource<R> source;
  source.shape = shape;
  source.fill = [shape, &tape, offset](size_t first, size_t, Words<R> out) {
    tape.Read(offset + first * shape.cols * R::kBytes, WireBytes(out));
    ReduceWords<R>(out);
  };
  return source;
}

template <typename R>
RowSource<R> FromPrivate(const PrivateMatrix& matrix) {
  RowSource<R> source;
  source.shape = matrix.shape;
  source.narrow = std::ldexp(matrix.bound, matrix.fraction_bits) < std::ldexp(1.0, 62);
  source.fill = [matrix, integers = std::vector<Int128>()](size_t first, size_t count,
                                                           Words<R> out) mutable {
    if constexpr (R::kBits == 128) {
      // Signed and unsigned variants of one type may alias.
      auto* values = reinterpret_cast<Int128*>(out.data());
      matrix.read(first, count, values);
      CheckBounds<R>(matrix, first, {values, out.size()});
    } else {
      integers.resize(out.size());
      matrix.read(first, count, integers.data());
      CheckBounds<R>(matrix, first, integers);
      std::transform(integers.begin(), integers.end(), out.begin(), R::FromSigned);
    }
  };
  return source;
}

template <typename R>
RowSource<R> TakeRows(RowSource<R> source, RowList rows) {
  if (rows == nullptr) return source;
  RowSource<R> selected;
  selected.shape = {rows->size(), source.shape.cols};
  selected.narrow = source.narrow;
  selected.fill = [source = std::move(source), rows = std::move(rows)](size_t first, size_t count,
                                                                       Words<R> out) {
    const size_t cols = source.shape.cols;
    const std::vector<size_t>& from = *rows;
    for (size_t i = 0; i < count;) {
      size_t run = 1;
      while (i + run < count && from[first + i + run] == from[first + i] + run) ++run;
      const Words<R> place = out.subspan(i * cols, run * cols);
      if (source.memory != nullptr) {
        const ConstWords<R> found = source.Rows(from[first + i], run);
        std::copy(found.begin(), found.end(), place.begin());
      } else {
        source.fill(from[first + i], run, place);
      }
      i += run;
    }
  };
  return selected;
}

template <typename R>
RowSource<R> Difference(RowSource<R> a, RowSource<R> b) {
  RowSource<R> source;
  source.shape = a.shape;
  source.fill = [a = std::move(a), b = std::move(b)](size_t first, size_t count, Words<R> out) {
    Sub<R>(a.Rows(first, count), b.Rows(first, count), out);
  };
  return source;
}

template <typename R>
void AccumulateEntries(const RowSource<R>& left, const RowSource<R>& right, size_t first,
                       size_t count, Words<R> out) {
  const ConstWords<R> l = left.Rows(first, count), r = right.Rows(first, count);
  if (left.shape.cols == right.shape.cols) {
    HadamardAccumulate<R>(l, r, out);
  } else if (left.shape.cols == 1) {
    BroadcastAccumulate<R>(r, l, right.shape.cols, out);
  } else {
    BroadcastAccumulate<R>(l, r, left.shape.cols, out);
  }
}

template <typename R>
void AccumulateRows(Product::Kind kind, const RowSource<R>& left, const RowSource<R>& right,
                    size_t first, size_t count, Shape shape, Words<R> out) {
  const Narrow narrow{left.narrow, right.narrow};
  if (kind == Product::Kind::kMatrix) {
    MatMulAccumulate<R>(left.Rows(0, left.shape.rows), right.Rows(0, right.shape.rows),
                        left.shape.rows, left.shape.cols, right.shape.cols, out, narrow);
    return;
  }
  if (kind == Product::Kind::kGram) {
    GramAccumulate<R>(left.Rows(first, count), right.Rows(first, count), count, left.shape.cols,
                      right.shape.cols, out, narrow);
    return;
  }
  AccumulateEntries<R>(left, right, first, count,
                       out.subspan(first * shape.cols, count * shape.cols));
}

template <typename R>
void AccumulateProduct(Product::Kind kind, const RowSource<R>& left, const RowSource<R>& right,
                       Shape shape, Words<R> out) {
  if (kind == Product::Kind::kMatrix) {
    AccumulateRows<R>(kind, left, right, 0, left.shape.rows, shape, out);
    return;
  }
  const size_t block = RowsPerBlock(std::max(left.shape.cols, right.shape.cols), R::kBytes);
  ForEachBlock(left.shape.rows, block, [&](size_t first, size_t count) {
    AccumulateRows<R>(kind, left, right, first, count, shape, out);
  });
}

template <typename R>
net::Producer ProduceRows(RowSource<R> source,
                          std::function<void(size_t first, ConstWords<R> rows)> check) {
  struct State {
    RowSource<R> source;
    std::function<void(size_t, ConstWords<R>)> check;
    size_t next_row = 0;
    ByteView ready;  // bytes of the current block that have not left yet
  };
  auto state = std::make_shared<State>(State{std::move(source), std::move(check), 0, {}});
  const size_t block = RowsPerBlock(state->source.shape.cols, R::kBytes);
  return [state, block](uint64_t, std::span<uint8_t> out) {
    while (!out.empty()) {
      if (state->ready.empty()) {
        const size_t count = std::min(block, state->source.shape.rows - state->next_row);
        auto rows = state->source.Rows(state->next_row, count);
        if (state->check) state->check(state->next_row, rows);
        state->ready = WireBytes(rows);
        state->next_row += count;
      }
      const size_t count = std::min(out.size(), state->ready.size());
      std::copy_n(state->ready.begin(), count, out.begin());
      state->ready = state->ready.subspan(count);
      out = out.subspan(count);
    }
  };
}

template <typename R>
net::Consumer ConsumeRows(
    Shape shape, std::function<void(size_t first, size_t count, ConstWords<R> rows)> visit) {
  struct State {
    std::function<void(size_t, size_t, ConstWords<R>)> visit;
    size_t next_row = 0;
    std::vector<typename R::Word> block;
    size_t filled = 0;  // bytes
  };
  const size_t block = std::min(RowsPerBlock(shape.cols, R::kBytes), shape.rows);
  auto state = std::make_shared<State>();
  state->visit = std::move(visit);
  state->block.resize(block * shape.cols);
  return [state, block, shape](uint64_t, ByteView in) {
    while (!in.empty()) {
      const size_t count = std::min(block, shape.rows - state->next_row);
      Words<R> rows(state->block.data(), count * shape.cols);
      auto bytes = WireBytes(rows);
      const size_t taken = std::min(in.size(), bytes.size() - state->filled);
      std::copy_n(in.begin(), taken, bytes.begin() + static_cast<ptrdiff_t>(state->filled));
      state->filled += taken;
      in = in.subspan(taken);
      if (state->filled < bytes.size()) continue;
      ReduceWords<R>(rows);
      state->visit(state->next_row, count, rows);
      state->next_row += count;
      state->filled = 0;
    }
  };
}

#define PARTITA_INSTANTIATE(R)                                                                     \
  template struct RowSource<R>;                                                                    \
  template RowSource<R> FromMemory<R>(Shape, ConstWords<R>, size_t);                               \
  template RowSource<R> FromTape<R>(Shape, Tape&, uint64_t);                                       \
  template RowSource<R> FromPrivate<R>(const PrivateMatrix&);                                      \
  template RowSource<R> TakeRows<R>(RowSource<R>, RowList);                                        \
  template RowSource<R> Difference<R>(RowSource<R>, RowSource<R>);                                 \
  template void AccumulateEntries<R>(const RowSource<R>&, const RowSource<R>&, size_t, size_t,     \
                                     Words<R>);                                                    \
  template void AccumulateRows<R>(Product::Kind, const RowSource<R>&, const RowSource<R>&, size_t, \
                                  size_t, Shape, Words<R>);                                        \
  template void AccumulateProduct<R>(Product::Kind, const RowSource<R>&, const RowSource<R>&,      \
                                     Shape, Words<R>);                                             \
  template net::Producer ProduceRows<R>(RowSource<R>, std::function<void(size_t, ConstWords<R>)>); \
  template net::Consumer ConsumeRows<R>(Shape, std::function<void(size_t, size_t, ConstWords<R>)>);
PARTITA_INSTANTIATE(Ring128)
PARTITA_INSTANTIATE(Ring64)
PARTITA_INSTANTIATE(Ring16)
PARTITA_INSTANTIATE(Ring8)
PARTITA_INSTANTIATE(Ring4)
#undef PARTITA_INSTANTIATE

#define PARTITA_INSTANTIATE(F)                                                                     \
  template struct RowSource<F>;                                                                    \
  template RowSource<F> FromMemory<F>(Shape, ConstWords<F>, size_t);                               \
  template RowSource<F> FromPrivate<F>(const PrivateMatrix&);                                      \
  template void AccumulateEntries<F>(const RowSource<F>&, const RowSource<F>&, size_t, size_t,     \
                                     Words<F>);                                                    \
  template void AccumulateRows<F>(Product::Kind, const RowSource<F>&, const RowSource<F>&, size_t, \
                                  size_t, Shape, Words<F>);                                        \
  template void AccumulateProduct<F>(Product::Kind, const RowSource<F>&, const RowSource<F>&,      \
                                     Shape, Words<F>);
PARTITA_INSTANTIATE(Field127)
PARTITA_INSTANTIATE(Field5)
PARTITA_INSTANTIATE(Field7)
PARTITA_INSTANTIATE(FieldOf5Bits)
PARTITA_INSTANTIATE(FieldOf7Bits)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
