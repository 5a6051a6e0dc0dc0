// The dictionaries of tables: read by all people of the site, written by its stewards. What is written is checked by
// the code that reads study files.
#include <nlohmann/json.hpp>

#include "node/web/api.h"
#include "node/web/fields.h"
#include "study/file/dictionary_compare.h"
#include "study/file/site_dictionary.h"
#include "study/file/study_file.h"

namespace partita::node::web {
namespace {

using study::SiteDictionary;
using study::SiteVariable;

constexpr size_t kMaxWord = 4096;    // of a field, before it is looked at
constexpr size_t kMaxListed = 2000;  // levels, missing codes

WebJson VariableJson(const SiteVariable& variable) {
  return {{"name", variable.name},
          {"type", variable.type},
          {"description", variable.description},
          {"unit", variable.unit},
          {"lower", variable.lower},
          {"upper", variable.upper},
          {"levels", variable.levels},
          {"missing_codes", variable.missing_codes},
          {"reference", variable.reference},
          {"contrasts", variable.contrasts},
          {"time", variable.time},
          {"event", variable.event},
          {"hidden", variable.hidden}};
}

SiteVariable TakeVariable(Fields& fields) {
  SiteVariable variable;
  variable.name = fields.Text("name", kMaxWord);
  variable.type = fields.Text("type", kMaxWord);
  variable.description = fields.Text("description", kMaxWord);
  variable.unit = fields.Text("unit", kMaxWord);
  variable.lower = fields.Text("lower", kMaxWord);
  variable.upper = fields.Text("upper", kMaxWord);
  variable.levels = fields.Texts("levels", kMaxListed, kMaxWord);
  variable.missing_codes = fields.Texts("missing_codes", kMaxListed, kMaxWord);
  variable.reference = fields.Text("reference", kMaxWord);
  variable.contrasts = fields.Text("contrasts", kMaxWord);
  variable.time = fields.Text("time", kMaxWord);
  variable.event = fields.Text("event", kMaxWord);
  variable.hidden = fields.Flag("hidden");
  fields.End();
  return variable;
}

SiteDictionary TakeDictionary(Fields& fields) {
  SiteDictionary dictionary;
  for (Fields& variable : fields.Objects("variables", study::kMaxVariables))
    dictionary.variables.push_back(TakeVariable(variable));
  return dictionary;
}

WebJson KeptNow(const Site& site, const std::string& table) {
  return site.AskNode({{"do", "dictionary"}, {"table", table}});
}

// One that is kept and cannot be read, any more or by this release, has no variables to compare with.
SiteDictionary ReadKept(const std::string& text) {
  try {
    return study::ParseSiteDictionary(text, "dictionary");
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

WebJson SiteDictionaryJson(const WebJson& kept) {
  const std::string text = kept.at("text");
  if (kept.at("version").get<std::string>().empty()) return nullptr;
  WebJson json = {{"version", kept.at("version")},
                  {"variables", WebJson::array()},
                  {"offered", WebJson::array()},
                  {"problem", ""}};
  try {
    for (const SiteVariable& variable : study::ParseSiteDictionary(text, "dictionary").variables) {
      json["variables"].push_back(VariableJson(variable));
      if (!variable.hidden)
        json["offered"].push_back(
            {{"name", variable.name}, {"text", study::OfferedVariable(variable)}});
    }
  } catch (const Error& error) {
    json["variables"] = WebJson::array();
    json["offered"] = WebJson::array();
    json["problem"] = WithoutPaths(error.message());
  }
  return json;
}

net::HttpResponse CheckDictionary(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const SiteDictionary dictionary = TakeDictionary(fields);
  fields.End();
  const WebJson kept = KeptNow(site, call.parts.at(0));
  WebJson problems = WebJson::array();
  for (const study::DictionaryProblem& problem : study::ProblemsOf(dictionary)) {
    problems.push_back(
        {{"variable", problem.variable}, {"message", problem.message}, {"hint", problem.hint}});
  }
  return JsonAnswer({{"version", kept.at("version")},
                     {"problems", problems},
                     {"changes", study::ChangesBetween(ReadKept(kept.at("text")), dictionary)}});
}

net::HttpResponse SaveDictionary(Site& site, const Call& call) {
  const std::string& table = call.parts.at(0);
  Fields fields(call.request.body);
  const SiteDictionary dictionary = TakeDictionary(fields);
  const std::string version = fields.Text("version", 64);
  fields.End();
  site.AskNodeFor(call, {{"do", "save-dictionary"},
                         {"table", table},
                         {"text", study::SiteDictionaryText(dictionary)},
                         {"version", version}});
  return JsonAnswer({{"dictionary", SiteDictionaryJson(KeptNow(site, table))}});
}

net::HttpResponse DraftDictionary(Site& site, const Call& call) {
  Fields(call.request.body).End();
  const WebJson said = site.AskNode({{"do", "draft-dictionary"}, {"table", call.parts.at(0)}});
  WebJson json = {{"variables", WebJson::array()}, {"left_out", WebJson::array()}};
  for (const WebJson& column : said.at("variables")) {
    SiteVariable variable;
    variable.name = column.at("name");
    variable.type = column.at("type");
    variable.hidden = true;  // until somebody who knows it says otherwise
    json["variables"].push_back(VariableJson(variable));
  }
  for (const WebJson& column : said.at("left_out"))
    json["left_out"].push_back({{"name", column.at("name")}, {"why", column.at("why")}});
  return JsonAnswer(json);
}

}  // namespace partita::node::web
