// The result, told by the receiver to others: the release "estimates" of a study file.
//
// Ideal function   (the receiver's result) -> estimates, standard errors, standardised solutions,
//                  rows per group and fit measures to one party or to all, with the iterations, the
//                  optimiser, and whether and why the fit stopped before a maximum, a number of a
//                  fixed list (stats/sem/stop_reason.h). Warnings follow from these numbers and are
//                  made of them where they arrive (told_warnings.h). The values of fixed covariates
//                  (lavaan's fixed.x) are sample moments and stay with the receiver, as do
//                  covariances of estimates, implied moments and its own words.
// Method           The receiver shares the numbers and they are opened, so that the release passes
//                  every party's gate. A double travels as its 53-bit mantissa and its exponent:
//                  nothing is rounded.
// Revealed         Release `result/NAME`, once.
// Cost             Input and opening of 2 x NumPublished values: one round in engine `dealer`, two
//                  in `replicated`.
#pragma once

#include <optional>
#include <string>

#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/result.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

std::string ResultRelease(const MleAnalysis& analysis);

// Ring elements of the opening.
uint64_t NumPublishedValues(const MleAnalysis& analysis);

// result: at `receiver` only. Returns what was told, at the parties that it was told to and at the
// receiver (there the result itself); empty elsewhere.
std::optional<MleResult> PublishResult(mpc::Engine& engine, const MleAnalysis& analysis,
                                       mpc::PartyIndex receiver, mpc::PartyIndex to,
                                       const std::optional<MleResult>& result);

}  // namespace partita::methods::mle
