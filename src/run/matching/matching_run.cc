#include "run/matching/matching_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "base/utc_time.h"
#include "net/hello.h"
#include "net/stop.h"
#include "run/approval/approvals.h"
#include "run/matching/matching_approval.h"
#include "run/matching/matching_charge.h"
#include "run/matching/matching_protocol.h"
#include "run/party/finish.h"
#include "run/party/own_error.h"
#include "study/file/text.h"

namespace partita::run {
namespace {

// What this party brings, before anybody is connected; a linker the approval alone.
struct OwnSide {
  OwnMatchingApproval approval;
  match::KeyList list;
  std::optional<PastMatchings> past;
  std::optional<MatchingCharge> charge;
  ListMark mark;
  crypto::Digest commitment{};
};

bool IsHolder(const MatchingFile& file, size_t party) { return party < file.parties.size(); }

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

// What a peer showed, against what it said in the hello. A linker has no table.
void RequirePeersTable(const study::Approval& approval, const crypto::Digest& commitment,
                       bool holder) {
  const bool has_table = commitment != crypto::Digest{};
  if (approval.commitment == commitment && has_table == holder) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("party {} does not bring the table that it approved", approval.party),
              "Let that party restore its table, or approve again with the new one.");
}

// Before the first list leaves: whatever fails later, the run counts.
void EnterRun(const MatchingFile& file, const MatchingInput& input, const net::Session& session,
              const study::ApprovalTerms& terms, OwnSide& own, const MatchedRows& matched) {
  if (own.past) {
    PastMatching entry;
    entry.run_id = session.run_id;
    entry.matching = file.name;
    entry.table = input.table.filename().string();
    entry.partners = PartnersOf(file, input.party, input.fingerprints);
    entry.linker = file.linker;
    entry.at = matched.at;
    entry.own_bound = file.parties[input.party].rows;
    entry.noisy = file.level == match::Level::kHiddenNoisy;
    entry.list = std::move(own.mark);
    own.past->Begin(std::move(entry));
  }
  if (own.charge) {
    KeepToOwner(net::StopReason::kLedger,
                [&] { own.charge->Spend(session.run_id, terms.agreement_hash); });
  }
  SpendMatchingApproval(own.approval, session.run_id);
}

void MatchOverChannel(const MatchingFile& file, const MatchingInput& input,
                      const study::ApprovalTerms& terms, const net::Session& session, OwnSide& own,
                      net::Channel& channel, crypto::RandomSource& random, Progress& progress,
                      MatchingOutcome& outcome) {
  const std::vector<std::string> names = file.Names();
  const std::vector<study::SignedApproval> approvals = ExchangeDocuments(
      channel, terms, own.approval.document,
      [&](size_t peer, const study::SignedApproval& document) {
        study::RequireSigned(document, names[peer], input.fingerprints[peer]);
        RequirePeersTable(document.approval, session.commitments[peer], IsHolder(file, peer));
      });
  outcome.minimum = study::StrictestDisclosure(terms.disclosure, approvals).min_rows;
  MatchedRows& matched = outcome.matched;
  KeepToOwner(net::StopReason::kApproval,
              [&] { EnterRun(file, input, session, terms, own, matched); });

  MatchingTask task;
  task.file = &file;
  task.party = input.party;
  if (IsHolder(file, input.party)) task.list = &own.list;
  task.minimum = outcome.minimum;
  task.session = session.run_id;
  task.counted = [&](uint64_t count) {
    KeepToOwner(net::StopReason::kFailed, [&] { own.past->AddCount(count); });
  };
  task.progress = &progress;
  MatchingFound found = MatchByProtocol(channel, task, random);
  outcome.linked = found.linked;
  matched.counts = std::move(found.counts);
  matched.rows = std::move(found.rows);
  matched.common = found.common;
  matched.record = RecordDigest({terms.agreement_hash, terms.plan_hash, session.run_id,
                                 matched.common, session.commitments, outcome.minimum,
                                 matched.counts, file.hidden() ? matched.rows.size() : 0});
  ConfirmFinish(channel, file.parties.size(), {matched.record.begin(), matched.record.end()});
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
  const std::vector<std::string> names = file.Names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw Error(ErrorCode::kUsage,
              fmt::format("{}: there is no party {}", file.file_name, study::Quote(name)),
              study::KnownNamesHint(name, names));
}

std::vector<Partner> PartnersOf(const MatchingFile& file, size_t party,
                                const std::vector<std::string>& fingerprints) {
  std::vector<Partner> partners;
  for (size_t other = 0; other < file.parties.size(); ++other) {
    if (other != party)
      partners.push_back({file.parties[other].name, fingerprints[other], file.parties[other].rows});
  }
  return partners;
}

MatchingOutcome RunMatching(const MatchingFile& file, const MatchingPlan& plan,
                            const MatchingInput& input, const Connector& connect,
                            crypto::RandomSource& random, Progress& progress) {
  const SteadyClock::time_point start = SteadyClock::now();
  const std::string party = file.Names()[input.party];
  const study::ApprovalTerms terms = TermsOfMatching(file, plan, input.fingerprints);
  OwnSide own;
  own.approval =
      OpenMatchingApproval(input.approval, party, input.fingerprints[input.party], terms);
  MatchingOutcome outcome;
  MatchedRows& matched = outcome.matched;
  matched.matching = file.name;
  matched.party = party;
  for (const Partner& partner : PartnersOf(file, input.party, input.fingerprints))
    matched.partners.push_back(partner.name);
  matched.linker = file.linker;
  matched.level = file.level;
  matched.file_text = file.text;
  matched.separator = input.separator;
  matched.at = NowUtc();
  matched.unicode = match::UnicodeVersion();
  matched.salt = own.approval.salt;

  // A table that cannot be used is reported after the hello, so that nobody waits for this party.
  std::optional<OwnFault> problem;
  if (IsHolder(file, input.party)) {
    NoteFault(problem, net::StopReason::kLedger,
              [&] { own.charge.emplace(file, input.party, input.ledger); });
    progress.Phase("read table");
    NoteFault(problem, net::StopReason::kData, [&] { ReadOwnTable(file, input, own, progress); });
    NoteFault(problem, net::StopReason::kApproval, [&] {
      RequireApprovedTable(input, party, own);
      own.past.emplace(input.past, random);
      const MatchingParty& holder = file.parties[input.party];
      own.mark = own.past->MarkOf(own.list, match::ColumnsDigest(holder.keys, holder.headers),
                                  match::PassesDigest(holder.keys));
      std::vector<crypto::Digest>().swap(own.list.texts);  // the mark has what they are for
      own.past->Require(PartnersOf(file, input.party, input.fingerprints), own.mark, matched.at);
    });
  }
  matched.commitment = own.commitment;
  matched.table_rows = own.list.report.rows;
  outcome.report = own.list.report;

  progress.Phase(problem ? "this party cannot take part; telling the others" : "connect");
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
