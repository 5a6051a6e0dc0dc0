#include "base/out_of_memory.h"

namespace partita {

Error OutOfMemory(std::string_view task) {
  return Error(ErrorCode::kStorage, "there is not enough memory to " + std::string(task),
               "close other programs, or use a machine with more memory: partita study plan says "
               "what a study takes");
}

}  // namespace partita
