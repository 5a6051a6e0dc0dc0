#include "node/daemon/table_asker.h"

#include "node/daemon/short_job.h"

namespace partita::node {
namespace {

constexpr std::chrono::seconds kDraftPatience{60};

}  // namespace

TableAsker AskTablesOfJob(std::vector<std::string> program) {
  return [program = std::move(program)](TableLook look, const std::string& table) {
    ShortJob job;
    job.program = program;
    job.what = "looks at the tables";
    job.hint = "Try again; partita node tables shows the same at the machine.";
    job.most_bytes = kMaxTableLookBytes;
    if (look == TableLook::kDraft) {
      job.program.insert(job.program.end(), {"--draft", table});
      job.patience = kDraftPatience;
    } else {
      job.program.emplace_back(look == TableLook::kBudgets ? "--budgets" : "--tables");
    }
    const Bytes text = AskShortJob(job);
    return std::string(text.begin(), text.end());
  };
}

}  // namespace partita::node
