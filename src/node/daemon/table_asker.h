// Asks a job about the tables, which the daemon does not have (job/table_look.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node/job/table_look.h"

namespace partita::node {

inline constexpr size_t kMaxTableLookBytes = size_t{8} << 20;

// The text of LookAtTables, or DraftOfTable. Throws kRefused where no job could be started or it gave no answer, kTimeout.
// table: of a draft; else empty.
using TableAsker = std::function<std::string(TableLook look, const std::string& table)>;

// program: of a job, with its arguments, to which `--tables`, `--budgets` or `--draft TABLE` is added. An answer takes
// 20 s at most, a draft, which reads the table, 60 s; the job is ended when it has answered, or then.
TableAsker AskTablesOfJob(std::vector<std::string> program);

}  // namespace partita::node
