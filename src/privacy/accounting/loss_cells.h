// A pair of laws (P, Q), cut into cells of outputs: the form in which every mechanism enters the
// privacy-loss accountant.
//
// The privacy loss of an output is log dP/dQ; P is the law of what is published when the person's
// data are as the attacker hopes, Q when they are not. delta(eps) = E_P (1 - e^(eps - loss))_+.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace partita::privacy {

// A set of outputs. True masses are p (1 +- error) and q (1 +- error); the loss of every output in
// the cell lies in [low, high] (+-infinity allowed; rounding of the two numbers is included). q = 0
// only where the loss is infinite throughout (low = +infinity).
struct LossCell {
  double p = 0;
  double q = 0;
  double error = 0;
  double low = 0;
  double high = 0;
};

// Losses are asked for on the grid anchor + spacing * integer. Continuous laws cut their cells at
// the grid points and at `subdivisions - 1` points in between. Cells beyond the points where less
// than tail_mass of P (and of Q) is left may be as wide as they like. More than max_cells: kUsage.
struct CellRequest {
  double anchor = 0;
  double spacing = 0;
  int subdivisions = 1;
  double tail_mass = 0;
  double max_cells = 2e7;
  // Called every now and then while many cells are made; throws if the user asked to stop. Null:
  // nobody can.
  const std::function<void()>* check_cancelled = nullptr;
};

// One direction of one mechanism.
//
//   anchor, period  losses at anchor + period * integer should be grid points: atoms sit there. The
//                   spacing is then a whole fraction of the period. period = 0: any spacing.
//   loss_scale      about the width of the loss's law: where to begin the search for a spacing.
//   cells           disjoint, in increasing order of loss, together all outputs.
struct LossPair {
  double anchor = 0;
  double period = 0;
  double loss_scale = 1;
  std::function<std::vector<LossCell>(const CellRequest&)> cells;
};

// e^loss mass, and its relative rounding.
double RaisedMass(double loss, double mass);
double RaisedError(double loss);

}  // namespace partita::privacy
