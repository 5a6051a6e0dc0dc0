// What a job does for the own node beside studies: looks at tables and ledger (table_look.h), drafts a dictionary
// (own_dictionary.h), says what other sites showed (heads_answer.h) and which budgets a restore leaves (kept_look.h), and
// deletes what is kept no longer (tidy_folders.h). It answers with one text, or bytes, and ends.
#pragma once

#include <string>

#include "node/job/settings.h"
#include "node/job/wire.h"

namespace partita::node {

// Of kTidy: {"deleted": files and folders, "problem": ""}; a folder in which nothing can be deleted does not keep the
// others, and the first one is the problem. Nothing is deleted that could let a study run a second time, whatever the
// daemon says (tidy_folders.h). Of kDraft nothing where there is no such table. Of kHeads and kKept as short_answer.h has it.
std::string DoErrand(const JobSettings& settings, const JobErrand& errand);

}  // namespace partita::node
