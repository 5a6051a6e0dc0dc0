// partita match check (run and what belongs to it: match_run_commands.cc)
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/separator.h"
#include "data/csv_writer.h"
#include "data/describe.h"
#include "run/matching/matching_plan.h"
#include "study/file/text.h"

namespace partita::cli {
namespace {

constexpr mode_t kLeftOutMode = 0600;
constexpr size_t kShownLines = 10;  // faulty cells, and duplicates of a pass

struct MatchCheckCommand {
  std::string file, party, table, separator, left_out;
};

std::string LineList(const std::vector<uint64_t>& lines) {
  std::vector<std::string> texts;
  for (const uint64_t line : lines) texts.push_back(std::to_string(line));
  return study::Join(texts);
}

uint64_t RowsOf(const std::vector<match::DuplicateKey>& duplicates) {
  uint64_t rows = 0;
  for (const match::DuplicateKey& duplicate : duplicates) rows += duplicate.lines.size();
  return rows;
}

bool WouldRun(const match::KeySpec& spec, const match::KeyReport& report) {
  if (spec.faulty == match::Unusable::kRefuse && !report.faulty.empty()) return false;
  if (spec.duplicates == match::Unusable::kLeaveOut) return true;
  for (const match::PassReport& pass : report.passes) {
    if (!pass.duplicates.empty()) return false;
  }
  return true;
}

std::string ColumnTable(const run::MatchingParty& party, const match::KeyReport& report) {
  TextTable table{
      {"column", "in the table", "without a value", "written otherwise", "faulty"}, {2, 3, 4}, {}};
  for (size_t c = 0; c < party.keys.columns.size(); ++c) {
    uint64_t faulty = 0;
    for (const match::FaultyCell& cell : report.faulty)
      faulty += cell.column == party.keys.columns[c].name ? 1 : 0;
    table.rows.push_back({party.keys.columns[c].name, party.headers[c],
                          FormatCount(report.missing[c]), FormatCount(report.changed[c]),
                          FormatCount(faulty)});
  }
  return RenderTable(table, 0);
}

std::string PassTable(const run::MatchingParty& party, const match::KeyReport& report) {
  TextTable table{{"pass", "by", "rows that can match", "without a key", "with a key of others"},
                  {2, 3, 4},
                  {}};
  for (size_t p = 0; p < report.passes.size(); ++p) {
    const match::PassReport& pass = report.passes[p];
    table.rows.push_back({std::to_string(p + 1), run::PassName(party, p), FormatCount(pass.usable),
                          FormatCount(pass.without_key), FormatCount(RowsOf(pass.duplicates))});
  }
  return RenderTable(table, 0);
}

std::string MoreLines(size_t count, const std::string& option) {
  return count <= kShownLines ? ""
                              : fmt::format("  ... and {} more ({} writes all)\n",
                                            FormatCount(count - kShownLines), option);
}

std::string ReportText(const run::MatchingParty& party, const std::string& source,
                       const match::KeyReport& report) {
  std::string text =
      fmt::format("{}: {} of at most {} rows\n\n{}\n{}", source, FormatCount(report.rows),
                  FormatCount(party.rows), ColumnTable(party, report), PassTable(party, report));
  if (!report.faulty.empty()) text += "\nCells that do not fit their rule:\n";
  for (size_t i = 0; i < std::min(report.faulty.size(), kShownLines); ++i) {
    const match::FaultyCell& cell = report.faulty[i];
    text += WrapText(fmt::format("line {}, {}: {}", cell.line, cell.column, cell.problem), 2);
  }
  text += MoreLines(report.faulty.size(), "--left-out");
  for (size_t p = 0; p < report.passes.size(); ++p) {
    const std::vector<match::DuplicateKey>& duplicates = report.passes[p].duplicates;
    if (duplicates.empty()) continue;
    text += fmt::format("\nRows with one key in pass {} ({}):\n", p + 1, run::PassName(party, p));
    for (size_t i = 0; i < std::min(duplicates.size(), kShownLines); ++i)
      text += WrapText("lines " + LineList(duplicates[i].lines), 2);
    text += MoreLines(duplicates.size(), "--left-out");
  }
  return text + (WouldRun(party.keys, report)
                     ? "\nWhat is listed here is left out; everything else takes part.\n"
                     : "\nThe matching would be refused: correct the table, or agree on faulty or "
                       "duplicates = \"leave-out\".\n");
}

Json ReportJson(const run::MatchingParty& party, const std::string& source,
                const match::KeyReport& report) {
  Json columns = Json::array(), faulty = Json::array(), passes = Json::array();
  for (size_t c = 0; c < party.keys.columns.size(); ++c) {
    columns.push_back({{"name", party.keys.columns[c].name},
                       {"header", party.headers[c]},
                       {"missing", report.missing[c]},
                       {"changed", report.changed[c]}});
  }
  for (const match::FaultyCell& cell : report.faulty)
    faulty.push_back({{"line", cell.line}, {"column", cell.column}, {"problem", cell.problem}});
  for (size_t p = 0; p < report.passes.size(); ++p) {
    const match::PassReport& pass = report.passes[p];
    Json duplicates = Json::array();
    for (const match::DuplicateKey& duplicate : pass.duplicates)
      duplicates.push_back(duplicate.lines);
    Json names = Json::array();
    for (const size_t column : party.keys.passes[p])
      names.push_back(party.keys.columns[column].name);
    passes.push_back({{"by", names},
                      {"usable", pass.usable},
                      {"without_key", pass.without_key},
                      {"duplicates", duplicates}});
  }
  return {{"file", source},
          {"rows", report.rows},
          {"bound", party.rows},
          {"columns", columns},
          {"passes", passes},
          {"faulty", faulty},
          {"accepted", WouldRun(party.keys, report)}};
}

// A line for every row and pass that it takes no part in, but for cells that are just empty.
std::string LeftOut(const match::KeyReport& report) {
  std::string csv = "line,pass,why\n";
  for (const match::FaultyCell& cell : report.faulty)
    csv += fmt::format("{},,{}\n", cell.line,
                       data::QuotedField(cell.column + " " + cell.problem, ','));
  for (size_t p = 0; p < report.passes.size(); ++p) {
    for (const match::DuplicateKey& duplicate : report.passes[p].duplicates) {
      const std::string why =
          data::QuotedField("lines " + LineList(duplicate.lines) + " have one key", ',');
      for (const uint64_t line : duplicate.lines)
        csv += fmt::format("{},{},{}\n", line, p + 1, why);
    }
  }
  return csv;
}

int RunMatchCheck(const OutputOptions& output, const MatchCheckCommand& command) {
  const run::MatchingFile file = run::LoadMatchingFile(command.file);
  const run::MatchingParty& party = run::MatchingPartyByName(file, command.party);
  const std::optional<char> given = SeparatorOf(command.separator);
  const match::KeyReport report =
      run::ReadKeyList(party, command.table, given ? *given : data::FindSeparator(command.table))
          .report;
  std::string text = ReportText(party, command.table, report);
  if (!command.left_out.empty()) {
    WriteOutput(output, command.left_out, LeftOut(report), kLeftOutMode, "the rows left out");
    text += fmt::format("wrote {}\n", command.left_out);
  }
  const bool accepted = WouldRun(party.keys, report);
  PrintResult(output, text, ReportJson(party, command.table, report).dump(),
              accepted ? "done" : "problems");
  return accepted ? kDone : kBadData;
}

void AddMatchCheck(CLI::App* match, Invocation& invocation) {
  auto options = std::make_shared<MatchCheckCommand>();
  CLI::App* command = AddCommand(
      match, "check", "match check",
      "Say which rows of a table can be matched and which are left out, before anything is sent",
      invocation, [&invocation, options] { return RunMatchCheck(invocation.output, *options); });
  command->add_option("FILE", options->file, "The matching file")->required();
  command->add_option("--party", options->party, "Whose table it is")->required();
  command->add_option("--data", options->table, "The table")->required();
  AddSeparator(*command, options->separator, "what the header has most of");
  AddNewFile(*command, invocation, "--left-out", options->left_out,
             "Write every line that is left out, and why (readable by its owner only)");
  command->footer(
      "Everything that is printed is for the owner of the table only; nothing is sent. Exit code "
      "7\n"
      "if the matching would be refused.");
}

}  // namespace

void AddMatchCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* match = app.add_subcommand("match", "Match the people of several institutions' lists");
  match->require_subcommand(1);
  AddMatchCheck(match, invocation);
  AddMatchRunCommands(*match, invocation);
}

}  // namespace partita::cli
