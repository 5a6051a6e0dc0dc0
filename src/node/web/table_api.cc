#include <algorithm>
#include <nlohmann/json.hpp>

#include "node/web/api.h"

namespace partita::node::web {
namespace {

constexpr size_t kMostDictionaries = 256;

WebJson TablesSaid(Site& site, bool budgets) {
  return site.AskNode({{"do", "tables"}, {"budgets", budgets}});
}

WebJson VariableJson(const FileVariable& variable) {
  return {{"name", variable.name},
          {"type", variable.type},
          {"unit", variable.unit},
          {"bounds", variable.bounds},
          {"levels", variable.levels}};
}

// Those of a study's file that this site contributes. The file is asked for and read once, by the reader; one that it
// cannot read has none.
WebJson VariablesOf(Site& site, const std::string& study, const std::string& own) {
  {
    const std::lock_guard lock(site.mutex);
    const auto found = site.dictionaries.find(study);
    if (found != site.dictionaries.end()) return WebJson::parse(found->second);
  }
  WebJson variables = WebJson::array();
  try {
    const std::string file = site.AskNode({{"do", "study"}, {"study", study}}).at("file");
    for (const FileVariable& variable : site.reader(file, FileDepth::kVariables).variables) {
      const auto& holders = variable.holders;
      if (std::find(holders.begin(), holders.end(), own) != holders.end())
        variables.push_back(VariableJson(variable));
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnreachable) throw;
  }
  const std::lock_guard lock(site.mutex);
  if (site.dictionaries.size() >= kMostDictionaries) site.dictionaries.clear();
  site.dictionaries[study] = variables.dump(-1, ' ', false, WebJson::error_handler_t::replace);
  return variables;
}

bool IsApprovedHere(const WebJson& study, const std::string& own) {
  const std::vector<std::string> approved = study.at("approved");
  return std::find(approved.begin(), approved.end(), own) != approved.end();
}

// `studies`: the newest first. What no steward here approved describes nothing.
WebJson DictionaryOf(Site& site, const WebJson& table, const WebJson& studies,
                     const std::string& own) {
  for (const WebJson& study : studies) {
    if (study.at("table") != table.at("name") || !IsApprovedHere(study, own)) continue;
    const std::string id = study.at("study");
    return {
        {"study", id}, {"name", NamesOf(site, id).name}, {"variables", VariablesOf(site, id, own)}};
  }
  return nullptr;
}

WebJson UsesOf(Site& site, const WebJson& table, const WebJson& studies, const std::string& own) {
  WebJson uses = WebJson::array();
  for (const WebJson& study : studies) {
    if (study.at("table") != table.at("name")) continue;
    WebJson use = {{"study", study.at("study")}, {"name", NamesOf(site, study.at("study")).name}};
    for (const char* key : {"proposer", "state", "charged", "began"}) use[key] = study.at(key);
    use["approved"] = IsApprovedHere(study, own);
    uses.push_back(use);
  }
  return uses;
}

// Of a ledger for people; null where there is none.
WebJson BudgetJson(const WebJson& said) {
  if (!said.is_object()) return nullptr;
  WebJson budget = {{"lines", WebJson::array()}};
  for (const WebJson& line : said.at("lines")) {
    WebJson& shown = budget["lines"].emplace_back();
    for (const char* key :
         {"against", "neighbours", "epsilon", "delta", "spent", "reserved", "left", "share_left"})
      shown[key] = line.at(key);
  }
  for (const char* key : {"exact", "notes", "open"}) budget[key] = said.at(key);
  budget["history"] = WebJson::array();
  for (const WebJson& entry : said.at("history")) {
    WebJson& shown = budget["history"].emplace_back();
    for (const char* key :
         {"number", "time", "study", "outside", "insider", "left", "outcome", "mechanisms"})
      shown[key] = entry.at(key);
  }
  return budget;
}

WebJson FrozenJson(Site& site, const WebJson& said) {
  if (!said.is_object()) return nullptr;
  return {{"study", said.at("study")},
          {"name", NamesOf(site, said.at("study")).name},
          {"rows", said.at("rows")},
          {"missing_cells", said.at("missing_cells")}};
}

}  // namespace

net::HttpResponse ListTables(Site& site, const Call&) {
  const WebJson said = TablesSaid(site, false);
  const WebJson& studies = said.at("studies");
  LearnNames(site, studies);
  const std::string own = site.Name();
  WebJson tables = WebJson::array();
  for (const WebJson& table : said.at("tables")) {
    tables.push_back({{"name", table.at("name")},
                      {"source", table.at("source")},
                      {"present", table.at("present")},
                      {"own", SiteDictionaryJson(table.at("dictionary"))},
                      {"dictionary", DictionaryOf(site, table, studies, own)},
                      {"studies", UsesOf(site, table, studies, own)}});
  }
  return JsonAnswer({{"tables", tables}});
}

net::HttpResponse ShowBudgets(Site& site, const Call&) {
  const WebJson said = TablesSaid(site, true);
  WebJson tables = WebJson::array();
  for (const WebJson& table : said.at("tables")) {
    tables.push_back({{"name", table.at("name")},
                      {"exact_served", table.at("exact_served")},
                      {"frozen", FrozenJson(site, table.at("frozen"))},
                      {"problem", WithoutPaths(table.at("problem"))},
                      {"budget", BudgetJson(table.at("budget"))}});
  }
  return JsonAnswer({{"tables", tables}});
}

}  // namespace partita::node::web
