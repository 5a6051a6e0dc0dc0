// Doubles of what a node stands on: a store in memory that can be killed before and after each
// write, signatures that are hashes, a random source that is a counter.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "crypto/hash.h"
#include "node/service/node.h"
#include "node/study/codec.h"

namespace partita::node {

// A SIGKILL: nothing after it happens in that process.
struct Killed {};

// What a disk holds. Everything goes through the bytes of codec.h.
struct Disk {
  Incarnation incarnation{};
  uint64_t next_number = 1;
  bool stopped = false, restored = false;
  std::map<StudyId, Bytes> studies;
  std::map<uint64_t, OutboxEntry> outbox;
  std::map<Digest, ReceivedMessage> received;
  std::map<std::tuple<std::string, Incarnation, uint64_t>, Digest> numbers;
  std::map<Digest, std::pair<StudyId, Bytes>> bodies;
  std::map<std::pair<std::string, int64_t>, uint64_t> taken;
  std::vector<AuditEntry> audit;
  std::vector<LogDay> days;
  std::map<std::string, PeerLog> peer_logs;
  std::map<std::pair<std::string, uint64_t>, PeerDay> peer_days;
  std::vector<LogFault> faults;
  std::map<std::string, KeptReceipt> receipts;
  std::map<StudyId, OverStudy> endings;
};

class MemoryStore : public Store {
 public:
  // around: called before and after each write; may throw Killed.
  MemoryStore(Disk& disk, std::function<void()> around) : disk_(disk), around_(std::move(around)) {}

  void RequireHeld() override {}
  Opening Open() override {
    Opening opening{
        disk_.incarnation, disk_.next_number, disk_.stopped, disk_.restored, {}, {}, {}, {}, {}};
    if (!disk_.days.empty()) opening.newest_day = disk_.days.back();
    for (const auto& [party, kept] : disk_.receipts) opening.log_receipts.push_back(kept);
    for (const auto& [id, bytes] : disk_.studies) {
      try {
        Study study = DecodeStudy(bytes);
        if (IsOpen(study)) opening.open.push_back(std::move(study));
      } catch (const Error&) {
        opening.set_apart.push_back(id);
      }
    }
    for (const auto& [number, entry] : disk_.outbox) opening.outbox.push_back(entry);
    return opening;
  }
  void CopyTo(const std::filesystem::path&) override {
    throw Error(ErrorCode::kInternal, "a disk in memory has no files");
  }
  // Sees every change, before it is written.
  std::function<void(const Change&)> on_commit;
  void Commit(const Change& change) override {
    if (on_commit) on_commit(change);
    around_();
    if (change.study) disk_.studies[change.study->id] = EncodeStudy(*change.study);
    for (const Bytes& body : change.bodies)
      disk_.bodies[crypto::Sha256Of(body)] = {change.study.value().id, body};
    if (change.study && !IsOpen(*change.study)) {
      std::erase_if(disk_.bodies,
                    [&](const auto& body) { return body.second.first == change.study->id; });
    }
    for (const OutboxEntry& entry : change.send) {
      if (!disk_.outbox.emplace(entry.number, entry).second)
        throw Error(ErrorCode::kInternal, "a number was used twice");
    }
    if (change.received) {
      const ReceivedMessage& message = *change.received;
      const bool fresh =
          disk_.received.emplace(message.name, message).second &&
          disk_.numbers
              .emplace(std::tuple(message.from, message.incarnation, message.number), message.name)
              .second;
      if (!fresh) throw Error(ErrorCode::kInternal, "a message was taken twice");
      disk_.taken[{message.from, message.day}] += message.bytes;
    }
    for (const uint64_t number : change.gone) disk_.outbox.erase(number);
    if (change.next_number) disk_.next_number = *change.next_number;
    if (change.stopped) disk_.stopped = *change.stopped;
    if (change.knows_restored) disk_.restored = false;
    for (const AuditRecord& record : change.audit) {
      const AuditHead head = disk_.audit.empty() ? AuditHead() : HeadOf(disk_.audit.back());
      disk_.audit.push_back(DecodeAuditEntry(Encode(EntryAfter(head, record))));
    }
    if (change.close_day) {
      disk_.days.push_back(DayAfter(disk_.days.empty() ? LogDay() : disk_.days.back(),
                                    *change.close_day, HeadOf(disk_.audit.back())));
    }
    if (change.peer_log) {
      const PeerLogNews& news = *change.peer_log;
      std::erase_if(disk_.peer_days, [&](const auto& day) {
        return day.first.first == news.log.party && news.departs != 0 &&
               day.first.second >= news.departs;
      });
      for (const PeerDay& day : news.days) disk_.peer_days[{news.log.party, day.number}] = day;
      disk_.peer_logs[news.log.party] = news.log;
      if (news.fault) disk_.faults.insert(disk_.faults.begin(), *news.fault);
    }
    if (change.log_receipt) disk_.receipts[change.log_receipt->party] = *change.log_receipt;
    if (change.ended) {
      const StudyId id = change.study.value().id;
      disk_.endings.emplace(id, OverStudy{id, *change.ended, Kept::kAll});
    }
    for (const OverStudy& study : change.keep_less) {
      disk_.endings.at(study.id).kept = study.kept;
      if (study.kept != Kept::kNumber) continue;
      disk_.studies.erase(study.id);
      for (auto& entry : disk_.received) {
        if (entry.second.study == study.id) entry.second.message.clear();
      }
    }
    around_();
  }
  std::optional<Study> FindStudy(const StudyId& id) override {
    const auto found = disk_.studies.find(id);
    if (found == disk_.studies.end()) return std::nullopt;
    return DecodeStudy(found->second);
  }
  // By number, the highest first: nothing here knows which ended first.
  OverPage FindOver(int64_t before, size_t limit) override {
    OverPage page;
    int64_t at = 0;
    for (auto entry = disk_.studies.rbegin(); entry != disk_.studies.rend(); ++entry) {
      Study study = DecodeStudy(entry->second);
      if (IsOpen(study) || ++at <= before) continue;
      if (page.studies.size() == limit) {
        page.next = at - 1;
        break;
      }
      page.studies.push_back(std::move(study));
    }
    return page;
  }
  std::vector<OverStudy> FindEnded() override {
    std::vector<OverStudy> ended;
    for (const auto& entry : disk_.endings) ended.push_back(entry.second);
    return ended;
  }
  std::optional<OverStudy> FindEnd(const StudyId& id) override {
    const auto found = disk_.endings.find(id);
    if (found == disk_.endings.end()) return std::nullopt;
    return found->second;
  }
  bool HasReceived(const Digest& name) override { return disk_.received.contains(name); }
  std::optional<Digest> FindNumber(const std::string& from, const Incarnation& incarnation,
                                   uint64_t number) override {
    const auto found = disk_.numbers.find(std::tuple(from, incarnation, number));
    if (found == disk_.numbers.end()) return std::nullopt;
    return found->second;
  }
  std::optional<Bytes> FindBody(const Digest& digest) override {
    const auto found = disk_.bodies.find(digest);
    if (found == disk_.bodies.end()) return std::nullopt;
    return found->second.second;
  }
  uint64_t BytesTaken(const std::string& from, int64_t day) override {
    const auto found = disk_.taken.find({from, day});
    return found == disk_.taken.end() ? 0 : found->second;
  }
  // All of it, whatever is asked for.
  AuditPage ReadAudit(const AuditFilter&, uint64_t, size_t) override {
    return {{disk_.audit.rbegin(), disk_.audit.rend()}, 0, {}, std::nullopt};
  }
  AuditCheck CheckAudit(uint64_t, size_t) override { return {}; }
  std::vector<LogDay> FindLogDays(uint64_t from, size_t limit) override {
    std::vector<LogDay> found;
    for (const LogDay& day : disk_.days) {
      if (day.number >= from && found.size() < limit) found.push_back(day);
    }
    return found;
  }
  std::vector<PeerLog> FindPeerLogs() override {
    std::vector<PeerLog> logs;
    for (const auto& [party, log] : disk_.peer_logs) logs.push_back(log);
    return logs;
  }
  std::optional<PeerDay> FindPeerDay(const std::string& party, uint64_t number) override {
    const auto found = disk_.peer_days.find({party, number});
    if (found == disk_.peer_days.end()) return std::nullopt;
    return found->second;
  }
  std::vector<LogFault> FindLogFaults(size_t limit) override {
    return {disk_.faults.begin(), disk_.faults.begin() + static_cast<std::ptrdiff_t>(
                                                             std::min(limit, disk_.faults.size()))};
  }

 private:
  Disk& disk_;
  std::function<void()> around_;
};

inline Bytes BytesOf(std::string_view text) { return {text.begin(), text.end()}; }
inline Bytes HashSignature(std::string_view key, std::string_view domain, ByteView fields) {
  const Digest digest = crypto::Sha256().Field(key).Field(domain).Field(fields).Finish();
  return {digest.begin(), digest.end()};
}
inline std::string NodeKey(const std::string& party) { return "node key of " + party; }
inline std::string RunKey(const std::string& party) { return "run key of " + party; }
inline Digest StewardOf(const std::string& party) {
  return crypto::Sha256Of(AsBytes("steward of " + party));
}

// "approve|party|agreement|plan|until|signature", or "reject|party|agreement|plan|reason|signature".
inline std::string SignDocument(const std::string& party, const std::string& fields) {
  return fields + "|" + ToHex(HashSignature("steward of " + party, "document", AsBytes(fields)));
}
inline std::string ApprovalText(const std::string& party, const Digest& agreement,
                                const Digest& plan, int64_t until) {
  return SignDocument(party, "approve|" + party + "|" + ToHex(agreement) + "|" + ToHex(plan) + "|" +
                                 std::to_string(until));
}
// The same, signed by one person of two.
inline std::string FirstOfTwoText(const std::string& party, const Digest& agreement,
                                  const Digest& plan, int64_t until) {
  return SignDocument(party, "approve|" + party + "|" + ToHex(agreement) + "|" + ToHex(plan) + "|" +
                                 std::to_string(until) + "|1 of 2");
}
inline Digest PlanOfAll() { return crypto::Sha256Of(AsBytes("plan")); }
inline std::string RejectionText(const std::string& party, const std::string& reason,
                                 const Digest& agreement = {}, const Digest& plan = PlanOfAll()) {
  return SignDocument(
      party, "reject|" + party + "|" + ToHex(agreement) + "|" + ToHex(plan) + "|" + reason);
}

// Keys are names; a signature is a hash of the name and of what is signed.
class NamedTrust : public Trust {
 public:
  NamedTrust(std::string self, std::set<std::string> parties)
      : self_(std::move(self)), parties_(std::move(parties)) {}

  bool Knows(const std::string& party) const override { return parties_.contains(party); }
  std::vector<std::string> Others() const override {
    std::vector<std::string> names;
    for (const std::string& party : parties_) {
      if (party != self_) names.push_back(party);
    }
    return names;
  }
  void Revoke(const std::string& party) { parties_.erase(party); }
  Digest Steward(const std::string& party) const override { return StewardOf(party); }
  Signature SignMessage(const Message& message) const override { return SignAs(self_, message); }
  static Signature SignAs(const std::string& party, const Message& message) {
    Signature signature{BytesOf(NodeKey(party)), {}};
    signature.signature =
        HashSignature(NodeKey(party), kMessageDomain, SignedBytes(message, signature.certificate));
    return signature;
  }
  bool SignedBySender(const SignedMessage& message) const override {
    return SignAs(message.message.from, message.message) == message.signature;
  }
  bool IsRunCertificate(const std::string& party, ByteView certificate) const override {
    return std::string(certificate.begin(), certificate.end()).starts_with(RunKey(party));
  }
  bool SignedByRunKey(ByteView certificate, std::string_view domain, ByteView fields,
                      ByteView signature) const override {
    const std::string key(certificate.begin(), certificate.end());
    return HashSignature(key, domain, fields) == Bytes(signature.begin(), signature.end());
  }
  DocumentFacts ReadDocument(const std::string& text, const std::string& party,
                             const Digest& steward) const override {
    const size_t end = text.rfind('|');
    const auto refuse = [] { throw Error(ErrorCode::kRefused, "no document of that party"); };
    if (end == std::string::npos || steward != StewardOf(party) || !Knows(party) ||
        SignDocument(party, text.substr(0, end)) != text)
      refuse();
    std::vector<std::string> parts(1);
    for (const char c : text) {
      if (c == '|') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    if (parts.at(1) != party) refuse();
    DocumentFacts facts;
    facts.approves = parts[0] == "approve";
    facts.complete = parts.size() < 6 || parts[5] != "1 of 2";
    if (!facts.complete && party != self_) refuse();
    const auto digest = [](const std::string& hex) {
      Digest out{};
      const Bytes bytes = FromHex(hex);
      std::copy(bytes.begin(), bytes.end(), out.begin());
      return out;
    };
    facts.agreement_hash = digest(parts.at(2));
    facts.plan_hash = digest(parts.at(3));
    if (facts.approves) {
      facts.valid_until = std::stoll(parts.at(4));
    } else {
      facts.reason = parts.at(4);
    }
    return facts;
  }

 private:
  std::string self_;
  std::set<std::string> parties_;
};

// A message as `from` itself would sign it: of a party that deviates, or was set back.
inline Bytes SignedBy(const std::string& from, const std::string& to, Kind kind,
                      const StudyId& study, const Bytes& body, uint64_t number, int64_t time) {
  SignedMessage message;
  message.message.kind = kind;
  message.message.from = from;
  message.message.to = to;
  message.message.study = study;
  message.message.incarnation.fill(99);
  message.message.number = number;
  message.message.time = time;
  SetBody(message.message, body);
  message.signature = NamedTrust::SignAs(from, message.message);
  return EncodeMessage(message);
}

// SplitMix64: any bits will do here, the same every time.
class CountedRandom : public crypto::RandomSource {
 public:
  explicit CountedRandom(uint64_t seed) : state_(seed) {}
  void Fill(std::span<uint8_t> out) override {
    for (uint8_t& byte : out) byte = static_cast<uint8_t>(Next());
  }
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t bound) { return Next() % bound; }

 private:
  uint64_t state_;
};

}  // namespace partita::node
