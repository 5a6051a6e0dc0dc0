// Logistic regression by variational inference over private sums of client gradients (Heikkila et
// al. 2017, section 3.2), or by DP-SGD over the same sums: the names that a protocol needs
// (stats/blr/logistic_vi.h, stats/erm/client_descent.h).
#pragma once

#include "stats/blr/logistic_vi.h"
#include "stats/erm/client_descent.h"

namespace partita::sums::regression {

using stats::blr::ClippedLogisticGradient;
using stats::blr::FitLogisticVi;
using stats::blr::GradientSum;
using stats::blr::kGradientBits;
using stats::blr::LogisticNoiseStddev;
using stats::blr::LogisticPosterior;
using stats::blr::LogisticViOptions;
using stats::blr::NoisyGradient;

using stats::erm::ClientDescent;
using stats::erm::ClientDescentOptions;
using stats::erm::Optimiser;

}  // namespace partita::sums::regression
