// A study as bytes, for the store of the own node. Bytes go forward only: a format that is not known
// here is refused.
#pragma once

#include "node/study/study.h"

namespace partita::node {

Bytes EncodeStudy(const Study& study);
// Throws kBadInput.
Study DecodeStudy(ByteView bytes);

}  // namespace partita::node
