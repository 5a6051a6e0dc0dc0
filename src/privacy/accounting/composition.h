// The law of a sum of independent privacy losses, by a tilted FFT, with every error bounded.
//
// Given grid laws p_k (loss_pmf.h) used T_k times, and a tilt c >= 0, let
// M_k = sum_i p_k(i) e^(c l_i) and w_k(i) = p_k(i) e^(c l_i) / M_k: probabilities. The composed law
// is
//   p*(j) = e^(-c l_j) prod_k M_k^T_k w*(j),   w* the convolution of the w_k,
//   delta(eps) = S sum_j w*(j) v_j + infinite mass,
//   v_j = e^(-c l_j) (1 - e^(eps - l_j))_+,  S = prod_k M_k^T_k.
// With c near the saddle point of the delta in question S v is of the order of delta where w*
// lives, so that an absolute error in w* is an error relative to delta.
//
// Errors, all bounded (u = 2^-53, N the length of the transform, n = log2 N):
//   tilting      the w_k are the doubles that are stored; p_k(i) differs from M_k e^(-c l_i) w_k(i)
//                by a relative (|c l_i| + 40) u, which is added to (upper) or taken off (lower)
//                each w_k(i).
//   transform    every output of an FFT is a sum of inputs, each multiplied along its path by at
//                most n + 2 twiddles (error below 4u) and products (below 3u) and added at most n +
//                3 times: error at most e_1 = 2 (8 n + 24) u sum |w_k| (the factor 2: real input
//                packed into a complex transform).
//   power        each transformed value y and its computed twin are at most 1 up to e_1. The
//                computed product is off by at most E exp(3 E) min(1, 2 Z), E = sum_k T_k (e_1 +
//                4u), Z = prod_k max(|y_k|, 1/2)^T_k with the computed y_k (telescoping; |y| + e_1
//                <= max(|y|, 1/2) (1 + 2 e_1)). In the mean square over the frequencies, which is
//                the 2-norm after going back: call it e_2.
//   back         in the 2-norm at most (e_2 + 2 (8 n + 24) u) (1 + e_2): unitary up to the scale.
//                Hence |sum_j (w - w*) v_j| <= (that) * |v|_2, and |v|_2^2 <= e^(-2c eps)
//                [B(2c, 3)/h + max^2] (a unimodal function summed on a grid of step h), max =
//                e^(-c eps) c^c / (1+c)^(1+c) the largest v_j.
//   wrap-around  the N cells kept are a window; with r the tilted mass outside, bounded by Chernoff
//                r <= sum over both sides of exp(K(c+a) - K(c) - a x), K = log prod M^T, what is
//                folded into the window is at most r max, and so is what is missing above. Upper:
//                what is folded in is left in (it only adds), what is missing above is added.
//                Lower: r max is taken off.
//   summation    in extended precision; charged as (4 (c + 1) span + 512) u times the sums of
//                positive terms.
//   scale        S carries a relative error of 8u (sum_k T_k |log M_k| + |log S| + c eps).
// Everything is added for the upper bound and taken off for the lower one.  []
//
// Cost: one real FFT of length N per law and one back; memory 40 N bytes.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "privacy/accounting/loss_pmf.h"

namespace partita::privacy {

enum class Side { kUpper, kLower };

struct WeightedPmf {
  const LossPmf* pmf = nullptr;
  uint64_t count = 1;
};

// K(c) = sum_k T_k log M_k(c) with its first two derivatives: the mean and the variance of the
// tilted sum.
struct Cumulants {
  double value = 0;
  double mean = 0;
  double variance = 0;
};
Cumulants TiltedCumulants(const std::vector<WeightedPmf>& parts, double tilt);

// The tilt at which delta (respectively epsilon) is met, by the saddle-point approximation. Only
// the width of the result depends on how good it is, never its correctness. guess: where to begin,
// 0 for anywhere.
double TiltForDelta(const std::vector<WeightedPmf>& parts, double delta, double guess);
double TiltForEpsilon(const std::vector<WeightedPmf>& parts, double epsilon, double guess);

// Tilt and tilted mass outside the window for a composition. Close to the saddle point the tilted
// law can have a second bump far away (rare large losses); then a smaller tilt needs a much shorter
// window, at the price of charges that are larger relative to delta, which a smaller mass outside
// makes up for.
struct CompositionPlan {
  double tilt = 0;
  double outside = 0;
};
// saddle: of TiltForDelta or TiltForEpsilon. accuracy: the error of delta, relative, that may come
// from the window.
CompositionPlan PlanComposition(const std::vector<WeightedPmf>& parts, double saddle,
                                double accuracy);

// The transforms keep their tables between calls. Not thread safe.
class FftWorkspace {
 public:
  FftWorkspace();
  ~FftWorkspace();
  // half: size N/2 + 1. N a power of two, at least 4.
  void Forward(const std::vector<double>& in, std::vector<std::complex<double>>& half);
  void Inverse(const std::vector<std::complex<double>>& half, std::vector<double>& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What is known of the composed law, one side. Delta and Epsilon cost O(1) and O(log) each.
class ComposedLoss {
 public:
  // Upper: a number >= delta(eps), at most 1; lower: one <= delta(eps), at least 0.
  double Delta(double epsilon) const;
  // Upper: an epsilon that suffices for delta, +infinity if there is none in the window; lower: one
  // that is not above the truth, +infinity if the infinite mass alone exceeds delta.
  double Epsilon(double delta) const;
  double infinity() const { return infinity_; }
  size_t size() const { return suffix_p_.size(); }
  double tilt() const { return tilt_; }
  double top() const;  // the largest loss in the window

 private:
  friend ComposedLoss Compose(const std::vector<WeightedPmf>& parts, Side side,
                              const CompositionPlan& plan, size_t max_size, FftWorkspace& fft);
  double RawDelta(double epsilon) const;

  Side side_ = Side::kUpper;
  double tilt_ = 0;
  double spacing_ = 0;
  double bottom_ = 0;       // loss of the first cell kept
  bool cut_below_ = false;  // cells of positive loss below it were left out
  double reference_ = 0;    // losses enter exponentials relative to this
  double scale_ = 0;        // S e^(-c reference)
  double scale_error_ = 0;  // relative
  double l2_error_ = 0;     // of w in the 2-norm
  double missing_ = 0;      // tilted mass to add (upper) or take off (lower)
  double loss_slack_ = 0;   // absolute
  double infinity_ = 0;
  std::vector<double> suffix_p_;  // sum over cells >= j of w e^(-c (l - reference))
  std::vector<double> suffix_q_;  // the same times e^-(l - reference)
};

// max_size: the longest transform (throws kUsage if the window needs more).
ComposedLoss Compose(const std::vector<WeightedPmf>& parts, Side side, const CompositionPlan& plan,
                     size_t max_size, FftWorkspace& fft);

}  // namespace partita::privacy
