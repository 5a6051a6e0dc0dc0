// What of a study lies outside of the lists of an envelope or a policy: "the engine 'shamir'", each thing once and
// in the order of the study file; empty: nothing. A function for each list. Private to those documents.
#pragma once

#include <string>
#include <vector>

#include "study/approval/envelope.h"
#include "study/file/study_file.h"

namespace partita::study {

using NameList = std::vector<std::string>;

NameList OutsideEngines(const StudyFile& study, const AdmittedLists& admitted);
// Of the study, and of every release.
NameList OutsideReceivers(const StudyFile& study, const AdmittedLists& admitted);
NameList OutsideMethods(const StudyFile& study, const AdmittedLists& admitted);
NameList OutsideProtocols(const StudyFile& study, const AdmittedLists& admitted);
NameList OutsideFunctions(const StudyFile& study, const AdmittedLists& admitted);
NameList OutsideReleases(const StudyFile& study, const AdmittedLists& admitted);
// Whatever is in the dictionary may be read and may stand in a model, so all of it counts. What is derived is as
// good as its source.
NameList OutsideVariables(const StudyFile& study, const AdmittedLists& admitted);

// The smallest lists that the study keeps within.
AdmittedLists AllUsedBy(const StudyFile& study);

}  // namespace partita::study
