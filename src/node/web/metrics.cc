#include "node/web/metrics.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

namespace partita::node::web {
namespace {

constexpr std::chrono::milliseconds kMetricsPatience{2000};

void Metric(std::string& text, const char* name, const char* type, const char* help,
            uint64_t value) {
  text += fmt::format("# HELP partita_{0} {1}\n# TYPE partita_{0} {2}\npartita_{0} {3}\n", name,
                      help, type, value);
}

}  // namespace

std::string MetricsText(const Site& site, const WebCounts& counts) {
  std::string text;
  bool is_up = false;
  try {
    const WebJson status = site.AskNode({{"do", "status"}}, kMetricsPatience);
    const WebJson studies = site.AskNode({{"do", "studies"}}, kMetricsPatience);
    is_up = true;
    Metric(text, "node_stopped", "gauge", "Whether an emergency stop holds.",
           status.at("stopped").get<bool>() ? 1 : 0);
    Metric(text, "node_draining", "gauge", "Whether no run begins, before a restart.",
           status.at("draining").get<bool>() ? 1 : 0);
    const WebJson& restored = status.at("restored");
    Metric(text, "node_tables_closed", "gauge",
           "Whether the tables are closed since a restore, until the steward opens them.",
           !restored.is_null() && restored.at("closed").get<bool>() ? 1 : 0);
    Metric(text, "node_parties", "gauge", "Parties on the signed list.",
           status.at("parties").get<uint64_t>());
    Metric(text, "node_waiting_introductions", "gauge", "Introductions that wait for a steward.",
           status.at("waiting_introductions").get<uint64_t>());
    std::map<std::string, uint64_t> states;
    for (const WebJson& study : studies.at("studies")) ++states[study.at("state")];
    text +=
        "# HELP partita_node_studies Open studies by state.\n"
        "# TYPE partita_node_studies gauge\n";
    for (const char* state : {"proposed", "validated", "settled", "approved", "agreed", "scheduled",
                              "running", "closing"})
      text += fmt::format("partita_node_studies{{state=\"{}\"}} {}\n", state, states[state]);
  } catch (const Error&) {
    is_up = false;
  }
  Metric(text, "node_up", "gauge", "Whether the node behind the pages answers.", is_up ? 1 : 0);
  Metric(text, "web_sessions", "gauge", "Sessions of people.", counts.sessions);
  Metric(text, "web_logins_total", "counter", "Logins.", counts.logins);
  Metric(text, "web_logins_failed_total", "counter", "Wrong passwords and codes.",
         counts.logins_failed);
  const net::HttpsServerCounts& server = counts.server;
  Metric(text, "web_connections", "gauge", "Connections now.", server.open);
  Metric(text, "web_connections_total", "counter", "Connections.", server.connections);
  Metric(text, "web_connections_refused_total", "counter", "Closed at once: too many.",
         server.crowded);
  Metric(text, "web_requests_total", "counter", "Requests.", server.requests);
  Metric(text, "web_requests_slow_total", "counter", "Closed: not in time.", server.slow);
  Metric(text, "web_requests_oversized_total", "counter", "Refused: too large.", server.oversized);
  return text;
}

}  // namespace partita::node::web
