#include "node/record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text_table.h"
#include "base/utc_time.h"

namespace partita::node {
namespace {

using RecordJson = nlohmann::ordered_json;

// Of `entries`, in this order.
constexpr const char* kColumns[] = {
    "study",     "name",     "title",    "purpose",         "ethics",       "legal_basis",
    "contact",   "state",    "proposer", "parties",         "recipients",   "unit",
    "rows",      "methods",  "table",    "variables",       "decisions",    "began",
    "first_run", "last_run", "ended",    "may_have_opened", "result_until", "documents_until"};

bool IsDecision(const std::string& action) {
  return action == "approval" || action == "rejection" || action == "withdrawal";
}

std::string ByText(const RecordJson& entry) {
  const std::string kind = entry.at("kind"), actor = entry.at("actor");
  return actor.empty() ? kind : kind + " " + actor;
}

std::string VariableText(const RecordJson& variable) {
  const std::string unit = variable.at("unit");
  return variable.at("name").get<std::string>() + (unit.empty() ? "" : " (" + unit + ")");
}

std::string ItemText(const RecordJson& item) {
  if (item.is_string()) return item.get<std::string>();
  if (item.contains("roles")) {
    return fmt::format("{} ({})", item.at("name").get<std::string>(),
                       fmt::join(item.at("roles").get<std::vector<std::string>>(), ", "));
  }
  if (item.contains("decision")) {
    return fmt::format("{} {} of {} by {}", item.at("time").get<std::string>(),
                       item.at("decision").get<std::string>(), item.at("party").get<std::string>(),
                       item.at("by").get<std::string>());
  }
  return VariableText(item);
}

std::string ValueText(const RecordJson& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return value.get<std::string>();
  std::string text;
  for (const RecordJson& item : value) text += (text.empty() ? "" : "; ") + ItemText(item);
  return text;
}

// RFC 4180; programs that compute take what begins like a formula for one, so that gets an apostrophe.
std::string CsvCell(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos)
    text.insert(text.begin(), '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string Line(const char* label, const std::string& text) {
  return text.empty() ? "" : WrapText(std::string(label) + ": " + text, 2);
}

std::string EntryText(const RecordJson& entry) {
  const auto text = [&entry](const char* key) { return ValueText(entry.at(key)); };
  const std::string ended = text("ended"), table = text("table"), rows = text("rows");
  std::string lines = WrapText(
      fmt::format("{}  {}: {}", text("began").substr(0, 10), text("name"), text("title")), 0);
  lines += Line("number", text("study"));
  lines += Line("state", fmt::format("{}{}, proposed by {}", text("state"),
                                     ended.empty() ? "" : " on " + ended, text("proposer")));
  lines += Line("outcome", entry.at("may_have_opened").get<bool>()
                               ? "something was opened, or may have been"
                               : "nothing was opened");
  lines += Line("purpose", text("purpose")) + Line("ethics reference", text("ethics")) +
           Line("legal basis", text("legal_basis")) + Line("contact", text("contact"));
  lines += Line("methods", text("methods")) + Line("parties", text("parties")) +
           Line("results go to", text("recipients"));
  lines += Line("of", text("unit") + (rows.empty() ? "" : " where " + rows));
  lines += Line("categories", text("variables") + (table.empty() ? "" : ", of table " + table));
  for (const RecordJson& decision : entry.at("decisions"))
    lines += Line("decided", ItemText(decision));
  lines += Line("runs",
                text("first_run").empty() ? "none" : text("first_run") + " to " + text("last_run"));
  if (ended.empty()) return lines + Line("kept", "until it is over, and then as node.toml says");
  return lines + Line("kept", fmt::format("result until {}, documents until {}",
                                          text("result_until"), text("documents_until")));
}

}  // namespace

std::optional<int64_t> DayAsked(const std::string& text, bool is_end) {
  if (text.empty()) return std::nullopt;
  const bool is_day = text.size() == 10;
  const std::optional<int64_t> time = is_end ? ParseUntil(text) : ParseUtc(text + "T00:00:00Z");
  if (is_day && time) return time;
  throw Error(ErrorCode::kUsage, "the record is of days, and this is none: " + text,
              "Write it like 2026-01-31.");
}

bool WasOpenWithin(const RecordJson& study, std::optional<int64_t> from,
                   std::optional<int64_t> until) {
  const auto began = ParseUtc(study.at("began").get<std::string>());
  const RecordJson& kept = study.at("kept");
  if (until && began && *began > *until) return false;
  if (!from || kept.is_null()) return true;
  const auto ended = ParseUtc(kept.at("ended").get<std::string>());
  return !ended || *ended >= *from;
}

RecordJson RecordEntry(const std::string& own, const RecordJson& study, const RecordJson& log,
                       const FileRead& read) {
  RecordJson entry = {{"study", study.at("study")}, {"name", read.name}, {"title", read.title}};
  for (const study::Declared& declared : study::AllOf(read.use.declared))
    entry[declared.key] = *declared.text;
  entry["state"] = study.at("state");
  entry["proposer"] = study.at("proposer");
  entry["parties"] = RecordJson::array();
  for (const FileParty& party : read.use.parties)
    entry["parties"].push_back({{"name", party.name}, {"roles", party.roles}});
  entry["recipients"] = read.use.recipients;
  entry["unit"] = read.use.unit;
  entry["rows"] = read.use.rows;
  entry["methods"] = read.use.methods;
  entry["table"] = study.at("table");
  entry["variables"] = RecordJson::array();
  for (const FileVariable& variable : read.variables) {
    if (std::find(variable.holders.begin(), variable.holders.end(), own) == variable.holders.end())
      continue;
    entry["variables"].push_back(
        {{"name", variable.name}, {"type", variable.type}, {"unit", variable.unit}});
  }
  RecordJson decisions = RecordJson::array();
  std::string first_run, last_run;
  for (auto logged = log.rbegin(); logged != log.rend(); ++logged) {
    const std::string action = logged->at("action"), time = logged->at("time");
    if (action == "run-begin" && first_run.empty()) first_run = time;
    if (action == "run-begin" || action == "run-end") last_run = time;
    if (!IsDecision(action)) continue;
    const std::string subject = logged->at("subject");
    decisions.push_back(
        {{"time", time},
         {"party", subject.empty() ? logged->at("actor").get<std::string>() : subject},
         {"decision", action},
         {"by", ByText(*logged)}});
  }
  entry["decisions"] = decisions;
  entry["began"] = study.at("began");
  entry["first_run"] = first_run;
  entry["last_run"] = last_run;
  const RecordJson& kept = study.at("kept");
  entry["ended"] = kept.is_null() ? RecordJson("") : kept.at("ended");
  entry["may_have_opened"] =
      study.at("charged").get<bool>() || study.at("state").get<std::string>() == "finished";
  for (const char* key : {"result_until", "documents_until"})
    entry[key] = kept.is_null() ? RecordJson("") : kept.at(key);
  return entry;
}

std::string RecordText(const RecordJson& entries) {
  if (entries.empty()) return "no studies";
  std::string text;
  for (const RecordJson& entry : entries) text += (text.empty() ? "" : "\n") + EntryText(entry);
  return text;
}

std::string RecordCsv(const RecordJson& entries) {
  std::string csv;
  for (const char* column : kColumns) csv += (csv.empty() ? "" : ",") + std::string(column);
  csv += "\r\n";
  for (const RecordJson& entry : entries) {
    std::string line;
    for (const char* column : kColumns) {
      if (column != kColumns[0]) line += ",";
      line += CsvCell(ValueText(entry.at(column)));
    }
    csv += line + "\r\n";
  }
  return csv;
}

}  // namespace partita::node
