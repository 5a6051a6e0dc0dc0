// From a study file to the study of its method.
#pragma once

#include <memory>

#include "runtime/mle_study.h"
#include "runtime/study.h"

namespace partita::runtime {

// Checks everything that can be checked before data is read. Throws kBadInput.
std::unique_ptr<const Study> PrepareStudy(study::StudyFile file);

// For what only method `mle` has. Throws kUsage: "a rehearsal needs method 'mle', ...".
const MleStudy& RequireMle(const Study& study, const std::string& what);

}  // namespace partita::runtime
