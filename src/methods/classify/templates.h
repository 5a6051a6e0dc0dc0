// What `partita study new --method classify` writes.
#pragma once

#include <vector>

#include "study/file/study_template.h"

namespace partita::methods::classify {

std::vector<study::StudyTemplate> Templates();

}  // namespace partita::methods::classify
