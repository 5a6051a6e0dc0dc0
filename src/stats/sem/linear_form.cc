#include "stats/sem/linear_form.h"

#include "stats/sem/robust.h"

namespace partita::stats {

using Eigen::Index;
using Eigen::VectorXd;

VectorXd AsFeatures(const LinearForm& form) {
  VectorXd out = VectorXd::Zero(NumFeatures(form.linear.size()));
  out[0] = form.constant;
  out.segment(1, form.linear.size()) = form.linear;
  return out;
}

VectorXd Multiply(const LinearForm& a, const LinearForm& b) {
  const Index p = a.linear.size();
  VectorXd out(NumFeatures(p));
  out[0] = a.constant * b.constant;
  out.segment(1, p) = a.constant * b.linear + b.constant * a.linear;
  Index at = 1 + p;
  for (Index i = 0; i < p; ++i) {
    out[at++] = a.linear[i] * b.linear[i];
    for (Index j = i + 1; j < p; ++j) {
      out[at++] = a.linear[i] * b.linear[j] + a.linear[j] * b.linear[i];
    }
  }
  return out;
}

}  // namespace partita::stats
