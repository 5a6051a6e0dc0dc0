// How the cells of a model move a sealed fit's moments, and what the observed information adds to
// the expected one.
//
// With Z = [U V], G = Z' R^-1 Z (Gram matrix), H = Z' R^-1 (T - R) R^-1 Z, where T is the sample's
// second moment about mu in units of d, and r = Z' R^-1 (ybar - mu) / d, the second derivatives of
// F (stats/sem/objective.cc) are the expected information and products of an entry of G, B or B S
// B' with an entry of H or of r tau', tau what every cell moves the mean by. All of them vanish
// where the model fits its sample.
#pragma once

#include <vector>

#include "methods/mle/sealed/model.h"

namespace partita::methods::mle {

// How a cell moves R: by weight (a b' + b a'), a and b columns of [U V]; and the mean: by a times
// tau.
struct CellEffect {
  int a = 0, b = 0;   // 0 .. v - 1: of U; v .. 2 v - 1: of V
  double weight = 0;  // 1/2 of a variance, 0 of a mean
  double tau = 0;     // 1 of a mean
  int tau_of = -1;    // of a regression: eta[tau_of]
  int parameter = 0;
};
CellEffect EffectOf(const stats::RamCell& cell, int num_variables);

// factor * left * right is added to the information of F / 2 at (first, second) and, where `twice`,
// at (second, first). Factors are multiples of 1/4.
struct ObservedTerm {
  int first = 0, second = 0;  // parameters
  bool twice = false;
  double factor = 0;
  int left = 0;   // in the row of G (2v x 2v), B (v x v), B S B' (v x v)
  int right = 0;  // in the row of H (2v x 2v), r tau' (2v x cells)
};
std::vector<ObservedTerm> ObservedTermsOf(const SealedModel& model, size_t group);

}  // namespace partita::methods::mle
