// What a job says that is asked for bytes or the reason why there are none: one byte, 1 for an answer and 0 for a
// sentence; then its bytes.
#pragma once

#include <functional>

#include "base/bytes.h"

namespace partita::node {

// An error of `answer` is told by its sentence.
Bytes ShortAnswerOf(const std::function<Bytes()>& answer);
// At the daemon: the answer. Throws kRefused with the job's sentence, or if there is none.
Bytes ShortAnswerIn(ByteView told);

}  // namespace partita::node
