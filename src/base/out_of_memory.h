// What a user reads where memory ran out.
#pragma once

#include <string_view>

#include "base/error.h"

namespace partita {

// For std::bad_alloc; task: what it was needed for, "read the table".
Error OutOfMemory(std::string_view task);

}  // namespace partita
