// `run`, `attach`, `status`, `stop`, `discard`: one attempt of a study.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "net/tls_transport.h"
#include "node/job/closed.h"
#include "node/job/documents.h"
#include "node/job/door.h"
#include "node/job/kinds.h"
#include "node/job/own_dictionary.h"
#include "node/job/table.h"
#include "node/port/pass_socket.h"
#include "node/port/route.h"
#include "report/result_json.h"
#include "run/approval/approval_files.h"
#include "run/approval/approval_uses.h"
#include "run/party/facts.h"
#include "run/party/join.h"
#include "run/party/local_data.h"
#include "run/party/party.h"
#include "run/party/stripe_port.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kProgressPause{1};
constexpr uint64_t kReportBytes = uint64_t{8} << 20;  // of result.json and its page, below
constexpr size_t kMaxShownPhase = 64;

// Tells the daemon and whoever attached; stops where somebody asks for it.
class ReportedProgress : public partita::Progress {
 public:
  ReportedProgress(JobWork& work, RunDoor& door, const std::atomic<bool>& stop)
      : work_(work), door_(door), stop_(stop) {}

  // Of the plan: from now on shares are of the whole run, by its rounds.
  void Expect(std::vector<study::PlanPhase> phases) { phases_ = std::move(phases); }

  void Phase(std::string_view name) override {
    phase_ = name.substr(0, kMaxShownPhase);
    for (size_t i = next_; i < phases_.size(); ++i) {
      if (phases_[i].name != name) continue;
      while (next_ < i) rounds_before_ += phases_[next_++].rounds;
      break;
    }
    if (!IsPublicLine(phase_, kMaxShownPhase)) phase_ = "running";
    Step(0, 1);
  }
  void Step(uint64_t done, uint64_t total) override {
    if (told_ && SteadyClock::now() < *told_ + kProgressPause) return;
    told_ = SteadyClock::now();
    const double share =
        total == 0 ? 0 : static_cast<double>(std::min(done, total)) / static_cast<double>(total);
    Tell(JobProgress{{.attempt = work_.attempt(),
                      .phase = phase_,
                      .done_per_mille = static_cast<uint16_t>(1000 * ShareOfRun(share))}});
  }
  void CheckCancelled() override {
    if (stop_ || work_.stopped)
      throw Error(ErrorCode::kCancelled, "the run was stopped at this party");
  }
  void Tell(Event event) {
    const JobReport report = work_.Report(std::move(event));
    door_.Tell(report);
    work_.Send(report);  // a daemon that is gone attaches later
  }

 private:
  double ShareOfRun(double share_of_phase) const {
    const uint64_t all = study::Totals(phases_).rounds;
    if (all == 0) return share_of_phase;
    const bool in_plan = next_ < phases_.size() && phases_[next_].name == phase_;
    const double now = in_plan ? share_of_phase * static_cast<double>(phases_[next_].rounds) : 0;
    return (static_cast<double>(rounds_before_) + now) / static_cast<double>(all);
  }

  JobWork& work_;
  RunDoor& door_;
  const std::atomic<bool>& stop_;
  std::string phase_ = "begin";
  std::vector<study::PlanPhase> phases_;
  size_t next_ = 0;  // of phases_: the one that goes on, or is to come
  uint64_t rounds_before_ = 0;
  std::optional<SteadyClock::time_point> told_;
};

// The signed approval, and the mark before anything is spent on it.
class MarkedApprovals : public run::Approvals {
 public:
  MarkedApprovals(StudyFolder& folder, std::unique_ptr<run::Approvals> approvals)
      : folder_(folder), approvals_(std::move(approvals)) {}

  void Open(const run::Study& study, size_t party, const study::ApprovalTerms& terms) override {
    approvals_->Open(study, party, terms);
  }
  const crypto::Key& salt() const override { return approvals_->salt(); }
  void RequireRunLeft(run::RunLedger* ledger, bool goes_on) override {
    approvals_->RequireRunLeft(ledger, goes_on);
  }
  study::SignedApproval Show(const crypto::Digest& commitment) override {
    return approvals_->Show(commitment);
  }
  void Spend(run::RunLedger* ledger, const run::ApprovedRun& run) override {
    folder_.MarkOpened();
    approvals_->Spend(ledger, run);
  }
  void RequireSigner(size_t party, const study::SignedApproval& document) const override {
    approvals_->RequireSigner(party, document);
  }

 private:
  StudyFolder& folder_;
  std::unique_ptr<run::Approvals> approvals_;
};

// What is verified before any row is read.
struct Allowed {
  Prepared prepared;
  Documents documents;
  JobTable table;  // of a holder
  crypto::Identity run_key;
  fs::path approval;
};

Allowed RequireAllowed(const JobWork& work) {
  const Study& study = work.study();
  Allowed allowed;
  allowed.prepared = Prepare(work.settings.self, study.file);
  allowed.documents = VerifyDocuments(work.settings, study, allowed.prepared, work.folder);
  const auto own = study.approvals.find(work.settings.self);
  if (own == study.approvals.end())
    throw Error(ErrorCode::kRefused, "this party has not approved the study");
  RequireOwnApproval(work.settings, allowed.documents, allowed.prepared, study, work.folder.Table(),
                     own->second);
  allowed.run_key = *work.folder.RunKey();
  allowed.approval = work.folder.File("approval.json");
  if (!fs::exists(allowed.approval)) {
    run::StartApprovalUses(run::UsesPath(allowed.approval),
                           study::ParseApproval(own->second, "the own approval").approval);
    WriteFileAtomically(allowed.approval.string(), own->second);
  } else if (run::ReadApprovalFile(allowed.approval, work.settings.self) != own->second) {
    throw Error(ErrorCode::kRefused, "this party approved the study by another document before");
  }
  const run::Study& prepared = *allowed.prepared.study;
  if (prepared.parties[allowed.prepared.party].holder) {
    const auto table = work.settings.catalogue.find(work.folder.Table());
    if (table == work.settings.catalogue.end())
      throw Error(ErrorCode::kRefused, "the table of this study is not in the catalogue any more");
    allowed.table = table->second;
    RequireOpenTable(work.settings, allowed.table);
    RequireOffered(work.settings, table->first, allowed.prepared);
    if (prepared.IsPrivate() && work.settings.ledger.empty())
      throw Error(ErrorCode::kRefused, "the study is private, and no ledger is kept here");
  }
  if (!work.arrivals.valid())
    throw Error(ErrorCode::kRefused, "the order of the run has no channel for connections");
  return allowed;
}

// The result in the folder; its digest. Zero where this party gets none.
Digest KeepResult(const StudyFolder& folder, const run::PartyOutcome& outcome) {
  if (outcome.result == nullptr) return {};
  const report::RunFacts facts = run::FactsOf(outcome);
  const std::string json = outcome.result->Json(outcome.plan, facts);
  folder.Show(folder.Result("report.html"), outcome.result->Html(outcome.plan, facts));
  for (const study::DocumentFile& file : outcome.result->Files())
    folder.Show(folder.Result(file.name), file.contents);
  folder.Show(folder.Result("result.json"), json);
  return crypto::Sha256Of(AsBytes(json));
}

net::TlsOptions TlsOf(JobWork& work, const Allowed& allowed) {
  net::TlsOptions tls;
  tls.identity = allowed.run_key;
  tls.roster = allowed.documents.roster;
  tls.self = allowed.prepared.party;
  tls.max_handshakes = 16;
  for (const net::RosterEntry& party : tls.roster)
    tls.server_names.push_back(
        RunServerName(work.study().tag, net::ParseAddress(party.address).host));
  const size_t stripes = allowed.prepared.study->file.engine.stripes;
  if (stripes > 1) TellStripes(work.arrivals, static_cast<uint32_t>(stripes));
  tls.arrivals = PassedSockets(std::move(work.arrivals));
  return tls;
}

run::StripeNames StripeNamesOf(const JobWork& work, const net::Roster& roster) {
  std::vector<std::string> hosts;
  for (const net::RosterEntry& party : roster)
    hosts.push_back(net::ParseAddress(party.address).host);
  return [hosts = std::move(hosts), tag = work.study().tag](size_t party, size_t stripe) {
    return StripeServerName({tag, static_cast<uint32_t>(stripe)}, hosts.at(party));
  };
}

run::PartyOutcome RunAllowed(JobWork& work, const Allowed& allowed, ReportedProgress& progress) {
  const run::Study& study = *allowed.prepared.study;
  run::PartyInput input;
  input.party = allowed.prepared.party;
  if (!allowed.table.data.empty()) {
    const StudyTable table = TableOf(work.folder, allowed.table);
    input.data = table.data;
    input.row_sets = table.row_sets;
  }
  input.accept_useless = true;  // stewards were shown what is of little use, and signed
  input.fingerprints = allowed.documents.fingerprints;
  input.stewards = allowed.documents.stewards;
  input.certificates = allowed.documents.certificates;
  MarkedApprovals approvals(
      work.folder, run::SignedApprovals(
                       {allowed.approval, allowed.run_key, input.fingerprints, input.stewards}));
  input.approvals = &approvals;
  std::optional<run::RunLedger> ledger;
  if (!work.settings.ledger.empty()) {
    input.ledger = &ledger.emplace(run::LedgerOptions{work.settings.ledger, allowed.table.account},
                                   allowed.run_key);
  }
  input.state = work.folder.File("state");
  if (!input.data.empty()) run::RequireOwnersResult(study, input.party, input.data);
  std::optional<RoomOnDisk> room;
  if (input.party == study.receiver) {
    room.emplace(work.folder.Result("result.json"), kReportBytes + study.FileBytes());
    input.write = [&](const study::DocumentFile& file) {
      try {
        work.folder.Show(work.folder.Result(file.name), file.contents);
      } catch (const Error& error) {
        work.folder.NoteProblem(error.message());
      }
    };
  }
  net::TlsOptions tls = TlsOf(work, allowed);
  std::optional<run::StripePort> stripes;
  if (study.file.engine.stripes > 1) {
    input.stripes =
        stripes.emplace(study, tls, work.settings.connect_timeout, StripeNamesOf(work, tls.roster))
            .Connector();
  }
  const run::Connector connect = [&](bool only_to_stop) {
    const std::chrono::milliseconds wait =
        only_to_stop
            ? std::min<std::chrono::milliseconds>(work.settings.connect_timeout, run::kWaitToStop)
            : work.settings.connect_timeout;
    return net::ConnectTls(std::move(tls), Deadline::After(wait), &progress);
  };
  crypto::SystemRandom random;
  return run::RunParty(study, input, connect, random, progress);
}

Ended Attempted(JobWork& work, RunDoor& door, const std::atomic<bool>& stop) {
  Ended ended;
  ended.attempt = work.attempt();
  ended.outcome = Outcome::kRefused;
  ReportedProgress progress(work, door, stop);
  try {
    progress.CheckCancelled();
    const Allowed allowed = RequireAllowed(work);
    ended.outcome = Outcome::kFailed;
    progress.Expect(allowed.prepared.plan.phases);
    progress.Tell(JobUp{work.attempt()});
    const run::PartyOutcome outcome = RunAllowed(work, allowed, progress);
    ended.result = KeepResult(work.folder, outcome);
    ended.outcome = Outcome::kFinished;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) ended.outcome = Outcome::kCancelled;
    work.folder.NoteProblem(error.message() + "; " + error.hint());
  } catch (const std::exception& error) {
    work.folder.NoteProblem(error.what());
  }
  ended.may_have_opened = ended.outcome == Outcome::kFinished || work.folder.Attempt().opened;
  return ended;
}

// Reports of the run as they come, until its last word; none if there is no run, or it is gone.
std::optional<JobReport> Follow(JobWork& work) {
  const net::Socket visitor = KnockAt(work.folder, kDoorAttach);
  while (visitor.valid()) {
    std::optional<JobReport> report = ReceiveReport(visitor);
    if (!report) break;
    if (IsLastWord(report->event)) return report;
    work.Send(*report);
  }
  return std::nullopt;
}

}  // namespace

Ended WordOn(const JobWork& work) {
  Ended ended;
  ended.attempt = work.attempt();
  if (!StudyFolder::CanBegin(ended.attempt)) return ended;
  const AttemptRecord record = work.folder.Attempt();
  if (record.attempt > ended.attempt) return ended;  // not of now: nothing is signed twice
  if (record.attempt < ended.attempt) {
    work.folder.BeginAttempt(ended.attempt);
    ended.outcome = Outcome::kRefused;
    ended.may_have_opened = false;
  } else {
    ended.outcome = Outcome::kLost;
    ended.may_have_opened = record.opened;
  }
  return work.folder.Conclude(ended);
}

JobReport RunAttempt(JobWork& work) {
  if (!work.folder.TryLock()) {
    if (auto report = Follow(work)) return *std::move(report);
    if (!WaitForLock(work.folder, kFolderPatience)) return work.Report(JobGone{work.attempt()});
  }
  if (!StudyFolder::CanBegin(work.attempt()) || work.folder.Attempt().attempt >= work.attempt())
    return work.Report(JobEnded{WordOn(work)});
  std::atomic<bool> stop = false;
  RunDoor door(work.folder, stop,
               work.channel);  // first: who attaches to an attempt that has begun finds it
  work.folder.BeginAttempt(work.attempt());
  work.folder.ForgetProblem();
  const Ended ended = work.folder.Conclude(Attempted(work, door, stop));
  JobReport report = work.Report(JobEnded{ended});
  door.Tell(report);
  return report;
}

JobReport AttachToRun(JobWork& work) {
  if (auto report = Follow(work)) return *std::move(report);
  if (const auto ended = work.folder.FindEnded(work.attempt()))
    return work.Report(JobEnded{*ended});
  return work.Report(JobGone{work.attempt()});
}

JobReport EndAttempt(JobWork& work) {
  EndRunAndLock(work.folder, kFolderPatience);
  return work.Report(JobEnded{WordOn(work)});
}

JobReport DiscardStudy(JobWork& work) {
  EndRunAndLock(work.folder, kFolderPatience);
  const Ended refusal = WordOn(work);
  work.folder.Discard();
  return work.Report(Discarded{refusal});
}

}  // namespace partita::node
