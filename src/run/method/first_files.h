// Of a study whose release can be kept before anything is made of it.
#pragma once

#include <vector>

#include "run/method/study.h"
#include "study/plan/document.h"

namespace partita::run {

// A study that is one as well (RunParty asks) has what opened as files beside the result that are
// written
// at once: whatever fails after the opening, they are there. Files of the same names in the result
// say the same.
struct HasFirstFiles {
  virtual ~HasFirstFiles() = default;
  virtual std::vector<study::DocumentFile> FirstFiles(const MethodResult& result) const = 0;
};

}  // namespace partita::run
