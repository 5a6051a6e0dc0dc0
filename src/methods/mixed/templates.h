// What `partita study new --method mixed` asks and writes.
#pragma once

#include <vector>

#include "study/file/analysis_start.h"
#include "study/file/study_template.h"

namespace partita::methods::mixed {

study::AnalysisStart Start(const study::Said& said);
std::vector<study::StudyTemplate> Templates();  // with --commented

}  // namespace partita::methods::mixed
