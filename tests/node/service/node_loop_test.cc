// Three nodes with real keys over TLS on loopback, one port and one SQLite file each.
#include "node/service/node_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "base/utc_time.h"
#include "crypto/random.h"
#include "node/port/one_port.h"
#include "node/service/peer_api.h"
#include "node/store/sqlite_store.h"
#include "tests/node/real_keys.h"

namespace partita::node::node_loop_test {
namespace {

using namespace real_keys;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

constexpr std::chrono::seconds kLongest{100};  // only a failure waits for it

// A node's machine: its jobs answer at once, but for runs, which need all parties.
struct Host : Jobs {
  std::string name;
  crypto::SystemRandom random;
  std::unique_ptr<KeyTrust> trust;
  std::unique_ptr<SqliteStore> store;
  std::unique_ptr<Node> node;
  std::unique_ptr<NodeLoop> loop;
  std::unique_ptr<net::HttpsServer> server;
  std::unique_ptr<OnePort> port;
  std::function<void()> moved;
  std::function<void(const StudyId&, uint32_t)> up;  // a run began here

  void Start(const JobRequest& job, const Study& study) override {
    const StudyId id = study.id;
    const int64_t expires = study.expires;
    loop->Do([this, job, id, expires](Node& n, int64_t now) {
      Run(n, job, id, expires, now);
      moved();
    });
  }
  void Run(Node& n, const JobRequest& job, const StudyId& id, int64_t expires, int64_t now) {
    switch (job.kind) {
      case JobKind::kCheck: {
        Checked checked;
        checked.facts.parties = kNames;
        checked.facts.receivers = {"north"};
        checked.facts.plan_hash = Digest{2};
        checked.run_certificate = crypto::EncodeCertificate(*AllKeys().at(name).run.certificate);
        checked.address = name + ".example:7400";
        return n.Report(id, checked, now);
      }
      case JobKind::kCommit: {
        n.Report(id, Committed{Digest{1}}, now);
        const study::Approval approval = ApprovalOf(name, Digest{1}, Digest{2}, expires);
        return n.Command(id, OwnApproval{Signed(approval, name)}, now);
      }
      case JobKind::kRun:
        n.Report(id, JobUp{job.attempt}, now);
        return up(id, job.attempt);
      case JobKind::kDiscard: {
        Ended refusal;
        refusal.attempt = job.attempt;
        return n.Report(id, Discarded{refusal}, now);
      }
      default:
        return;
    }
  }
};

class NodeLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "node_loop_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    for (const std::string& name : kNames) Boot(name);
  }
  void TearDown() override {
    for (auto& [name, host] : hosts_) Halt(host);
    fs::remove_all(folder_);
  }
  static void Halt(Host& host) {
    host.port.reset();
    host.loop->Stop();
    host.server.reset();
  }

  void Boot(const std::string& name) {
    Host& host = hosts_[name];
    host.name = name;
    host.moved = [this] {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    };
    host.up = [this, name](const StudyId& id, uint32_t attempt) { TakeUp(name, id, attempt); };
    host.trust = std::make_unique<KeyTrust>(PartsOf(name));
    host.store = std::make_unique<SqliteStore>(folder_ / (name + ".sqlite"), host.random);
    host.node =
        std::make_unique<Node>(Node::Parts{name, *host.store, *host.trust, host.random, host, {}});
    NodeLoop::Options options;
    options.identity = AllKeys().at(name).node;
    options.clock = [] { return NowUtc(); };
    options.peer = [this](const std::string& party) -> std::optional<net::HttpsPeer> {
      const std::lock_guard lock(mutex_);
      const auto found = addresses_.find(party);
      if (found == addresses_.end()) return std::nullopt;
      return net::HttpsPeer{party, found->second, ToHex(PrintOf(AllKeys().at(party).node))};
    };
    options.party_of = [name](const std::string& print) -> std::optional<std::string> {
      for (const ListedParty& party : ListOf(name).parties) {
        if (ToHex(party.node_key) == print) return party.name;
      }
      return std::nullopt;
    };
    options.failed = [](const Error& error) { ADD_FAILURE() << error.message(); };
    options.refused = [this, name](const std::string& why) {
      const std::lock_guard lock(mutex_);
      refused_.emplace_back(name, why);
    };
    host.loop = std::make_unique<NodeLoop>(*host.node, std::move(options));
    {
      const std::lock_guard lock(mutex_);
      loops_[name] = host.loop.get();
    }
    host.loop->Start();
    net::HttpsLimits limits;
    limits.body_bytes = kMaxBodyBytes;
    NodeLoop* loop = host.loop.get();
    host.server = std::make_unique<net::HttpsServer>(
        net::Listener{}, AllKeys().at(name).node, limits, 1,
        [loop](const net::HttpRequest& request, net::HttpReply reply) {
          loop->Answer(request, std::move(reply));
        },
        [loop](const net::HttpRequest& request) { return loop->Screen(request); });
    OnePortOptions port;
    port.listener = net::Listen("127.0.0.1", "0");
    port.host = "127.0.0.1";
    net::HttpsServer* server = host.server.get();
    port.serve = [server](net::Arrival arrival, std::shared_ptr<const void> place) {
      server->Take(std::move(arrival.socket), std::move(place));
    };
    host.port = std::make_unique<OnePort>(std::move(port));
    const std::lock_guard lock(mutex_);
    addresses_[name] = host.port->address();
  }

  // A word of an end before the start that it answers would be a start refused.
  void TakeUp(const std::string& name, const StudyId& id, uint32_t attempt) {
    std::map<std::string, NodeLoop*> all;
    {
      const std::lock_guard lock(mutex_);
      std::map<std::string, NodeLoop*>& up = up_[{id, attempt}];
      up[name] = loops_.at(name);
      if (up.size() == kNames.size()) all = up;
    }
    for (const auto& [party, loop] : all) {
      loop->Do([this, party = party, id, attempt](Node& node, int64_t now) {
        node.Report(id, JobEnded{SignedEnd(party, id, attempt)}, now);
        const std::lock_guard lock(mutex_);
        changed_.notify_all();
      });
    }
  }

  // Does it on the loop's thread, and waits for its value.
  template <typename Value>
  Value Ask(const std::string& name, const std::function<Value(Node&, int64_t)>& what) {
    std::optional<Value> value;
    hosts_.at(name).loop->Do([&](Node& node, int64_t now) {
      Value found = what(node, now);
      const std::lock_guard lock(mutex_);
      value = std::move(found);
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLongest, [&] { return value.has_value(); });
    return value.value();
  }
  Phase PhaseAt(const std::string& name, const StudyId& id) {
    return Ask<Phase>(name, [&](Node& node, int64_t) {
      const std::optional<Study> study = node.Find(id);
      return study.has_value() ? study->phase : Phase::kProposed;
    });
  }
  StudyId Propose(const std::string& name, const std::string& text) {
    return Ask<StudyId>(
        name, [&](Node& node, int64_t now) { return node.Propose(text, now + 86'400, now); });
  }
  std::vector<std::pair<std::string, std::string>> Refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  void WaitUntilFinished(const StudyId& id) {
    const Deadline deadline = Deadline::After(kLongest);
    for (const std::string& name : kNames) {
      while (PhaseAt(name, id) != Phase::kFinished && !deadline.passed()) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::milliseconds(20));
      }
      EXPECT_EQ(PhaseAt(name, id), Phase::kFinished) << name;
    }
  }
  // What a client with this key is answered.
  unsigned Post(const std::string& to, const crypto::Identity& identity, const std::string& path,
                const Bytes& body) {
    net::HttpsClient client({to, addresses_.at(to), ToHex(PrintOf(AllKeys().at(to).node))},
                            identity);
    net::HttpRequest request;
    request.method = "POST";
    request.target = path;
    request.body = body;
    SilentProgress silent;
    return client.Send(request, std::chrono::seconds(60), 1000, silent).status;
  }

  fs::path folder_;
  std::map<std::string, std::string> addresses_;
  std::map<std::string, NodeLoop*> loops_;
  std::map<std::pair<StudyId, uint32_t>, std::map<std::string, NodeLoop*>> up_;
  std::vector<std::pair<std::string, std::string>> refused_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Host> hosts_;
};

TEST_F(NodeLoopTest, AStudyIsProposedAgreedAndRunOverTls) {
  WaitUntilFinished(Propose("north", "study"));
  // With a body that is sent apart.
  WaitUntilFinished(Propose("south", std::string(100'000, 'x')));
}

TEST_F(NodeLoopTest, ANodeThatWasAwayCatchesUp) {
  {
    const std::lock_guard lock(mutex_);
    addresses_.erase("west");
  }
  Halt(hosts_.at("west"));
  const StudyId id = Propose("north", "study");
  hosts_.erase("west");
  Boot("west");
  WaitUntilFinished(id);
}

TEST_F(NodeLoopTest, NobodyElseIsHeard) {
  const std::string path(kMessagesPath);
  const Bytes nothing(10);
  const crypto::Identity stranger = crypto::MakeIdentity({.name = "south"});
  EXPECT_EQ(Post("north", stranger, path, nothing), 403u);
  EXPECT_EQ(Post("north", crypto::Identity{}, path, nothing), 403u);
  // A run key or a steward's is no node key.
  EXPECT_EQ(Post("north", AllKeys().at("south").run, path, nothing), 403u);
  const crypto::Identity& south = AllKeys().at("south").node;
  EXPECT_EQ(Post("north", south, path, nothing), 403u);  // no message
  // Told once, of parties alone.
  EXPECT_EQ(Post("north", south, path, nothing), 403u);
  EXPECT_EQ(Refused().size(), 1u);
  EXPECT_EQ(Post("north", south, "/api/v1/studies", nothing), 404u);
  EXPECT_EQ(Post("north", south, std::string(kBodiesPath) + "zz", nothing), 404u);
  const Bytes body(kMaxInlineBytes + 1);
  const std::string digest = ToHex(crypto::Sha256Of(body));
  EXPECT_EQ(Post("north", south, std::string(kBodiesPath) + std::string(64, '0'), body), 403u);
  // The right one, of no message that asked for it.
  EXPECT_EQ(Post("north", south, std::string(kBodiesPath) + digest, body), 403u);
}

}  // namespace
}  // namespace partita::node::node_loop_test
