#include "node/sign/kept_word.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/utc_time.h"
#include "node/job/heads_answer.h"

namespace partita::node {
namespace {

[[noreturn]] void DoNotSign(const std::string& what) {
  throw Error(ErrorCode::kUntrusted, what,
              "Sign nothing of this: look at the node's log, and at who can write there.");
}

// By party, those that count by this list.
std::map<std::string, HeadsAnswer> CountingAnswers(const std::vector<Bytes>& answers,
                                                   const KeptBudgets& kept, const PartyList& list,
                                                   int64_t now) {
  std::map<Digest, HeadsAnswer> by_digest;
  for (const Bytes& bytes : answers) {
    const SignedHeads document = DecodeSignedHeads(bytes);
    if (IsHeadsAnswer(document, list, kept.mark, now))
      by_digest[crypto::Sha256Of(bytes)] = document.answer;
  }
  std::map<std::string, HeadsAnswer> counting;
  for (const KeptParty& party : kept.parties) {
    const auto found = by_digest.find(party.answer);
    if (found != by_digest.end() && found->second.from == party.name)
      counting[party.name] = found->second;
  }
  return counting;
}

bool IsWhole(const std::map<std::string, HeadsAnswer>& answers, const std::string& party) {
  const auto found = answers.find(party);
  return found != answers.end() && found->second.shown.memory == HeadsMemory::kWhole;
}

void RequireAnswered(const KeptBudgets& kept, const PartyList& list,
                     const std::map<std::string, HeadsAnswer>& answers) {
  for (const ListedParty& party : list.parties) {
    if (party.revoked_at == 0 && !IsWhole(answers, party.name)) {
      DoNotSign("the node says that budgets are kept, but " + party.name +
                " has not said what it was shown of the ledger");
    }
  }
  for (const KeptParty& party : kept.parties) {
    if (party.lacks.empty() && !IsWhole(answers, party.name))
      DoNotSign("the answer of " + party.name + " is not the one that the job was given");
  }
}

void RequireNewest(const KeptAccount& account, const std::map<std::string, HeadsAnswer>& answers) {
  uint64_t newest = 0;
  for (const auto& entry : answers) {
    for (const auto& [head, is_overtaken] : entry.second.shown.heads) {
      if (head.pseudonym != account.head.pseudonym) continue;
      newest = std::max(newest, head.sequence);
      if (is_overtaken)
        DoNotSign("another site showed a newer entry of the account " + account.table);
    }
  }
  if (newest != account.shown || newest == 0 || newest > account.head.sequence)
    DoNotSign("the answers do not say of the account " + account.table + " what the job found");
}

}  // namespace

KeptBudgets RequireKept(ByteView finding, const std::vector<Bytes>& answers,
                        const RestoredMark& mark, const PartyList& list, const Digest& job,
                        const std::set<Digest>& given_up, int64_t now) {
  const SignedKept document = DecodeSignedKept(finding);
  KeptBudgets kept = document.kept;
  if (!IsKeptSignedBy(document, kFoundDomain, {job}) || kept.owner != list.owner)
    DoNotSign("what was found of the budgets is not signed by the key of this site's jobs");
  if (kept.mark != DigestOf(mark)) DoNotSign("what was found of the budgets is of another restore");
  if (!IsFresh(kept.time, now)) {
    throw Error(
        ErrorCode::kRefused,
        "what was found of the budgets is of " + FormatUtc(kept.time) + ", and not of today",
        "Set the clocks of the node and of this machine, and try again.");
  }
  for (KeptAccount& account : kept.accounts) {
    if (account.lost.empty() && given_up.contains(account.head.pseudonym))
      account.lost = "the steward gave it up after an earlier restore";
  }
  const bool keeps = std::any_of(kept.accounts.begin(), kept.accounts.end(),
                                 [](const KeptAccount& account) { return account.lost.empty(); });
  if (!keeps) {
    throw Error(ErrorCode::kRefused,
                "no budget can be kept: " +
                    (kept.accounts.empty()
                         ? "none is left that an earlier restore did not end"
                         : "the account " + kept.accounts[0].table + ": " + kept.accounts[0].lost),
                "Wait for the sites that have not answered, or let the steward sign that all is "
                "spent: partita node reopen --all-spent.");
  }
  const auto counting = CountingAnswers(answers, kept, list, now);
  RequireAnswered(kept, list, counting);
  for (const KeptAccount& account : kept.accounts) {
    if (account.lost.empty()) RequireNewest(account, counting);
  }
  return kept;
}

std::vector<std::string> KeptLines(const KeptBudgets& kept, const std::vector<Bytes>& answers) {
  std::map<Digest, int64_t> times;
  for (const Bytes& bytes : answers)
    times[crypto::Sha256Of(bytes)] = DecodeSignedHeads(bytes).answer.time;
  std::vector<std::string> lines{"found at " + FormatUtc(kept.time)};
  for (const KeptParty& party : kept.parties) {
    std::string line = party.name + " ";
    if (const auto time = times.find(party.answer); time != times.end())
      line += "answered at " + FormatUtc(time->second) + ", and ";
    lines.push_back(line + (party.lacks.empty() ? "its memory is whole" : party.lacks));
  }
  for (const KeptAccount& account : kept.accounts) {
    if (!account.lost.empty()) {
      lines.push_back(
          fmt::format("account {}: its budget counts as spent: {}", account.table, account.lost));
      continue;
    }
    lines.push_back(
        fmt::format("account {}: its budget is kept: no site was shown a newer entry than {}, and "
                    "this copy ends "
                    "with entry {}",
                    account.table, account.shown, account.head.sequence));
    lines.push_back(
        fmt::format("account {}: this policy holds: {}", account.table, account.policy));
    if (!account.charged.empty()) {
      lines.push_back(fmt::format("account {}: reservations that count as spent for good: {}",
                                  account.table, fmt::join(account.charged, ", ")));
    }
  }
  lines.push_back(
      "No site beside those whose memory is whole ever saw a study that was charged to these "
      "accounts");
  lines.push_back(fmt::format(
      "Every charge of these accounts was of a study that showed it, under the name {}, "
      "to the ledger of another site's node, and none was of a private sum",
      kept.owner));
  return lines;
}

}  // namespace partita::node
