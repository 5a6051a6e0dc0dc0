// What `partita study new --method mixture` writes.
#pragma once

#include <vector>

#include "study/file/study_template.h"

namespace partita::methods::mixture {

std::vector<study::StudyTemplate> Templates();

}  // namespace partita::methods::mixture
