#include "node/daemon/table_asker.h"

#include "node/daemon/short_job.h"

namespace partita::node {

TableAsker AskTablesOfJob(std::vector<std::string> program) {
  return [program = std::move(program)](TableLook look) {
    ShortJob job;
    job.program = program;
    job.program.emplace_back(look == TableLook::kBudgets ? "--budgets" : "--tables");
    job.what = "looks at the tables";
    job.hint = "Try again; partita node tables shows the same at the machine.";
    job.most_bytes = kMaxTableLookBytes;
    const Bytes text = AskShortJob(job);
    return std::string(text.begin(), text.end());
  };
}

}  // namespace partita::node
