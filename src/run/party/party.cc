#include "run/party/party.h"

#include <fmt/format.h>

#include "base/out_of_memory.h"
#include "base/utc_time.h"
#include "mpc/shamir_engine.h"
#include "net/channel.h"
#include "net/frame.h"
#include "net/hello.h"
#include "net/stop.h"
#include "run/ledger/run_ledger.h"
#include "run/method/first_files.h"
#include "run/party/build_plan.h"
#include "run/party/finish.h"
#include "run/party/local_data.h"
#include "run/party/own_error.h"
#include "run/party/recorded_engine.h"
#include "run/party/row_sets.h"
#include "run/party/study_engine.h"
#include "run/ranks/stripes_of_ranks.h"
#include "study/plan/hashes.h"

namespace partita::run {
namespace {

std::unique_ptr<mpc::Engine> MakeRunEngine(const Study& study, StoredCorrelations* stored,
                                           net::Channel& channel, mpc::ReleaseGate& gate) {
  if (stored != nullptr) return stored->MakeEngine(channel, gate);
  return MakeStudyEngine(study, channel, gate);
}

// Everything between the hello and the last message.
std::unique_ptr<MethodResult> RunProtocol(const Study& study, const LocalData& local,
                                          StoredCorrelations* stored, net::Channel& channel,
                                          LedgerGate& gate, crypto::RandomSource& random,
                                          Progress& progress, PartyOutcome& outcome,
                                          const PartyInput& input) {
  if (stored != nullptr) {
    progress.Phase("stored correlations");
    stored->Agree(channel);
  }
  gate.Reserve(study.releases);
  if (!study.shared_blocks.empty()) {
    progress.Phase("row order");
    channel.BeginPhase("row-order");
    match::CompareRowOrder(channel, study.shared_blocks, local.row_order, OnlineNames(study),
                           random);
  }
  RunInput run{local.method.get(), outcome.disclosure, &random, input.state, input.accept_useless};
  run.run_id = outcome.run_id;
  const std::unique_ptr<MethodSession> session = study.Agree(channel, run);
  if (session != nullptr && session->MayHaveOpened()) gate.Spend();
  run.session = session.get();
  run.channel = &channel;
  run.gate = &gate;
  std::unique_ptr<Stripes> stripes;
  if (study.file.engine.stripes > 1) {
    stripes = input.ranks == nullptr
                  ? StripesInTurn(study, channel, local.method.get(), input.stripes, progress)
                  : StripesOfRanks(study, channel, local.method.get(), input.stripes, progress,
                                   *input.ranks, *input.rank_setup);
    run.stripes = stripes.get();
  }
  const std::unique_ptr<mpc::Engine> engine = MakeRunEngine(study, stored, channel, gate);
  if (stored != nullptr) {
    outcome.package = stored->number();
    outcome.packages_left = stored->left();
  }
  const std::unique_ptr<mpc::Engine> recorded =
      input.keep == Keep::kOpenings ? MakeRecordedEngine(*engine, outcome.openings) : nullptr;
  std::unique_ptr<MethodResult> result = study.Run(recorded ? *recorded : *engine, run, progress);
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

// Why this party cannot take part, known before anybody is connected.
struct OwnProblem {
  Error own;
  net::StopReason told;
};

// In a study that promises privacy peers are not told even that it is the table (stop.h).
net::StopReason Told(const Study& study, net::StopReason reason) {
  const bool of_table = reason == net::StopReason::kData || reason == net::StopReason::kApproval ||
                        reason == net::StopReason::kRefused ||
                        reason == net::StopReason::kCorrelations;
  return study.IsPrivate() && of_table ? net::StopReason::kNoPart : reason;
}

// What `step` throws, as a problem of which the peers are told `told`.
template <typename F>
std::optional<OwnProblem> ProblemOf(const Study& study, net::StopReason told, F step) {
  try {
    step();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    return OwnProblem{error, told};
  } catch (const std::bad_alloc&) {
    // Not `told`, which would blame the table; but how much it takes is of the table, too.
    return OwnProblem{OutOfMemory("read the table"),
                      study.IsPrivate() ? net::StopReason::kNoPart : net::StopReason::kFailed};
  } catch (const std::exception& error) {
    return OwnProblem{Error(ErrorCode::kInternal, error.what(), "please report this"), told};
  }
  return std::nullopt;
}

// Takes the charge back if this party did not yet say ok; else says that it stays.
Error EndOfCharge(const Error& error, RunLedger* ledger) {
  if (ledger == nullptr) return error;
  if (!ledger->spent()) {
    ledger->Refund("the run ended before this party said that anything may be opened");
    return error;
  }
  return {error.code(),
          error.message() +
              "; the charge of this run stays in the ledger, whether or not anything was opened, "
              "because this party had said that it may be",
          error.hint()};
}

// Whether a run that ended like this may go on.
bool IsInterruption(ErrorCode code) {
  return code == ErrorCode::kPeerLost || code == ErrorCode::kTimeout ||
         code == ErrorCode::kUnreachable || code == ErrorCode::kCancelled ||
         code == ErrorCode::kStorage;
}

Error WithHintToGoOn(const Error& error) {
  std::string hint = error.hint();
  if (hint.ends_with('.')) hint.pop_back();
  return {error.code(), error.message(),
          hint + (hint.empty() ? "join" : "; join") +
              " again at every party: the run goes on where it stopped, and nothing opens twice"};
}

// A party without rows has nothing to go on from: it takes the word of all that have.
bool HoldersGoOn(const Study& study, const std::vector<PeerAccount>& parties) {
  bool all = true;
  for (size_t party = 0; party < parties.size(); ++party)
    all = all && (parties[party].goes_on || !study.parties[party].holder);
  return all;
}

// Of the keys of the roster: of a roster without stewards those that approve.
std::vector<Bytes> ReceiptCertificates(const PartyInput& input,
                                       const std::vector<study::SignedApproval>& approvals) {
  if (!input.stewards.empty()) {
    if (input.certificates.size() != approvals.size())
      throw Error(ErrorCode::kInternal, "a roster names stewards, and certificates are missing");
    return input.certificates;
  }
  std::vector<Bytes> certificates;
  for (const study::SignedApproval& approval : approvals)
    certificates.push_back(approval.signature.certificate);
  return certificates;
}

// Connects, says hello and runs the protocol. If anything fails after the hello, a table that
// failed its checks beforehand included, the peers are told that this party stops.
std::unique_ptr<MethodResult> ConnectAndRun(
    const Study& study, const Connector& connect, const net::HelloInput& hello,
    const study::ApprovalTerms& terms, const study::SignedApproval& own, Approvals& approvals,
    RunLedger* ledger, const LocalData& local, bool goes_on, StoredCorrelations* stored,
    const std::optional<OwnProblem>& problem, crypto::RandomSource& random, Progress& progress,
    PartyOutcome& outcome, std::vector<crypto::Digest>& commitments, const PartyInput& input,
    std::vector<RowSets>& row_sets) {
  progress.Phase(problem ? "this party cannot take part; telling the others" : "connect");
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
  try {
    if (problem) throw Error(problem->own);
    outcome.approvals = ExchangeApprovals(channel, study, terms, own, commitments, approvals);
    outcome.disclosure = study::StrictestDisclosure(terms.disclosure, outcome.approvals);
    outcome.ledger.parties =
        ExchangeLedgers(channel, ledger, {session.run_id, hello.study_hash, goes_on},
                        ReceiptCertificates(input, outcome.approvals));
    bool continues = goes_on;
    if (!study.parties[channel.self()].holder) {
      continues = HoldersGoOn(study, outcome.ledger.parties);
      KeepToOwner(net::StopReason::kApproval, [&] { approvals.RequireRunLeft(ledger, continues); });
    }
    for (RowSets& record : row_sets)
      KeepToOwner(net::StopReason::kRefused, [&] { record.Record(); });
    LedgerGate gate(ledger, session.run_id, &approvals, {session.run_id, continues});
    return RunProtocol(study, local, stored, channel, gate, random, progress, outcome, input);
  } catch (const OwnError& error) {
    channel.Abort(error, Told(study, error.told()));
    throw EndOfCharge(error, ledger);
  } catch (const Error& error) {
    channel.Abort(error, Told(study, problem ? problem->told : net::ReasonFor(error.code())));
    throw EndOfCharge(error, ledger);
  } catch (const std::bad_alloc&) {
    const Error error = OutOfMemory("go on with the run");
    channel.Abort(error);
    throw EndOfCharge(error, ledger);
  } catch (const std::exception& error) {
    channel.Abort(Error(ErrorCode::kInternal, error.what()));
    throw EndOfCharge({ErrorCode::kInternal, error.what(), "please report this"}, ledger);
  }
}

}  // namespace

PartyOutcome RunParty(const Study& study, const PartyInput& input, const Connector& connect,
                      crypto::RandomSource& random, Progress& progress) {
  const SteadyClock::time_point start = SteadyClock::now();
  const bool uses_store = study.file.engine.stored_correlations;
  PartyOutcome outcome;
  outcome.started = NowUtc();
  outcome.party = study.parties[input.party].name;
  outcome.is_private = study.IsPrivate();
  outcome.plan = BuildPlan(study);
  const study::StudyIdentity identity = StudyIdentityOf(study, input.fingerprints, input.stewards);
  const study::ApprovalTerms terms = TermsOf(study, identity, outcome.plan);
  input.approvals->Open(study, input.party, terms);
  net::HelloInput hello;
  hello.study_hash = terms.agreement_hash;
  hello.plan_hash = terms.plan_hash;
  outcome.agreement_hash = ToHex(hello.study_hash);
  outcome.plan_hash = ToHex(hello.plan_hash);

  // A table that cannot be used is reported after the hello, so that nobody waits for this party.
  LocalData local = NoLocalData(study);
  std::optional<OwnProblem> problem;
  if (study.parties[input.party].holder) {
    progress.Phase("read data");
    problem = ProblemOf(study, net::StopReason::kData, [&] {
      local = LoadLocalData(study, input.party, input.data, input.approvals->salt(), progress);
      outcome.rows = local.rows;
      outcome.repaired = local.repaired;
    });
    outcome.local_steps = {{"read data", local.seconds_read}, {"sort rows", local.seconds_order}};
  }
  hello.commitment = local.snapshot.commitment;
  // A commitment to nothing would tell that it is the table.
  if (problem) random.Fill(hello.commitment);
  const bool goes_on =
      !problem && local.method != nullptr && study.GoesOn(*local.method, input.state);
  std::optional<ChargedRun> charged;
  if (!problem && input.ledger != nullptr) {
    problem = ProblemOf(study, net::StopReason::kLedger, [&] {
      if (!input.state.empty() && study.parties[input.party].holder)
        charged.emplace(input.state, hello.study_hash);
      input.ledger->Prepare(study, input.party, charged ? &*charged : nullptr, goes_on);
    });
  }
  if (!problem && study.file.engine.stripes > 1 && input.stripes == nullptr) {
    problem = OwnProblem{Error(ErrorCode::kUsage, "a study with stripes does not run here",
                               "run it with `partita study join`"),
                         net::StopReason::kFailed};
  }
  std::optional<StoredCorrelations> stored;
  if (!problem && uses_store) {
    problem = ProblemOf(study, net::StopReason::kCorrelations, [&] {
      stored.emplace(study, input.party, input.fingerprints, input.correlations);
    });
  }
  study::SignedApproval own;
  std::vector<RowSets> row_sets;
  if (!problem && study.parties[input.party].holder) {
    problem = ProblemOf(study, net::StopReason::kRefused, [&] {
      for (const std::filesystem::path& file : input.row_sets)
        row_sets.emplace_back(file, random).Require(study, input.party, local, input.data);
    });
  }
  if (!problem) {
    problem = ProblemOf(study, net::StopReason::kApproval, [&] {
      // Whether the run goes on, a party without rows learns from the others.
      if (study.parties[input.party].holder) input.approvals->RequireRunLeft(input.ledger, goes_on);
      own = input.approvals->Show(hello.commitment);
    });
  }

  std::vector<crypto::Digest> commitments;
  std::unique_ptr<MethodResult> result;
  try {
    result = ConnectAndRun(study, connect, hello, terms, own, *input.approvals, input.ledger, local,
                           goes_on, stored ? &*stored : nullptr, problem, random, progress, outcome,
                           commitments, input, row_sets);
  } catch (const Error& error) {
    if (problem) throw Error(problem->own);
    if (IsInterruption(error.code()) && local.method != nullptr &&
        study.GoesOn(*local.method, input.state))
      throw WithHintToGoOn(error);
    throw;
  }
  if (input.ledger != nullptr) {
    input.ledger->Refund("the run opened nothing");
    input.ledger->Describe(outcome.ledger);
  }
  commitments.resize(study.parties.size());  // a dealer that was not there has no table
  outcome.study_hash = ToHex(study::StudyHash(identity, commitments));

  // The connections are closed: what fails now is this party's alone.
  const auto* first = dynamic_cast<const HasFirstFiles*>(&study);
  if (input.write && first != nullptr) {
    for (const study::DocumentFile& file : first->FirstFiles(*result)) input.write(file);
  }
  study.Conclude(input.party, *result, outcome, progress);
  if (input.keep == Keep::kOpenings) outcome.protocol = std::move(result);
  outcome.seconds = SecondsSince(start);
  return outcome;
}

}  // namespace partita::run
