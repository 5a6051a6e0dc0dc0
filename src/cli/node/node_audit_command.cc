// partita node audit
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/node/node_terminal.h"

namespace partita::cli {
namespace {

constexpr int64_t kMostAuditAsked = 500;

struct NodeAuditOptions {
  NodeOptions node;
  std::string study, actor;
  int64_t limit = 100;
  bool verify = false;
};

[[noreturn]] void LogIsNot(const Json& fault) {
  throw Error(ErrorCode::kUntrusted,
              fmt::format("the audit log is not as it was written, at entry {}: {}",
                          fault.at("number").get<uint64_t>(), fault.at("what").get<std::string>()),
              "look at who can write in the node's folder, and compare with a copy");
}

// The whole log, a piece at a time.
void RequireWholeLog(const NodeOptions& node) {
  uint64_t from = 1;
  do {
    const Json said = AskNode(node, {{"do", "audit-check"}, {"from", from}});
    if (!said.at("fault").is_null()) LogIsNot(said.at("fault"));
    from = said.at("next");
  } while (from != 0);
}

std::string LineOf(const Json& entry) {
  const std::string actor = entry.at("actor"), study = entry.at("study");
  const std::string kind = entry.at("kind"), subject = entry.at("subject");
  const std::string outcome = entry.at("outcome");
  return fmt::format("{:>6}  {}  {:<18} {:<15} {:<12} {}{}{}\n", entry.at("number").get<uint64_t>(),
                     entry.at("time").get<std::string>(), actor.empty() ? kind : kind + " " + actor,
                     entry.at("action").get<std::string>(), study.substr(0, 12), subject,
                     subject.empty() || outcome.empty() ? "" : ": ", outcome);
}

int ShowNodeAudit(const OutputOptions& output, const NodeAuditOptions& options) {
  if (options.verify) RequireWholeLog(options.node);
  Json request = {{"do", "audit"}, {"actor", options.actor}};
  if (!options.study.empty()) request["study"] = FindStudy(options.node, options.study).at("study");
  Json data = {
      {"entries", Json::array()}, {"count", 0}, {"head", ""}, {"verified", options.verify}};
  Json& entries = data["entries"];
  uint64_t before = 0;
  do {
    request["before"] = before;
    request["limit"] =
        std::min(kMostAuditAsked, options.limit - static_cast<int64_t>(entries.size()));
    const Json page = AskNode(options.node, request);
    if (!page.at("fault").is_null()) LogIsNot(page.at("fault"));
    for (const Json& entry : page.at("entries")) entries.push_back(entry);
    data["count"] = page.at("count");
    data["head"] = page.at("head");
    before = page.at("next");
  } while (before != 0 && static_cast<int64_t>(entries.size()) < options.limit);
  std::string text;
  for (const Json& entry : entries) text += LineOf(entry);
  text += fmt::format("{} of {} entries{}, the newest one has the digest {}", entries.size(),
                      data.at("count").get<uint64_t>(),
                      options.verify ? ", which follow each other from the first on" : "",
                      data.at("head").get<std::string>());
  PrintResult(output, text, data.dump());
  return kDone;
}

}  // namespace

void AddNodeAuditCommand(CLI::App& node, Invocation& invocation) {
  auto options = std::make_shared<NodeAuditOptions>();
  CLI::App* command =
      AddCommand(&node, "audit", "node audit",
                 "Show what was done at this node, and by whom; the newest first", invocation,
                 [&invocation, options] { return ShowNodeAudit(invocation.output, *options); });
  AddAt(command, options->node);
  command->add_option("--study", options->study,
                      "Of this study: its name, or digits of its number");
  command->add_option("--actor", options->actor,
                      "Of this account or party, or 'node' or 'terminal'");
  command->add_option("--limit", options->limit, "How many entries at most")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_flag(
      "--verify", options->verify,
      "Look first whether all entries follow each other, from the first to the newest");
}

}  // namespace partita::cli
