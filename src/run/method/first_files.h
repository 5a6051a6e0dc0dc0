// Of a study whose release can be kept before anything is made of it.
#pragma once

#include <vector>

#include "run/method/study.h"
#include "study/plan/document.h"

namespace partita::run {

// A study that is one as well (RunParty asks) has what opened as files beside the result that are
// written when the parties have confirmed the run to each other, before this party makes anything of
// it: whatever fails then, they are there. A run that fails before, while parties compare what
// opened, leaves none. Files of the same names in the result say the same.
struct HasFirstFiles {
  virtual ~HasFirstFiles() = default;
  virtual std::vector<study::DocumentFile> FirstFiles(const MethodResult& result) const = 0;
};

}  // namespace partita::run
