#include "node/job/own_dictionary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "data/describe.h"
#include "data/holding.h"
#include "node/job/statement.h"
#include "run/party/table_columns.h"
#include "study/file/dictionary_compare.h"
#include "study/file/text.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;
using DraftJson = nlohmann::ordered_json;

std::optional<study::SiteDictionary> OwnDictionary(const JobSettings& settings,
                                                   const std::string& table) {
  const std::optional<std::string> text = DictionaryText(settings.dictionaries, table);
  if (!text) return std::nullopt;
  return study::ParseSiteDictionary(*text, DictionaryFile(settings.dictionaries, table).string());
}

// Why a column is not drafted; empty: it is.
std::string WhyLeftOut(const data::ColumnProfile& column) {
  switch (data::GuessType(column)) {
    case data::DraftType::kKey:
      return "another text in every row: it names the row";
    case data::DraftType::kFreeText:
      return "free text";
    case data::DraftType::kEmpty:
      return "empty";
    default:
      return data::IsVariableName(column.name) ? "" : "no study can name it";
  }
}

}  // namespace

fs::path DictionaryFile(const fs::path& folder, const std::string& table) {
  return folder / (table + ".toml");
}

std::optional<std::string> DictionaryText(const fs::path& folder, const std::string& table) {
  const fs::path file = DictionaryFile(folder, table);
  if (!fs::exists(file)) return std::nullopt;
  return ReadFile(file, study::kMaxSiteDictionaryBytes, "the dictionary of a table");
}

std::string HiddenColumns(const JobSettings& settings, const std::string& table,
                          const Prepared& prepared) {
  const auto dictionary = OwnDictionary(settings, table);
  if (!dictionary) return "";
  std::string names;
  for (const std::string& column :
       study::HiddenAmong(*dictionary, run::TableColumns(*prepared.study, prepared.party)))
    names += (names.empty() ? "" : ", ") + study::Quote(column);
  return names;
}

void RequireOffered(const JobSettings& settings, const std::string& table,
                    const Prepared& prepared) {
  const std::string hidden = HiddenColumns(settings, table, prepared);
  if (hidden.empty()) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("the dictionary of {} hides what the study asks for: {}", table, hidden),
              "Reject the study, or make these visible in the dictionary.");
}

std::string DictionaryDifferences(const JobSettings& settings, const std::string& table,
                                  const Prepared& prepared) {
  const auto dictionary = OwnDictionary(settings, table);
  if (!dictionary) return "";
  const run::Study& study = *prepared.study;
  data::Schema asked = data::SchemaForParty(study.file.dictionary, study.partition, prepared.party,
                                            study.row_columns);
  // The column that names a row's block is the site's own way to file its rows.
  std::erase_if(asked.columns, [&](const data::ColumnSchema& column) {
    return study.file.dictionary.Find(column.name) == nullptr;
  });
  const std::vector<std::string> differences = study::DifferencesFrom(*dictionary, asked);
  if (differences.empty())
    return fmt::format("Its variables are as the dictionary of {} says.\n", table);
  constexpr size_t kRoomForMore = 64;
  std::string text = fmt::format("The study departs from the dictionary of {} in {} {}:\n", table,
                                 differences.size(), differences.size() == 1 ? "place" : "places");
  for (size_t i = 0; i < differences.size(); ++i) {
    if (text.size() + differences[i].size() + kRoomForMore > kMaxDictionaryText)
      return text + fmt::format("and {} more\n", differences.size() - i);
    text += differences[i] + "\n";
  }
  return text;
}

std::string DraftOfTable(const JobSettings& settings, const std::string& table) {
  const auto found = settings.catalogue.find(table);
  if (found == settings.catalogue.end())
    throw Error(ErrorCode::kUsage, "there is no such table at this node", "partita node tables");
  DraftJson json = {{"variables", DraftJson::array()}, {"left_out", DraftJson::array()}};
  try {
    const data::TableProfile profile = data::ProfileTableFile(found->second.data, std::nullopt);
    for (const data::ColumnProfile& column : profile.columns) {
      const std::string why = WhyLeftOut(column);
      if (why.empty()) {
        json["variables"].push_back(
            {{"name", column.name}, {"type", data::DraftTypeName(data::GuessType(column))}});
      } else {
        json["left_out"].push_back({{"name", column.name}, {"why", why}});
      }
    }
  } catch (const Error& error) {
    json = {{"problem", error.message()}};
  }
  return json.dump(-1, ' ', false, DraftJson::error_handler_t::replace);
}

}  // namespace partita::node
