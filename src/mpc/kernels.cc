#include "mpc/kernels.h"

#include <vector>

namespace partita::mpc {
namespace {

// Terms per block: a packed block of 10 + 10 columns stays in the first-level cache, and folding
// the accumulators into the output once per block costs nothing.
constexpr size_t kBlockTerms = 64;

inline uint64_t Low(UInt128 v) { return static_cast<uint64_t>(v); }
inline uint64_t High(UInt128 v) { return static_cast<uint64_t>(v >> 64); }

// A sum of products mod 2^128 in two parts, so that a term costs one widening and two ordinary
// multiplications and one carry: low = sum of a0 b0 (mod 2^128), high = sum of a0 b1 + a1 b0 (mod
// 2^64).
struct Accumulator {
  UInt128 low = 0;
  uint64_t high = 0;

  void AddProduct(UInt128 a, UInt128 b) {
    low += static_cast<UInt128>(Low(a)) * Low(b);
    high += Low(a) * High(b) + High(a) * Low(b);
  }
  // a: a narrow value plus 2^63, hence unsigned; the caller takes 2^63 sum(b) off again.
  void AddProduct(uint64_t a, UInt128 b) {
    low += static_cast<UInt128>(a) * Low(b);
    high += a * High(b);
  }
  void AddProduct(int64_t a, int64_t b) {
    low += static_cast<UInt128>(static_cast<Int128>(a) * static_cast<Int128>(b));
  }
  UInt128 Value() const { return low + (static_cast<UInt128>(high) << 64); }
};

// `count` columns of kBlockTerms-spaced contiguous elements.
template <typename Element>
struct Panel {
  const Element* data;
  size_t columns;
  size_t step;  // from one column to the next
  const Element* Column(size_t i) const { return data + i * step; }
};

// Where the products go: out[i * row_step + j * col_step].
struct Output {
  UInt128* data;
  size_t row_step, col_step;
  UInt128& At(size_t i, size_t j) const { return data[i * row_step + j * col_step]; }
};

// out(i, j) += <left column i, right column j>, two right columns at a time: one load of the left
// element serves both and the two chains of carries overlap.
template <typename L, typename R>
void InnerProducts(const Panel<L>& left, const Panel<R>& right, size_t length, const Output& out) {
  for (size_t i = 0; i < left.columns; ++i) {
    const L* a = left.Column(i);
    size_t j = 0;
    for (; j + 2 <= right.columns; j += 2) {
      const R* b = right.Column(j);
      const R* c = right.Column(j + 1);
      Accumulator first, second;
      for (size_t t = 0; t < length; ++t) {
        first.AddProduct(a[t], b[t]);
        second.AddProduct(a[t], c[t]);
      }
      out.At(i, j) += first.Value();
      out.At(i, j + 1) += second.Value();
    }
    if (j < right.columns) {
      const R* b = right.Column(j);
      Accumulator sum;
      for (size_t t = 0; t < length; ++t) sum.AddProduct(a[t], b[t]);
      out.At(i, j) += sum.Value();
    }
  }
}

// A matrix of vectors that are to be contracted: element t of vector i is
// data[i * vector_step + t * term_step].
struct Vectors {
  const UInt128* data;
  size_t count;
  size_t vector_step, term_step;
};

inline UInt128 ToElement(UInt128 v, UInt128) { return v; }
inline int64_t ToElement(UInt128 v, int64_t) { return static_cast<int64_t>(Low(v)); }
inline uint64_t ToElement(UInt128 v, uint64_t) { return Low(v) ^ (uint64_t{1} << 63); }

// Terms [first, first + length) of all vectors, each made contiguous. Wide vectors that already are
// contiguous are used in place.
template <typename Element>
Panel<Element> Pack(const Vectors& vectors, size_t first, size_t length,
                    std::vector<Element>& buffer) {
  if constexpr (std::is_same_v<Element, UInt128>) {
    if (vectors.term_step == 1) {
      return {vectors.data + first, vectors.count, vectors.vector_step};
    }
  }
  buffer.resize(vectors.count * kBlockTerms);
  for (size_t t = 0; t < length; ++t) {
    const UInt128* source = vectors.data + (first + t) * vectors.term_step;
    for (size_t i = 0; i < vectors.count; ++i) {
      buffer[i * kBlockTerms + t] = ToElement(source[i * vectors.vector_step], Element{});
    }
  }
  return {buffer.data(), vectors.count, kBlockTerms};
}

// Takes off what the 2^63 offset of the narrow left operand added to every row of the output.
void RemoveOffset(const Panel<UInt128>& right, size_t length, size_t rows, const Output& out) {
  for (size_t j = 0; j < right.columns; ++j) {
    UInt128 sum = 0;
    const UInt128* column = right.Column(j);
    for (size_t t = 0; t < length; ++t) sum += column[t];
    for (size_t i = 0; i < rows; ++i) out.At(i, j) -= sum << 63;
  }
}

template <typename L, typename R>
void ContractAs(const Vectors& left, const Vectors& right, size_t terms, const Output& out) {
  std::vector<L> left_buffer;
  std::vector<R> right_buffer;
  for (size_t first = 0; first < terms; first += kBlockTerms) {
    const size_t length = std::min(kBlockTerms, terms - first);
    const Panel<L> l = Pack<L>(left, first, length, left_buffer);
    const Panel<R> r = Pack<R>(right, first, length, right_buffer);
    InnerProducts(l, r, length, out);
    if constexpr (std::is_same_v<L, uint64_t>) RemoveOffset(r, length, l.columns, out);
  }
}

void Contract(const Vectors& left, const Vectors& right, size_t terms, const Output& out,
              Narrow narrow) {
  if (narrow.left && narrow.right) {
    ContractAs<int64_t, int64_t>(left, right, terms, out);
  } else if (narrow.left) {
    ContractAs<uint64_t, UInt128>(left, right, terms, out);
  } else if (narrow.right) {
    ContractAs<uint64_t, UInt128>(right, left, terms, {out.data, out.col_step, out.row_step});
  } else {
    ContractAs<UInt128, UInt128>(left, right, terms, out);
  }
}

// A few vectors times a matrix of n columns: packing the matrix would cost as much as the product,
// so go through it in memory order.
void FewVectors(const Vectors& left, ConstWords<Ring128> right, size_t terms, size_t n,
                Words<Ring128> out) {
  for (size_t t = 0; t < terms; ++t) {
    const UInt128* row = right.data() + t * n;
    for (size_t i = 0; i < left.count; ++i) {
      const UInt128 factor = left.data[i * left.vector_step + t * left.term_step];
      UInt128* sums = out.data() + i * n;
      for (size_t j = 0; j < n; ++j) sums[j] += factor * row[j];
    }
  }
}

}  // namespace

template <>
void MatMulAccumulate<Ring128>(ConstWords<Ring128> left, ConstWords<Ring128> right, size_t m,
                               size_t k, size_t n, Words<Ring128> out, Narrow narrow) {
  assert(left.size() == m * k && right.size() == k * n && out.size() == m * n);
  const Vectors rows = {left.data(), m, k, 1};
  if (m <= 2 && n > 1) return FewVectors(rows, right, k, n, out);
  Contract(rows, {right.data(), n, 1, n}, k, {out.data(), n, 1}, narrow);
}

template <>
void GramAccumulate<Ring128>(ConstWords<Ring128> left, ConstWords<Ring128> right, size_t rows,
                             size_t p, size_t q, Words<Ring128> out, Narrow narrow) {
  assert(left.size() == rows * p && right.size() == rows * q && out.size() == p * q);
  const Vectors columns = {left.data(), p, 1, p};
  if (p <= 2 && q > 4) return FewVectors(columns, right, rows, q, out);
  Contract(columns, {right.data(), q, 1, q}, rows, {out.data(), q, 1}, narrow);
}

}  // namespace partita::mpc
