// Commented study files to start from: what `partita study new` writes.
#pragma once

#include <string>

namespace partita::study {

enum class TemplateKind {
  kHorizontal,  // every party has all variables of its own rows
  kVertical,    // every party has some variables of the same rows
  kMixture,     // as kVertical, for a mixture model and synthetic tables
};

// A complete study file that ParseStudyFile accepts as it stands; its comments say what to change.
std::string StudyTemplate(TemplateKind kind);

}  // namespace partita::study
