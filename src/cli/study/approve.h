// Approving a study at the terminal: what `study approve` does, and `study join --approve` before it
// joins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/study/party_files.h"
#include "cli/terminal/output.h"
#include "study/approval/approval.h"

namespace partita::cli {

struct SignOptions {
  std::string study_file, party, until, envelope, output, reason, ledger, table;
  PartyFiles files;
  std::optional<uint64_t> min_cell, min_rows;
  uint64_t runs = 1;
  bool refuse_small_samples = false, accept_useless = false, accept_faults = false;
};

struct Signed {
  study::Approval approval;
  std::filesystem::path file;
  bool has_table = false;  // whether a secret lies beside the file
};

// Shows `page` and, unless --yes, asks at the terminal. Throws kRefused for any answer but yes, and
// kUsage where there is no terminal; read_first: a command that shows the page.
void Confirm(const OutputOptions& output, const std::string& page, const std::string& question,
             const std::string& read_first);
// "one run", "3 runs".
std::string RunsText(uint64_t runs);
// Of --until. Throws kUsage.
int64_t UntilOf(const std::string& text);

// Shows the plan and what will be signed, asks (unless output.yes) and writes the document. Throws
// kRefused unless the answer is yes, kUsage where there is no terminal to ask at, and what reading
// the study, the folder or the table does.
Signed SignDecision(const OutputOptions& output, const SignOptions& options,
                    study::Decision decision);

}  // namespace partita::cli
