// AIM (McKenna, Mullins, Sheldon & Miklau, PVLDB 2022, Algorithm 4) with a curator who sees the
// rows: what
// the generator from all pairs is measured against. Accounted in zCDP as published. Own code, not
// the authors';
// what differs: replacement instead of add/remove (every sensitivity doubles in L1, sqrt(2) in L2),
// the number of rows is
// public, the workload is all pairs, and models are bounded by kAimCells cells instead of 80 MB.
//
// All one-way tables are measured first. Then, in rounds, the exponential mechanism picks the table
// that the model
// misses most, by its weight in the workload and beyond what noise will add; it is measured, and
// the model fitted again. Where
// a measurement did not change the model beyond noise, the next ones are twice as precise.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "stats/marginals/junction_tree.h"
#include "stats/marginals/tree_model.h"
#include "tests/stats/marginals/central_mst.h"

namespace partita::stats::marginals {

inline constexpr double kAimCells = 60000;
inline constexpr size_t kAimSteps = 60, kAimLastSteps = 400;

class CentralAim {
 public:
  CentralAim(const TableSet& set, const Codes& codes, crypto::RandomSource& source)
      : set_(set),
        counts_(Count(set, codes)),
        rows_(static_cast<double>(codes[0].size())),
        variates_(source),
        measured_(set.num_cells, 0),
        precision_(set.tables.size(), 0) {}

  TreeModel Fit(double epsilon, double delta) {
    const double rho = RhoFor(epsilon, delta);
    const auto d = static_cast<double>(set_.attributes.size());
    const double rounds = 16 * d;
    // A measurement costs Delta^2 / (2 sigma^2) with Delta^2 = 2, a choice epsilon^2 / 8.
    double variance = rounds / (0.9 * rho), choice = std::sqrt(8 * 0.1 * rho / rounds), used = 0;
    for (size_t a = 0; a < set_.attributes.size(); ++a) Measure(a, variance);
    used += d / variance;
    Refit(kAimSteps);
    for (bool last = false; !last;) {
      const double left = rho - used;
      last = left < 2 * (1 / variance + choice * choice / 8);
      if (last) {
        variance = 1 / (0.9 * left);
        choice = std::sqrt(8 * 0.1 * left);
      }
      used += 1 / variance + choice * choice / 8;
      const size_t picked = Pick(choice, std::sqrt(variance), used / rho);
      Measure(picked, variance);
      const CountTable& table = set_.tables[picked];
      if (!table.one_way() && !HasEdge(table)) edges_.emplace_back(table.first, table.second);
      const std::vector<double> before = tables_;
      Refit(kAimSteps);
      double change = 0;
      for (size_t i = table.offset; i < table.offset + table.cells(); ++i)
        change += std::abs(tables_[i] - before[i]) * rows_;
      if (change <= NoiseOf(table, std::sqrt(variance))) {
        variance /= 4;
        choice *= 2;
      }
    }
    Refit(kAimLastSteps);
    return std::move(*model_);
  }

 private:
  static double NoiseOf(const CountTable& table, double stddev) {
    return std::sqrt(2 / std::numbers::pi) * stddev * static_cast<double>(table.cells());
  }
  bool HasEdge(const CountTable& table) const {
    return std::find(edges_.begin(), edges_.end(), Edge{table.first, table.second}) != edges_.end();
  }

  // Several measurements of a table count by their precision.
  void Measure(size_t t, double variance) {
    const CountTable& table = set_.tables[t];
    const double before = precision_[t], now = 1 / variance;
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      const double value = counts_[i] + std::sqrt(variance) * variates_.Normal();
      measured_[i] = (before * measured_[i] + now * value) / (before + now);
    }
    precision_[t] += now;
  }

  void Refit(size_t steps) {
    std::vector<double> shares = measured_;
    for (double& share : shares) share /= rows_;
    TableWeights weights;
    for (const double precision : precision_) weights.push_back(std::sqrt(precision));
    model_ = FitTree(set_, shares, MakeJunctionTree(set_, edges_), steps, weights);
    tables_ = TablesOf(set_, *model_);
  }

  size_t Pick(double epsilon, double stddev, double part) {
    const auto others = static_cast<double>(set_.attributes.size() - 1);
    const double sensitivity = 2 * 2 * others;  // of the largest weight
    std::optional<size_t> best;
    double highest = 0;
    for (size_t t = 0; t < set_.tables.size(); ++t) {
      const CountTable& table = set_.tables[t];
      if (!table.one_way() && !HasEdge(table)) {
        std::vector<Edge> edges = edges_;
        edges.emplace_back(table.first, table.second);
        if (TreeCells(set_, edges) > kAimCells * part) continue;
      }
      double error = -NoiseOf(table, stddev);
      for (size_t i = table.offset; i < table.offset + table.cells(); ++i)
        error += std::abs(counts_[i] - rows_ * tables_[i]);
      const double weight = table.one_way() ? others : 2 * others;
      const double noisy =
          epsilon * weight * error / (2 * sensitivity) - std::log(-std::log(variates_.Uniform()));
      if (best && noisy <= highest) continue;
      best = t;
      highest = noisy;
    }
    return *best;
  }

  const TableSet& set_;
  const std::vector<double> counts_;
  const double rows_;
  blr::Variates variates_;
  std::vector<double> measured_, precision_, tables_;
  std::vector<Edge> edges_;
  std::optional<TreeModel> model_;
};

}  // namespace partita::stats::marginals
