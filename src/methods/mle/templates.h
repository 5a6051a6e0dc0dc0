// What `partita study new --method mle` writes.
#pragma once

#include <vector>

#include "study/file/study_template.h"

namespace partita::methods::mle {

std::vector<study::StudyTemplate> Templates();

}  // namespace partita::methods::mle
