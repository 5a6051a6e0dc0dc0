// Matrices that are produced a block of rows at a time: from memory, from a tape, from their
// owner's table; and products of two of them in bounded memory.
//
// Timing  constant in elements; not in shapes and rows (public). Proved by tests/ctime. A private
//         value beyond its bound ends the run; the values within are alike.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "mpc/engine.h"
#include "mpc/kernels.h"
#include "mpc/tape.h"
#include "net/channel.h"

namespace partita::mpc {

// A matrix by rows. Exactly one of `memory` and `fill` is set.
template <typename R>
struct RowSource {
  using Word = typename R::Word;
  Shape shape;
  const Word* memory = nullptr;  // rows from `first_in_memory` on
  size_t first_in_memory = 0;
  // Writes rows [first, first + count).
  std::function<void(size_t first, size_t count, Words<R> out)> fill;
  bool narrow = false;  // every entry, read as a signed integer, fits 64 bits
  // Copies of one source share this, so that only one of them may be in use.
  std::shared_ptr<std::vector<Word>> scratch = std::make_shared<std::vector<Word>>();

  // Rows [first, first + count): a view of the memory, or of the scratch, which lasts until the
  // next call.
  ConstWords<R> Rows(size_t first, size_t count) const;
};

// Some rows of a matrix of shape `shape`, beginning with row `first`, or all of them.
template <typename R>
RowSource<R> FromMemory(Shape shape, ConstWords<R> words, size_t first = 0);
// Elements [offset / kBytes, ...) of a tape; the tape must outlive the source.
template <typename R>
RowSource<R> FromTape(Shape shape, Tape& tape, uint64_t offset);
// A private matrix at its owner. In rings of at least 64 bits every value read is checked against
// the matrix's bound; one beyond it is a kBadData that names row and column (0-based).
template <typename R>
RowSource<R> FromPrivate(const PrivateMatrix& matrix);
// These rows of a source, in this order; neighbours are read together. All of it without a list.
template <typename R>
RowSource<R> TakeRows(RowSource<R> source, RowList rows);
// Entry by entry a - b.
template <typename R>
RowSource<R> Difference(RowSource<R> a, RowSource<R> b);

// So many rows of so many columns that a block of ring elements stays in the inner caches.
size_t RowsPerBlock(size_t cols, size_t element_bytes);

// out += left * right for whole operands, block by block. `out` has the product's shape.
template <typename R>
void AccumulateProduct(Product::Kind kind, const RowSource<R>& left, const RowSource<R>& right,
                       Shape shape, Words<R> out);

// out += product of rows [first, first + count) of both operands, for kElementwise (out's own rows
// too) and kGram; kMatrix needs first = 0 and all rows of `left`.
template <typename R>
void AccumulateRows(Product::Kind kind, const RowSource<R>& left, const RowSource<R>& right,
                    size_t first, size_t count, Shape shape, Words<R> out);

// out += rows [first, first + count) of an elementwise product. `out` has these rows alone.
template <typename R>
void AccumulateEntries(const RowSource<R>& left, const RowSource<R>& right, size_t first,
                       size_t count, Words<R> out);

// Calls visit(first row, number of rows) for blocks of `block` rows.
template <typename Visit>
void ForEachBlock(size_t rows, size_t block, const Visit& visit) {
  for (size_t first = 0; first < rows; first += block) visit(first, std::min(block, rows - first));
}

// The bytes of a matrix as a message part, produced block by block. `check`, if given, sees every
// block before its first byte leaves.
template <typename R>
net::Producer ProduceRows(RowSource<R> source,
                          std::function<void(size_t first, ConstWords<R> rows)> check = nullptr);

// Takes a matrix in and calls visit(first row, rows) for whole blocks of rows, in order.
template <typename R>
net::Consumer ConsumeRows(
    Shape shape, std::function<void(size_t first, size_t count, ConstWords<R> rows)> visit);

}  // namespace partita::mpc
