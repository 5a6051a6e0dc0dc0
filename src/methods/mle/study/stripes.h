// The stripes of a study (run/method/stripes.h): the moments of all its computations.
#pragma once

#include <vector>

#include "methods/mle/moments/shared_moments.h"
#include "methods/mle/study/study.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

// By computation and cell, from the sums of MleStudy::RunStripe.
std::vector<std::vector<SharedMoments>> MomentsOfStripes(const MleStudy& study,
                                                         const std::vector<mpc::Shared>& sums);

}  // namespace partita::methods::mle
