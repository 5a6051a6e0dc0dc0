#include "runtime/party.h"

#include <fmt/format.h>

#include "mpc/shamir_engine.h"
#include "net/channel.h"
#include "net/frame.h"
#include "net/hello.h"
#include "runtime/build_plan.h"
#include "runtime/finish.h"
#include "runtime/local_data.h"
#include "runtime/row_sets.h"
#include "runtime/run_ledger.h"
#include "runtime/study_engine.h"
#include "study/hashes.h"

namespace partita::runtime {
namespace {

std::unique_ptr<mpc::Engine> MakeRunEngine(const Study& study, StoredCorrelations* stored,
                                           net::Channel& channel, mpc::ReleaseGate& gate) {
  if (stored != nullptr) return stored->MakeEngine(channel, gate);
  return MakeStudyEngine(study, channel, gate);
}

// Everything between the hello and the last message.
std::unique_ptr<MethodResult> RunProtocol(const Study& study, const LocalData& local,
                                          StoredCorrelations* stored, net::Channel& channel,
                                          RunLedger* ledger, crypto::RandomSource& random,
                                          Progress& progress, PartyOutcome& outcome,
                                          const std::filesystem::path& state) {
  if (stored != nullptr) {
    progress.Phase("stored correlations");
    stored->Agree(channel);
  }
  LedgerGate gate(ledger);
  gate.Reserve(study.releases);
  if (!study.shared_blocks.empty()) {
    progress.Phase("row order");
    channel.BeginPhase("row-order");
    match::CompareRowOrder(channel, study.shared_blocks, local.row_order, OnlineNames(study),
                           random);
  }
  RunInput run{local.method.get(), outcome.disclosure, &random, state};
  const std::unique_ptr<MethodSession> session = study.Agree(channel, run);
  run.session = session.get();
  run.channel = &channel;
  run.gate = &gate;
  const std::unique_ptr<mpc::Engine> engine = MakeRunEngine(study, stored, channel, gate);
  if (stored != nullptr) {
    outcome.package = stored->number();
    outcome.packages_left = stored->left();
  }
  std::unique_ptr<MethodResult> result = study.Run(*engine, run, progress);
  gate.Finish();
  if (study.ComparesResults()) {
    const crypto::Digest common = result->Common();
    ConfirmFinish(channel, study.num_computing, {common.begin(), common.end()});
  } else {
    ConfirmFinish(channel);
  }
  outcome.releases = gate.counts();
  outcome.traffic = channel.traffic();
  for (const size_t liar : mpc::CorrectedParties(*engine))
    outcome.corrected.push_back(study.parties[liar].name);
  return result;
}

// Why this party cannot take part, known before anybody is connected. What went wrong with its
// table, its approval or its ledger, places included, is its own business.
struct OwnProblem {
  Error own, told;
};

constexpr char kOwnApproval[] = "its own approval";

OwnProblem TableProblem(const Error& own) { return {own, Error(ErrorCode::kBadData, "")}; }
OwnProblem Disallowed(const Error& own, const std::string& by) {
  return {own, Error(ErrorCode::kRefused, by + " does not allow this run")};
}

// Connects, says hello and runs the protocol. If anything fails after the hello, a table that
// failed its checks beforehand included, the peers are told that this party stops.
std::unique_ptr<MethodResult> ConnectAndRun(
    const Study& study, const Connector& connect, const net::HelloInput& hello,
    const study::ApprovalTerms& terms, const study::SignedApproval& own, const Approvals& approvals,
    RunLedger* ledger, const LocalData& local, StoredCorrelations* stored,
    const std::optional<OwnProblem>& problem, crypto::RandomSource& random, Progress& progress,
    PartyOutcome& outcome, std::vector<crypto::Digest>& commitments,
    const std::filesystem::path& state, RowSets* row_sets) {
  progress.Phase(problem ? "the table failed its checks; telling the others" : "connect");
  const SteadyClock::time_point start = SteadyClock::now();
  std::unique_ptr<net::Transport> transport = connect(problem.has_value());
  outcome.local_steps.push_back({"connect", SecondsSince(start)});
  const std::chrono::milliseconds timeout(
      static_cast<int64_t>(study.file.network.timeout_seconds * 1000));
  const net::Session session =
      net::SayHello(*transport, hello, random, Deadline::After(timeout), &progress);
  commitments = session.commitments;
  outcome.run_id = ToHex(session.run_id);
  net::Channel channel(std::move(transport), session);
  channel.SetTimeout(timeout);
  channel.SetProgress(&progress);
  bool recording = false;  // what fails then names a file of this party
  try {
    if (problem) throw Error(problem->own);
    outcome.approvals = ExchangeApprovals(channel, study, terms, own, commitments, approvals);
    outcome.disclosure = study::StrictestDisclosure(terms.disclosure, outcome.approvals);
    outcome.ledger.parties =
        ExchangeLedgers(channel, ledger, {session.run_id, hello.study_hash}, outcome.approvals);
    if (row_sets != nullptr) {
      recording = true;
      row_sets->Record();
      recording = false;
    }
    return RunProtocol(study, local, stored, channel, ledger, random, progress, outcome, state);
  } catch (const Error& error) {
    channel.Abort(problem     ? problem->told
                  : recording ? Disallowed(error, kOwnApproval).told
                              : error);
    if (ledger != nullptr) ledger->Refund("the run ended before anything was opened");
    throw;
  } catch (const std::exception& error) {
    channel.Abort(Error(ErrorCode::kInternal, "an internal error"));
    if (ledger != nullptr) ledger->Refund("the run ended before anything was opened");
    throw Error(ErrorCode::kInternal, error.what(), "please report this");
  }
}

}  // namespace

PartyOutcome RunParty(const Study& study, const PartyInput& input, const Connector& connect,
                      crypto::RandomSource& random, Progress& progress) {
  const SteadyClock::time_point start = SteadyClock::now();
  const bool uses_store = study.file.engine.stored_correlations;
  PartyOutcome outcome;
  outcome.party = study.parties[input.party].name;
  outcome.plan = BuildPlan(study);
  const study::StudyIdentity identity = StudyIdentityOf(study, input.fingerprints);
  const study::ApprovalTerms terms = TermsOf(study, identity, outcome.plan);
  input.approvals->Open(study, input.party, terms);
  net::HelloInput hello;
  hello.study_hash = terms.study_file_hash;
  hello.plan_hash = terms.plan_hash;
  outcome.study_file_hash = ToHex(hello.study_hash);
  outcome.plan_hash = ToHex(hello.plan_hash);

  // A table that fails its checks is reported after the hello, so that nobody waits for this party.
  LocalData local = NoLocalData(study);
  std::optional<OwnProblem> problem;
  if (study.parties[input.party].holder) {
    progress.Phase("read data");
    try {
      local = LoadLocalData(study, input.party, input.data, input.approvals->salt(), progress);
      outcome.rows = local.rows;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      problem = TableProblem(error);
    } catch (const std::exception& error) {
      problem = TableProblem(Error(ErrorCode::kInternal, error.what(), "please report this"));
    }
    outcome.local_steps = {{"read data", local.seconds_read}, {"sort rows", local.seconds_order}};
  }
  hello.commitment = local.snapshot.commitment;
  if (!problem && input.ledger != nullptr) {
    try {
      const bool goes_on = local.method != nullptr && study.GoesOn(*local.method, input.state);
      input.ledger->Prepare(study, input.party, goes_on ? &hello.study_hash : nullptr);
    } catch (const Error& error) {
      problem = Disallowed(error, "its own privacy ledger");
    }
  }
  std::optional<StoredCorrelations> stored;
  if (!problem && uses_store) {
    try {
      stored.emplace(study, input.party, input.fingerprints, input.correlations);
    } catch (const Error& error) {
      problem = Disallowed(error, "its own store of correlations");
    }
  }
  study::SignedApproval own;
  if (!problem) {
    try {
      own = input.approvals->Show(hello.commitment);
    } catch (const Error& error) {
      problem = Disallowed(error, kOwnApproval);
    }
  }
  std::optional<RowSets> row_sets;
  if (!problem && !input.row_sets.empty() && study.parties[input.party].holder) {
    try {
      row_sets.emplace(input.row_sets, random);
      row_sets->Require(study, input.party, local, input.data);
    } catch (const Error& error) {
      problem = Disallowed(error, kOwnApproval);  // no more than that is told
    }
  }

  std::vector<crypto::Digest> commitments;
  std::unique_ptr<MethodResult> result;
  try {
    result = ConnectAndRun(study, connect, hello, terms, own, *input.approvals, input.ledger, local,
                           stored ? &*stored : nullptr, problem, random, progress, outcome,
                           commitments, input.state, row_sets ? &*row_sets : nullptr);
  } catch (const Error&) {
    if (problem) throw Error(problem->own);
    throw;
  }
  if (input.ledger != nullptr) input.ledger->Describe(outcome.ledger);
  commitments.resize(study.parties.size());  // a dealer that was not there has no table
  outcome.study_hash = ToHex(study::StudyHash(identity, commitments));

  // The connections are closed: what fails now is this party's alone.
  study.Conclude(input.party, *result, outcome, progress);
  outcome.seconds = SecondsSince(start);
  return outcome;
}

}  // namespace partita::runtime
