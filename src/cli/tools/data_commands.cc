// partita data describe | check | compare | mock
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/separator.h"
#include "data/describe.h"
#include "data/harmonise.h"
#include "data/source/open_table.h"
#include "data/table_check.h"
#include "methods/prepare_study.h"
#include "run/simulate/mock_tables.h"
#include "study/file/text.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kForOwner = 0600, kForOthers = 0644;

// ---------------------------------------------------------------------------------- describe

std::string SeparatorText(char separator) {
  return separator == '\t' ? "tab" : fmt::format("'{}'", separator);
}

struct DescribeCommand {
  std::string file, separator, output;
  bool draft = false;
};

std::string TableProfileText(const data::TableProfile& profile) {
  TextTable table{{"column", "looks like", "cells", "missing", "different"}, {2, 3, 4}, {}};
  for (const data::ColumnProfile& column : profile.columns) {
    table.rows.push_back({column.name, std::string(data::DraftTypeName(data::GuessType(column))),
                          FormatCount(column.cells),
                          FormatCount(column.empty + column.missing_words),
                          FormatCount(column.distinct)});
  }
  return fmt::format("{}: {} rows\n\n{}\nFor the owner of the table only.\n", profile.source,
                     FormatCount(profile.num_rows), RenderTable(table, 0));
}

Json TableProfileJson(const data::TableProfile& profile) {
  Json columns = Json::array();
  for (const data::ColumnProfile& column : profile.columns) {
    columns.push_back({{"name", column.name},
                       {"type", data::DraftTypeName(data::GuessType(column))},
                       {"cells", column.cells},
                       {"missing", column.empty + column.missing_words},
                       {"different", column.distinct}});
  }
  return {{"file", profile.source},
          {"rows", profile.num_rows},
          {"columns", columns},
          {"draft", Json()},
          {"output", Json()}};
}

int RunDescribe(const OutputOptions& output, const DescribeCommand& command) {
  const data::TableProfile profile =
      data::ProfileTableFile(command.file, SeparatorOf(command.separator));
  Json json = TableProfileJson(profile);
  if (!command.draft && command.output.empty()) {
    PrintResult(output, TableProfileText(profile), json.dump());
    return kDone;
  }
  const std::string draft = data::DraftDictionary(profile);
  json["draft"] = draft;
  std::string text = draft;
  if (!command.output.empty()) {
    WriteOutput(output, command.output, draft, kForOwner, "the draft");
    json["output"] = command.output;
    text = fmt::format("wrote {}", command.output);
  }
  PrintResult(output, text, json.dump());
  PrintNote(output,
            "\nThis draft is for the owner of the table only: lines with #! tell what is in the "
            "data. Remove them\n(grep -v '^#!') before you give it away, and complete the levels. "
            "Bounds come from knowledge of the\ninstruments: write them here, or say them to "
            "partita study new --dictionary.");
  return kDone;
}

void AddDescribe(CLI::App* data, Invocation& invocation) {
  auto options = std::make_shared<DescribeCommand>();
  CLI::App* command =
      AddCommand(data, "describe", "data describe",
                 "Say what the columns of a table look like, and draft its dictionary", invocation,
                 [&invocation, options] { return RunDescribe(invocation.output, *options); });
  command
      ->add_option("FILE", options->file, "A table: CSV, gzip, SPSS, Stata, SAS, or a source file")
      ->required();
  command->add_flag("--draft", options->draft,
                    "Print a draft of the [[variable]] entries, without bounds: they must come "
                    "from knowledge of the instruments, not from the data");
  AddNewFile(*command, invocation, "--output", options->output,
             "Write the draft here (readable by its owner only)");
  AddSeparator(*command, options->separator, "what the header has most of");
  command->footer("Everything that is printed is for the owner of the table only.");
}

// ------------------------------------------------------------------------------------- check

struct CheckCommand {
  std::string file, study, party, share, separator;
  uint64_t min_cell = 0;
};

std::string LinesText(const std::vector<uint64_t>& lines, uint64_t count) {
  if (lines.empty()) return "";
  std::string text = lines.size() == 1 ? " (line " : " (lines ";
  for (size_t i = 0; i < lines.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", lines[i]);
  return text + (count > lines.size() ? ", ...)" : ")");
}

std::string Summary(size_t problems, size_t warnings, size_t notes) {
  return fmt::format("{} problem{}, {} warning{}, {} note{}", problems, problems == 1 ? "" : "s",
                     warnings, warnings == 1 ? "" : "s", notes, notes == 1 ? "" : "s");
}

template <typename Problems>
std::string Tally(const Problems& problems) {
  size_t counts[3] = {0, 0, 0};
  for (const auto& problem : problems) ++counts[static_cast<size_t>(problem.severity)];
  return Summary(counts[2], counts[1], counts[0]);
}

std::string CheckText(const data::TableCheck& check) {
  std::string text = fmt::format("{}: {} rows, {}\n", check.source, FormatCount(check.num_rows),
                                 Tally(check.problems));
  for (const data::TableProblem& problem : check.problems) {
    text += "\n" + WrapText(fmt::format("{}: {}{}{}", data::SeverityName(problem.severity),
                                        problem.column.empty() ? "" : problem.column + ": ",
                                        problem.what, LinesText(problem.lines, problem.count)),
                            0);
    if (!problem.fix.empty()) text += WrapText("fix: " + problem.fix, 2);
  }
  return text;
}

Json CheckJson(const data::TableCheck& check) {
  Json problems = Json::array();
  for (const data::TableProblem& problem : check.problems) {
    problems.push_back({{"severity", data::SeverityName(problem.severity)},
                        {"column", problem.column},
                        {"what", problem.what},
                        {"fix", problem.fix},
                        {"count", problem.count},
                        {"lines", problem.lines}});
  }
  return {{"file", check.source},
          {"rows", check.num_rows},
          {"usable", check.usable()},
          {"problems", problems},
          {"share", Json()}};
}

int RunCheck(const OutputOptions& output, const CheckCommand& command) {
  const std::unique_ptr<const run::Study> owner =
      methods::PrepareStudy(methods::LoadStudyFile(command.study));
  const run::Study& study = *owner;
  const size_t party = run::PartyByName(study, command.party);
  if (!study.parties[party].holder) {
    throw Error(ErrorCode::kUsage,
                fmt::format("party '{}' of the study holds no data", command.party),
                "name the holder whose table this is");
  }
  const data::OpenedTable table = data::OpenTable(command.file);
  data::TableCheckOptions options = study.TableChecks();
  options.csv = data::WithDialect(options.csv, table.dialect);
  const char expected = options.csv.separator;
  if (const std::optional<char> given = SeparatorOf(command.separator))
    options.csv.separator = *given;
  data::TableCheck check = data::CheckTable(table.bytes, command.file, study.file.dictionary,
                                            study.partition, party, study.row_columns, options);
  if (options.csv.separator != expected) {
    check.problems.insert(
        check.problems.begin(),
        {data::Severity::kProblem,
         "",
         fmt::format("the study reads tables with the separator {}, not with {}",
                     SeparatorText(expected), SeparatorText(options.csv.separator)),
         "write separator = ... under [table] in the study file, or write the table as it says",
         1,
         {1}});
  }
  std::string text = CheckText(check);
  Json json = CheckJson(check);
  if (!command.share.empty()) {
    const data::ShareSummary summary =
        data::Summarise(check, study.file.dictionary, study.file.name, command.party,
                        std::max(command.min_cell, study.file.disclosure.min_cell));
    WriteOutput(output, command.share, data::ShareJson(summary), kForOthers, "the summary");
    json["share"] = command.share;
    text += fmt::format("\n{}wrote {}: show it to the parties of the study only\n",
                        data::DescribeShare(summary), command.share);
  }
  PrintResult(output, text, json.dump(), check.usable() ? "done" : "problems");
  return check.usable() ? kDone : kBadData;
}

void AddTableCheck(CLI::App* data, Invocation& invocation) {
  auto options = std::make_shared<CheckCommand>();
  CLI::App* command =
      AddCommand(data, "check", "data check",
                 "Check a table against the study's dictionary: all problems at once", invocation,
                 [&invocation, options] { return RunCheck(invocation.output, *options); });
  command
      ->add_option("FILE", options->file,
                   "The table: CSV, gzip, SPSS, Stata, SAS, or a source file")
      ->required();
  command->add_option("--study", options->study, "The study file")->required();
  command->add_option("--party", options->party, "Whose table it is")->required();
  AddSeparator(*command, options->separator, "the study's");
  CLI::Option* share = AddNewFile(
      *command, invocation, "--share", options->share,
      "Also write a coarse summary that may be shown to the other parties, for data compare");
  command
      ->add_option("--min-cell", options->min_cell,
                   "Hide counts below this in the summary (at least min_cell of the study)")
      ->needs(share);
  command->footer(
      "What is printed is for the owner of the table only. The summary of --share has no rows,\n"
      "counts, keys, minima or means; everything that it tells is printed when it is written.\n"
      "Exit code 7 if the study would refuse the table.");
}

// ----------------------------------------------------------------------------------- compare

data::ShareSummary ReadShare(const std::string& file) {
  return data::ParseShare(ReadFile(file, data::kMaxShareBytes, "the summary"), file);
}

int RunTableComparison(const OutputOptions& output, const std::vector<std::string>& files) {
  std::vector<data::ShareSummary> summaries;
  for (const std::string& file : files) summaries.push_back(ReadShare(file));
  const std::vector<data::HarmonyProblem> problems = data::Compare(summaries);
  std::string text = fmt::format("{} parties compared: {}\n", summaries.size(), Tally(problems));
  Json list = Json::array();
  bool usable = true;
  for (const data::HarmonyProblem& problem : problems) {
    usable = usable && problem.severity != data::Severity::kProblem;
    text += "\n" + WrapText(fmt::format("{}: {}{}: {}", data::SeverityName(problem.severity),
                                        problem.column.empty() ? "" : problem.column + " at ",
                                        study::Join(problem.parties), problem.what),
                            0);
    text += WrapText("fix: " + problem.fix, 2);
    list.push_back({{"severity", data::SeverityName(problem.severity)},
                    {"column", problem.column},
                    {"parties", problem.parties},
                    {"what", problem.what},
                    {"fix", problem.fix}});
  }
  PrintResult(output, text, Json{{"parties", summaries.size()}, {"problems", list}}.dump(),
              usable ? "done" : "problems");
  return usable ? kDone : kBadData;
}

void AddTableComparison(CLI::App* data, Invocation& invocation) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* command = AddCommand(
      data, "compare", "data compare",
      "Find what the tables of several parties mean differently, from summaries", invocation,
      [&invocation, files] { return RunTableComparison(invocation.output, *files); });
  command->add_option("SUMMARY", *files, "Summaries of data check --share, one per party")
      ->required();
  command->footer(
      "Finds other codes for levels, decimal commas, units ten or a thousand times apart, missing\n"
      "levels, whole numbers where others have decimals, keys of another form. Exit code 7 if "
      "there\nis a problem; warnings alone are 0.");
}

// -------------------------------------------------------------------------------------- mock

struct MockCommand {
  std::string study, output;
  uint64_t rows = 200, seed = 1;
};

int RunMock(const OutputOptions& output, const MockCommand& command) {
  const std::unique_ptr<const run::Study> owner =
      methods::PrepareStudy(methods::LoadStudyFile(command.study));
  const run::Study& study = *owner;
  const data::MockStudy mock = run::MakeMockTables(study, command.rows, command.seed);
  const std::vector<fs::path> paths = run::WriteMockTables(study, mock, command.output);
  Json files = Json::array();
  std::string text = fmt::format("{} mock rows\n", FormatCount(mock.pooled.num_rows));
  for (size_t party = 0; party < paths.size(); ++party) {
    if (paths[party].empty()) continue;
    files.push_back({{"party", study.parties[party].name}, {"file", paths[party].string()}});
    text += fmt::format("wrote {}\n", paths[party].string());
  }
  PrintResult(output, text, Json{{"rows", mock.pooled.num_rows}, {"files", files}}.dump());
  return kDone;
}

void AddMock(CLI::App* data, Invocation& invocation) {
  auto options = std::make_shared<MockCommand>();
  CLI::App* command = AddCommand(
      data, "mock", "data mock", "Make a mock table for every holder, from the study file alone",
      invocation, [&invocation, options] { return RunMock(invocation.output, *options); });
  command->add_option("--study", options->study, "The study file")->required();
  command->add_option("--output", options->output, "The folder to write PARTY/data.csv in")
      ->required();
  command
      ->add_option("--rows", options->rows,
                   "Rows of every block for which the study declares no count")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "The same seed gives the same tables")
      ->capture_default_str();
  command->footer(
      "Nothing of real data is in mock tables: they have the columns, types, bounds, levels, "
      "blocks\n"
      "and keys that the study file describes. Existing files are never overwritten.");
}

}  // namespace

void AddDataCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* data = app.add_subcommand("data", "Prepare, check, compare and imitate tables");
  data->require_subcommand(1);
  AddDescribe(data, invocation);
  AddTableCheck(data, invocation);
  AddTableComparison(data, invocation);
  AddMock(data, invocation);
  AddFreezeCommand(*data, invocation);
  AddEditionCommands(*data, invocation);
}

}  // namespace partita::cli
