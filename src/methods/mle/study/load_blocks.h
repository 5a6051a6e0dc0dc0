// One holder's rows as the moments of a computation take them.
#pragma once

#include <vector>

#include "data/holding.h"
#include "methods/mle/moments/moments_task.h"
#include "methods/mle/study/selectors.h"
#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// By block of the task; empty where the party holds nothing. Keeps the holding's table alive.
std::vector<LocalBlock> LoadBlocks(const MleStudy& study, const Computation& computation,
                                   size_t party, const data::Holding& holding,
                                   const Selectors& selectors);

}  // namespace partita::methods::mle
