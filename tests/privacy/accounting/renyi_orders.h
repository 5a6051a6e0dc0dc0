// Renyi privacy at given orders, as common libraries compute it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "privacy/accounting/rdp.h"

namespace partita::privacy::testing {

// The orders that common libraries try: 1.1 to 10.9 by 0.1, 11 to 63, 128, 256, 512, 1024.
inline std::vector<double> DefaultOrders() {
  std::vector<double> orders;
  for (int x = 1; x < 100; ++x) orders.push_back(1 + x / 10.0);
  for (int x = 11; x < 64; ++x) orders.push_back(x);
  for (double x : {128.0, 256.0, 512.0, 1024.0}) orders.push_back(x);
  return orders;
}

// As RdpEpsilon, over these orders.
inline double RdpEpsilonAt(const RdpCurve& curve, double delta, const std::vector<double>& orders) {
  double best = std::numeric_limits<double>::infinity();
  for (const double order : orders) {
    best = std::min(best, curve(order) + std::log1p(-1 / order) -
                              (std::log(delta) + std::log(order)) / (order - 1));
  }
  return std::max(0.0, best);
}

// exp((alpha - 1)(rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1), the least over these orders.
inline double RdpDeltaAt(const RdpCurve& curve, double epsilon, const std::vector<double>& orders) {
  double best = 0;
  for (const double order : orders) {
    best = std::min(best, (order - 1) * (curve(order) - epsilon) + order * std::log1p(-1 / order) -
                              std::log(order - 1));
  }
  return std::exp(best);
}

}  // namespace partita::privacy::testing
