// From a study file to the study of its method.
#pragma once

#include <memory>
#include <string>

#include "run/method/study.h"

namespace partita::methods {

// study::ParseStudyFile and study::LoadStudyFile with all methods.
study::StudyFile ParseStudyFile(std::string text, std::string file_name);
study::StudyFile LoadStudyFile(const std::string& path);

// Checks everything that can be checked before data is read. Throws kBadInput.
std::unique_ptr<const run::Study> PrepareStudy(study::StudyFile file);

}  // namespace partita::methods
