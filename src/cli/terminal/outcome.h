// What a party prints at the end of its run.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/files.h"
#include "cli/terminal/output.h"
#include "run/party/party.h"
#include "study/plan/document.h"

namespace partita::cli {

// Before a run: room on the disk of `result_file` for what party `party` will write there, so that
// a full disk is found before anything opens. Null where it will write nothing, or the file is
// empty. Throws as RoomOnDisk, saying that nothing was opened.
std::unique_ptr<RoomOnDisk> RoomForResult(const run::Study& study, size_t party,
                                          const std::string& result_file);

// For run::PartyInput::write: writes files beside `result_file`, of a party that has a result; null
// where it has none or names no file. What cannot be written is said on the terminal and left for
// PrintOutcome.
std::function<void(const study::DocumentFile&)> WriterBeside(const OutputOptions& output,
                                                             const run::Study& study, size_t party,
                                                             const std::string& result_file);

// Prints the outcome and returns the exit code: the receiver's full report, or what another party
// did and learned. Writes result.json to `result_file` first, and the HTML report beside it (empty:
// nowhere), after giving back `room`. Files that cannot be written there are kept in a new folder
// for temporary files, which is named, or else printed; the exit code says so.
int PrintOutcome(const OutputOptions& output, const run::PartyOutcome& outcome,
                 const std::string& result_file, std::unique_ptr<RoomOnDisk> room);

// What became of a holder's own rows in a private study, in one line for its terminal.
std::string OwnRowsText(const run::OwnRows& rows, const data::RepairedCells& cells);

// Where the HTML report of a result file goes: result.json has report.html beside it, any other
// NAME.json has NAME.html.
std::string ReportFile(const std::string& result_file);

// Before a run: RequireNewFile (cli/terminal/new_file.h) for every file that party `party` will
// write, the report and the files of the method included; of a file that is empty, for none.
void RequireNewResult(const run::Study& study, size_t party, const std::string& result_file,
                      bool force);

}  // namespace partita::cli
