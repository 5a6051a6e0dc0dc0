// Where reports are written: base/atomic_file.h.
#pragma once

#include "base/atomic_file.h"

namespace partita::report {

using partita::WriteFileAtomically;

}  // namespace partita::report
