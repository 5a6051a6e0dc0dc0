#include "run/matching/matching_plan.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text_table.h"
#include "data/utf8.h"
#include "net/frame.h"
#include "net/hello.h"
#include "run/approval/approvals.h"
#include "study/file/text.h"

namespace partita::run {
namespace {

MatchingPhase HelloPhase(const MatchingFile& file) {
  MatchingPhase phase{"hello", 2, 2, {}};
  for (size_t party = 0; party < kMatchedHolders; ++party) {
    net::Hello hello;
    hello.name = file.parties[party].name;
    phase.bytes[party] = net::EncodeHello(hello).size() + net::kHelloAckBytes;
  }
  return phase;
}

MatchingPhase SamePhase(std::string name, uint64_t bytes) {
  return {std::move(name), 1, 1, {bytes, bytes}};
}

std::vector<std::string> Learns(const MatchingFile& file, size_t party) {
  const MatchingParty& peer = file.parties[1 - party];
  const size_t passes = peer.keys.passes.size();
  std::vector<std::string> learns = {
      fmt::format("how many people are in both lists{}, whatever the minimum",
                  passes > 1 ? ", of every pass" : ""),
      fmt::format("which of its own rows match, if there are at least {} matches{}",
                  FormatCount(file.minimum), passes > 1 ? " in the first pass" : ""),
      fmt::format("no key and no other row of {}, and not how long its list is: it is padded to {} "
                  "rows",
                  peer.name, FormatCount(peer.rows)),
      fmt::format("the minimum that {} asks for, when and for how many runs it approved, and if it "
                  "stops, a reason out of a fixed list",
                  peer.name)};
  if (passes > 1) learns.insert(learns.begin() + 2, "by which pass each of these rows matched");
  return learns;
}

std::vector<std::string> NotPrevented(const MatchingFile& file) {
  std::vector<std::string> sentences = {
      "The minimum binds who follows the protocol. One that does not can find which of its keys "
      "match whatever their number, and the other does not notice.",
      "Nothing proves that a list is genuine: who lists people that it only guesses learns whether "
      "they are in the other list.",
      "Every column of a key can be guessed: who knows the rest of a person's key and lists all "
      "values of one column learns which of them the other's table has for that person. Name no "
      "column of which that must not become known.",
      "A party that keeps back its last message learns alone which of its rows match."};
  for (size_t party = 0; party < kMatchedHolders; ++party) {
    sentences.push_back(
        fmt::format("In one such run {} can learn of up to {} people whether they are in the list "
                    "of {}.",
                    file.parties[party].name,
                    FormatCount(file.parties[party].rows * file.parties[party].keys.passes.size()),
                    file.parties[1 - party].name));
  }
  sentences.push_back(
      "Two matchings whose lists differ in one person tell whether that person is in the other "
      "list. Every party keeps a record of past matchings of its table, with a limit.");
  sentences.push_back(
      "That the two match their lists, when, how long the lists are at most, how many passes there "
      "are, and whether the minimum was reached is seen by whoever watches the network: the "
      "messages of a pass tell by their sizes.");
  return sentences;
}

void PutTexts(crypto::Sha256& hash, const std::vector<std::string>& texts) {
  hash.U64(texts.size());
  for (const std::string& text : texts) hash.Field(text);
}

crypto::Digest PlanDigest(const MatchingPlan& plan) {
  crypto::Sha256 hash;
  hash.Field("partita matching plan").Field(plan.unicode).U64(plan.rules.size());
  for (const crypto::Digest& rules : plan.rules) hash.Update(rules);
  hash.U64(plan.phases.size());
  for (const MatchingPhase& phase : plan.phases) {
    hash.Field(phase.name).U64(phase.rounds).U64(phase.messages);
    for (const uint64_t bytes : phase.bytes) hash.U64(bytes);
  }
  for (const std::vector<std::string>& learns : plan.learns) PutTexts(hash, learns);
  PutTexts(hash, plan.not_prevented);
  return hash.Finish();
}

std::string RuleText(const match::KeyRule& rule) {
  switch (rule.kind) {
    case match::KeyRuleKind::kText:
      return std::string("text") + (rule.drop_marks ? ", marks dropped" : "") +
             (rule.drop_punctuation ? ", punctuation dropped" : "");
    case match::KeyRuleKind::kDigits:
      return fmt::format("{} digits", rule.length);
    case match::KeyRuleKind::kDate:
      return "date, written " + rule.format;
    case match::KeyRuleKind::kPhone:
      return "telephone number, of country " + rule.country + " if it names none";
    case match::KeyRuleKind::kExact:
      return "exactly as it stands";
  }
  return "";
}

}  // namespace

std::string PassName(const MatchingParty& party, size_t pass) {
  std::vector<std::string> names;
  for (const size_t column : party.keys.passes[pass])
    names.push_back(party.keys.columns[column].name);
  return study::Join(names);
}

std::vector<std::string> KeyColumnTexts(const MatchingParty& party) {
  std::vector<std::string> texts;
  for (size_t column = 0; column < party.keys.columns.size(); ++column) {
    const match::KeyColumn& described = party.keys.columns[column];
    texts.push_back(fmt::format("{} = column '{}' of the table, {}", described.name,
                                data::Printable(party.headers[column]), RuleText(described.rule)));
  }
  return texts;
}

MatchingPlan PlanMatching(const MatchingFile& file) {
  if (file.parties.size() != kMatchedHolders) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} names {} parties; lists are matched between two", file.file_name,
                            file.parties.size()),
                "write a matching file for every two of them");
  }
  MatchingPlan plan;
  const match::KeySpec& keys = file.parties[0].keys;
  plan.unicode = match::UnicodeVersion();
  plan.phases = {HelloPhase(file), SamePhase(kApprovalsPhase, study::kApprovalBytes)};
  for (size_t pass = 0; pass < keys.passes.size(); ++pass) {
    plan.rules.push_back(match::RulesDigest(keys, pass));
    MatchingPhase phase{fmt::format("pass {}", pass + 1), 0, 0, {}};
    for (size_t party = 0; party < kMatchedHolders; ++party) {
      const match::TwoPartyJoinTraffic traffic =
          match::TwoPartyJoinTrafficOf(JoinTaskOf(file, party));
      phase.rounds = traffic.rounds;
      phase.messages = traffic.messages;
      phase.bytes[party] = traffic.bytes;
    }
    plan.phases.push_back(std::move(phase));
  }
  plan.phases.push_back(SamePhase("finish", crypto::Digest{}.size()));
  for (size_t party = 0; party < kMatchedHolders; ++party)
    plan.learns.push_back(Learns(file, party));
  plan.not_prevented = NotPrevented(file);
  return plan;
}

match::TwoPartyJoinTask JoinTaskOf(const MatchingFile& file, size_t party) {
  match::TwoPartyJoinTask task;
  task.peer = 1 - party;
  task.own_bound = file.parties[party].rows;
  task.peer_bound = file.parties[1 - party].rows;
  task.minimum = file.minimum;
  return task;
}

std::string MatchingPlanText(const MatchingFile& file, const MatchingPlan& plan) {
  const MatchingParty& first = file.parties[0];
  std::string text = fmt::format("Matching '{}': {}\n\n", file.name, file.title);
  text += WrapText(fmt::format("{} and {} find which of their rows are the same person. Level "
                               "matched-ids: each learns which of its own rows match.",
                               first.name, file.parties[1].name),
                   0);
  text += "\nCompared\n";
  for (size_t pass = 0; pass < first.keys.passes.size(); ++pass)
    text += fmt::format("  pass {}  {}\n", pass + 1, PassName(first, pass));
  for (const MatchingParty& party : file.parties) {
    text += fmt::format("  {} brings\n", party.name);
    for (const std::string& column : KeyColumnTexts(party)) text += WrapText("- " + column, 4);
  }
  text += fmt::format("  texts are folded by Unicode {}\n\nWho learns what\n", plan.unicode);
  for (size_t party = 0; party < plan.learns.size(); ++party) {
    text += fmt::format("  {}\n", file.parties[party].name);
    for (const std::string& clause : plan.learns[party]) text += WrapText("- " + clause, 4);
  }
  text += "  Nobody else takes part.\n\nWhat this does not prevent\n";
  for (const std::string& sentence : plan.not_prevented) text += WrapText("- " + sentence, 2);
  TextTable table{
      {"phase", "rounds", first.name + " sends", file.parties[1].name + " sends"}, {1, 2, 3}, {}};
  for (const MatchingPhase& phase : plan.phases) {
    table.rows.push_back({phase.name, std::to_string(phase.rounds),
                          FormatCount(phase.bytes[0]) + " bytes",
                          FormatCount(phase.bytes[1]) + " bytes"});
  }
  return text + "\nMessages\n" + RenderTable(table, 2);
}

study::ApprovalTerms TermsOfMatching(const MatchingFile& file, const MatchingPlan& plan,
                                     std::span<const std::string> fingerprints) {
  crypto::Sha256 hash;
  hash.Field("partita matching file").U64(net::kWireVersion).Field(file.text);
  for (size_t party = 0; party < file.parties.size(); ++party)
    hash.Field(file.parties[party].name).Field(fingerprints[party]);
  study::ApprovalTerms terms;
  terms.study = file.name;
  terms.agreement_hash = hash.Finish();
  terms.plan_hash = PlanDigest(plan);
  terms.disclosure.min_rows = file.minimum;
  terms.kind = "matching";
  return terms;
}

}  // namespace partita::run
