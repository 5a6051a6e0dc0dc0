// partita data freeze
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "crypto/hash.h"
#include "data/holding.h"
#include "data/source/freeze.h"
#include "data/source/open_table.h"
#include "methods/prepare_study.h"

namespace partita::cli {
namespace {

constexpr mode_t kOwnRows = 0600;

struct FreezeCommand {
  std::string source, output, study, party;
};

// The columns that the study asks of the party's table.
std::vector<std::string> ColumnsOfStudy(const run::Study& study, const std::string& party) {
  std::vector<std::string> names;
  // A time of survival may be a variable as well.
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  const data::Schema schema = data::SchemaForParty(
      study.file.dictionary, study.partition, run::PartyByName(study, party), study.row_columns);
  for (const data::ColumnSchema& variable : schema.columns) {
    if (variable.type == data::ColumnType::kSurvival) {
      add(variable.time_column);
      add(variable.event_column);
    } else {
      add(variable.name);
    }
  }
  return names;
}

int RunFreeze(const OutputOptions& output, const FreezeCommand& command) {
  data::CsvOptions options;
  std::vector<std::string> names;
  const data::OpenedTable table = data::OpenTable(command.source);
  if (!command.study.empty()) {
    const std::unique_ptr<const run::Study> study =
        methods::PrepareStudy(methods::LoadStudyFile(command.study));
    names = ColumnsOfStudy(*study, command.party);
    if (table.is_csv) {
      throw Error(ErrorCode::kUsage, command.source + " is a CSV file, which stays as it is",
                  "give it to the study as it is, or leave out --study");
    }
  }
  const data::FrozenTable frozen = data::Freeze(table.bytes, command.source, names, options);
  WriteOutput(output, command.output, frozen.csv, kOwnRows, "the frozen table");
  const std::string hash = ToHex(crypto::Sha256Of(AsBytes(frozen.csv)));
  PrintResult(output,
              fmt::format("wrote {}: {} rows, {} columns\nSHA-256 {}\n", command.output,
                          FormatCount(frozen.rows), frozen.columns.size(), hash),
              Json{{"source", command.source},
                   {"output", command.output},
                   {"rows", frozen.rows},
                   {"columns", frozen.columns},
                   {"sha256", hash}}
                  .dump());
  return kDone;
}

}  // namespace

void AddFreezeCommand(CLI::App& data, Invocation& invocation) {
  auto options = std::make_shared<FreezeCommand>();
  CLI::App* command = AddCommand(
      &data, "freeze", "data freeze",
      "Write the rows that a database holds now into a file that studies run on", invocation,
      [&invocation, options] { return RunFreeze(invocation.output, *options); });
  command
      ->add_option("SOURCE", options->source,
                   "A source file (docs/sources.md), or a file of SPSS, Stata or SAS")
      ->required();
  AddNewFile(*command, invocation, "--output", options->output,
             "The file (readable by its owner only); named .frozen it is read with commas and "
             "points whatever the study file says")
      ->required();
  CLI::Option* study = command->add_option("--study", options->study,
                                           "Keep the columns that this study file asks for");
  study->needs(command->add_option("--party", options->party, "Whose table it is")->needs(study));
  command->footer(
      "The rows are sorted, so that the same rows give the same file. It holds the rows as they\n"
      "are: delete it when the study is over.");
}

}  // namespace partita::cli
