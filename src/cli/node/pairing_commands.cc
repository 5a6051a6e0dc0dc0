// partita node invite | join | compare | parties | accept | revoke
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "node/parties/introduction.h"
#include "node/sign/for_steward.h"

namespace partita::cli {
namespace {

struct PairOptions {
  NodeOptions node;
  std::string name, line;
  bool only_line = false;
};

std::string CompareLater(const PairOptions& options) {
  const NodeOptions& node = options.node;
  const std::string signer =
      node.sign.empty() ? "--steward " + node.steward : "--sign " + node.sign;
  return fmt::format("come back with: partita node compare {} --at {} {}",
                     options.name.empty() ? "NAME" : options.name, node.at, signer);
}

Json LookAt(const PairOptions& options, const std::string& number) {
  return AskNode(options.node, {{"do", "pairing"}, {"number", number}});
}

// Until the pairing is in another state than `state`.
Json WaitBeyond(const PairOptions& options, const std::string& number, const std::string& state) {
  while (true) {
    Json look = LookAt(options, number);
    if (look.at("state") != state) return look;
    WaitAMoment(CompareLater(options));
  }
}

void CompareDigits(const PairOptions& options, const std::string& number, const Json& look) {
  const std::string shown = look.at("shown");
  std::cerr << fmt::format(
      "Call {} at a number that you knew before; never type digits for somebody who calls you.\n"
      "Tell them:  {} {}\n",
      look.at("name").get<std::string>(), shown.substr(0, 3), shown.substr(3));
  while (true) {
    try {
      AskNode(
          options.node,
          {{"do", "digits"}, {"number", number}, {"digits", AskLine("Type what they tell you: ")}});
      return;
    } catch (const Error& error) {
      // A slip of the keyboard is no try.
      if (error.message() != "six digits are needed") throw;
      std::cerr << error.message() << "\n";
    }
  }
}

// From wherever the pairing is to a party on the list.
int Compare(const OutputOptions& output, const PairOptions& options, const std::string& number) {
  Json look = WaitBeyond(options, number, "open");
  if (look.at("state") == "digits") {
    CompareDigits(options, number, look);
    look = LookAt(options, number);
  }
  SignerAccess signer(options.node);
  if (look.at("state") == "sign") {
    const Json word =
        signer.Sign({{"do", "pairing"},
                     {"name", look.at("name")},
                     {"role", look.at("role")},
                     {"hash", look.at("hash")},
                     {"address", AskNode(options.node, {{"do", "status"}}).at("address")}});
    AskNode(options.node, {{"do", "sign-pairing"},
                           {"number", number},
                           {"certificate", word.at("certificate")},
                           {"signature", word.at("signature")}});
    look = LookAt(options, number);
  }
  if (look.at("state") == "waiting") {
    PrintNote(output,
              fmt::format(
                  "waiting for {0}; if the digits differed at {0}: Control-C, and invite it again",
                  look.at("name").get<std::string>()));
    look = WaitBeyond(options, number, "waiting");
  }
  if (look.at("state") != "met") {
    throw Error(ErrorCode::kRefused, "the pairing is over: digits differed, or it took too long",
                "invite again");
  }
  const Json& party = look.at("party");
  GiveList(options.node, signer.Sign({{"do", "add"},
                                      {"hash", look.at("hash")},
                                      {"party", party},
                                      {"list", ListDocument(options.node)}}));
  const std::string text =
      fmt::format("{} at {} is a party of this site now", party.at("name").get<std::string>(),
                  party.at("address").get<std::string>());
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

void AddPairOptions(CLI::App* command, const std::shared_ptr<PairOptions>& options) {
  AddAt(command, options->node);
  AddStewardKey(command, options->node);
}

void AddInvite(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<PairOptions>();
  CLI::App* command = AddCommand(
      &parent, "invite", "node invite",
      "Invite a site: prints a line to send it, waits for it, and compares digits", invocation,
      [&invocation, options] {
        const Json made = AskNode(options->node, {{"do", "invite"}, {"name", options->name}});
        const std::string line = made.at("line");
        if (options->only_line) {
          PrintResult(invocation.output, line, Json{{"message", line}}.dump());
          return static_cast<int>(kDone);
        }
        (invocation.output.json() ? std::cerr : std::cout) << line << std::endl;
        PrintNote(invocation.output,
                  fmt::format("send this line to {}, by mail; it works once, until {}. Waiting "
                              "(Control-C: {})",
                              options->name, made.at("expires").get<std::string>(),
                              CompareLater(*options)));
        return Compare(invocation.output, *options, made.at("number"));
      });
  command->add_option("NAME", options->name, "The name of the site, as in study files")->required();
  command->add_flag("--only-line", options->only_line, "Print the line and do not wait");
  AddPairOptions(command, options);
}

void AddJoin(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<PairOptions>();
  CLI::App* command = AddCommand(
      &parent, "join", "node join", "Take the invitation of another site, and compare digits",
      invocation, [&invocation, options] {
        const Json made = AskNode(options->node, {{"do", "join"}, {"line", options->line}});
        return Compare(invocation.output, *options, made.at("number"));
      });
  command->add_option("LINE", options->line, "The line that the other site sent")->required();
  AddPairOptions(command, options);
}

void AddCompare(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<PairOptions>();
  CLI::App* command =
      AddCommand(&parent, "compare", "node compare", "Come back to an invitation: compare digits",
                 invocation, [&invocation, options] {
                   const Json parties = AskNode(options->node, {{"do", "parties"}});
                   for (const Json& pairing : parties.at("pairings")) {
                     if (pairing.at("name") == options->name && pairing.at("state") != "over")
                       return Compare(invocation.output, *options, pairing.at("number"));
                   }
                   throw Error(ErrorCode::kUsage,
                               fmt::format("no invitation of {} is under way", options->name),
                               "partita node invite NAME");
                 });
  command->add_option("NAME", options->name, "The name of the site")->required();
  AddPairOptions(command, options);
}

node::SignedIntroduction IntroductionIn(const Json& entry) {
  return node::DecodeIntroduction(FromHex(entry.at("introduction").get<std::string>()));
}

void AddParties(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<NodeOptions>();
  CLI::App* command = AddCommand(
      &parent, "parties", "node parties",
      "Show the parties of this site, how they are known, and who was introduced", invocation,
      [&invocation, options] {
        const Json said = AskNode(*options, {{"do", "parties"}});
        Json parties = Json::array(), waiting = Json::array();
        std::string text;
        for (const node::ListedParty& party : ListOf(said).parties) {
          const std::string address = said.at("addresses").at(party.name);
          parties.push_back({{"name", party.name},
                             {"address", address},
                             {"known", node::HowKnown(party)},
                             {"node_key", ToHex(party.node_key)},
                             {"steward_key", ToHex(party.steward_key)}});
          text += fmt::format("{:<16} {:<28} {}\n", party.name, address, node::HowKnown(party));
        }
        for (const Json& entry : said.at("waiting")) {
          const node::SignedIntroduction said_by = IntroductionIn(entry);
          const node::Introduction& introduction = said_by.introduction;
          const std::string& introducer = said_by.introducer;
          waiting.push_back({{"name", introduction.name},
                             {"address", introduction.address},
                             {"introducer", introducer}});
          text +=
              fmt::format("{:<16} {:<28} {} introduces it: partita node accept {}\n",
                          introduction.name, introduction.address, introducer, introduction.name);
        }
        PrintResult(invocation.output, text.empty() ? "no parties yet" : text,
                    Json{{"parties", parties}, {"waiting", waiting}}.dump());
        return kDone;
      });
  AddAt(command, *options);
}

int Accept(const OutputOptions& output, const PairOptions& options) {
  const Json said = AskNode(options.node, {{"do", "parties"}});
  SignerAccess signer(options.node);
  std::vector<std::string> introducers;
  std::string node_key(64, '0'), steward_key = node_key;
  for (const Json& entry : said.at("waiting")) {
    const node::SignedIntroduction said_by = IntroductionIn(entry);
    const node::Introduction& introduction = said_by.introduction;
    if (introduction.name != options.name) continue;
    const bool is_first = introducers.empty();
    introducers.push_back(said_by.introducer);
    const std::string node = ToHex(introduction.node_key);
    const std::string steward = ToHex(introduction.steward_key);
    PrintNote(output,
              fmt::format("{} introduces {} at {}, digits compared on {}\n  node key    {}\n"
                          "  steward key {}",
                          introducers.back(), introduction.name, introduction.address,
                          FormatUtc(introduction.compared_at), node, steward));
    if (!is_first && (node != node_key || steward != steward_key)) {
      throw Error(ErrorCode::kRefused,
                  fmt::format("{} and {} introduce {} with different keys", introducers.front(),
                              introducers.back(), introduction.name),
                  "Invite that site, and compare digits by telephone.");
    }
    node_key = node;
    steward_key = steward;
  }
  const std::string word = fmt::format("{}", fmt::join(introducers, ", "));
  if (!introducers.empty() && !output.yes &&
      AskLine(fmt::format("Accept {} on the word of {}? It may be {} itself, under a "
                          "second key. Type yes: ",
                          options.name, word, word)) != "yes")
    throw Error(ErrorCode::kRefused, "not accepted; nothing was signed");
  GiveList(options.node, signer.Sign({{"do", "accept"},
                                      {"name", options.name},
                                      {"node_key", node_key},
                                      {"steward_key", steward_key},
                                      {"introductions", said.at("waiting")},
                                      {"list", said.at("document")}}));
  const std::string text =
      fmt::format("{} is a party of this site now, on the word of {}", options.name, word);
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

void AddAcceptAndRevoke(CLI::App& parent, Invocation& invocation) {
  auto accepting = std::make_shared<PairOptions>();
  CLI::App* accept =
      AddCommand(&parent, "accept", "node accept",
                 "Accept a site that another one introduced: the steward signs", invocation,
                 [&invocation, accepting] { return Accept(invocation.output, *accepting); });
  accept->add_option("NAME", accepting->name, "The site")->required();
  AddPairOptions(accept, accepting);
  auto revoking = std::make_shared<PairOptions>();
  CLI::App* revoke =
      AddCommand(&parent, "revoke", "node revoke",
                 "A site's key was stolen: neither it nor what it signed counts any more",
                 invocation, [&invocation, revoking] {
                   SignerAccess signer(revoking->node);
                   GiveList(revoking->node, signer.Sign({{"do", "revoke"},
                                                         {"name", revoking->name},
                                                         {"list", ListDocument(revoking->node)}}));
                   const std::string text = revoking->name + " is revoked";
                   PrintResult(invocation.output, text, Json{{"message", text}}.dump());
                   return kDone;
                 });
  revoke->add_option("NAME", revoking->name, "The site")->required();
  AddPairOptions(revoke, revoking);
}

}  // namespace

void AddPairingCommands(CLI::App& node, Invocation& invocation) {
  AddInvite(node, invocation);
  AddJoin(node, invocation);
  AddCompare(node, invocation);
  AddParties(node, invocation);
  AddAcceptAndRevoke(node, invocation);
}

}  // namespace partita::cli
