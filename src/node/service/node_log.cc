// Node: the own audit log told to other sites, and theirs kept (audit/log_days.h).
#include <fmt/format.h>

#include "node/service/node.h"

namespace partita::node {
namespace {

constexpr int64_t kDay = 86'400;
// The next day tells all of it again to whoever did not answer.
constexpr int64_t kToldFor = 2 * kDay;

}  // namespace

void Node::Post(Change change, const Mail& mail, const StudyId& study, int64_t now) {
  for (const Mail::Letter& letter : mail.letters())
    change.send.push_back({letter.number, letter.to, study, letter.until, letter.message});
  if (mail.next_number() != next_number_) change.next_number = mail.next_number();
  Commit(change);
  next_number_ = mail.next_number();
  for (OutboxEntry& entry : change.send) outbox_[entry.number] = {entry, now, 0};
}

void Node::CloseDay(int64_t now) {
  const int64_t day = certain_.At(now) / kDay;
  if (newest_day_.number != 0 && newest_day_.day == day) return;
  if (newest_day_.number >= kMaxLogDays || !has_log_) return;
  Change change;
  change.close_day = day;
  Commit(change);
  newest_day_ = parts_.store.FindLogDays(newest_day_.number + 1, 1).at(0);
}

void Node::TellLogs(int64_t now) {
  for (const std::string& party : parts_.trust.Others()) {
    if (log_told_[party] < newest_day_.number) TellLog(party, now);
  }
}

void Node::TellLog(const std::string& party, int64_t now) {
  const auto kept = log_receipts_.find(party);
  const uint64_t has = kept == log_receipts_.end() ? 0 : Fitting(kept->second.receipt);
  log_told_[party] = newest_day_.number;
  if (has >= newest_day_.number) return;
  LogHead head;
  head.first = has + 1;
  head.newest = newest_day_.number;
  if (has != 0) head.before = kept->second.receipt.digest;
  for (const LogDay& day : parts_.store.FindLogDays(head.first, kMaxDaysTold))
    head.days.push_back({day.day, day.digest});
  Mail mail(parts_.trust, parts_.self, incarnation_, next_number_, now);
  mail.Send(party, Kind::kLogHead, StudyId{}, Encode(head), now + kToldFor);
  Post({}, mail, StudyId{}, now);
}

uint64_t Node::Fitting(const LogReceipt& receipt) {
  if (receipt.number == 0) return 0;
  const std::vector<LogDay> days = parts_.store.FindLogDays(receipt.number, 1);
  return !days.empty() && days[0].digest == receipt.digest ? receipt.number : 0;
}

Receipt Node::TakeLogMessage(const SignedMessage& message, ReceivedMessage received, int64_t now) {
  const Message& fields = message.message;
  if (fields.study != StudyId{} || fields.fetched.has_value())
    return Refuse("a message about a log under the number of a study, or too long");
  if (fields.kind == Kind::kLogHead)
    return TakeLogHead(fields, DecodeLogHead(fields.body), std::move(received), now);
  return TakeLogReceipt(fields, DecodeLogReceipt(fields.body), std::move(received), now);
}

Receipt Node::TakeLogHead(const Message& message, const LogHead& head, ReceivedMessage received,
                          int64_t now) {
  const std::string& from = message.from;
  PeerLog kept;
  for (const PeerLog& log : parts_.store.FindPeerLogs()) {
    if (log.party == from) kept = log;
  }
  const auto digest_of = [&](uint64_t number) -> std::optional<Digest> {
    const std::optional<PeerDay> day = parts_.store.FindPeerDay(from, number);
    if (!day) return std::nullopt;
    return day->digest;
  };
  HeadVerdict verdict = JudgeHead(kept, digest_of, message, received.name, head);
  LogReceipt receipt{received.name, kept.number, kept.digest, 0, 0};
  Change change;
  if (verdict.departs != 0) {
    // Evidence stays for good: once a day is enough of it.
    if (kept.departed_day == now / kDay) return Receipt::kLater;
    verdict.newest->departed_day = now / kDay;
    receipt.departs = verdict.departs;
    receipt.had = kept.number;
    const std::optional<PeerDay> before = parts_.store.FindPeerDay(from, verdict.departs);
    AuditRecord record;
    record.time = now;
    record.actor = {ActorKind::kParty, from};
    record.action = AuditAction::kLogFault;
    record.subject = from;
    record.outcome = fmt::format(
        "its audit log was cut, restored or written anew: of the {} days that it told before, "
        "those "
        "from {} on are not in it any more",
        kept.number, verdict.departs);
    record.message = received.name;
    change.audit.push_back(record);
    change.peer_log.emplace();
    change.peer_log->fault = LogFault{
        from,         verdict.departs, kept.number, now, before ? before->message : Digest{},
        received.name};
  }
  if (verdict.newest.has_value()) {
    if (!change.peer_log.has_value()) change.peer_log.emplace();
    change.peer_log->log = *verdict.newest;
    change.peer_log->departs = verdict.departs;
    change.peer_log->days = std::move(verdict.fresh);
    receipt.number = verdict.newest->number;
    receipt.digest = verdict.newest->digest;
  }
  change.received = std::move(received);
  Mail mail(parts_.trust, parts_.self, incarnation_, next_number_, now);
  mail.Send(from, Kind::kLogReceipt, StudyId{}, Encode(receipt), now + kToldFor);
  Post(std::move(change), mail, StudyId{}, now);
  return Receipt::kTaken;
}

Receipt Node::TakeLogReceipt(const Message& message, const LogReceipt& receipt,
                             ReceivedMessage received, int64_t now) {
  const std::string& from = message.from;
  const auto found = log_receipts_.find(from);
  const KeptReceipt before = found == log_receipts_.end() ? KeptReceipt() : found->second;
  Change change;
  const bool is_older = found != log_receipts_.end() && before.incarnation == message.incarnation &&
                        message.number < before.message_number;
  const uint64_t had = Fitting(before.receipt), has = Fitting(receipt);
  if (!is_older) {
    KeptReceipt& kept = change.log_receipt.emplace();
    kept = {from,
            receipt,
            message.incarnation,
            message.number,
            received.name,
            now,
            before.fault_day == now / kDay ? before.fault_day : 0};
    const bool is_other = receipt.number != 0 && has == 0;
    if ((receipt.departs != 0 || is_other) && before.fault_day != now / kDay) {
      kept.fault_day = now / kDay;
      AuditRecord record;
      record.time = now;
      record.actor = {ActorKind::kParty, from};
      record.action = AuditAction::kLogFault;
      record.subject = parts_.self;
      record.outcome = is_other
                           ? fmt::format("has a day {} of this site's audit log that is not in it",
                                         receipt.number)
                           : fmt::format(
                                 "had {} days of this site's audit log, of which those from {} on "
                                 "are not in it any more",
                                 receipt.had, receipt.departs);
      record.message = received.name;
      change.audit.push_back(record);
    }
  }
  change.received = std::move(received);
  const std::optional<KeptReceipt> news = change.log_receipt;
  Commit(change);
  if (news.has_value()) log_receipts_[from] = *news;
  // More than one message takes; a site that keeps nothing is told again the next day.
  if (!is_older && has > had && has < newest_day_.number && parts_.trust.Knows(from))
    TellLog(from, now);
  return Receipt::kTaken;
}

}  // namespace partita::node
