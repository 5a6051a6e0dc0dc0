#include <nlohmann/json.hpp>

#include "node/record/record.h"
#include "node/web/api.h"

namespace partita::node::web {
namespace {

constexpr size_t kMostAuditAsked = 500;

WebJson LogOfStudy(const Site& site, const std::string& study) {
  WebJson entries = WebJson::array();
  uint64_t before = 0;
  do {
    const WebJson page = site.AskNode({{"do", "audit"},
                                       {"actor", ""},
                                       {"study", study},
                                       {"before", before},
                                       {"limit", kMostAuditAsked}});
    for (const WebJson& entry : page.at("entries")) entries.push_back(entry);
    const uint64_t next = page.at("next");
    if (before != 0 && next >= before)
      throw Error(ErrorCode::kInternal, "the node's audit log has no end", "please report this");
    before = next;
  } while (before != 0);
  return entries;
}

std::string ValueIn(const Call& call, const char* name) {
  const auto found = call.query.find(name);
  return found == call.query.end() ? "" : found->second;
}

}  // namespace

net::HttpResponse ShowRecord(Site& site, const Call& call) {
  const auto from = DayAsked(ValueIn(call, "from"), false);
  const auto until = DayAsked(ValueIn(call, "until"), true);
  const WebJson page = site.AskNode({{"do", "list"},
                                     {"which", "all"},
                                     {"after", ValueIn(call, "after")},
                                     {"limit", NumberIn(call, "limit", 1, 20, 20)}});
  const std::string own = site.Name();
  WebJson entries = WebJson::array();
  for (const WebJson& listed : page.at("studies")) {
    const std::string id = listed.at("study");
    const WebJson study = site.AskNode({{"do", "study"}, {"study", id}});
    if (!WasOpenWithin(study, from, until)) continue;
    FileRead read;
    try {
      read = site.reader(study.at("file").get<std::string>(), FileDepth::kVariables);
    } catch (const Error& error) {
      // A peer's file that no reader can read has no words.
      site.log.Write(error, "reading a study for the record");
    }
    entries.push_back(RecordEntry(own, study, LogOfStudy(site, id), read));
  }
  return JsonAnswer({{"site", own}, {"entries", entries}, {"next", page.at("next")}});
}

}  // namespace partita::node::web
