// From a study file to the study of its method.
#pragma once

#include <memory>

#include "runtime/study.h"

namespace partita::runtime {

// Checks everything that can be checked before data is read. Throws kBadInput.
std::unique_ptr<const Study> PrepareStudy(study::StudyFile file);

}  // namespace partita::runtime
