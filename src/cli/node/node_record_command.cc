// partita node record | retention
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "cli/terminal/new_file.h"
#include "node/record/record.h"
#include "node/sign/study_reader.h"

namespace partita::cli {
namespace {

constexpr int64_t kMostLogAsked = 500;

struct NodeRecordOptions {
  NodeOptions node;
  std::string from, until, csv;
};

// Of one study, the newest first.
Json LogOf(const NodeOptions& node, const std::string& study) {
  Json entries = Json::array();
  uint64_t before = 0;
  do {
    const Json page = AskNode(node, {{"do", "audit"},
                                     {"actor", ""},
                                     {"study", study},
                                     {"before", before},
                                     {"limit", kMostLogAsked}});
    for (const Json& entry : page.at("entries")) entries.push_back(entry);
    before = page.at("next");
  } while (before != 0);
  return entries;
}

// All, those first that go on, then those that ended last.
std::vector<std::string> NumbersAt(const NodeOptions& node) {
  std::vector<std::string> numbers;
  std::string after;
  do {
    const Json page =
        AskNode(node, {{"do", "list"}, {"which", "all"}, {"after", after}, {"limit", 100}});
    for (const Json& study : page.at("studies")) numbers.push_back(study.at("study"));
    after = page.at("next");
  } while (!after.empty());
  return numbers;
}

int ShowRecord(const OutputOptions& output, const NodeRecordOptions& options) {
  const auto from = node::DayAsked(options.from, false);
  const auto until = node::DayAsked(options.until, true);
  const std::string own = AskNode(options.node, {{"do", "status"}}).at("name");
  // Their files are other people's.
  const node::FileReader reader = node::ReadFileInChild(StudyReaderProgram());
  Json entries = Json::array();
  for (const std::string& number : NumbersAt(options.node)) {
    const Json study = AskNode(options.node, {{"do", "study"}, {"study", number}});
    if (!node::WasOpenWithin(study, from, until)) continue;
    entries.push_back(node::RecordEntry(
        own, study, LogOf(options.node, number),
        reader(study.at("file").get<std::string>(), node::FileDepth::kVariables)));
  }
  if (!options.csv.empty()) WriteFileAtomically(options.csv, node::RecordCsv(entries));
  PrintResult(
      output, PlainLines(node::RecordText(entries)),
      Json{{"site", own}, {"from", options.from}, {"until", options.until}, {"entries", entries}}
          .dump());
  return kDone;
}

std::string DayOf(const Json& time) { return time.get<std::string>().substr(0, 10); }

std::string AfterEnd(int64_t count, const char* unit) {
  return fmt::format("{} {}{} after the end of their study", count, unit, count == 1 ? "" : "s");
}

int ShowRetention(const OutputOptions& output, const NodeOptions& options) {
  const Json said = AskNode(options, {{"do", "retention"}});
  const auto days = said.at("results_days").get<int64_t>();
  const auto years = said.at("documents_years").get<int64_t>();
  std::string text = fmt::format(
      "frozen rows and keys: go when their study is over; open studies that hold some: {}\n"
      "results: {}\n"
      "study files, offers, approvals, messages: {}\n"
      "audit log, numbers of studies, what was served of tables, the ledger: for good\n"
      "studies that are over: {}; those of which only the number is left: {}\n",
      said.at("frozen").size(), days == 0 ? "as long as study files" : AfterEnd(days, "day"),
      AfterEnd(years, "year"), said.at("over").get<uint64_t>(), said.at("deleted").get<uint64_t>());
  for (const Json& study : said.at("studies")) {
    text +=
        fmt::format("{}  over on {}, result {} {}, documents until {}\n",
                    study.at("study").get<std::string>().substr(0, 12), DayOf(study.at("ended")),
                    study.at("result_kept").get<bool>() ? "until" : "gone since",
                    DayOf(study.at("result_until")), DayOf(study.at("documents_until")));
  }
  PrintResult(output, text, said.dump());
  return kDone;
}

}  // namespace

void AddNodeRecordCommands(CLI::App& node, Invocation& invocation) {
  auto options = std::make_shared<NodeRecordOptions>();
  CLI::App* record = AddCommand(
      &node, "record", "node record",
      "Show what studies did with this site's rows, for its record of processing activities",
      invocation, [&invocation, options] { return ShowRecord(invocation.output, *options); });
  AddAt(record, options->node);
  record->add_option("--from", options->from,
                     "Of studies that were open on this day or later, as 2026-01-01");
  record->add_option("--until", options->until, "Of studies that began on this day or before");
  AddNewFile(*record, invocation, "--csv", options->csv, "Write it as CSV, too");
  auto kept = std::make_shared<NodeOptions>();
  CLI::App* retention = AddCommand(
      &node, "retention", "node retention",
      "Show how long this node keeps what it has of studies, and what goes when", invocation,
      [&invocation, kept] { return ShowRetention(invocation.output, *kept); });
  AddAt(retention, *kept);
}

}  // namespace partita::cli
