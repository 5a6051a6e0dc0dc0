// Of tables and what the site keeps of them. Answers to requests (control.h).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hex.h"
#include "node/daemon/control.h"
#include "node/daemon/request_fields.h"
#include "node/daemon/study_json.h"
#include "node/job/statement.h"

namespace partita::node {
namespace {

using Answered = nlohmann::ordered_json;

constexpr int kMostTableLevels = 8;

Answered DictionaryJson(const KeptDictionary& kept) {
  return {{"text", kept.text}, {"version", kept.version}};
}

// Of the table that a job froze for the study; none: it froze none, or the folder is gone. A statement that cannot be read
// is for the signer to complain of.
std::optional<CommitStatement> FrozenFor(const std::filesystem::path& folder) {
  try {
    const std::string text = FileOfStudy(folder / "statement", kMaxStatementBytes);
    if (text.empty()) return std::nullopt;
    CommitStatement statement = DecodeSignedCommit(AsBytes(text)).statement;
    if (statement.table.empty()) return std::nullopt;
    return statement;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The newest first, with their tables; those of other roles are left out.
Answered StudiesWithTables(std::vector<Study> studies, const std::filesystem::path& run) {
  std::sort(studies.begin(), studies.end(), [](const Study& a, const Study& b) {
    return std::pair(b.began, b.id) < std::pair(a.began, a.id);
  });
  Answered listed = Answered::array();
  for (const Study& study : studies) {
    const std::filesystem::path folder = run / ToHex(study.id);
    const std::string table = FileOfStudy(folder / "table", kMaxTableNameBytes);
    if (table.empty()) continue;
    Answered& json = listed.emplace_back(StudyJson(study));
    AddFilesOf(folder, json);
    json["table"] = table;
  }
  return listed;
}

void AddFrozen(Answered& tables, const Answered& studies, const std::filesystem::path& run) {
  for (Answered& table : tables) {
    table["frozen"] = nullptr;
    for (const Answered& study : studies) {
      if (study.at("table") != table.at("name")) continue;
      const auto statement = FrozenFor(run / study.at("study").get<std::string>());
      if (!statement || statement->table != table.at("name").get<std::string>()) continue;
      table["frozen"] = {{"study", study.at("study")},
                         {"rows", statement->rows},
                         {"missing_cells", statement->missing}};
      break;
    }
  }
}

}  // namespace

void Control::RequireTable(const std::string& name) const {
  for (const CatalogueTable& table : parts_.config.tables) {
    if (table.name == name) return;
  }
  throw Error(ErrorCode::kUsage, "there is no such table at this node", "partita node tables");
}

Control::Answered Control::ListTables(RequestFields& request, const Actor& /*actor*/) {
  const bool budgets = request.Flag("budgets");
  request.End();
  auto said = ParseShallow<Answered>(
      parts_.tables(budgets ? TableLook::kBudgets : TableLook::kPlaces, ""), kMostTableLevels);
  if (!said.is_object() || !said.contains("tables") || !said.at("tables").is_array())
    throw Error(ErrorCode::kInternal, "the job that looks at the tables wrote no list of them",
                "please report this");
  std::vector<Study> all;
  OnLoop([&](Node& node, int64_t) {
    for (const auto& entry : node.open()) all.push_back(entry.second);
    for (Study& study : node.FindOver(0, kMostListed).studies) all.push_back(std::move(study));
  });
  const Answered studies = StudiesWithTables(std::move(all), parts_.run);
  if (budgets) AddFrozen(said.at("tables"), studies, parts_.run);
  for (Answered& table : said.at("tables"))
    table["dictionary"] = DictionaryJson(dictionaries_.Read(table.at("name")));
  return {{"tables", said.at("tables")}, {"studies", studies}};
}

Control::Answered Control::ReadDictionary(RequestFields& request, const Actor& /*actor*/) {
  const std::string table = request.Text("table");
  request.End();
  RequireTable(table);
  return DictionaryJson(dictionaries_.Read(table));
}

Control::Answered Control::SaveDictionary(RequestFields& request, const Actor& actor) {
  const std::string table = request.Text("table"), file = request.Text("text");
  const std::string seen = request.Text("version");
  request.End();
  RequireTable(table);
  const SavedDictionary saved = dictionaries_.Save(table, file, seen);
  Note(actor, AuditAction::kDictionarySaved, table,
       saved.changes.empty() ? "no variable changed"
                             : fmt::format("{}", fmt::join(saved.changes, "; ")));
  return {{"version", saved.version}, {"changes", saved.changes}};
}

Control::Answered Control::DraftDictionary(RequestFields& request, const Actor& /*actor*/) {
  const std::string table = request.Text("table");
  request.End();
  RequireTable(table);
  auto answer = ParseShallow<Answered>(parts_.tables(TableLook::kDraft, table), kMostTableLevels);
  if (!answer.is_object() || (!answer.contains("variables") && !answer.contains("problem")))
    throw Error(ErrorCode::kInternal, "the job that looks at the table wrote no draft",
                "please report this");
  if (answer.contains("problem"))
    throw Error(ErrorCode::kRefused, answer.at("problem").get<std::string>(),
                "Whoever operates the node looks at the table's file.");
  return answer;
}

}  // namespace partita::node
