#include <algorithm>
#include <nlohmann/json.hpp>

#include "node/web/api.h"

namespace partita::node::web {
namespace {

// Numbers beyond it are no numbers in a browser.
constexpr size_t kMostEntry = size_t{1} << 53;

bool IsStudyNumber(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Of studies that the node has.
std::string TitleOf(Site& site, const std::string& study) {
  if (study.empty()) return "";
  try {
    return NamesOf(site, study).name;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    return "";
  }
}

}  // namespace

net::HttpResponse ShowAudit(Site& site, const Call& call) {
  const auto value = [&call](const char* name) {
    const auto found = call.query.find(name);
    return found == call.query.end() ? std::string() : found->second;
  };
  WebJson request = {{"do", "audit"},
                     {"actor", value("actor")},
                     {"before", NumberIn(call, "before", 0, kMostEntry, 0)},
                     {"limit", NumberIn(call, "limit", 1, 500, 100)}};
  if (const std::string study = value("study"); !study.empty()) {
    if (!IsStudyNumber(study)) {
      throw Error(ErrorCode::kUsage, "'study' of the address is no number of a study",
                  "Look at openapi.json.");
    }
    request["study"] = study;
  }
  const WebJson said = site.AskNode(request);
  WebJson entries = WebJson::array();
  for (const WebJson& entry : said.at("entries")) {
    WebJson shown;
    for (const char* key : {"number", "time", "kind", "actor", "action", "study"})
      shown[key] = entry.at(key);
    shown["name"] = TitleOf(site, entry.at("study"));
    for (const char* key : {"subject", "outcome", "message"}) shown[key] = entry.at(key);
    entries.push_back(shown);
  }
  return JsonAnswer({{"entries", entries},
                     {"next", said.at("next")},
                     {"count", said.at("count")},
                     {"head", said.at("head")},
                     {"fault", said.at("fault")}});
}

}  // namespace partita::node::web
