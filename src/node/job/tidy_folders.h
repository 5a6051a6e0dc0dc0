// The files of studies whose time is over (study/retention.h). The store says first, durably and with an entry of the
// audit log, that they are kept no longer; then they are deleted here. What a kill in between leaves is deleted the
// next time, without another entry.
#pragma once

#include <filesystem>

#include "node/study/retention.h"

namespace partita::node {

// Deletes of the study's folder in `run` what is not kept: with Kept::kDocuments the folder `result` and what went
// wrong; with Kept::kNumber all but what jobs know a second run by. Nothing for Kept::kAll, or without a folder.
// How many files and folders. Throws kStorage.
size_t DeleteWhatIsNotKept(const std::filesystem::path& run, const OverStudy& study);

}  // namespace partita::node
