// What a private study opens, in the clear: the clipped rows' moments without noise.
#pragma once

#include <string>
#include <vector>

#include "data/table.h"
#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// One opened number, of z = (x - centre) / half-width.
struct ReleasedNumber {
  bool noised = true;  // false: opens exactly
  double run = 0, plain = 0;
};

// opened: ProtocolResult::noised. In double precision from all rows at once; a holder shortens the
// columns of a row that it has.
std::vector<ReleasedNumber> ReleasedNumbers(const MleStudy& study,
                                            const std::vector<NoisedMoments>& opened,
                                            data::Table pooled,
                                            const std::vector<std::string>& row_blocks);

}  // namespace partita::methods::mle
