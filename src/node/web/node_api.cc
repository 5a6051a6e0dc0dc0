#include <nlohmann/json.hpp>

#include "base/version.h"
#include "node/web/api.h"
#include "node/web/fields.h"

namespace partita::node::web {
namespace {

constexpr std::chrono::milliseconds kReadyPatience{2000}, kReadyHolds{1000};

// Anybody may ask, so the node is asked once a second at most.
bool IsReady(Site& site) {
  const SteadyClock::time_point now = SteadyClock::now();
  {
    const std::lock_guard lock(site.mutex);
    if (site.asked_ready && now - *site.asked_ready < kReadyHolds) return site.was_ready;
  }
  bool is_ready = true;
  try {
    site.AskNode({{"do", "status"}}, kReadyPatience);
  } catch (const Error&) {
    is_ready = false;
  }
  const std::lock_guard lock(site.mutex);
  site.was_ready = is_ready;
  site.asked_ready = SteadyClock::now();
  return is_ready;
}

}  // namespace

net::HttpResponse LookAtNode(Site& site, const Call&) {
  const WebJson said = site.AskNode({{"do", "status"}});
  WebJson restored = nullptr;
  // How many accounts there are is told to those who may see budgets.
  if (const WebJson& since = said.at("restored"); !since.is_null())
    restored = {{"time", since.at("time")},
                {"closed", since.at("closed")},
                {"asked", since.at("asked")},
                {"answered", since.at("answered")}};
  return JsonAnswer({{"name", said.at("name")},
                     {"address", said.at("address")},
                     {"version", kVersion},
                     {"fingerprint", said.at("fingerprint")},
                     {"steward", said.at("steward")},
                     {"stopped", said.at("stopped")},
                     {"draining", said.at("draining")},
                     {"restored", restored},
                     {"open_studies", said.at("open_studies")},
                     {"runs", said.at("runs")},
                     {"parties", said.at("parties")},
                     {"waiting_introductions", said.at("waiting_introductions")},
                     {"open_invitations", said.at("open_invitations")},
                     {"signer", static_cast<bool>(site.signer)}});
}

net::HttpResponse StopNode(Site& site, const Call& call) {
  Fields(call.request.body).End();
  site.AskNodeFor(call, {{"do", "stop"}});
  return NothingToSay();
}

net::HttpResponse GoOn(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::string passphrase = fields.Text("passphrase", kMaxPassphraseBytes);
  fields.End();
  const WebJson asked = site.AskNode({{"do", "go-on-text"}});
  const WebJson word =
      site.AskSigner({{"do", "go-on"}, {"text", asked.at("text")}, {"passphrase", passphrase}});
  site.AskNodeFor(call, {{"do", "go-on"},
                         {"certificate", word.at("certificate")},
                         {"signature", word.at("signature")}});
  return NothingToSay();
}

net::HttpResponse LookAtHealth(Site&, const Call&) { return net::TextResponse(200, "ok\n"); }

net::HttpResponse LookWhetherReady(Site& site, const Call&) {
  const bool is_ready = IsReady(site);
  return net::TextResponse(is_ready ? 200 : 503,
                           is_ready ? "ready\n" : "the node does not answer\n");
}

}  // namespace partita::node::web
