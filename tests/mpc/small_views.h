// As views.h, one instance after the other: for protocols that cannot run many instances at once as
// rows or list entries, such as bits that are packed 64 to a word, or an oracle.
#pragma once

#include "tests/mpc/views.h"

namespace partita::mpc::testing {

// Runs the body of `c` once per instance, each time with a new engine on the same channel and
// inputs of one row. A Digit's slot is the offset of its byte on the tape. From kBitTapeBase on a
// tape carries words of 64 bits, of which only the first entry's bit is enumerated. Views are
// numbered, so they may be of any length; at most 2^18 instances.
template <typename R>
Views EnumerateOneByOne(const ViewCase& c);

}  // namespace partita::mpc::testing
