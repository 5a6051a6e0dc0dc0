#include "node/daemon/daemon.h"

#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/utc_time.h"
#include "base/version.h"
#include "crypto/signature.h"
#include "net/https_server.h"
#include "net/roster.h"
#include "node/daemon/control.h"
#include "node/daemon/control_socket.h"
#include "node/daemon/heads_desk.h"
#include "node/daemon/job_errands.h"
#include "node/daemon/job_processes.h"
#include "node/daemon/node_state.h"
#include "node/daemon/pairing_desk.h"
#include "node/daemon/party_keeper.h"
#include "node/daemon/policy_asker.h"
#include "node/daemon/service_users.h"
#include "node/job/closed.h"
#include "node/parties/introduction.h"
#include "node/port/one_port.h"
#include "node/service/key_trust.h"
#include "node/service/node_loop.h"

namespace partita::node {
namespace {

constexpr std::string_view kIntroductionsPath = "/peer/v1/introductions";
constexpr auto kErrandEvery = std::chrono::milliseconds(500);
constexpr int64_t kTidyEverySeconds = 86'400;
constexpr auto kStopGrace = std::chrono::milliseconds(2000);
constexpr std::chrono::milliseconds kIntroducePatience{5'000};

net::HttpsLimits ServerLimits() {
  net::HttpsLimits limits;
  limits.body_bytes = kMaxBodyBytes;
  limits.all_body_bytes = uint64_t{64} << 20;
  limits.connections = 300;
  return limits;
}

JobStarter StarterOf(const NodeConfig& config, const std::vector<std::string>& program) {
  if (!config.services) return JobsAsChildren(program);
  return JobsAtSocket(config.services->job_socket, FindUnixUser(config.services->jobs).user);
}

// Beside the own user and root, who may ask at the control socket.
std::vector<uid_t> OthersWhoAsk(const NodeConfig& config) {
  if (!config.services) return {};
  return {FindUnixUser(config.services->pages).user};
}

}  // namespace

struct Daemon::Impl {
  explicit Impl(DaemonOptions given)
      : options(std::move(given)),
        log(options.log),
        config(LoadNodeConfig(options.folder)),
        lock(LockState(options.folder)),
        identity(crypto::LoadIdentity(options.folder.certificate(), options.folder.key())),
        steward(crypto::Sha256Of(crypto::EncodeCertificate(*LoadSteward(config)))),
        own_lines(options.folder.state() / "lines"),
        sent_lines(options.folder.state() / "lines-sent"),
        keeper(options.folder.state(), config.name, {steward}),
        desk({identity, config.address, config.inner_hosts, keeper, own_lines, sent_lines, random,
              log, NowUtc}),
        store(OpenState(options.folder, config, random)),
        trust({config.name, identity, steward, [this] { return keeper.List(); }, NowUtc}),
        start_job(StarterOf(config, options.job_program)),
        jobs({start_job, [this](const JobReport& report) { Take(report); },
              [this](const Tag& tag, net::Socket end) { port->Expect(tag, std::move(end)); },
              [this](const Tag& tag) { port->Forget(tag); }, log}),
        node({config.name, *store, trust, random, jobs, config.limits}),
        loop(node, LoopOptions()),
        heads({config.name, identity, steward, options.folder, start_job, keeper,
               [this](const std::string& party) { return PeerOf(party); },
               [this](const AuditRecord& record) {
                 loop.Do([record](Node& moved, int64_t) { moved.Note(record); });
               },
               log, NowUtc}),
        control({config, identity, steward, loop, keeper, desk, own_lines, random, log,
                 options.folder.run(), options.folder, AskTablesOfJob(start_job), heads}),
        asker({config.name, loop, keeper, log, options.folder.run(),
               config.signer.empty() ? options.signer : config.signer}) {}

  NodeLoop::Options LoopOptions() {
    NodeLoop::Options result;
    result.identity = identity;
    result.peer = [this](const std::string& party) { return PeerOf(party); };
    result.party_of = [this](const std::string& fingerprint) {
      return keeper.PartyOf(fingerprint, NowUtc());
    };
    result.clock = NowUtc;
    result.failed = [this](const Error& error) {
      log.Write(error, "node");
      if (error.code() == ErrorCode::kStorage) has_failed = true;
    };
    result.refused = [this](const std::string& why) { log.Write("refused", {{"why", why}}); };
    return result;
  }

  // None where it cannot be reached now: it is tried again.
  std::optional<net::HttpsPeer> PeerOf(const std::string& party) {
    const auto address = keeper.AddressOf(party);
    const auto key = keeper.NodeKeyOf(party, NowUtc());
    if (!address || !key) return std::nullopt;
    try {
      return net::HttpsPeer{party, CallableAddress(*address, config.inner_hosts), *key};
    } catch (const Error& error) {
      log.Write(error, "calling " + party);
      return std::nullopt;
    }
  }

  void Take(const JobReport& report) {
    loop.Do([report](Node& moved, int64_t now) { moved.Report(report.study, report.event, now); });
  }

  std::optional<net::HttpResponse> Screen(const net::HttpRequest& request) {
    if (request.target.starts_with(kPairPath)) {
      if (!request.fingerprint.empty() && desk.TakesStrangers()) return std::nullopt;
      return net::TextResponse(403, "refused");
    }
    if (request.target == kIntroductionsPath || request.target == kHeadsPath) {
      if (keeper.PartyOf(request.fingerprint, NowUtc())) return std::nullopt;
      return net::TextResponse(403, "refused");
    }
    return loop.Screen(request);
  }

  void Answer(const net::HttpRequest& request, const net::HttpReply& reply) {
    // Requests without a body were not screened.
    if (auto refusal = Screen(request)) return reply(*refusal);
    if (request.target.starts_with(kPairPath)) return reply(desk.Answer(request));
    if (request.target == kIntroductionsPath) return reply(TakeIntroduction(request));
    if (request.target == kHeadsPath) {
      const auto party = keeper.PartyOf(request.fingerprint, NowUtc());
      return reply(party ? heads.Answer(*party, request.body) : net::TextResponse(403, "refused"));
    }
    loop.Answer(request, reply);
  }

  net::HttpResponse TakeIntroduction(const net::HttpRequest& request) {
    const auto party = keeper.PartyOf(request.fingerprint, NowUtc());
    if (!party) return net::TextResponse(403, "refused");
    try {
      const SignedIntroduction introduction = DecodeIntroduction(request.body);
      if (introduction.introducer != *party) return net::TextResponse(403, "refused");
      if (keeper.Offer(introduction, NowUtc())) {
        log.Write("introduction",
                  {{"introducer", *party}, {"party", introduction.introduction.name}});
      }
      return net::TextResponse(200, "taken");
    } catch (const Error& error) {
      // Known by digits here already, for instance.
      return net::TextResponse(403, "refused");
    }
  }

  // Tells every party of the others whose digits were compared here, once while this process lives.
  void Introduce() {
    const PartyList list = keeper.List();
    for (const ListedParty& to : list.parties) {
      for (const ListedParty& of : list.parties) {
        if (to.name == of.name || to.revoked_at != 0 || of.revoked_at != 0 ||
            of.known_by != KnownBy::kDigits)
          continue;
        const Introduction introduction =
            MakeIntroduction(list, of.name, keeper.AddressOf(of.name).value_or(""));
        // Signatures of one thing may differ.
        const auto told_now = std::pair(
            to.name, EncodeIntroduction({config.name, to.name, introduction, Signature()}));
        const auto peer = told.contains(told_now) ? std::nullopt : PeerOf(to.name);
        if (!peer) continue;
        try {
          net::HttpsClient client(*peer, identity);
          net::HttpRequest request;
          request.method = "POST";
          request.target = std::string(kIntroductionsPath);
          request.body =
              EncodeIntroduction(SignIntroduction(introduction, config.name, to.name, identity));
          SilentProgress progress;
          const net::HttpResponse response =
              client.Send(request, kIntroducePatience, 1000, progress);
          // A party whose steward has not listed this site yet says 403 as well: it is asked again.
          if (response.status == 200) told.insert(told_now);
        } catch (const Error& error) {
          log.Write(error, "introducing " + of.name + " to " + to.name);
        }
      }
    }
  }

  // At the start and then once a day: what is kept no longer of studies that are over is marked on the loop's thread, and
  // its files deleted by a job, in the next round of errands. Files that cannot be deleted are tried again the next time.
  void Tidy() {
    TidyDue();
    const int64_t clock = NowUtc();
    const bool was_set_back = tidied_at > clock;
    if (tidied_at != 0 && !was_set_back && clock < tidied_at + kTidyEverySeconds) return;
    tidied_at = clock;
    loop.Do([this](Node& kept, int64_t now) {
      Due due;
      while (const size_t more = kept.Tidy(config.retention, now)) due.marked += more;
      due.studies = kept.FindEnded();
      std::erase_if(due.studies, [](const OverStudy& study) { return study.kept == Kept::kAll; });
      const std::lock_guard guard(errands_mutex);
      to_delete = std::move(due);
    });
  }

  void TidyDue() {
    Due due;
    {
      const std::lock_guard guard(errands_mutex);
      if (!to_delete) return;
      due = *std::move(to_delete);
      to_delete.reset();
    }
    size_t deleted = 0;
    try {
      if (!due.studies.empty()) deleted = TidyByJob(start_job, due.studies);
    } catch (const Error& error) {
      log.Write(error, "deleting what is kept no longer");
    }
    if (due.marked != 0 || deleted != 0) {
      log.Write("tidied", {{"studies", static_cast<int64_t>(due.marked)},
                           {"files", static_cast<int64_t>(deleted)}});
    }
  }

  void RunErrands() {
    int rounds = 0;
    while (true) {
      {
        std::unique_lock guard(errands_mutex);
        errands_changed.wait_for(guard, kErrandEvery, [this] { return stopping; });
        if (stopping) return;
      }
      try {
        desk.Deliver();
        asker.Ask();
        Tidy();
        if (++rounds % 4 == 0) Introduce();
      } catch (const Error& error) {
        log.Write(error, "errands");
      }
    }
  }

  void Serve() {
    server = std::make_unique<net::HttpsServer>(
        net::Listener(), identity, ServerLimits(), 2,
        [this](const net::HttpRequest& request, const net::HttpReply& reply) {
          Answer(request, reply);
        },
        [this](const net::HttpRequest& request) { return Screen(request); });
    OnePortOptions port_options;
    const net::Address listen = net::ParseAddress(config.listen);
    port_options.listener = net::Listen(listen.host, listen.port);
    port_options.host = net::ParseAddress(config.address).host;
    port_options.serve = [this](net::Arrival arrival, std::shared_ptr<const void> place) {
      server->Take(std::move(arrival.socket), std::move(place));
    };
    port = std::make_unique<OnePort>(std::move(port_options));
    loop.Start();
    loop.Do([](Node& moved, int64_t now) {
      AuditRecord record;
      record.time = now;
      record.action = AuditAction::kServe;
      record.outcome = "version " + std::string(kVersion);
      moved.Note(record);
    });
    errands = std::thread([this] { RunErrands(); });
    heads.Start();
    const std::vector<uid_t> others = OthersWhoAsk(config);
    socket = std::make_unique<ControlSocket>(
        options.folder.control(),
        [this](const std::string& request, uid_t user) {
          const bool is_own = MayControl(user, ::geteuid());
          return control.Answer(request, is_own ? Asker::kOwn : Asker::kPages);
        },
        [this](uid_t user) {
          log.Write("control-refused", {{"user", int64_t{user}}});
        },
        others);
    log.Write("serving", {{"name", config.name}, {"address", port->address()}});
    if (const auto mark = ReadRestoredMark(options.folder.restored());
        mark && WordFor(*mark, RestoreFilesOf(options.folder), {steward}) == RestoreWord::kNone)
      log.Write("tables-closed", {{"restored", FormatUtc(mark->time)}});
    // Of services they are for jobs alone to see.
    for (const CatalogueTable& table : config.tables) {
      if (!config.services && !std::filesystem::exists(table.data))
        log.Write("table-missing", {{"table", table.name}, {"data", table.data}});
    }
  }

  void Stop() {
    socket.reset();
    {
      const std::lock_guard guard(errands_mutex);
      stopping = true;
      errands_changed.notify_all();
    }
    if (errands.joinable()) errands.join();
    heads.Stop();
    if (server) server->Stop(kStopGrace);
    jobs.Stop();  // what they report goes to the loop
    loop.Stop();
    log.Write("stopped");
  }

  DaemonOptions options;
  Log log;
  NodeConfig config;
  net::Socket lock;
  crypto::SystemRandom random;
  crypto::Identity identity;
  Digest steward;
  FileInvitations own_lines, sent_lines;
  PartyKeeper keeper;
  PairingDesk desk;
  std::unique_ptr<SqlStore> store;
  KeyTrust trust;
  std::unique_ptr<net::HttpsServer> server;
  std::unique_ptr<OnePort> port;  // before jobs, which tell it
  JobStarter start_job;
  JobProcesses jobs;
  Node node;
  NodeLoop loop;
  HeadsDesk heads;
  Control control;
  PolicyAsker asker;  // the errands' thread only
  std::unique_ptr<ControlSocket> socket;
  std::set<std::pair<std::string, Bytes>> told;  // the errands' thread only
  int64_t tidied_at = 0;                         // the same
  // Studies whose files a job is to look at; how many of them are newly marked.
  struct Due {
    std::vector<OverStudy> studies;
    size_t marked = 0;
  };
  std::optional<Due> to_delete;  // under errands_mutex
  std::mutex errands_mutex;
  std::condition_variable errands_changed;
  bool stopping = false;
  std::atomic<bool> has_failed{false};
  std::thread errands;
};

Daemon::Daemon(DaemonOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  try {
    impl_->Serve();
  } catch (...) {
    impl_->Stop();
    throw;
  }
}

Daemon::~Daemon() { impl_->Stop(); }

const std::string& Daemon::address() const { return impl_->port->address(); }
bool Daemon::failed() const { return impl_->has_failed; }

}  // namespace partita::node
