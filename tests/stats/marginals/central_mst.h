// MST (McKenna, Miklau & Sheldon 2021) with a curator who sees the rows: what the generator from all
// pairs is measured against. Accounted in zCDP as published; rho is split in three.
//
// 1. Gaussian noise on all one-way tables. 2. d - 1 times the exponential mechanism (as its zCDP
// cost, epsilon^2 / 8 each) over pairs that join two parts of the forest, with the score |N_ab -
// independence estimate|_1, which a replaced row changes by 2 at most. 3. Gaussian noise on those
// pairs. The fit is FitTree, least squares weighted by the precision of 1 and 3.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/blr/variates.h"
#include "stats/marginals/tables.h"
#include "stats/marginals/tree_model.h"

namespace partita::stats::marginals {

// The largest rho of zCDP with this epsilon at delta (Canonne, Kamath & Steinke 2020, Corollary 13).
inline double RhoFor(double epsilon, double delta) {
  const auto log_delta = [&](double rho) {
    double best = 0;
    for (double a = 1.001; a < 2000; a *= 1.01) {
      best =
          std::min(best, (a - 1) * (a * rho - epsilon) - std::log(a - 1) + a * std::log1p(-1 / a));
    }
    return best;
  };
  double low = 0, high = epsilon;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (log_delta(middle) <= std::log(delta) ? low : high) = middle;
  }
  return low;
}

// Replace; the number of rows is public. Returns the fitted model.
inline TreeModel CentralMst(const TableSet& set, const Codes& codes, double epsilon, double delta,
                            crypto::RandomSource& source) {
  blr::Variates variates(source);
  const std::vector<double> counts = Count(set, codes);
  const double rows = static_cast<double>(codes[0].size());
  const size_t d = set.attributes.size();
  const double rho = RhoFor(epsilon, delta);
  // rho = Delta^2 / (2 sigma^2), Delta^2 = 2 tables.
  const double one_way_variance = static_cast<double>(d) / (rho / 3);
  const double pair_variance = static_cast<double>(d - 1) / (rho / 3);
  const double step_epsilon = std::sqrt(8 * rho / 3 / static_cast<double>(d - 1));
  std::vector<double> measured(set.num_cells, 0);
  for (size_t a = 0; a < d; ++a) {
    const CountTable& table = set.tables[a];
    double sum = 0;
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      sum += measured[i] = counts[i] + std::sqrt(one_way_variance) * variates.Normal();
    }
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      measured[i] += (rows - sum) / static_cast<double>(table.cells());
    }
  }
  std::vector<double> scores;
  for (size_t t = d; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    double score = 0;
    size_t at = table.offset;
    for (const double p : set.tables[table.first].Of(std::span<const double>(measured))) {
      for (const double q : set.tables[table.second].Of(std::span<const double>(measured))) {
        score += std::abs(counts[at++] - p * q / rows);
      }
    }
    scores.push_back(score);
  }
  std::vector<uint32_t> root(d);
  std::iota(root.begin(), root.end(), 0U);
  std::vector<Edge> edges;
  for (size_t step = 1; step < d; ++step) {
    // The exponential mechanism by Gumbel noise: exp(epsilon score / (2 * 2)).
    const CountTable* best = nullptr;
    double highest = 0;
    for (size_t t = d; t < set.tables.size(); ++t) {
      const CountTable& table = set.tables[t];
      if (root[table.first] == root[table.second]) continue;
      const double noisy =
          step_epsilon * scores[t - d] / 4 - std::log(-std::log(variates.Uniform()));
      if (best != nullptr && noisy <= highest) continue;
      best = &table;
      highest = noisy;
    }
    edges.emplace_back(best->first, best->second);
    const uint32_t from = root[best->first], to = root[best->second];
    std::replace(root.begin(), root.end(), from, to);
    for (size_t i = best->offset; i < best->offset + best->cells(); ++i) {
      measured[i] = counts[i] + std::sqrt(pair_variance) * variates.Normal();
    }
  }
  for (double& value : measured) value /= rows;
  TableWeights weights(set.tables.size(), 0);
  std::fill_n(weights.begin(), d, 1 / std::sqrt(one_way_variance));
  for (const Edge& edge : edges) {
    const auto t = static_cast<size_t>(&set.Pair(edge.first, edge.second) - set.tables.data());
    weights[t] = 1 / std::sqrt(pair_variance);
  }
  return FitTree(set, measured, MakeJunctionTree(set, edges), 400, weights);
}

}  // namespace partita::stats::marginals
