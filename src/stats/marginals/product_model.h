// A mixture of K products: p(x) = sum_k w_k prod_a p_ka(x_a), fitted to all noisy tables at once.
//
// With P (K x D) the probabilities of all levels, all two-way tables are the blocks of P' diag(w) P
// off its diagonal, so that a step of the fit costs 4 K D^2 operations whatever the number of rows. It is
// the model of the method `mixture`, learned from one noisy matrix.
//
// Fit: least squares, weighted by precision, over all cells of one-way and two-way tables by Adam
// (Kingma & Ba 2015) on
// logits, a fixed number of steps. Triples are not fitted: what products make of them follows from
// pairs. Public arithmetic.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "crypto/random.h"
#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

struct ProductModel {
  Eigen::ArrayXf weights;  // K, sum 1
  Eigen::ArrayXXf levels;  // K x D: of each attribute's levels, sum 1 within a component
};

// shares: of all tables, consistent (consistent.h), divided by the number of rows; may be negative.
// One component: independent attributes. The source gives the start. components >= 1.
ProductModel FitProducts(const TableSet& set, std::span<const double> shares, size_t components,
                         size_t steps, crypto::RandomSource& source,
                         const TableWeights& weights = {});

// The model's tables, triples too, as shares.
std::vector<double> TablesOf(const TableSet& set, const ProductModel& model);

Codes DrawRows(const TableSet& set, const ProductModel& model, size_t rows,
               crypto::RandomSource& source);

}  // namespace partita::stats::marginals
