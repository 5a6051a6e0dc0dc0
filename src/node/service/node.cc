#include "node/service/node.h"

#include <algorithm>

#include "base/error.h"
#include "node/audit/study_audit.h"
#include "node/study/codec.h"

namespace partita::node {
namespace {

template <typename... T>
bool HoldsAny(const Event& event) {
  return (std::holds_alternative<T>(event) || ...);
}

bool IsReport(const Event& event) {
  return HoldsAny<Checked, Committed, JobUp, JobProgress, JobEnded, JobGone, Discarded>(event);
}

bool IsCommand(const Event& event) {
  return HoldsAny<OwnApproval, OwnRejection, OwnWithdrawal, Retry>(event);
}

// Kept for years, and taken once. The others are of use for a minute, and do no harm again.
bool IsEvidence(Kind kind) {
  return kind != Kind::kAskSlot && kind != Kind::kSlot && kind != Kind::kBusy &&
         kind != Kind::kProgress && kind != Kind::kRelay;
}

}  // namespace

Node::Node(const Parts& parts) : parts_(parts), certain_(parts.steady) {
  Opening opening = parts_.store.Open();
  incarnation_ = opening.incarnation;
  next_number_ = opening.next_number;
  stopped_ = opening.stopped;
  restored_ = opening.restored;
  set_apart_ = {opening.set_apart.begin(), opening.set_apart.end()};
  for (Study& study : opening.open) {
    const StudyId id = study.id;
    open_.emplace(id, std::move(study));
  }
  newest_day_ = opening.newest_day;
  served_day_ = newest_day_.day;
  has_log_ = !parts_.store.ReadAudit({}, 0, 1).entries.empty();
  for (const KeptReceipt& kept : opening.log_receipts) log_receipts_[kept.party] = kept;
  for (OutboxEntry& entry : opening.outbox) {
    const uint64_t number = entry.number;
    const SignedMessage waiting = DecodeMessage(entry.message);
    if (waiting.message.kind == Kind::kLogHead)
      log_told_[entry.to] = DecodeLogHead(waiting.message.body).newest;
    outbox_.emplace(number, Sending{std::move(entry)});
  }
}

void Node::RequireSound() const {
  if (sound_) return;
  throw Error(ErrorCode::kStorage, "an earlier change of the node may not be on the disk",
              "Check the disk and start the node again.");
}

void Node::Commit(const Change& change) {
  RequireSound();
  sound_ = false;
  parts_.store.Commit(change);
  sound_ = true;
  has_log_ = has_log_ || !change.audit.empty();
}

Load Node::LoadBeside(const Study& study, int64_t now) const {
  Load load;
  for (const auto& [id, other] : open_) {
    if (id == study.id) continue;
    if (HoldsRoom(other, now)) {
      load.jobs += 1;
      load.memory_bytes += other.facts.memory_bytes;
      load.free_at =
          std::max(load.free_at, IsAttempt(other.phase) ? other.scheduled_at + other.facts.seconds
                                                        : other.lease_until);
    }
    const bool older = std::pair(other.began, id) < std::pair(study.began, study.id);
    if (older && other.proposer == parts_.self && other.phase == Phase::kAgreed &&
        other.closed < other.allowed && other.next_try <= now)
      load.older_waits = true;
  }
  return load;
}

Context Node::MakeContext(const Study* study, Mail& mail, int64_t now) {
  return {now,           certain_.At(now),
          parts_.self,   parts_.trust,
          parts_.random, mail,
          parts_.limits, study == nullptr ? Load{} : LoadBeside(*study, now),
          stopped_,      draining_};
}

void Node::Write(const Study& study, const Mail& mail, News news, int64_t now) {
  if (DecodeStudy(EncodeStudy(study)) != study)
    throw Error(ErrorCode::kInternal, "the state of a study would not be read back as it is");
  Change change;
  change.study = study;
  change.received = std::move(news.received);
  change.audit = std::move(news.audit);
  if (!IsOpen(study)) change.ended = certain_.At(now);
  for (const Mail::Letter& letter : mail.letters()) {
    change.send.push_back({letter.number, letter.to, study.id, letter.until, letter.message});
    if (letter.body.has_value()) change.bodies.push_back(*letter.body);
  }
  if (!news.fetched.empty()) change.bodies.push_back(std::move(news.fetched));
  if (mail.next_number() != next_number_) change.next_number = mail.next_number();
  Commit(change);
  // From here on it is durable.
  next_number_ = mail.next_number();
  for (OutboxEntry& entry : change.send) {
    const uint64_t number = entry.number;
    outbox_[number] = {std::move(entry), now, 0};
  }
  if (IsOpen(study)) {
    open_[study.id] = study;
  } else {
    open_.erase(study.id);
  }
  for (const JobRequest& job : news.jobs) parts_.jobs.Start(job, study);
}

Step Node::Move(Study study, const Event& event, int64_t now,
                std::optional<ReceivedMessage> received, const Bytes& fetched, const Actor& actor) {
  RequireSound();
  Mail mail(parts_.trust, parts_.self, incarnation_, next_number_, now);
  Context context = MakeContext(&study, mail, now);
  const Study before = study;
  Step step = Apply(event, study, context);
  if (step.answer != Answer::kDone) return step;
  if (received.has_value() || !mail.letters().empty() || !(study == before)) {
    Write(study, mail,
          {std::move(received), step.jobs,
           AuditOfMove(event, before, study, parts_.self, actor, now), fetched},
          now);
  } else {
    for (const JobRequest& job : step.jobs) parts_.jobs.Start(job, study);
  }
  return step;
}

void Node::Restart(int64_t now) {
  std::vector<StudyId> ids;
  for (const auto& entry : open_) ids.push_back(entry.first);
  for (const StudyId& id : ids) Move(open_.at(id), Restarted{}, now, std::nullopt);
  if (restored_) {
    // One that is killed in between does it again.
    for (const StudyId& id : ids) {
      if (open_.contains(id)) Move(open_.at(id), Restored{}, now, std::nullopt);
    }
    Change change;
    change.knows_restored = true;
    Commit(change);
    restored_ = false;
  }
  Tick(now);
}

Receipt Node::Refuse(const std::string& why) {
  if (refusals_.size() >= 100) refusals_.erase(refusals_.begin());
  refusals_.push_back(why);
  return Receipt::kRefused;
}

Receipt Node::Receive(ByteView bytes, int64_t now) {
  try {
    const SignedMessage message = DecodeMessage(bytes);
    const Message& fields = message.message;
    if (fields.to != parts_.self) return Refuse("a message for another party");
    if (fields.from == parts_.self || !parts_.trust.Knows(fields.from))
      return Refuse("a message of somebody who is not on the list of parties");
    if (!parts_.trust.SignedBySender(message))
      return Refuse("a message of party " + fields.from + " that it did not sign");
    return ReceiveChecked(message, bytes, now);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kStorage || error.code() == ErrorCode::kInternal) throw;
    return Refuse(error.message());
  }
}

Receipt Node::ReceiveChecked(const SignedMessage& message, ByteView bytes, int64_t now) {
  const Message& fields = message.message;
  const bool understood = fields.version == kMessageVersion && IsKnown(fields.kind);
  std::optional<ReceivedMessage> received;
  if (!understood || IsEvidence(fields.kind)) {
    received =
        ReceivedMessage{MessageName(message), fields.from,  fields.incarnation,
                        fields.number,        fields.study, Bytes(bytes.begin(), bytes.end()),
                        now / 86'400,         bytes.size()};
    if (parts_.store.HasReceived(received->name)) return Receipt::kTaken;
    if (parts_.store.FindNumber(fields.from, fields.incarnation, fields.number).has_value())
      return Refuse("party " + fields.from + " used a number twice: it was set back, or lies");
    if (understood && fields.fetched.has_value()) received->bytes += fields.fetched->size;
    if (parts_.store.BytesTaken(fields.from, received->day) + received->bytes > kMaxBytesPerPeerDay)
      return Receipt::kLater;
  }
  if (!understood) {
    SayNotUnderstood(message, std::move(*received), now);
    return Receipt::kTaken;
  }
  if (fields.kind == Kind::kLogHead || fields.kind == Kind::kLogReceipt)
    return TakeLogMessage(message, std::move(*received), now);
  if (!fields.fetched.has_value()) return TakeChecked(message, std::move(received), {}, now);
  if (fields.kind != Kind::kProposal && fields.kind != Kind::kRoster)
    return Refuse("a message that has to be fetched, of a kind that is short");
  Wanted& wanted = wanted_[fields.from];
  if (wanted.body != *fields.fetched) wanted = {*fields.fetched, std::nullopt};
  if (!wanted.bytes.has_value()) return Receipt::kNeedsBody;
  auto entry = wanted_.extract(fields.from);
  const Receipt receipt = TakeChecked(message, std::move(received), *entry.mapped().bytes, now);
  if (receipt == Receipt::kLater) wanted_.insert(std::move(entry));
  return receipt;
}

Receipt Node::TakeChecked(const SignedMessage& message, std::optional<ReceivedMessage> received,
                          const Bytes& fetched, int64_t now) {
  const Message& fields = message.message;
  const Bytes& body = fields.fetched.has_value() ? fetched : fields.body;
  if (set_apart_.contains(fields.study)) return Receipt::kLater;
  std::optional<Study> study = Find(fields.study);
  if (!study.has_value()) {
    if (parts_.store.FindEnd(fields.study).has_value())
      return Refuse("a message of a study that was over long ago, and is deleted here");
    if (fields.kind != Kind::kProposal) return Receipt::kLater;
    return TakeNewStudy(message, body, std::move(received.value()), now);
  }
  const Step step =
      Move(std::move(*study), Received{message, body}, now, std::move(received), fetched);
  if (step.answer == Answer::kRefused) return Refuse(step.refusal);
  return step.answer == Answer::kDone ? Receipt::kTaken : Receipt::kLater;
}

Receipt Node::TakeNewStudy(const SignedMessage& message, ByteView body, ReceivedMessage received,
                           int64_t now) {
  const std::string& from = message.message.from;
  const auto open_of_peer = std::count_if(
      open_.begin(), open_.end(), [&](const auto& entry) { return entry.second.proposer == from; });
  if (static_cast<size_t>(open_of_peer) >= kMaxOpenPerPeer) return Receipt::kLater;
  Mail mail(parts_.trust, parts_.self, incarnation_, next_number_, now);
  Context context = MakeContext(nullptr, mail, now);
  Step step;
  const std::optional<Study> study = TakeProposal(message, body, context, step);
  if (!study.has_value()) return Refuse(step.refusal);
  const Bytes fetched =
      message.message.fetched.has_value() ? Bytes(body.begin(), body.end()) : Bytes();
  AuditRecord record;
  record.time = now;
  record.actor = {ActorKind::kParty, from};
  record.action = AuditAction::kProposal;
  record.study = study->id;
  record.message = received.name;
  Write(*study, mail, {std::move(received), step.jobs, {record}, fetched}, now);
  return Receipt::kTaken;
}

void Node::SayNotUnderstood(const SignedMessage& message, ReceivedMessage received, int64_t now) {
  const Message& fields = message.message;
  Change change;
  Mail mail(parts_.trust, parts_.self, incarnation_, next_number_, now);
  // Of an answer to an answer there is no end.
  if (fields.kind != Kind::kNotUnderstood) {
    mail.Send(
        fields.from, Kind::kNotUnderstood, fields.study,
        Encode(NotUnderstood{received.name, fields.version, static_cast<uint16_t>(fields.kind)}),
        now + kClosingSeconds);
  }
  change.received = std::move(received);
  Post(std::move(change), mail, fields.study, now);
}

void Node::TakeBody(const Digest& asked, const Bytes& body) {
  const BodyDigest found{crypto::Sha256Of(body), body.size()};
  bool wanted_by_any = false;
  for (auto& entry : wanted_) {
    Wanted& wanted = entry.second;
    if (found.digest != asked || wanted.body != found) continue;
    wanted.bytes = body;
    wanted_by_any = true;
  }
  if (!wanted_by_any) {
    throw Error(ErrorCode::kPeerFault, "a fetched body is not one that was asked for",
                "Install the same release of Partita at every node.");
  }
}

void Node::Report(const StudyId& id, const Event& event, int64_t now) {
  if (!IsReport(event)) throw Error(ErrorCode::kInternal, "a job reports what no job can");
  std::optional<Study> study = Find(id);
  if (study.has_value()) Move(std::move(*study), event, now, std::nullopt);
}

StudyId Node::Propose(const std::string& study_file, int64_t expires, int64_t now,
                      const Actor& actor) {
  Nonce nonce{};
  parts_.random.Fill(nonce);
  Mail mail(parts_.trust, parts_.self, incarnation_, next_number_, now);
  Context context = MakeContext(nullptr, mail, now);
  Step step;
  const Study study = ProposeStudy(study_file, nonce, expires, context, step);
  AuditRecord record;
  record.time = now;
  record.actor = actor;
  record.action = AuditAction::kProposal;
  record.study = study.id;
  Write(study, mail, {std::nullopt, step.jobs, {record}, {}}, now);
  return study.id;
}

void Node::Command(const StudyId& id, const Event& event, int64_t now, const Actor& actor) {
  if (!IsCommand(event)) throw Error(ErrorCode::kInternal, "a command that nobody may give");
  std::optional<Study> study = Find(id);
  if (!study.has_value())
    throw Error(ErrorCode::kUsage, "there is no such study at this node", "List the studies.");
  Move(std::move(*study), event, now, std::nullopt, {}, actor);
}

void Node::EmergencyStop(int64_t now, const Actor& actor) {
  Change change;
  change.stopped = true;
  AuditRecord& record = change.audit.emplace_back();
  record.time = now;
  record.actor = actor;
  record.action = AuditAction::kStop;
  Commit(change);
  stopped_ = true;
  std::vector<StudyId> ids;
  for (const auto& entry : open_) ids.push_back(entry.first);
  for (const StudyId& id : ids) Move(open_.at(id), node::EmergencyStop{}, now, std::nullopt);
}

void Node::EndEmergencyStop(int64_t now, const Actor& actor) {
  Change change;
  change.stopped = false;
  AuditRecord& record = change.audit.emplace_back();
  record.time = now;
  record.actor = actor;
  record.action = AuditAction::kGoOn;
  Commit(change);
  stopped_ = false;
}

void Node::Drain(bool draining, int64_t now, const Actor& actor) {
  if (draining == draining_) return;
  AuditRecord record;
  record.time = now;
  record.actor = actor;
  record.action = AuditAction::kServe;
  record.outcome = draining ? "drains: no run begins here" : "drains no more";
  Note(record);
  draining_ = draining;
}

size_t Node::Runs() const {
  return static_cast<size_t>(std::count_if(
      open_.begin(), open_.end(), [](const auto& entry) { return IsAttempt(entry.second.phase); }));
}

void Node::Note(const AuditRecord& record) {
  Change change;
  change.audit.push_back(record);
  Commit(change);
}

void Node::Tick(int64_t now) {
  // Oldest first: it may take the room.
  std::vector<std::pair<int64_t, StudyId>> due;
  for (const auto& [id, study] : open_) {
    const std::optional<int64_t> at = WakeAt(study, parts_.self);
    if ((at.has_value() && *at <= now) || IsSetBack(study, now)) due.emplace_back(study.began, id);
  }
  std::sort(due.begin(), due.end());
  for (const auto& item : due) {
    const auto found = open_.find(item.second);
    if (found != open_.end()) Move(found->second, Timer{}, now, std::nullopt);
  }
  if (!parts_.tells_log) return;
  CloseDay(now);
  TellLogs(now);
}

std::optional<int64_t> Node::NextWake() const {
  std::optional<int64_t> next;
  for (const auto& entry : open_) {
    const std::optional<int64_t> at = WakeAt(entry.second, parts_.self);
    if (at.has_value() && (!next.has_value() || *at < *next)) next = at;
  }
  if (parts_.tells_log && has_log_) {
    const int64_t midnight = newest_day_.number == 0 ? 0 : (newest_day_.day + 1) * 86'400;
    next = next.has_value() ? std::min(*next, midnight) : midnight;
  }
  return next;
}

std::vector<OutboxEntry> Node::Due(int64_t now) {
  const int64_t certain = certain_.At(now);
  Change change;
  std::vector<OutboxEntry> due;
  for (auto& [number, sending] : outbox_) {
    // The clock may have been set back.
    sending.next = std::min(sending.next, now + kLastRetrySeconds);
    if (sending.entry.until <= certain) {
      change.gone.push_back(number);
    } else if (sending.next <= now) {
      due.push_back(sending.entry);
    }
  }
  if (!change.gone.empty()) {
    Commit(change);
    for (const uint64_t number : change.gone) outbox_.erase(number);
  }
  return due;
}

void Node::Sent(uint64_t number, int64_t now) {
  const auto found = outbox_.find(number);
  if (found != outbox_.end()) found->second.next = now + kOnItsWaySeconds;
}

void Node::Delivered(uint64_t number) {
  if (!outbox_.contains(number)) return;
  Change change;
  change.gone.push_back(number);
  Commit(change);
  outbox_.erase(number);
}

void Node::Failed(uint64_t number, int64_t now) {
  const auto found = outbox_.find(number);
  if (found == outbox_.end()) return;
  Sending& sending = found->second;
  const int64_t wait =
      std::min(kLastRetrySeconds, kFirstRetrySeconds << std::min<uint32_t>(sending.tries, 10));
  sending.tries += 1;
  // Between the whole wait and half of it.
  std::array<uint8_t, 2> jitter{};
  parts_.random.Fill(jitter);
  const int64_t less = (wait / 2) * (jitter[0] << 8 | jitter[1]) / 65'536;
  sending.next = now + wait - less;
}

std::optional<int64_t> Node::NextDelivery() const {
  std::optional<int64_t> next;
  for (const auto& entry : outbox_) {
    const int64_t at = std::min(entry.second.next, entry.second.entry.until);
    if (!next.has_value() || at < *next) next = at;
  }
  return next;
}

std::optional<Study> Node::Find(const StudyId& id) {
  const auto found = open_.find(id);
  if (found != open_.end()) return found->second;
  if (set_apart_.contains(id)) return std::nullopt;
  return parts_.store.FindStudy(id);
}

}  // namespace partita::node
