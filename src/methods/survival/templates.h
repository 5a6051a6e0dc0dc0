// What `partita study new --method survival` asks and writes.
#pragma once

#include <vector>

#include "study/file/analysis_start.h"
#include "study/file/study_template.h"

namespace partita::methods::survival {

study::AnalysisStart Start(const study::Said& said);
std::vector<study::StudyTemplate> Templates();  // with --commented

}  // namespace partita::methods::survival
