#include "run/matching/matching_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "base/utc_time.h"
#include "net/hello.h"
#include "net/stop.h"
#include "run/approval/approvals.h"
#include "run/matching/matching_approval.h"
#include "run/matching/past_matchings.h"
#include "run/party/finish.h"
#include "run/party/own_error.h"

namespace partita::run {
namespace {

// What this party brings, before anybody is connected.
struct OwnSide {
  OwnMatchingApproval approval;
  match::KeyList list;
  std::optional<PastMatchings> past;
  crypto::Digest commitment{};
};

// Keys of the rows that no earlier pass matched, and which rows they are of.
struct PassKeys {
  std::vector<crypto::Digest> keys;
  std::vector<uint32_t> rows;
};

PassKeys KeysLeft(const std::vector<match::KeyedRow>& pass, const std::vector<bool>& matched) {
  PassKeys left;
  for (const match::KeyedRow& row : pass) {
    if (matched[row.row]) continue;
    left.keys.push_back(row.key);
    left.rows.push_back(row.row);
  }
  return left;
}

void ReadOwnTable(const MatchingFile& file, const MatchingInput& input, OwnSide& own,
                  Progress& progress) {
  const MatchingParty& party = file.parties[input.party];
  own.list = ReadKeyList(party, input.table.string(), input.separator, &progress);
  match::RequireUsable(party.keys, own.list.report, input.table.string());
}

void RequireApprovedTable(const MatchingInput& input, const std::string& party, OwnSide& own) {
  own.commitment = match::CommitToKeys(own.list, own.approval.salt);
  if (own.commitment == own.approval.document.approval.commitment) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("the keys of {} have changed since party {} approved the matching",
                          input.table.string(), party),
              "bring the table back as it was, or approve again: partita match approve FILE "
              "--party PARTY");
}

// What a peer showed, against what it said in the hello.
void RequirePeersTable(const study::Approval& approval, const crypto::Digest& commitment) {
  if (approval.commitment == commitment && commitment != crypto::Digest{}) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("party {} does not bring the table that it approved", approval.party),
              "Let that party restore its table, or approve again with the new one.");
}

[[noreturn]] void ThrowBitIsFalse(const std::string& peer, size_t pass) {
  throw Error(ErrorCode::kPeerFault,
              fmt::format("party {} said that pass {} has fewer matches than the minimum, which it "
                          "has not",
                          peer, pass + 1),
              "Its software departs from the protocol: do not match with it.");
}

// All passes. The first list leaves in the first.
void RunPasses(const MatchingFile& file, const MatchingInput& input, OwnSide& own,
               net::Channel& channel, const crypto::Digest& session, crypto::RandomSource& random,
               Progress& progress, MatchingOutcome& outcome) {
  MatchedRows& matched = outcome.matched;
  std::vector<bool> done(own.list.report.rows, false);
  crypto::Sha256 common;
  common.Field("partita matched common v1");
  for (size_t pass = 0; pass < own.list.passes.size(); ++pass) {
    channel.BeginPhase(fmt::format("pass {}", pass + 1));
    match::TwoPartyJoinTask task = JoinTaskOf(file, input.party);
    task.minimum = pass == 0 ? outcome.minimum : 0;
    task.session =
        crypto::Sha256().Field("partita matching pass").Update(session).U64(pass).Finish();
    task.progress = &progress;
    task.counted = [&](uint64_t count) {
      KeepToOwner(net::StopReason::kFailed, [&] { own.past->AddCount(count); });
    };
    const PassKeys left = KeysLeft(own.list.passes[pass], done);
    const match::TwoPartyJoin join = match::JoinTwoLists(channel, task, left.keys, random);
    matched.counts.push_back(join.count);
    common.Update(join.common);
    if (!join.linked) {
      // Both know count and minimum.
      if (join.count >= task.minimum) ThrowBitIsFalse(outcome.matched.peer, pass);
      break;
    }
    outcome.linked = true;
    for (const uint32_t key : join.rows) {
      matched.rows.push_back(left.rows[key]);
      done[left.rows[key]] = true;
    }
  }
  matched.common = common.Finish();
}

void MatchOverChannel(const MatchingFile& file, const MatchingInput& input,
                      const study::ApprovalTerms& terms, const net::Session& session, OwnSide& own,
                      net::Channel& channel, crypto::RandomSource& random, Progress& progress,
                      MatchingOutcome& outcome) {
  const std::vector<study::SignedApproval> approvals = ExchangeDocuments(
      channel, terms, own.approval.document,
      [&](size_t peer, const study::SignedApproval& document) {
        study::RequireSigned(document, file.parties[peer].name, input.fingerprints[peer]);
        RequirePeersTable(document.approval, session.commitments[peer]);
      });
  outcome.minimum = study::StrictestDisclosure(terms.disclosure, approvals).min_rows;

  MatchedRows& matched = outcome.matched;
  PastMatching entry;
  entry.run_id = session.run_id;
  entry.matching = file.name;
  entry.peer = matched.peer;
  entry.fingerprint = input.fingerprints[1 - input.party];
  entry.at = matched.at;
  entry.own_bound = file.parties[input.party].rows;
  entry.peer_bound = file.parties[1 - input.party].rows;
  KeepToOwner(net::StopReason::kApproval, [&] {
    own.past->Begin(entry, own.list, match::ColumnsDigest(file.parties[input.party].keys));
    SpendMatchingApproval(own.approval, session.run_id);
  });
  RunPasses(file, input, own, channel, session.run_id, random, progress, outcome);
  matched.record =
      RecordDigest({terms.agreement_hash, terms.plan_hash, session.run_id, matched.common,
                    session.commitments, outcome.minimum, matched.counts});
  ConfirmFinish(channel, kMatchedHolders, {matched.record.begin(), matched.record.end()});
  outcome.traffic = channel.traffic();
}

// Why this party cannot take part; its peer is told the number.
struct OwnFault {
  Error own;
  net::StopReason told;
};

template <typename F>
void NoteFault(std::optional<OwnFault>& problem, net::StopReason told, F step) {
  if (problem) return;
  try {
    step();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    problem.emplace(OwnFault{error, told});
  } catch (const std::bad_alloc&) {
    problem.emplace(OwnFault{OutOfMemory("read the table"), net::StopReason::kFailed});
  }
}

}  // namespace

size_t MatchingPartyIndex(const MatchingFile& file, const std::string& name) {
  return static_cast<size_t>(&MatchingPartyByName(file, name) - file.parties.data());
}

std::vector<std::string> MatchingPartyNames(const MatchingFile& file) {
  std::vector<std::string> names;
  for (const MatchingParty& party : file.parties) names.push_back(party.name);
  return names;
}

MatchingOutcome RunMatching(const MatchingFile& file, const MatchingPlan& plan,
                            const MatchingInput& input, const Connector& connect,
                            crypto::RandomSource& random, Progress& progress) {
  const SteadyClock::time_point start = SteadyClock::now();
  const std::string& party = file.parties[input.party].name;
  const std::string& peer = file.parties[1 - input.party].name;
  const study::ApprovalTerms terms = TermsOfMatching(file, plan, input.fingerprints);
  OwnSide own;
  own.approval =
      OpenMatchingApproval(input.approval, party, input.fingerprints[input.party], terms);
  MatchingOutcome outcome;
  MatchedRows& matched = outcome.matched;
  matched.matching = file.name;
  matched.party = party;
  matched.peer = peer;
  matched.file_text = file.text;
  matched.separator = input.separator;
  matched.at = NowUtc();
  matched.unicode = match::UnicodeVersion();
  matched.salt = own.approval.salt;

  // A table that cannot be used is reported after the hello, so that nobody waits for this party.
  std::optional<OwnFault> problem;
  progress.Phase("read table");
  NoteFault(problem, net::StopReason::kData, [&] { ReadOwnTable(file, input, own, progress); });
  NoteFault(problem, net::StopReason::kApproval, [&] {
    RequireApprovedTable(input, party, own);
    own.past.emplace(PastMatchingsPath(input.table), random);
    own.past->Require({peer, input.fingerprints[1 - input.party]}, matched.at);
  });
  matched.commitment = own.commitment;
  matched.table_rows = own.list.report.rows;
  outcome.report = own.list.report;

  progress.Phase(problem ? "this party cannot take part; telling the other" : "connect");
  std::unique_ptr<net::Transport> transport = connect(problem.has_value());
  net::HelloInput hello;
  hello.study_hash = terms.agreement_hash;
  hello.plan_hash = terms.plan_hash;
  hello.commitment = own.commitment;
  if (problem) random.Fill(hello.commitment);
  const net::Session session =
      net::SayHello(*transport, hello, random, Deadline::After(input.timeout), &progress);
  net::Channel channel(std::move(transport), session);
  channel.SetTimeout(input.timeout);
  channel.SetProgress(&progress);
  try {
    if (problem) throw Error(problem->own);
    MatchOverChannel(file, input, terms, session, own, channel, random, progress, outcome);
  } catch (const OwnError& error) {
    channel.Abort(error, error.told());
    throw;
  } catch (const Error& error) {
    channel.Abort(error, problem ? problem->told : net::ReasonFor(error.code()));
    throw;
  } catch (const std::bad_alloc&) {
    channel.Abort(OutOfMemory("go on with the matching"));
    throw OutOfMemory("go on with the matching");
  } catch (const std::exception& error) {
    channel.Abort(Error(ErrorCode::kInternal, error.what()));
    throw Error(ErrorCode::kInternal, error.what(), "please report this");
  }
  outcome.seconds = SecondsSince(start);
  return outcome;
}

}  // namespace partita::run
