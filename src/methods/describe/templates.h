// What `partita study new --method describe` writes.
#pragma once

#include <vector>

#include "study/file/study_template.h"

namespace partita::methods::describe {

std::vector<study::StudyTemplate> Templates();

}  // namespace partita::methods::describe
