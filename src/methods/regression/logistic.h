// Logistic regression by variational inference over private sums of client gradients (Heikkila et
// al. 2017, section 3.2): the names that a protocol needs (stats/blr/logistic_vi.h).
#pragma once

#include "stats/blr/logistic_vi.h"

namespace partita::methods::regression {

using stats::blr::ClippedLogisticGradient;
using stats::blr::FitLogisticVi;
using stats::blr::GradientSum;
using stats::blr::kGradientBits;
using stats::blr::LogisticNoiseStddev;
using stats::blr::LogisticPosterior;
using stats::blr::LogisticViOptions;
using stats::blr::NoisyGradient;

}  // namespace partita::methods::regression
