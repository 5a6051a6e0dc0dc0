// Linear algebra over a ring on spans, row-major, wrapping around: where an engine spends its time.
//
// Elementwise kernels allow `out` to be one of the operands; MatMul and GramAccumulate do not.
// Sizes are the caller's duty (asserted in debug builds).
//
// Timing  constant in elements; not in sizes and Narrow (public). Proved by tests/ctime.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <span>

#include "mpc/ring.h"

namespace partita::mpc {

template <typename R>
using Words = std::span<typename R::Word>;
template <typename R>
using ConstWords = std::span<const typename R::Word>;

template <typename R>
void Add(ConstWords<R> a, ConstWords<R> b, Words<R> out) {
  assert(a.size() == out.size() && b.size() == out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = R::Add(a[i], b[i]);
}

template <typename R>
void Sub(ConstWords<R> a, ConstWords<R> b, Words<R> out) {
  assert(a.size() == out.size() && b.size() == out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = R::Sub(a[i], b[i]);
}

template <typename R>
void Scale(ConstWords<R> a, typename R::Word factor, Words<R> out) {
  assert(a.size() == out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = R::Mul(a[i], factor);
}

// out = a * b, elementwise.
template <typename R>
void Hadamard(ConstWords<R> a, ConstWords<R> b, Words<R> out) {
  assert(a.size() == out.size() && b.size() == out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = R::Mul(a[i], b[i]);
}

// out += a * b, elementwise.
template <typename R>
void HadamardAccumulate(ConstWords<R> a, ConstWords<R> b, Words<R> out) {
  assert(a.size() == out.size() && b.size() == out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = R::Add(out[i], R::Mul(a[i], b[i]));
}

// out(r, c) += matrix(r, c) * column(r): the column is broadcast over the matrix's columns.
template <typename R>
void BroadcastAccumulate(ConstWords<R> matrix, ConstWords<R> column, size_t cols, Words<R> out) {
  assert(matrix.size() == out.size() && matrix.size() == column.size() * cols);
  for (size_t r = 0; r < column.size(); ++r) {
    for (size_t c = 0; c < cols; ++c) {
      const size_t i = r * cols + c;
      out[i] = R::Add(out[i], R::Mul(matrix[i], column[r]));
    }
  }
}

// Which operands of a product are known, from public bounds, to be signed integers that fit 64
// bits (stored as ring elements all the same). Saves one multiplication in three for each in the
// 128-bit ring; no effect on the result and none in the other rings.
struct Narrow {
  bool left = false, right = false;
};

// out (m x n) += left (m x k) * right (k x n).
template <typename R>
void MatMulAccumulate(ConstWords<R> left, ConstWords<R> right, size_t m, size_t k, size_t n,
                      Words<R> out, Narrow narrow = {});

// out (p x q) += left^T right, left (rows x p), right (rows x q). Call it once per block of rows.
template <typename R>
void GramAccumulate(ConstWords<R> left, ConstWords<R> right, size_t rows, size_t p, size_t q,
                    Words<R> out, Narrow narrow = {});

template <typename R>
void MatMul(ConstWords<R> left, ConstWords<R> right, size_t m, size_t k, size_t n, Words<R> out,
            Narrow narrow = {}) {
  std::fill(out.begin(), out.end(), typename R::Word{0});
  MatMulAccumulate<R>(left, right, m, k, n, out, narrow);
}

// 128 bits: register-blocked, in kernels.cc. Measured by bench/kernels_bench.cc.
template <>
void MatMulAccumulate<Ring128>(ConstWords<Ring128> left, ConstWords<Ring128> right, size_t m,
                               size_t k, size_t n, Words<Ring128> out, Narrow narrow);
template <>
void GramAccumulate<Ring128>(ConstWords<Ring128> left, ConstWords<Ring128> right, size_t rows,
                             size_t p, size_t q, Words<Ring128> out, Narrow narrow);

template <typename R>
void MatMulAccumulate(ConstWords<R> left, ConstWords<R> right, size_t m, size_t k, size_t n,
                      Words<R> out, Narrow) {
  assert(left.size() == m * k && right.size() == k * n && out.size() == m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t l = 0; l < k; ++l) {
      const auto factor = left[i * k + l];
      for (size_t j = 0; j < n; ++j) {
        auto& sum = out[i * n + j];
        sum = R::Add(sum, R::Mul(factor, right[l * n + j]));
      }
    }
  }
}

template <typename R>
void GramAccumulate(ConstWords<R> left, ConstWords<R> right, size_t rows, size_t p, size_t q,
                    Words<R> out, Narrow) {
  assert(left.size() == rows * p && right.size() == rows * q && out.size() == p * q);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < p; ++i) {
      const auto factor = left[r * p + i];
      for (size_t j = 0; j < q; ++j) {
        auto& sum = out[i * q + j];
        sum = R::Add(sum, R::Mul(factor, right[r * q + j]));
      }
    }
  }
}

}  // namespace partita::mpc
