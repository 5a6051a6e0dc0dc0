// What `partita study new --method marginals` asks and writes.
#pragma once

#include <vector>

#include "study/file/analysis_start.h"
#include "study/file/study_template.h"

namespace partita::methods::marginals {

study::AnalysisStart Start(const study::Said& said);
std::vector<study::StudyTemplate> Templates();  // with --commented
// Of method `describe` with [analysis.privacy].
std::vector<study::StudyTemplate> TableOneTemplates();
// Of method `survival` with [analysis.privacy].
std::vector<study::StudyTemplate> CurveTemplates();

}  // namespace partita::methods::marginals
