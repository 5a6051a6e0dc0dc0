// What `partita study new --method mcmc` writes.
#pragma once

#include <vector>

#include "study/file/study_template.h"

namespace partita::methods::mcmc {

std::vector<study::StudyTemplate> Templates();

}  // namespace partita::methods::mcmc
