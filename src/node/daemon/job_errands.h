// Asks jobs for what the daemon cannot do itself and no study is moved by: it has neither tables nor ledger, and where
// jobs have a user of their own it may not write in their folders (job/errand.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "node/daemon/job_start.h"
#include "node/job/table_look.h"
#include "node/job/wire.h"
#include "node/study/retention.h"

namespace partita::node {

inline constexpr size_t kMaxTableLookBytes = size_t{8} << 20;

// The text of LookAtTables, or of DraftOfTable (of `table`). Throws kRefused where no job could be started or it gave no
// answer, kTimeout.
using TableAsker = std::function<std::string(TableLook look, const std::string& table)>;

// An answer takes 20 s at most, a draft 60 s; a child is ended when it has answered, or then.
TableAsker AskTablesOfJob(JobStarter start);

// What a job says of the ledger after a restore (kHeads, kKept). Throws as above, and kRefused with the job's sentence.
Bytes AskLedgerOfJob(const JobStarter& start, const JobErrand& errand, size_t max_bytes);

// Has a job delete what is not kept of these studies (job/tidy_folders.h); how many files and folders. Throws as above,
// and kStorage with what the job could not delete.
size_t TidyByJob(const JobStarter& start, const std::vector<OverStudy>& studies);

}  // namespace partita::node
