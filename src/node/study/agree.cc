#include <algorithm>

#include "base/error.h"
#include "node/study/roster_check.h"
#include "node/study/steps.h"

namespace partita::node {
namespace {

[[noreturn]] void DoesNotFit(const Run& run, const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kRefused,
              "the study is " + PhaseName(run.study.phase) + ": " + what + " now", hint);
}

void Settle(const Run& run, const RosterFile& roster) {
  Study& study = run.study;
  study.parties = CheckRoster(study, roster, run.context.self, run.context.trust);
  study.roster = roster.text;
  // Jobs verify them again.
  for (size_t i = 0; i < study.parties.size(); ++i)
    study.offers[study.parties[i].name] = roster.offers[i];
  study.phase = Phase::kSettled;
  study.next_try = run.context.now + kStatusSeconds;
  run.Job(JobKind::kCommit);
}

// At the proposer, when an offer has come.
void SettleIfAllOffered(const Run& run) {
  Study& study = run.study;
  const bool all =
      std::all_of(study.facts.parties.begin(), study.facts.parties.end(),
                  [&](const std::string& name) { return study.offers.contains(name); });
  if (!all) return;
  const RosterFile roster = MakeRoster(study, run.context.trust);
  Settle(run, roster);
  run.Tell(Kind::kRoster, Encode(roster));
}

void NotHere(const Run& run, const std::string& who, const std::string& reason) {
  EndStudy(run, Phase::kRejected, {who, "it is not valid there: " + reason});
}

DocumentFacts ReadDocumentOf(const Run& run, const std::string& party, const std::string& text) {
  const Study& study = run.study;
  const auto found = std::find_if(study.parties.begin(), study.parties.end(),
                                  [&](const RosterParty& p) { return p.name == party; });
  const Digest steward =
      found == study.parties.end() ? run.context.trust.Steward(party) : found->steward;
  return run.context.trust.ReadDocument(text, party, steward);
}

// Equal to all others in what it signs; valid until the study expires, and not longer.
bool SaysTheSame(const Study& study, const DocumentFacts& facts) {
  return facts.approves && facts.agreement_hash == *study.agreement_hash &&
         facts.plan_hash == study.facts.plan_hash && facts.valid_until == study.expires;
}

// Before the table is frozen at its site a rejection has no agreement hash.
bool RejectsThis(const Study& study, const DocumentFacts& facts) {
  const bool early = facts.agreement_hash == Digest{} || !study.agreement_hash.has_value();
  return !facts.approves && facts.plan_hash == study.facts.plan_hash &&
         (early || facts.agreement_hash == *study.agreement_hash);
}

// An approval that was taken may count no more: its key is revoked, or too old by now. That is not the
// fault of whoever approves after it.
bool StillSaysTheSame(const Run& run, const std::string& party, const std::string& text) {
  try {
    return SaysTheSame(run.study, ReadDocumentOf(run, party, text));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRefused && error.code() != ErrorCode::kBadInput) throw;
    return false;
  }
}

void AgreeIfAllApproved(const Run& run) {
  Study& study = run.study;
  if (study.phase != Phase::kApproved) return;
  for (const RosterParty& party : study.parties) {
    const auto found = study.approvals.find(party.name);
    if (found == study.approvals.end()) return;
    if (!StillSaysTheSame(run, party.name, found->second)) return;
  }
  study.phase = Phase::kAgreed;
  study.next_try = run.context.now;
  AnswerAskedSlot(run);
}

}  // namespace

void OnChecked(const Run& run, const Checked& event) {
  Study& study = run.study;
  if (IsEnd(study.phase) && event.refusal.empty()) {
    // It was still at work when the study ended: the run key that it made is deleted, too.
    study.discarded = false;
    study.next_try = run.context.now + kStatusSeconds;
    return run.Job(JobKind::kDiscard, study.next_attempt());
  }
  if (study.phase != Phase::kProposed) return;
  Offer offer;
  offer.run_certificate = event.run_certificate;
  offer.steward = run.context.trust.Steward(run.context.self);
  offer.address = event.address;
  offer.plan_hash = event.facts.plan_hash;
  std::string refusal = event.refusal;
  const std::vector<std::string>& names = event.facts.parties;
  const auto is_party = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (refusal.empty()) {
    for (const std::string& name : names) {
      if (!run.context.trust.Knows(name)) refusal = "a party of it is not known here";
    }
    if (names.size() < 2 || names.size() > kMaxParties || !is_party(run.context.self))
      refusal = "this party has no part in it";
    if (!is_party(study.proposer)) refusal = "who proposes it has no part in it";
    if (event.facts.memory_bytes > run.context.limits.memory_bytes ||
        event.facts.seconds > run.context.limits.seconds)
      refusal = "its run is larger than this node may do";
    if (refusal.empty() && !IsReadable(offer, DecodeOffer)) refusal = "it is not valid here";
  }
  if (!refusal.empty()) {
    offer = {};
    offer.refusal = IsPublicLine(refusal, kMaxPublicReason) ? refusal : "it is not valid here";
    if (!run.convenes()) run.Tell(study.proposer, Kind::kOffer, Encode(offer));
    return NotHere(run, run.context.self, offer.refusal);
  }
  study.facts = event.facts;
  study.own_offer = run.context.mail.Send(study.proposer, Kind::kOffer, study.id, Encode(offer),
                                          UsefulUntil(study, run.context.now));
  study.phase = Phase::kValidated;
  if (!run.convenes()) return;
  study.offers[run.context.self] = study.own_offer;
  run.Tell(
      Kind::kProposal,
      Encode(Proposal{.study_file = study.file, .nonce = study.nonce, .expires = study.expires}));
}

void OnOffer(const Run& run, const SignedMessage& message) {
  Study& study = run.study;
  if (!run.convenes()) return run.Refuse("an offer that is for the proposer");
  if (study.phase == Phase::kProposed) return run.Later();
  if (study.phase != Phase::kValidated) return;
  const CheckedOffer checked = CheckOffer(study, message, run.context.trust);
  const Bytes bytes = EncodeMessage(message);
  if (!checked.offer.valid()) {
    run.Tell(Kind::kRoster, Encode(RosterFile{.text = {}, .offers = {bytes}}));
    return NotHere(run, checked.party, checked.offer.refusal);
  }
  // The first offer counts: a node sends the same bytes again.
  study.offers.try_emplace(checked.party, bytes);
  SettleIfAllOffered(run);
}

void OnRoster(const Run& run, const std::string& from, const RosterFile& body) {
  Study& study = run.study;
  if (from != study.proposer) return run.Refuse("a roster that the proposer did not send");
  if (study.phase == Phase::kProposed) return run.Later();
  if (IsEnd(study.phase)) return;
  if (study.phase != Phase::kValidated)
    return run.Refuse("a second roster: the first one that fits counts");
  if (!body.text.empty()) return Settle(run, body);
  const CheckedOffer checked = CheckOffer(study, body.offers.front(), run.context.trust);
  if (checked.offer.valid()) return run.Refuse("an empty roster without an offer \"not here\"");
  NotHere(run, checked.party, checked.offer.refusal);
}

void OnCommitted(const Run& run, const Committed& event) {
  // The first: a page may show it already.
  if (run.study.phase != Phase::kSettled || run.study.agreement_hash.has_value()) return;
  run.study.agreement_hash = event.agreement_hash;
  run.study.waits_since = run.context.now;
}

void OnOwnApproval(const Run& run, const std::string& text) {
  Study& study = run.study;
  if (study.phase != Phase::kSettled || !study.agreement_hash.has_value())
    DoesNotFit(run, "it cannot be approved", "Wait until its table is frozen, if it is not ended.");
  const DocumentFacts facts = ReadDocumentOf(run, run.context.self, text);
  if (!SaysTheSame(study, facts)) {
    throw Error(ErrorCode::kRefused, "the approval is not for this study, its plan and its time",
                "Approve again, valid until the study expires.");
  }
  // Nobody else hears of it before a second person has signed. The newest counts: that of a deputy who was ended does not.
  if (!facts.complete) {
    study.first = text;
    return;
  }
  study.approvals[run.context.self] = text;
  study.phase = Phase::kApproved;
  run.Tell(Kind::kApproval, Encode(Document{text}));
  AgreeIfAllApproved(run);
}

void OnOwnRejection(const Run& run, const std::string& text) {
  Study& study = run.study;
  if (study.phase != Phase::kValidated && study.phase != Phase::kSettled)
    DoesNotFit(run, "it cannot be rejected", "Withdraw the approval instead, if there is one.");
  const DocumentFacts facts = ReadDocumentOf(run, run.context.self, text);
  if (!RejectsThis(study, facts)) {
    throw Error(ErrorCode::kRefused, "the document does not reject this study and its plan",
                "Sign a rejection of this study.");
  }
  run.Tell(Kind::kRejection, Encode(Document{text}));
  EndStudy(run, Phase::kRejected, {run.context.self, facts.reason});
}

void OnApproval(const Run& run, const std::string& from, const Document& body) {
  Study& study = run.study;
  if (IsEnd(study.phase)) return;
  if (study.parties.empty()) return run.Later();
  const DocumentFacts facts = ReadDocumentOf(run, from, body.text);
  if (!facts.approves) return run.Refuse("an approval that rejects");
  if (!study.approvals.try_emplace(from, body.text).second)
    return run.Refuse("a second approval of one party");
  AgreeIfAllApproved(run);
}

void OnRejection(const Run& run, const std::string& from, const Document& body) {
  Study& study = run.study;
  if (IsEnd(study.phase)) return;
  if (study.phase == Phase::kProposed) return run.Later();
  const DocumentFacts facts = ReadDocumentOf(run, from, body.text);
  if (facts.approves || study.approvals.contains(from) || IsAttempt(study.phase))
    return run.Refuse("a rejection of what was approved before");
  if (!RejectsThis(study, facts)) return run.Refuse("a rejection of another study or plan");
  EndStudy(run, Phase::kRejected, {from, facts.reason});
}

}  // namespace partita::node
