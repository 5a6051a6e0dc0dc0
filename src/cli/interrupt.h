// Control-C and SIGTERM as a flag that long work looks at.
#pragma once

#include <atomic>

namespace partita::cli {

// Installs the handlers; also ignores SIGPIPE and switches core dumps off, since memory holds
// shares and keys.
void PrepareProcess();

const std::atomic<bool>& Interrupted();

}  // namespace partita::cli
