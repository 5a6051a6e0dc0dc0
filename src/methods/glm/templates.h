// What `partita study new --method glm` writes.
#pragma once

#include <vector>

#include "study/file/study_template.h"

namespace partita::methods::glm {

std::vector<study::StudyTemplate> Templates();

}  // namespace partita::methods::glm
