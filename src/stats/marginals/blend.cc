#include "stats/marginals/blend.h"

#include <algorithm>
#include <cmath>

#include "stats/marginals/consistent.h"

namespace partita::stats::marginals {
namespace {

constexpr size_t kSteps = 20000;

// The quadratic form w' a w - 2 b' w + c of the distance.
struct Quadratic {
  std::vector<std::vector<double>> a;
  std::vector<double> b;
  double c = 0;

  double At(std::span<const double> w) const {
    double value = c;
    for (size_t i = 0; i < b.size(); ++i) {
      value -= 2 * b[i] * w[i];
      for (size_t j = 0; j < b.size(); ++j) value += w[i] * a[i][j] * w[j];
    }
    return value;
  }
};

Quadratic DistanceOf(const TableSet& set, const NoisyTables& tables, double rows,
                     std::span<const std::vector<double>> fits) {
  const size_t size = fits.size();
  Quadratic form = {{size, std::vector<double>(size, 0)}, std::vector<double>(size, 0)};
  std::vector<double> scaled(size);
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    if (!tables.Measured(t)) continue;
    for (size_t cell = table.offset; cell < table.offset + table.cells(); ++cell) {
      const double measured = tables.cells[cell] / tables.Stddev(t);
      for (size_t j = 0; j < size; ++j) scaled[j] = rows * fits[j][cell] / tables.Stddev(t);
      form.c += measured * measured;
      for (size_t i = 0; i < size; ++i) {
        form.b[i] += scaled[i] * measured;
        for (size_t j = 0; j < size; ++j) form.a[i][j] += scaled[i] * scaled[j];
      }
    }
  }
  return form;
}

// Over weights of sum 1 that are not negative, by projected gradients from equal ones.
std::vector<double> LeastOnSimplex(const Quadratic& form) {
  const size_t size = form.b.size();
  std::vector<double> weights(size, 1 / static_cast<double>(size)), next(size);
  double trace = 0;
  for (size_t i = 0; i < size; ++i) trace += form.a[i][i];
  if (!(trace > 0)) return weights;
  for (size_t step = 0; step < kSteps; ++step) {
    for (size_t i = 0; i < size; ++i) {
      double gradient = -form.b[i];
      for (size_t j = 0; j < size; ++j) gradient += form.a[i][j] * weights[j];
      next[i] = weights[i] - gradient / trace;
    }
    ProjectToTotal(next, 1);
    weights = next;
  }
  return weights;
}

}  // namespace

std::vector<double> BlendWeights(const TableSet& set, const NoisyTables& tables, double rows,
                                 std::span<const std::vector<double>> fits) {
  const Quadratic form = DistanceOf(set, tables, rows, fits);
  std::vector<double> alone(fits.size(), 0);
  double best = 0;
  for (size_t j = 0; j < fits.size(); ++j) {
    std::vector<double> one(fits.size(), 0);
    one[j] = 1;
    if (j > 0 && form.At(one) >= best) continue;
    best = form.At(one);
    alone = one;
  }
  std::vector<double> weights = LeastOnSimplex(form);
  double kept = 0, others = -1;
  for (double& weight : weights) {
    if (weight < kLeastShareOfRows) weight = 0;
    kept += weight;
    others += weight > 0 ? 1 : 0;
  }
  for (double& weight : weights) weight /= kept;
  return form.At(weights) + 2 * others < best ? weights : alone;
}

std::vector<double> Blended(std::span<const double> weights,
                            std::span<const std::vector<double>> fits) {
  std::vector<double> blended(fits[0].size(), 0);
  for (size_t j = 0; j < fits.size(); ++j) {
    for (size_t i = 0; i < blended.size(); ++i) blended[i] += weights[j] * fits[j][i];
  }
  return blended;
}

}  // namespace partita::stats::marginals
