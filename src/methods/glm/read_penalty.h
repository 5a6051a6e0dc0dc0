// The penalty of a section: a ridge, or Firth's.
#pragma once

#include "methods/glm/spec.h"
#include "study/file/section_reader.h"
#include "study/file/toml_reader.h"

namespace partita::methods::glm {

// After errors, weights and protocol. Throws kBadInput with place and hint.
void ReadPenalty(const study::TableReader& reader, const study::StudyFile& study, Spec& spec);

}  // namespace partita::methods::glm
