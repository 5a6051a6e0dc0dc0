// partita data freeze
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "base/file_in_pieces.h"
#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/terminal/command_progress.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "cli/tools/edition_json.h"
#include "crypto/hash.h"
#include "data/source/freeze.h"
#include "data/source/open_table.h"
#include "methods/prepare_study.h"
#include "run/matching/matching_file.h"
#include "run/party/editions.h"
#include "run/party/pushed_sums.h"
#include "run/party/table_columns.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

struct FreezeCommand {
  std::string source, output, study, party, matching;
};

std::vector<std::string> KeysOfMatching(const FreezeCommand& command) {
  return run::MatchingPartyByName(run::LoadMatchingFile(command.matching), command.party).headers;
}

// Of the party's table, by which its rows are matched: a study of rows that match reads them again.
std::vector<std::string> KeysOfMatching(const run::Study& study, const FreezeCommand& command) {
  const data::Partition& partition = study.partition;
  const std::vector<size_t> held = partition.BlocksOf(run::PartyByName(study, command.party));
  const bool matched = std::any_of(held.begin(), held.end(),
                                   [&](size_t block) { return partition.blocks[block].matched; });
  if (command.matching.empty() && !matched) return {};
  if (command.matching.empty()) {
    throw Error(ErrorCode::kUsage,
                "the study is of rows that match, and its file does not say by which columns",
                "run it on the file that was matched, whose rows are in the order of the matching: "
                "freeze that one before the matching (--matching FILE --party NAME, without "
                "--study). With --matching FILE beside the study this file has to be matched anew");
  }
  return KeysOfMatching(command);
}

// Throws kBadData where a column is not there by which rows are to be matched.
void RequireKeys(const FreezeCommand& command, const std::vector<std::string>& columns) {
  if (command.matching.empty()) return;
  for (const std::string& key : KeysOfMatching(command)) {
    if (std::find(columns.begin(), columns.end(), key) != columns.end()) continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("{} has no column '{}', by which {} matches the rows of {}",
                            command.source, key, command.matching, command.party),
                "let the query give it, or say in the matching file what the table calls it "
                "(header in [[party.column]])");
  }
}

// The columns that the study asks of the party's table.
std::vector<std::string> ColumnsOfStudy(const run::Study& study, const FreezeCommand& command) {
  std::vector<std::string> names = run::TableColumns(study, run::PartyByName(study, command.party));
  for (const std::string& key : KeysOfMatching(study, command)) {
    if (std::find(names.begin(), names.end(), key) == names.end()) names.push_back(key);
  }
  return names;
}

struct ReadTable {
  data::FrozenTable frozen;
  std::optional<run::Edition> edition;  // whose rows they are; none: of now
};

// study: of which the columns are kept; null: all of them, for any study. Of a table that changes an exact study, and
// whoever does not say for which it is, gets the rows of its edition.
ReadTable ReadRows(const FreezeCommand& command, const run::Study* study) {
  // A query may take an hour within a library, and nothing is written yet.
  const EndAtOnce when_interrupted;
  std::vector<std::string> names;
  if (study != nullptr) names = ColumnsOfStudy(*study, command);
  const fs::path folder = fs::path(command.output).parent_path();
  const run::EditionTable table{command.source, run::EditionRecordPath(command.source)};
  const auto freeze = [&](const fs::path& rows, const data::DroppedRows& dropped) {
    const data::OpenedTable opened = data::OpenTable(rows);
    if (!opened.dialect) {
      throw Error(ErrorCode::kUsage, rows.string() + " is a CSV file, which stays as it is",
                  "give it to the study as it is; one that changes gets a source file that says "
                  "edition = \"steward\"");
    }
    return data::Freeze(opened.bytes, rows.string(), names, data::WithDialect({}, opened.dialect),
                        folder, data::kFreezeMemory, dropped);
  };
  if (!data::MayChange(command.source)) return {freeze(command.source, {}), std::nullopt};
  if (study != nullptr && study->IsPrivate())
    return {freeze(command.source, run::WithdrawnRows(table)), std::nullopt};
  run::EditionUse use;
  if (study != nullptr) use = run::UseOf(*study, run::PartyByName(*study, command.party));
  std::optional<data::FrozenTable> frozen;
  crypto::SystemRandom random;
  run::Edition edition = run::UseEdition(
      table, use, NowUtc(), random,
      [&](const fs::path& extract, const run::Edition&) { frozen.emplace(freeze(extract, {})); });
  return {*std::move(frozen), std::move(edition)};
}

// Where no rows leave the database.
int RunSums(const OutputOptions& output, const FreezeCommand& command) {
  if (command.study.empty() || !data::IsSumFile(command.output)) {
    throw Error(ErrorCode::kUsage,
                command.source +
                    ": only sums leave this database, or are kept of its rows: those of one study, "
                    "in a file named .sums",
                "say --study STUDY --party PARTY --output NAME.sums");
  }
  const std::unique_ptr<const run::Study> study =
      methods::PrepareStudy(methods::LoadStudyFile(command.study));
  const size_t party = run::PartyByName(*study, command.party);
  CommandProgress progress(output);
  const run::FormedSums formed = [&] {
    const EndAtOnce when_interrupted;
    return run::FormSums(*study, party, command.source, run::SumSetsPath(command.source),
                         &progress.progress());
  }();
  progress.Finish();
  RequireNewFile(command.output, output.force);
  const std::string text = data::SumFileText(formed.query, formed.sums);
  WriteInPiecesAtomically(command.output, [&](const PieceWriter& write) { write(text); });
  const std::string hash = ToHex(crypto::Sha256Of(AsBytes(text)));
  std::vector<std::string> columns;
  for (const data::ColumnSchema& column : formed.query.columns) columns.push_back(column.name);
  const auto rows = static_cast<uint64_t>(formed.sums.answer.rows);
  PrintResult(output,
              fmt::format("wrote {}: {} sums and counts of {} rows, by {}\nSHA-256 {}\n",
                          command.output, FormatCount(data::NumSums(formed.query)),
                          FormatCount(rows), formed.sums.engine, hash),
              Json{{"source", command.source},
                   {"output", command.output},
                   {"rows", rows},
                   {"columns", columns},
                   {"sums", data::NumSums(formed.query)},
                   {"engine", formed.sums.engine},
                   {"sha256", hash}}
                  .dump());
  return kDone;
}

int RunFreeze(const OutputOptions& output, const FreezeCommand& command) {
  if (data::GivesOnlySums(command.source)) return RunSums(output, command);
  if (!command.party.empty() && command.study.empty() && command.matching.empty()) {
    throw Error(ErrorCode::kUsage, "--party without --study or --matching",
                "say of which study or matching it is a party, or leave it out");
  }
  run::RequireOneRecord(command.source, false);
  std::unique_ptr<const run::Study> study;
  if (!command.study.empty()) study = methods::PrepareStudy(methods::LoadStudyFile(command.study));
  ReadTable read = ReadRows(command, study.get());
  data::FrozenTable& frozen = read.frozen;
  const std::optional<run::Edition>& edition = read.edition;
  RequireKeys(command, frozen.columns());
  // Somebody may have made it while the query ran.
  RequireNewFile(command.output, output.force);
  crypto::Sha256 hasher;
  // A part of it would look like a shorter table.
  WriteInPiecesAtomically(command.output, [&](const PieceWriter& write) {
    frozen.Write([&](std::string_view piece) {
      if (Interrupted()) throw Error(ErrorCode::kCancelled, "interrupted; nothing was written");
      hasher.Update(AsBytes(piece));
      write(piece);
    });
  });
  const std::string hash = ToHex(hasher.Finish());
  Json json = {{"source", command.source},
               {"output", command.output},
               {"rows", frozen.rows()},
               {"columns", frozen.columns()},
               {"sha256", hash}};
  if (edition) json["edition"] = EditionJson(*edition);
  PrintResult(output,
              fmt::format("wrote {}: {} rows, {} columns{}\nSHA-256 {}\n", command.output,
                          FormatCount(frozen.rows()), frozen.columns().size(),
                          edition ? ", of the " + run::EditionText(*edition) : "", hash),
              json.dump());
  return kDone;
}

}  // namespace

void AddFreezeCommand(CLI::App& data, Invocation& invocation) {
  auto options = std::make_shared<FreezeCommand>();
  CLI::App* command = AddCommand(
      &data, "freeze", "data freeze",
      "Write the rows that a database holds now, or sums of them, into a file that studies run on",
      invocation, [&invocation, options] { return RunFreeze(invocation.output, *options); });
  command
      ->add_option("SOURCE", options->source,
                   "A source file (docs/sources.md), or a file of SPSS, Stata or SAS")
      ->required();
  AddNewFile(*command, invocation, "--output", options->output,
             "The file (readable by its owner only); named .frozen it is read with commas and "
             "points whatever the study file says; of a source that gives only sums, named .sums")
      ->required();
  CLI::Option* study = command->add_option("--study", options->study,
                                           "Keep the columns that this study file asks for");
  CLI::Option* party = command->add_option("--party", options->party, "Whose table it is");
  study->needs(party);
  command
      ->add_option("--matching", options->matching,
                   "The file of a matching that is to come: its columns are there, and without "
                   "--study all others are kept for the studies that follow it")
      ->needs(party);
  command->footer(
      "Exact studies get the rows of the table's edition, not those of now (partita data "
      "edition).\n"
      "The rows are sorted, so that the same rows give the same file. It holds the rows as they\n"
      "are: delete it when the study is over. Of a source file with mode = \"push-down\" or\n"
      "\"stream\" no rows are written but the sums of one study, which the database or this "
      "program\n"
      "forms.");
}

}  // namespace partita::cli
