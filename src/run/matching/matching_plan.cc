#include "run/matching/matching_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/text_table.h"
#include "data/utf8.h"
#include "net/frame.h"
#include "net/hello.h"
#include "run/approval/approvals.h"
#include "run/matching/matching_statement.h"
#include "study/file/text.h"

namespace partita::run {
namespace {

// A phase of so many rounds at everybody.
MatchingPhase AmongAll(const MatchingFile& file, std::string name, uint64_t rounds,
                       const std::function<MatchingTraffic(size_t from, size_t to)>& traffic) {
  const size_t parties = file.Names().size();
  MatchingPhase phase{std::move(name), std::vector<uint64_t>(parties, rounds), {}};
  for (size_t from = 0; from < parties; ++from) {
    phase.sends.emplace_back(parties);
    for (size_t to = 0; to < parties; ++to) {
      if (from != to) phase.sends[from][to] = traffic(from, to);
    }
  }
  return phase;
}

MatchingPhase HelloPhase(const MatchingFile& file) {
  const std::vector<std::string> names = file.Names();
  return AmongAll(file, "hello", 2, [&](size_t from, size_t) {
    net::Hello hello;
    hello.name = names[from];
    return MatchingTraffic{2, net::EncodeHello(hello).size() + net::kHelloAckBytes};
  });
}

// The digest of the record goes to holders.
MatchingPhase FinishPhase(const MatchingFile& file) {
  return AmongAll(file, "finish", 1, [&](size_t from, size_t to) {
    const bool holders = from < file.parties.size() && to < file.parties.size();
    return MatchingTraffic{1, holders ? crypto::Digest{}.size() : 0};
  });
}

void AddPasses(const MatchingFile& file, MatchingPlan& plan) {
  for (size_t pass = 0; pass < file.parties[0].keys.passes.size(); ++pass) {
    const uint64_t rounds = match::TwoPartyJoinTrafficOf(JoinTaskOf(file, 0)).rounds;
    plan.phases.push_back(
        AmongAll(file, fmt::format("pass {}", pass + 1), rounds, [&](size_t from, size_t) {
          const match::TwoPartyJoinTraffic traffic =
              match::TwoPartyJoinTrafficOf(JoinTaskOf(file, from));
          return MatchingTraffic{traffic.messages, traffic.bytes};
        }));
  }
  plan.phases.push_back(FinishPhase(file));
}

// The second party hears nothing of its last message, and sends the next at once; messages are longest
// with the fewest matches.
void AddSpine(const MatchingFile& file, MatchingPlan& plan) {
  const auto traffic = [&](size_t party) {
    const match::TwoPartySpineTask task = SpineTaskOf(file, party);
    return match::TwoPartySpineTrafficOf(task, task.minimum);
  };
  MatchingPhase spine = AmongAll(file, kSpinePhase, traffic(0).rounds, [&](size_t from, size_t) {
    return MatchingTraffic{traffic(from).messages, traffic(from).bytes};
  });
  spine.rounds[1] -= 1;
  MatchingPhase finish = FinishPhase(file);
  finish.rounds[0] -= 1;
  finish.rounds[1] += 1;
  plan.phases.push_back(std::move(spine));
  plan.phases.push_back(std::move(finish));
}

// What two holders by themselves can hide.
void RequireSpine(const MatchingFile& file) {
  constexpr const char* kAddLinker =
      "add a [[party]] with role = \"linker\", which sees pseudonyms of the keys";
  if (file.level == match::Level::kHiddenNobody) {
    throw Error(ErrorCode::kBadInput,
                file.file_name +
                    " asks for count = \"nobody\" and names no linker; without one "
                    "both holders learn the number of matches",
                std::string(kAddLinker) + ", or write count = \"exact\"");
  }
  if (file.parties[0].keys.passes.size() > 1) {
    throw Error(ErrorCode::kBadInput,
                file.file_name +
                    " asks for level \"hidden\" with several passes and names no "
                    "linker; which rows remain for the second would be learnt",
                std::string(kAddLinker) + ", or write one pass");
  }
}

// The linker hears of the last rounds in the end.
void AddLinking(const MatchingFile& file, MatchingPlan& plan) {
  const match::LinkedJoinTask task = LinkTaskOf(file);
  constexpr uint64_t kCompareRounds = 2;
  MatchingPhase link = AmongAll(file, kLinkPhase, 0, [&](size_t from, size_t to) {
    const match::LinkedJoinTraffic traffic = match::LinkedJoinTrafficBetween(task, from, to);
    return MatchingTraffic{traffic.messages, traffic.bytes};
  });
  for (size_t party = 0; party < link.rounds.size(); ++party)
    link.rounds[party] = match::LinkedJoinRounds(task, party);
  MatchingPhase compare =
      AmongAll(file, kComparePhase, kCompareRounds, [&](size_t from, size_t to) {
        const match::LinkedJoinTraffic traffic = match::CompareLinkedTrafficBetween(task, from, to);
        return MatchingTraffic{traffic.messages, traffic.bytes};
      });
  compare.rounds[task.linker()] = 0;
  MatchingPhase finish = FinishPhase(file);
  finish.rounds[task.linker()] += link.rounds[0] + compare.rounds[0] - link.rounds[task.linker()];
  plan.phases.push_back(std::move(link));
  plan.phases.push_back(std::move(compare));
  plan.phases.push_back(std::move(finish));
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
    hash.Field(phase.name);
    for (const uint64_t rounds : phase.rounds) hash.U64(rounds);
    for (const std::vector<MatchingTraffic>& sends : phase.sends) {
      for (const MatchingTraffic& traffic : sends) hash.U64(traffic.messages).U64(traffic.bytes);
    }
  }
  for (const std::vector<std::string>& learns : plan.learns) PutTexts(hash, learns);
  PutTexts(hash, plan.not_prevented);
  if (plan.privacy) hash.Field(privacy::StatementJson(*plan.privacy));
  return hash.Finish();
}

std::string RuleText(const match::KeyRule& rule) {
  switch (rule.kind) {
    case match::KeyRuleKind::kText:
      return std::string("text") + (rule.drop_marks ? ", marks dropped" : "") +
             (rule.drop_punctuation ? ", punctuation dropped" : "");
    case match::KeyRuleKind::kDigits:
      return fmt::format("{} digits{}", rule.length,
                         rule.check == match::CheckDigit::kLuhn    ? ", check digit luhn"
                         : rule.check == match::CheckDigit::kMod97 ? ", check digits mod97"
                                                                   : "");
    case match::KeyRuleKind::kDate:
      return "date, written " + rule.format;
    case match::KeyRuleKind::kPhone:
      return "telephone number, of country " + rule.country + " if it names none, trunk prefix '" +
             rule.trunk + "'";
    case match::KeyRuleKind::kExact:
      return "exactly as it stands";
  }
  return "";
}

// Codes are cells: a file can name a number there that is somebody's.
std::string CodesText(const match::KeyRule& rule) {
  std::string text;
  for (const std::string& code : rule.missing_codes)
    text += (text.empty() ? "; missing where it says '" : "', '") + data::Printable(code);
  return text.empty() ? text : text + "'";
}

std::string UnusableText(match::Unusable unusable) {
  return unusable == match::Unusable::kRefuse ? "stop the run at their owner" : "are left out";
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
    texts.push_back(fmt::format("{} = column '{}' of the table, {}{}", described.name,
                                data::Printable(party.headers[column]), RuleText(described.rule),
                                CodesText(described.rule)));
  }
  return texts;
}

uint64_t MatchingPhase::LongestRounds() const {
  return *std::max_element(rounds.begin(), rounds.end());
}

uint64_t MatchingPhase::BytesOf(size_t party) const {
  uint64_t bytes = 0;
  for (const MatchingTraffic& traffic : sends[party]) bytes += traffic.bytes;
  return bytes;
}

MatchingPlan PlanMatching(const MatchingFile& file) {
  if (!file.linked() && file.parties.size() != kMatchedHolders) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} names {} holders and no linker; without one lists are matched "
                            "between two",
                            file.file_name, file.parties.size()),
                "add a [[party]] with role = \"linker\", which sees pseudonyms of the keys, or "
                "write a matching file for every two of them");
  }
  if (!file.linked() && file.hidden()) RequireSpine(file);
  MatchingPlan plan;
  const match::KeySpec& keys = file.parties[0].keys;
  plan.unicode = match::UnicodeVersion();
  for (size_t pass = 0; pass < keys.passes.size(); ++pass)
    plan.rules.push_back(match::RulesDigest(keys, pass));
  plan.phases = {HelloPhase(file), AmongAll(file, kApprovalsPhase, 1, [](size_t, size_t) {
                   return MatchingTraffic{1, study::kApprovalBytes};
                 })};
  if (file.linked()) {
    AddLinking(file, plan);
  } else {
    file.hidden() ? AddSpine(file, plan) : AddPasses(file, plan);
  }
  for (size_t party = 0; party < file.Names().size(); ++party)
    plan.learns.push_back(MatchingLearns(file, party));
  plan.not_prevented = MatchingNotPrevented(file);
  plan.privacy = MatchingPrivacy(file);
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

match::TwoPartySpineTask SpineTaskOf(const MatchingFile& file, size_t party) {
  match::TwoPartySpineTask task;
  task.peer = 1 - party;
  // With noise, of both pools; the number of matches is that of half of both more.
  const uint64_t pool = PoolSize(file.noise);
  task.own_bound = file.parties[party].rows + 2 * pool;
  task.peer_bound = file.parties[1 - party].rows + 2 * pool;
  task.minimum = file.minimum + pool;
  return task;
}

match::LinkedJoinTask LinkTaskOf(const MatchingFile& file) {
  match::LinkedJoinTask task;
  for (const MatchingParty& holder : file.parties) task.bounds.push_back(holder.rows);
  task.passes = file.parties[0].keys.passes.size();
  task.minimum = file.minimum;
  task.level = file.level;
  return task;
}

std::string MatchingPlanText(const MatchingFile& file, const MatchingPlan& plan) {
  const std::vector<std::string> names = file.Names();
  const MatchingParty& first = file.parties[0];
  std::string text = fmt::format("Matching '{}': {}\n\n", file.name, file.title);
  text += WrapText(MatchingAim(file), 0);
  text += "\nCompared\n";
  for (size_t pass = 0; pass < first.keys.passes.size(); ++pass)
    text += fmt::format("  pass {}  {}\n", pass + 1, PassName(first, pass));
  for (const MatchingParty& party : file.parties) {
    text += fmt::format("  {} brings\n", party.name);
    for (const std::string& column : KeyColumnTexts(party)) text += WrapText("- " + column, 4);
  }
  text += fmt::format("  rows of one key {}, cells that do not fit their rule {}\n",
                      UnusableText(first.keys.duplicates), UnusableText(first.keys.faulty));
  text += fmt::format("  texts are folded by Unicode {}\n\nWho learns what\n", plan.unicode);
  for (size_t party = 0; party < plan.learns.size(); ++party) {
    text +=
        fmt::format("  {}{}\n", names[party], party < file.parties.size() ? "" : ", the linker");
    for (const std::string& clause : plan.learns[party]) text += WrapText("- " + clause, 4);
  }
  text += "  Nobody else takes part.\n\nWhat this does not prevent\n";
  for (const std::string& sentence : plan.not_prevented) text += WrapText("- " + sentence, 2);
  if (plan.privacy)
    text +=
        "\nWhat the number of matches says of one person\n" + privacy::StatementText(*plan.privacy);
  TextTable table{{"phase", "rounds"}, {1}, {}};
  for (size_t party = 0; party < names.size(); ++party) {
    table.header.push_back(names[party] + " sends");
    table.right.push_back(table.header.size() - 1);
  }
  for (const MatchingPhase& phase : plan.phases) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {phase.name, std::to_string(phase.LongestRounds())};
    for (size_t party = 0; party < names.size(); ++party)
      row.push_back(FormatCount(phase.BytesOf(party)) + " bytes");
  }
  const bool at_most = file.hidden() && !file.linked();
  return text + (at_most ? "\nMessages, at most\n" : "\nMessages\n") + RenderTable(table, 2);
}

study::ApprovalTerms TermsOfMatching(const MatchingFile& file, const MatchingPlan& plan,
                                     std::span<const std::string> fingerprints) {
  crypto::Sha256 hash;
  hash.Field("partita matching file").U64(net::kWireVersion).Field(file.text);
  const std::vector<std::string> names = file.Names();
  for (size_t party = 0; party < names.size(); ++party)
    hash.Field(names[party]).Field(fingerprints[party]);
  study::ApprovalTerms terms;
  terms.study = file.name;
  terms.agreement_hash = hash.Finish();
  terms.plan_hash = PlanDigest(plan);
  terms.disclosure.min_rows = file.minimum;
  terms.kind = "matching";
  return terms;
}

}  // namespace partita::run
