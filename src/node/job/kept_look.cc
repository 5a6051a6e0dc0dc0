#include "node/job/kept_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/utc_time.h"
#include "node/job/documents.h"
#include "node/job/short_answer.h"
#include "privacy/ledger/audit.h"
#include "run/ledger/open_ledger.h"

namespace partita::node {
namespace {

using privacy::ledger::Entry;
using privacy::ledger::Head;
using privacy::ledger::ShownHead;

constexpr char kSilent[] = "has not answered";

// What other sites said, and whom it takes.
struct Memories {
  std::map<std::string, HeadsAnswer> answers;  // those that count
  std::map<std::string, KeptParty> parties;    // all that are asked or signed an entry
  // Of whom every account needs a word: who is on the list, and who signed an entry of any account of the copy.
  std::set<std::string> needed;
  std::string missing;  // what the whole copy lacks of what a site was shown; empty: nothing
};

std::string LacksOf(HeadsMemory memory) {
  switch (memory) {
    case HeadsMemory::kWhole:
      return "";
    case HeadsMemory::kRestored:
      return "was itself restored from a backup, and may have forgotten";
    case HeadsMemory::kNoLedger:
      return "keeps no ledger, and so remembers nothing";
    case HeadsMemory::kTakenOver:
      return "has a ledger of an earlier version, of which it may have lost what it was shown";
  }
  return kSilent;
}

Memories TakeAnswers(const RestoredMark& mark, const PartyList& list,
                     const std::vector<Bytes>& answers, int64_t now) {
  Memories memories;
  for (const ListedParty& party : list.parties) {
    if (party.revoked_at != 0) continue;
    memories.needed.insert(party.name);
    memories.parties[party.name] = {party.name, {}, kSilent};
  }
  for (const Bytes& bytes : answers) {
    const SignedHeads document = DecodeSignedHeads(bytes);
    if (!IsHeadsAnswer(document, list, DigestOf(mark), now)) continue;
    const HeadsAnswer& answer = document.answer;
    if (!memories.answers.emplace(answer.from, answer).second) {
      throw Error(ErrorCode::kBadInput, "there are two answers of " + answer.from,
                  "Look at who can write in the node's folder.");
    }
    memories.parties[answer.from] = {answer.from, crypto::Sha256Of(bytes),
                                     LacksOf(answer.shown.memory)};
  }
  return memories;
}

// Names by pseudonym.
std::map<Digest, std::string> AccountsOf(privacy::ledger::SqliteLedger& book) {
  std::map<Digest, std::string> accounts;
  for (const std::string& table : book.Tables())
    accounts[book.StandingOf(table).head.pseudonym] = table;
  return accounts;
}

bool HoldsEntry(const std::vector<Entry>& entries, const Head& head) {
  return head.sequence >= 1 && head.sequence <= entries.size() &&
         entries[head.sequence - 1].hash == head.hash;
}

// Of all that a site was shown what this file does not hold: an account, an entry of one, or a place of its journal.
// Also of accounts that the mark does not close: they lie in the same file, so one that is old tells that all are.
std::string MissingFrom(privacy::ledger::SqliteLedger& book, const RestoredMark& mark,
                        const Memories& memories) {
  const std::map<Digest, std::string> accounts = AccountsOf(book);
  const Digest journal = book.JournalHead().pseudonym;
  for (const auto& [name, answer] : memories.answers) {
    for (const auto& [head, is_overtaken] : answer.shown.heads) {
      if (mark.spent.contains(head.pseudonym)) continue;
      if (head.pseudonym == journal) {
        if (is_overtaken || !book.JournalHolds({head.sequence, head.hash}))
          return name + " was shown a newer journal than that of this copy of the ledger";
        continue;
      }
      const auto account = accounts.find(head.pseudonym);
      if (account == accounts.end())
        return name + " was shown an account that this copy of the ledger does not have";
      if (!HoldsEntry(book.Entries(account->second), head)) {
        return fmt::format("{} was shown entry {} of the account {}, which this copy does not have",
                           name, head.sequence, account->second);
      }
      if (is_overtaken)
        return name + " was shown more of the account " + account->second + " by another site";
    }
  }
  return "";
}

const ShownHead* FindShown(const HeadsAnswer& answer, const Digest& pseudonym) {
  for (const ShownHead& shown : answer.shown.heads) {
    if (shown.head.pseudonym == pseudonym) return &shown;
  }
  return nullptr;
}

// By site, the newest entry that it signed.
std::map<std::string, uint64_t> SignersOf(const std::vector<Entry>& entries) {
  std::map<std::string, uint64_t> signers;
  for (const Entry& entry : entries) {
    if (const auto* by = std::get_if<privacy::ledger::Countersigned>(&entry.body))
      signers[by->peer] = std::max(signers[by->peer], by->head);
  }
  return signers;
}

bool HasPrivateSum(const std::vector<Entry>& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
    const auto* reserved = std::get_if<privacy::ledger::Reserved>(&entry.body);
    return reserved != nullptr && privacy::ledger::IsPrivateSum(*reserved);
  });
}

// Why a site's word does not hold for an account whose entries it signed up to `signed_up_to`; empty: it does. A ledger
// that began after the newest entry that any site was shown may be in the place of one that was lost.
std::string WhyNot(const std::string& name, uint64_t signed_up_to, uint64_t newest_shown,
                   const std::vector<Entry>& entries, const Digest& pseudonym,
                   const Memories& memories) {
  const auto party = memories.parties.find(name);
  if (party == memories.parties.end() || !party->second.lacks.empty())
    return name + " " + (party == memories.parties.end() ? kSilent : party->second.lacks);
  const HeadsAnswer& answer = memories.answers.at(name);
  const ShownHead* shown = FindShown(answer, pseudonym);
  const uint64_t number = shown == nullptr ? 0 : shown->head.sequence;
  if (number < signed_up_to) {
    return fmt::format("{} signed entry {} of it and does not remember it", name, signed_up_to);
  }
  if (number > entries.size()) {
    return fmt::format("{} was shown entry {} of it, and this copy ends with entry {}", name,
                       number, entries.size());
  }
  if (number != 0 && entries[number - 1].hash != shown->head.hash)
    return fmt::format("{} was shown another entry {} of it", name, number);
  if (shown != nullptr && shown->is_overtaken)
    return name + " was shown a newer entry of it by another site";
  if (newest_shown != 0 && newest_shown <= entries.size() &&
      answer.shown.since > entries[newest_shown - 1].stamp.at) {
    return fmt::format("{} began its ledger after entry {} of it, the newest that a site was shown",
                       name, newest_shown);
  }
  return "";
}

// Reservations that were not over when entry `shown` was the newest, and are not spent now.
std::vector<uint64_t> OpenSince(const std::vector<Entry>& entries, uint64_t shown) {
  std::set<uint64_t> open;
  for (const Entry& entry : entries) {
    if (std::holds_alternative<privacy::ledger::Reserved>(entry.body)) {
      open.insert(entry.sequence);
    } else if (const auto* spent = std::get_if<privacy::ledger::Spent>(&entry.body)) {
      open.erase(spent->reservation);
    } else if (const auto* refund = std::get_if<privacy::ledger::Refunded>(&entry.body)) {
      if (entry.sequence <= shown) open.erase(refund->reservation);
    }
  }
  return {open.begin(), open.end()};
}

std::string PolicyOf(const privacy::ledger::Standing& standing) {
  std::string text;
  for (const privacy::ledger::BudgetLine& line : privacy::ledger::BudgetLines(standing)) {
    text += fmt::format("against {} epsilon {} at delta {}, of which {} is spent; ", line.against,
                        line.epsilon, line.delta, line.spent);
  }
  return text + privacy::ledger::ExactRuleText(standing);
}

KeptAccount LookAtAccount(privacy::ledger::SqliteLedger& book, const std::string& table,
                          const Memories& memories) {
  const std::vector<Entry> entries = book.Entries(table);
  const privacy::ledger::Standing standing = book.StandingOf(table);
  const Digest pseudonym = standing.head.pseudonym;
  KeptAccount account;
  account.table = table;
  account.head = standing.head;
  account.policy = PolicyOf(standing);
  for (const auto& entry : memories.answers) {
    if (const ShownHead* shown = FindShown(entry.second, pseudonym))
      account.shown = std::max(account.shown, shown->head.sequence);
  }
  std::map<std::string, uint64_t> needed = SignersOf(entries);
  for (const std::string& name : memories.needed) needed.try_emplace(name, 0);
  if (HasPrivateSum(entries))
    account.lost = "private sums were charged to it, and those are shown to no other site";
  for (const auto& [name, signed_up_to] : needed) {
    if (account.lost.empty())
      account.lost = WhyNot(name, signed_up_to, account.shown, entries, pseudonym, memories);
  }
  if (account.lost.empty()) account.lost = memories.missing;
  if (account.lost.empty() && account.shown == 0)
    account.lost = "no other site was ever shown it, so nobody can say whether it is the newest";
  account.charged = OpenSince(entries, account.shown);
  return account;
}

}  // namespace

KeptBudgets LookForKept(privacy::ledger::SqliteLedger& book, const RestoredMark& mark,
                        const PartyList& list, const std::vector<Bytes>& answers, int64_t now) {
  Memories memories = TakeAnswers(mark, list, answers, now);
  for (const std::string& table : book.Tables()) {
    for (const auto& signer : SignersOf(book.Entries(table))) {
      memories.needed.insert(signer.first);
      memories.parties.try_emplace(signer.first, KeptParty{signer.first, {}, kSilent});
    }
  }
  memories.missing = MissingFrom(book, mark, memories);
  KeptBudgets found;
  found.owner = mark.owner;
  found.mark = DigestOf(mark);
  found.time = now;
  for (const std::string& table : book.Tables()) {
    const Digest pseudonym = book.StandingOf(table).head.pseudonym;
    if (!mark.accounts.contains(pseudonym) || mark.spent.contains(pseudonym)) continue;
    found.accounts.push_back(LookAtAccount(book, table, memories));
  }
  std::sort(found.accounts.begin(), found.accounts.end(),
            [](const KeptAccount& a, const KeptAccount& b) { return a.table < b.table; });
  for (const auto& entry : memories.parties) found.parties.push_back(entry.second);
  return found;
}

Bytes EncodeAnswers(const std::vector<Bytes>& answers) {
  ByteWriter writer;
  writer.U32(static_cast<uint32_t>(answers.size()));
  for (const Bytes& answer : answers) writer.Blob(answer);
  return writer.Take();
}

std::vector<Bytes> DecodeAnswers(ByteView bytes) {
  const auto not_whole = [] {
    return Error(ErrorCode::kBadInput, "the answers of other sites are damaged",
                 "They are asked again when the node starts anew without them.");
  };
  std::vector<Bytes> answers;
  try {
    ByteReader reader(bytes);
    const uint32_t count = reader.U32();
    if (count > kMaxListedParties) throw not_whole();
    for (uint32_t i = 0; i < count; ++i) answers.push_back(reader.Blob(kMaxHeadsBytes));
    reader.ExpectEnd();
  } catch (const Error&) {
    throw not_whole();
  }
  return answers;
}

Bytes FindKept(const JobSettings& settings, ByteView answers) {
  const std::vector<Bytes> decoded = DecodeAnswers(answers);
  const std::optional<RestoredMark> mark = ReadRestoredMark(settings.restored);
  if (!mark || settings.ledger.empty()) {
    throw Error(ErrorCode::kRefused, "there are no budgets of before a restore here",
                "There is nothing to keep.");
  }
  privacy::ledger::SqliteLedger book = run::OpenLedger(settings.ledger);
  const PartyList list = OwnList(settings, OwnStewards(settings.stewards));
  const KeptBudgets found = LookForKept(book, *mark, list, decoded, NowUtc());
  return Encode(SignKept(found, kFoundDomain,
                         crypto::LoadIdentity(settings.job_certificate, settings.job_key)));
}

}  // namespace partita::node
