// partita node policy add | list | end
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "cli/study/approve.h"
#include "node/job/ended_list.h"
#include "node/job/policy_study.h"

namespace partita::cli {
namespace {

struct NodePolicyOptions {
  NodeOptions node;
  std::string file, name;
  bool one_user = false;
};

// Else every process of that user can read the policy's key, and ask for its signature. What cannot be seen counts as
// the same user.
bool HasOwnUser(const NodeOptions& options) {
  const std::filesystem::path steward = options.sign.empty()
                                            ? std::filesystem::path(options.steward)
                                            : std::filesystem::absolute(options.sign).parent_path();
  struct stat node {
  }, key{};
  return ::stat(options.at.c_str(), &node) == 0 && ::stat(steward.c_str(), &key) == 0 &&
         node.st_uid != key.st_uid;
}

int AddNodePolicy(const OutputOptions& output, const NodePolicyOptions& options) {
  const std::string text = ReadFile(options.file, node::kMaxPolicyBytes, "the policy");
  const study::Policy policy = node::ParsePolicy(text);
  if (!options.one_user && !HasOwnUser(options.node)) {
    throw Error(
        ErrorCode::kRefused, "the steward's folder belongs to the user of the node",
        "Whoever breaks into this node then has the key of the policy: studies that fit it, within "
        "its numbers, until it is ended. Give the steward a user of its own, or say --one-user.");
  }
  SignerAccess signer(options.node);
  Confirm(output,
          fmt::format(
              "{}\nStudies that fit this policy are approved, {} at most, without anybody being "
              "asked. Results without noise: of {} study files.\n",
              PlainLines(text), policy.max_results, policy.exact.size()),
          fmt::format("Sign the policy '{}'?", policy.name), "less " + options.file);
  const Json added = signer.Sign({{"do", "policy-add"}, {"text", text}});
  const std::string said =
      fmt::format("studies that fit the policy '{}' are approved until {} without being asked",
                  policy.name, added.at("until").get<std::string>());
  PrintResult(output, said, Json{{"message", said}}.dump());
  return kDone;
}

int ListNodePolicies(const OutputOptions& output, const NodePolicyOptions& options) {
  SignerAccess signer(options.node);
  const Json listed = signer.Ask({{"do", "policy-list"}});
  std::string text;
  for (const Json& policy : listed.at("policies")) {
    const auto in_all = policy.at("epsilon_in_all").get<double>();
    text += fmt::format(
        "{}: {} of {} studies signed, epsilon {}{}, until {}\n",
        policy.at("name").get<std::string>(), policy.at("results").get<uint64_t>(),
        policy.at("max_results").get<uint64_t>(), policy.at("epsilon").get<double>(),
        in_all > 0 ? fmt::format(" of {}", in_all) : "", policy.at("until").get<std::string>());
  }
  PrintResult(output, text.empty() ? "there is no policy at this site" : text, listed.dump());
  return kDone;
}

int EndNodePolicy(const OutputOptions& output, const NodePolicyOptions& options) {
  SignerAccess signer(options.node);
  signer.Sign({{"do", "policy-end"}, {"name", options.name}});
  const std::string said = fmt::format("the policy '{}' approves nothing any more", options.name);
  PrintResult(output, said, Json{{"message", said}}.dump());
  return kDone;
}

}  // namespace

void AddPolicyCommands(CLI::App& node, Invocation& invocation) {
  CLI::App* policy = node.add_subcommand("policy", "Approvals in advance, by the steward's signer");
  policy->require_subcommand(1);
  auto options = std::make_shared<NodePolicyOptions>();
  CLI::App* add =
      AddCommand(policy, "add", "node policy add",
                 "Approve in advance every study that fits a policy: the steward signs", invocation,
                 [&invocation, options] { return AddNodePolicy(invocation.output, *options); });
  add->add_option("FILE", options->file, "The policy (docs/approvals.md)")->required();
  add->add_flag("--one-user", options->one_user,
                "Although the steward's folder belongs to the user of the node");
  AddAt(add, options->node);
  AddStewardKey(add, options->node);
  CLI::App* list = AddCommand(
      policy, "list", "node policy list", "The policies of this site, and what was used of them",
      invocation, [&invocation, options] { return ListNodePolicies(invocation.output, *options); });
  AddStewardKey(list, options->node);
  CLI::App* end =
      AddCommand(policy, "end", "node policy end", "End a policy: the steward signs", invocation,
                 [&invocation, options] { return EndNodePolicy(invocation.output, *options); });
  end->add_option("NAME", options->name, "The policy")->required();
  AddStewardKey(end, options->node);
}

}  // namespace partita::cli
