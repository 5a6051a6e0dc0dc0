// How every command speaks: results to standard output, everything else to standard error.
#pragma once

#include <string>

#include "base/error.h"
#include "cli/terminal/exit_code.h"

namespace partita::cli {

inline constexpr int kEnvelopeSchemaVersion = 1;

struct OutputOptions {
  std::string format = "text";    // text | json (indented) | jsonl (one line)
  bool quiet = false;             // no progress, no notes
  std::string progress = "text";  // text | jsonl (for programs), where a command has --progress
  bool yes = false;               // no questions: the answer is yes
  std::string timeout;            // a duration; empty: no limit
  bool force = false;             // files that exist are overwritten

  bool json() const { return format != "text"; }
};

// In text mode prints `text` (a line break is added if missing); in JSON mode exactly one object
// {"schema_version", "status", "data"} with the JSON text `data`.
void PrintResult(const OutputOptions& output, const std::string& text, const std::string& data,
                 const std::string& status = "done");

// In text mode "error: message" and "hint: ..." on standard error; in JSON mode one object
// {"schema_version", "status": "error", "error_code", "message", "hint"} on standard output.
// Returns the exit code.
ExitCode PrintError(const OutputOptions& output, const Error& error);

// A remark for people: standard error, unless quiet.
void PrintNote(const OutputOptions& output, const std::string& text);

}  // namespace partita::cli
