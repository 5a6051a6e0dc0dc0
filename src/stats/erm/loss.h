// Margin losses phi(z), z = y w'x with y = -1 or 1, of regularised empirical risk minimisation.
// Convex, with |phi'| <= 1 and 0 <= phi'' <= c: what the privacy proofs use (Chaudhuri, Monteleoni
// & Sarwate, JMLR 2011; Rajkumar & Agarwal, AISTATS 2012, Theorem 4.1).
#pragma once

namespace partita::stats::erm {

enum class LossKind {
  kLogistic,  // ln(1 + exp(-z)); c = 1/4
  kHuber,     // hinge smoothed on [1 - h, 1 + h]: (1 + h - z)^2 / (4 h) there; c = 1 / (2 h)
};

struct Loss {
  LossKind kind = LossKind::kLogistic;
  double huber_width = 0.5;  // h > 0
};

double LossValue(const Loss& loss, double margin);
double LossSlope(const Loss& loss, double margin);      // phi'
double LossCurvature(const Loss& loss, double margin);  // phi''; Huber: of the quadratic part

inline constexpr double kMaxSlope = 1;  // L, of both losses
double MaxCurvature(const Loss& loss);  // c. Throws kUsage unless the width is positive.

}  // namespace partita::stats::erm
