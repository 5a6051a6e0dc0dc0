// partita node deputy key | add | list | end
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "cli/study/approve.h"

namespace partita::cli {
namespace {

struct DeputyOptions {
  NodeOptions node;
  std::string name, from, until;
};

int PrintDeputyMessage(const OutputOptions& output, const std::string& said) {
  PrintResult(output, said, Json{{"message", said}}.dump());
  return kDone;
}

// The signer does not know the node, whose log says it; where the node does not serve, the list of deputies still does.
void NoteDeputy(const OutputOptions& output, const DeputyOptions& options, const char* action,
                const std::string& outcome) {
  try {
    AskNode(options.node,
            {{"do", "note"}, {"action", action}, {"subject", options.name}, {"outcome", outcome}});
  } catch (const Error& error) {
    PrintNote(output, "the audit log of the node does not say so: " + error.message());
  }
}

int MakeDeputyKey(const OutputOptions& output, const DeputyOptions& options) {
  const std::string passphrase =
      AskPassphrase(options.node, true, fmt::format("the deputy {}", options.name));
  SignerAccess signer(options.node);
  const Json made =
      signer.Ask({{"do", "deputy-key"}, {"name", options.name}, {"passphrase", passphrase}});
  return PrintDeputyMessage(
      output,
      fmt::format("the key of the deputy {} is {}\nIt counts when the steward has named it: "
                  "partita node deputy add {} --until DAY",
                  options.name, made.at("key").get<std::string>(), options.name));
}

int64_t BeginOf(const std::string& from) {
  if (from.empty()) return NowUtc();
  if (const auto time = ParseUtc(from)) return *time;
  if (const auto day = ParseUtc(from + "T00:00:00Z")) return *day;
  throw Error(ErrorCode::kUsage, fmt::format("--from {} is not a day", from),
              "for example --from 2030-12-20");
}

std::string KeyOfDeputy(SignerAccess& signer, const std::string& name) {
  const Json listed = signer.Ask({{"do", "deputy-list"}});
  for (const Json& deputy : listed.at("deputies")) {
    if (deputy.at("name") == name) return deputy.at("key");
  }
  throw Error(ErrorCode::kRefused, fmt::format("there is no key of a deputy {}", name),
              "the deputy makes it, under a passphrase: partita node deputy key " + name);
}

int AddDeputy(const OutputOptions& output, const DeputyOptions& options) {
  const int64_t from = BeginOf(options.from), until = UntilOf(options.until);
  SignerAccess signer(options.node);
  const std::string key = KeyOfDeputy(signer, options.name);
  Confirm(
      output,
      fmt::format("deputy   {}\nkey      {}\nfrom     {}\nuntil    {}\n\nThe deputy may approve, "
                  "reject and withdraw studies in your place. Compare the "
                  "key with the one that was printed when the deputy made it.\n\n",
                  options.name, key, FormatUtc(from), FormatUtc(until)),
      fmt::format("Name {} as your deputy?", options.name), "partita node deputy list");
  const Json added = signer.Sign({{"do", "deputy-add"},
                                  {"name", options.name},
                                  {"key", key},
                                  {"from", FormatUtc(from)},
                                  {"until", FormatUtc(until)}});
  const std::string when = fmt::format("from {} until {}", added.at("from").get<std::string>(),
                                       added.at("until").get<std::string>());
  NoteDeputy(output, options, "deputy-named", when);
  return PrintDeputyMessage(
      output,
      fmt::format("{} decides about studies in the place of the steward, {}", options.name, when));
}

int ListDeputies(const OutputOptions& output, const DeputyOptions& options) {
  SignerAccess signer(options.node);
  const Json listed = signer.Ask({{"do", "deputy-list"}});
  std::string text;
  for (const Json& deputy : listed.at("deputies")) {
    const std::string from = deputy.at("from");
    text += fmt::format("{:<12} {}{}\n             key {}\n", deputy.at("name").get<std::string>(),
                        deputy.at("state").get<std::string>(),
                        from.empty() ? ""
                                     : fmt::format(", from {} until {}", from,
                                                   deputy.at("until").get<std::string>()),
                        deputy.at("key").get<std::string>());
  }
  PrintResult(output, text.empty() ? "the steward has no deputy" : text, listed.dump());
  return kDone;
}

int EndDeputy(const OutputOptions& output, const DeputyOptions& options) {
  SignerAccess signer(options.node);
  signer.Sign({{"do", "deputy-end"}, {"name", options.name}});
  NoteDeputy(output, options, "deputy-ended", "");
  return PrintDeputyMessage(
      output, fmt::format("{} decides about nothing any more; what {} approved and has not run "
                          "does not run",
                          options.name, options.name));
}

}  // namespace

void AddDeputyCommands(CLI::App& node, Invocation& invocation) {
  CLI::App* deputy = node.add_subcommand(
      "deputy", "Who decides about studies in the steward's place, between two days");
  deputy->require_subcommand(1);
  auto options = std::make_shared<DeputyOptions>();
  const auto add = [&](const std::string& name, const std::string& what,
                       int (*act)(const OutputOptions&, const DeputyOptions&)) {
    CLI::App* command =
        AddCommand(deputy, name, "node deputy " + name, what, invocation,
                   [&invocation, options, act] { return act(invocation.output, *options); });
    if (name != "list")
      command->add_option("NAME", options->name, "The deputy, as its account of the pages")
          ->required();
    AddStewardKey(command, options->node, /*has_deputy=*/false);
    return command;
  };
  add("key", "Make a deputy's key, under the deputy's own passphrase", MakeDeputyKey);
  CLI::App* name = add("add", "Name a deputy: the steward signs", AddDeputy);
  name->add_option("--from", options->from, "The first day (YYYY-MM-DD); else from now on");
  name->add_option("--until", options->until, "The last day (YYYY-MM-DD)")->required();
  AddAt(name, options->node);
  add("list", "The deputies of this site, and when they decide", ListDeputies);
  AddAt(add("end", "End a deputy: the steward signs", EndDeputy), options->node);
}

}  // namespace partita::cli
