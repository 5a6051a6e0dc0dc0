#include <nlohmann/json.hpp>

#include "node/web/api.h"
#include "node/web/fields.h"

namespace partita::node::web {
namespace {

// The signer knows a study by its number alone. This node may not have it any more.
std::string NameOfUse(Site& site, const std::string& study) {
  try {
    return NamesOf(site, study).name;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    return "";
  }
}

WebJson PoliciesNow(Site& site) {
  const WebJson said = site.AskSigner({{"do", "policy-list"}});
  WebJson policies = WebJson::array();
  for (const WebJson& policy : said.at("policies")) {
    WebJson shown;
    for (const char* key : {"name", "tables", "from", "until", "results", "max_results", "epsilon",
                            "epsilon_in_all", "exact"})
      shown[key] = policy.at(key);
    shown["uses"] = WebJson::array();
    for (const WebJson& use : policy.at("uses")) {
      shown["uses"].push_back({{"number", use.at("number")},
                               {"study", use.at("study")},
                               {"name", NameOfUse(site, use.at("study"))},
                               {"epsilon", use.at("epsilon")},
                               {"approved", use.at("approved")}});
    }
    shown["text"] = policy.at("text");
    policies.push_back(shown);
  }
  return {{"policies", policies}};
}

}  // namespace

net::HttpResponse ListPolicies(Site& site, const Call&) { return JsonAnswer(PoliciesNow(site)); }

net::HttpResponse EndPolicy(Site& site, const Call& call) {
  const std::string& name = call.parts.at(0);
  Fields fields(call.request.body);
  const std::string passphrase = fields.Text("passphrase", kMaxPassphraseBytes);
  fields.End();
  site.AskSigner({{"do", "policy-end"}, {"name", name}, {"passphrase", passphrase}});
  site.Note(call.session->account, "policy-ended", name, "");
  return JsonAnswer(PoliciesNow(site));
}

}  // namespace partita::node::web
