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
  bool verify = false, sites = false;
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

// A warning a line: what does not fit between this log and those of other sites.
std::string DaysText(uint64_t days) { return days == 1 ? "1 day" : fmt::format("{} days", days); }

std::string FaultLines(const Json& said) {
  std::string text;
  for (const Json& fault : said.at("faults")) {
    text += fmt::format(
        "! the audit log of {} was cut, restored or written anew: of the {} days that it told "
        "before, "
        "those from {} on are not in it any more (seen {})\n",
        fault.at("site").get<std::string>(), fault.at("had").get<uint64_t>(),
        fault.at("departs").get<uint64_t>(), fault.at("time").get<std::string>());
  }
  for (const Json& site : said.at("sites")) {
    const Json& has = site.at("has");
    if (has.is_null() || (has.at("fits").get<bool>() && has.at("departs").get<uint64_t>() == 0))
      continue;
    text +=
        fmt::format("! {} {} (said {})\n", site.at("site").get<std::string>(),
                    has.at("fits").get<bool>() ? "had days of this log that are not in it any more"
                                               : "has another log of this site than this one",
                    has.at("time").get<std::string>());
  }
  return text;
}

std::string SiteLines(const Json& said) {
  const Json& newest = said.at("newest");
  std::string text = "this log ";
  text += newest.is_null() ? "has no closed day yet\n"
                           : fmt::format("has {}, the newest one {} with the digest {}\n",
                                         DaysText(newest.at("number").get<uint64_t>()),
                                         newest.at("day").get<std::string>(),
                                         newest.at("digest").get<std::string>());
  for (const Json& site : said.at("sites")) {
    const Json &has = site.at("has"), &told = site.at("told");
    text += fmt::format(
        "{}: {}; {}\n", site.at("site").get<std::string>(),
        has.is_null() ? "has signed for no day of this log yet"
                      : fmt::format("has signed for {} of this log (said {})",
                                    DaysText(has.at("number").get<uint64_t>()),
                                    has.at("time").get<std::string>()),
        told.is_null()
            ? "has told nothing of its own"
            : fmt::format("has told {} of its own, the newest one {} with the digest {}",
                          DaysText(told.at("number").get<uint64_t>()),
                          told.at("day").get<std::string>(), told.at("digest").get<std::string>()));
  }
  return text;
}

int ShowSites(const OutputOptions& output, const NodeAuditOptions& options, const Json& said) {
  const Json data = {{"newest", said.at("newest")},
                     {"sites", said.at("sites")},
                     {"faults", said.at("faults")},
                     {"verified", options.verify}};
  std::string text = PlainLines(SiteLines(said) + FaultLines(said));
  text.pop_back();
  PrintResult(output, text, data.dump());
  return kDone;
}

int ShowNodeAudit(const OutputOptions& output, const NodeAuditOptions& options) {
  if (options.verify) RequireWholeLog(options.node);
  const Json sites = AskNode(options.node, {{"do", "audit-sites"}});
  if (options.sites) return ShowSites(output, options, sites);
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
  text += PlainLines(FaultLines(sites));
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
  command->add_flag("--sites", options->sites,
                    "Show instead what other sites keep of this log, and this one of theirs");
}

}  // namespace partita::cli
