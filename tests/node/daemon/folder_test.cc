// node.toml, the folder that init makes, the steward's key, and what is kept of other sites.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/files.h"
#include "crypto/passphrase_key.h"
#include "node/daemon/node_folder.h"
#include "node/daemon/party_keeper.h"
#include "tests/node/parties/sites.h"

namespace partita::node::folder_test {
namespace {

namespace fs = std::filesystem;

constexpr char kPhrase[] = "several words of a steward";

struct NodeFolderTest : testing::Test {
  fs::path home = fs::path(testing::TempDir()) / ("node" + std::to_string(::getpid()));
  NodeFolder folder{home / "west"};

  NodeFolderTest() {
    fs::remove_all(home);
    fs::create_directories(home);
    InitNodeFolder(folder, "west", "127.0.0.1:7400");
  }
  ~NodeFolderTest() override { fs::remove_all(home); }

  std::string Text() const { return ReadFile(folder.config(), 1 << 16, "node.toml"); }
  std::string ErrorOf(const std::string& from, const std::string& to) const {
    std::string text = Text();
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
      ParseNodeConfig(text, folder.path());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return "none";
  }
};

unsigned ModeOf(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

TEST_F(NodeFolderTest, IsTheOwnersAlone) {
  EXPECT_EQ(ModeOf(folder.path()), 0700u);
  EXPECT_EQ(ModeOf(folder.state()), 0700u);
  EXPECT_EQ(ModeOf(folder.key()), 0600u);
  EXPECT_EQ(ModeOf(folder.config()), 0600u);
  const NodeConfig config = LoadNodeConfig(folder);
  EXPECT_EQ(config.name, "west");
  EXPECT_EQ(config.listen, "127.0.0.1:7400");
  EXPECT_EQ(config.inner_hosts, std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(config.parties, folder.path() / "parties");
  EXPECT_EQ(CodeOf([&] { InitNodeFolder(folder, "west", "127.0.0.1:7400"); }), ErrorCode::kUsage);
}

TEST_F(NodeFolderTest, WhereTheStateIs) {
  EXPECT_EQ(LoadNodeConfig(folder).state, StatePlace());
  // As the comment of node.toml says it.
  std::string text = Text();
  for (const char* line :
       {"# [state]\n", "# database = ", "# credentials = ", "# timeout_seconds = "}) {
    ASSERT_NE(text.find(line), std::string::npos) << line;
    text.erase(text.find(line), 2);
  }
  EXPECT_EQ(ParseNodeConfig(text, folder.path()).state,
            (StatePlace{"postgresql://partita_west@db.example.org/partita_west",
                        folder.path() / "state.pass", 30}));
  const auto with = [](const char* lines) {
    return std::string("\n[state]\n") + lines + "\n[limits]\n";
  };
  EXPECT_EQ(ErrorOf("\n[limits]\n", with("database = \"host=a\"")), "none");
  EXPECT_NE(ErrorOf("\n[limits]\n", with("")).find("'database'"), std::string::npos);
  EXPECT_NE(ErrorOf("\n[limits]\n", with("database = \"\"")).find("names none"), std::string::npos);
  EXPECT_NE(ErrorOf("\n[limits]\n", with("database = \"host=a\"\ntimeout_seconds = 0"))
                .find("not from 1 to 3600"),
            std::string::npos);
  EXPECT_NE(
      ErrorOf("\n[limits]\n", with("database = \"host=a\"\npassword = \"x\"")).find("password"),
      std::string::npos);
}

TEST_F(NodeFolderTest, TablesAndTheirLedger) {
  EXPECT_TRUE(LoadNodeConfig(folder).ledger.empty());
  EXPECT_TRUE(LoadNodeConfig(folder).signer.empty());
  const NodeConfig config =
      ParseNodeConfig("ledger = \"budgets.sqlite\"\nsigner = \"sign.sock\"\n" + Text() +
                          "\n[[table]]\nname = \"a\"\ndata = \"/srv/a.csv\"\naccount = \"wards\"\n"
                          "[[table]]\nname = \"b\"\ndata = \"registry.toml\"\n",
                      folder.path());
  EXPECT_EQ(config.ledger, folder.path() / "budgets.sqlite");
  EXPECT_EQ(config.signer, folder.path() / "sign.sock");
  EXPECT_EQ(config.tables,
            (std::vector<CatalogueTable>{{"a", "/srv/a.csv", "wards"},
                                         {"b", (folder.path() / "registry.toml").string(), ""}}));
}

TEST_F(NodeFolderTest, RulesOfTheHouse) {
  const NodeConfig config = LoadNodeConfig(folder);
  EXPECT_FALSE(config.ethics_required);
  EXPECT_EQ(config.retention, (RetentionRules{.results_days = 0, .documents_years = 10}));
  const NodeConfig strict =
      ParseNodeConfig("ethics_required = true\n" + Text() +
                          "\n[retention]\nresults_days = 30\ndocuments_years = 15\n",
                      folder.path());
  EXPECT_TRUE(strict.ethics_required);
  EXPECT_EQ(strict.retention, (RetentionRules{.results_days = 30, .documents_years = 15}));
  // For nothing is kept for no time at all: a message would be taken twice.
  for (const char* wrong : {"results_days = 0", "documents_years = 0", "documents_years = 101",
                            "results_years = 1", "audit_years = 10"}) {
    EXPECT_NE(ErrorOf("# [retention]", "[retention]\n" + std::string(wrong) + "\n# "), "none")
        << wrong;
  }
  // What the file says of them is true.
  EXPECT_EQ(ErrorOf("# [retention]\n# results_days = 365\n# documents_years = 10",
                    "[retention]\nresults_days = 365\ndocuments_years = 10"),
            "none");
}

TEST_F(NodeFolderTest, MistakesAreNamed) {
  EXPECT_NE(ErrorOf("jobs = 1 ", "jobs = 0 ").find("'jobs' is not from 1 to 64"),
            std::string::npos);
  EXPECT_NE(ErrorOf("jobs = 1 ", "jobz = 1 ").find("jobz"), std::string::npos);
  EXPECT_NE(ErrorOf("name = \"west\"", "name = \"West\"").find("'name' is no name"),
            std::string::npos);
  EXPECT_NE(ErrorOf("address = \"127.0.0.1:7400\"", "address = \"west\"").find("'address'"),
            std::string::npos);
  EXPECT_NE(ErrorOf("partita_node = 1", "partita_node = 2"), "none");
  EXPECT_NE(ErrorOf("partita_node = 1", "partita_node = ").find("node.toml:"), std::string::npos);
  // Without it jobs would have no list, or one of the node's.
  EXPECT_NE(ErrorOf("parties = \"parties\"", "").find("parties"), std::string::npos);
  const std::string table = "\n[[table]]\nname = \"a\"\ndata = \"a.csv\"\n";
  EXPECT_NE(ErrorOf("# [[table]]", table + table + "# ").find("two tables are called a"),
            std::string::npos);
  EXPECT_NE(ErrorOf("# [[table]]", "\n[[table]]\nname = \"a\"\n# ").find("data"),
            std::string::npos);
  EXPECT_NE(ErrorOf("# [[table]]", "\n[[table]]\nname = \"a\"\ndata = \"postgresql://x@db/y\"\n# ")
                .find("is an address, not a file"),
            std::string::npos);
}

TEST_F(NodeFolderTest, AStewardIsOfThisSiteAndHasAKeyOfItsOwn) {
  const NodeConfig config = LoadNodeConfig(folder);
  EXPECT_EQ(CodeOf([&] { LoadSteward(config); }), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { RegisterSteward(folder, *IdentityOf("north/steward").certificate); }),
            ErrorCode::kBadInput);
  EXPECT_EQ(
      CodeOf([&] { RegisterSteward(folder, *crypto::LoadCertificate(folder.certificate())); }),
      ErrorCode::kBadInput);
  RegisterSteward(folder, *IdentityOf("west/steward").certificate);
  EXPECT_EQ(crypto::EncodeCertificate(*LoadSteward(config)), CertificateOf("west/steward"));
  EXPECT_EQ(CodeOf([&] { RegisterSteward(folder, *IdentityOf("west/2").certificate); }),
            ErrorCode::kUsage);
}

TEST_F(NodeFolderTest, AKeyUnderAPassphraseOpensWithItAlone) {
  const fs::path certificate = home / "steward.pem", key = home / "steward.key";
  EXPECT_EQ(CodeOf([&] {
              crypto::SavePassphraseIdentity(IdentityOf("west/steward"), certificate, key, "short");
            }),
            ErrorCode::kUsage);
  crypto::SavePassphraseIdentity(IdentityOf("west/steward"), certificate, key, kPhrase);
  EXPECT_EQ(ModeOf(key), 0600u);
  const crypto::Identity loaded = crypto::LoadPassphraseIdentity(certificate, key, kPhrase);
  const Bytes text = {1, 2, 3};
  EXPECT_TRUE(crypto::VerifySignature(*IdentityOf("west/steward").certificate, "test", text,
                                      crypto::Sign(loaded, "test", text)));
  EXPECT_EQ(CodeOf([&] { crypto::LoadPassphraseIdentity(certificate, key, "several words"); }),
            ErrorCode::kRefused);
  // Where runs read keys, it is none.
  EXPECT_EQ(CodeOf([&] { crypto::LoadIdentity(certificate, key); }), ErrorCode::kBadInput);
  // And a key under no passphrase is none of a steward.
  EXPECT_EQ(
      CodeOf([&] { crypto::LoadPassphraseIdentity(folder.certificate(), folder.key(), kPhrase); }),
      ErrorCode::kBadInput);
}

TEST_F(NodeFolderTest, LinesThatWereUsedStayUsedAfterAStart) {
  crypto::Prg random = net::TestRandom(3);
  InviteNumber number{};
  {
    FileInvitations store(folder.state() / "lines");
    number = Invite(store, "west:7400", KeyOf("west"), random, kNow).number;
    UseUp(store, number, kNow);
  }
  FileInvitations again(folder.state() / "lines");
  EXPECT_EQ(CodeOf([&] { UseUp(again, number, kNow); }), ErrorCode::kRefused);
  // Also where the clock was a month ahead in between.
  Invite(again, "west:7400", KeyOf("west"), random, kNow + 31 * 86'400);
  EXPECT_EQ(CodeOf([&] { UseUp(again, number, kNow); }), ErrorCode::kRefused);
  EXPECT_EQ(again.Load().lines.size(), 2u);
  // A line of that time is not open now, and blocks nothing.
  EXPECT_EQ(OpenInvitations(again.Load(), kNow), 0u);
}

TEST_F(NodeFolderTest, PartiesAndPairingsAreKept) {
  const std::vector<Digest> stewards = {KeyOf("west/steward")};
  KeptPairing pairing;
  pairing.number = {1, 2, 3};
  pairing.name = "north";
  pairing.address = "north.example.org:7400";
  pairing.expires = kNow + 3600;
  PendingPair& pending = pairing.pending.emplace();
  pending.role = PairingRole::kJoiner;
  pending.peer_certificate = CertificateOf("north");
  pending.agreed_at = kNow;
  pending.own_statement = {9};
  pairing.met = PairedParty{"north", CertificateOf("north"), CertificateOf("north/steward"),
                            "north.example.org:7400", kNow};
  PartyList list;
  list.owner = "west";
  {
    PartyKeeper keeper(folder.state(), "west", stewards);
    EXPECT_TRUE(keeper.Document().empty());
    keeper.Keep(pairing, kNow);
    list = WithPaired(list, *pairing.met, kNow);
    EXPECT_EQ(CodeOf([&] { keeper.Take(SignPartyList(list, IdentityOf("north/steward")), kNow); }),
              ErrorCode::kUntrusted);
    keeper.Take(SignPartyList(list, IdentityOf("west/steward")), kNow);
  }
  PartyKeeper keeper(folder.state(), "west", stewards);
  EXPECT_EQ(keeper.List(), list);
  EXPECT_EQ(keeper.AddressOf("north"), "north.example.org:7400");
  ASSERT_EQ(keeper.Pairings().size(), 1u);
  EXPECT_EQ(keeper.Pairings().front(), pairing);
  EXPECT_EQ(keeper.PartyOf(ToHex(KeyOf("north")), kNow), "north");
  EXPECT_EQ(keeper.PartyOf(ToHex(KeyOf("lake")), kNow), std::nullopt);
  // Another list of the same serial.
  PartyList twin = list;
  twin.made_at += 1;
  EXPECT_EQ(CodeOf([&] { keeper.Take(SignPartyList(twin, IdentityOf("west/steward")), kNow); }),
            ErrorCode::kUntrusted);
  // What north says of lake waits, once, over a start, until it is accepted.
  const Introduction lake{"lake", KeyOf("lake"), KeyOf("lake/steward"), "lake:7400", kNow};
  const SignedIntroduction by_north = SignIntroduction(lake, "north", "west", IdentityOf("north"));
  EXPECT_TRUE(keeper.Offer(by_north, kNow));
  EXPECT_FALSE(keeper.Offer(by_north, kNow));
  for (const auto& [introducer, key] :
       std::vector<std::pair<std::string, std::string>>{{"south", "south"}, {"north", "south"}}) {
    const SignedIntroduction other = SignIntroduction(lake, introducer, "west", IdentityOf(key));
    EXPECT_EQ(CodeOf([&] { keeper.Offer(other, kNow); }), ErrorCode::kUntrusted);
  }
  PartyKeeper third(folder.state(), "west", stewards);
  EXPECT_EQ(third.Waiting(), std::vector<SignedIntroduction>{by_north});
  third.Take(SignPartyList(WithIntroduced(list, "north", lake, kNow), IdentityOf("west/steward")),
             kNow);
  EXPECT_TRUE(third.Waiting().empty());
  EXPECT_EQ(third.AddressOf("lake"), "lake:7400");
  // Revoked: nobody calls it, and nobody is it.
  third.Take(SignPartyList(WithRevoked(third.List(), "north", kNow), IdentityOf("west/steward")),
             kNow);
  EXPECT_EQ(third.PartyOf(ToHex(KeyOf("north")), kNow), std::nullopt);
  EXPECT_EQ(third.NodeKeyOf("north", kNow), std::nullopt);
}

// However many a party introduces, what another one said waits.
TEST_F(NodeFolderTest, IntroducersHavePlacesOfTheirOwn) {
  PartyList list;
  list.owner = "west";
  for (const std::string name : {"east", "north"}) {
    list = WithPaired(
        list, {name, CertificateOf(name), CertificateOf(name + "/steward"), name + ":7400", kNow},
        kNow);
  }
  PartyKeeper keeper(folder.state(), "west", {KeyOf("west/steward")});
  keeper.Take(SignPartyList(list, IdentityOf("west/steward")), kNow);
  const auto offer = [&](const std::string& introducer, const std::string& name, uint8_t key) {
    Introduction introduction{name, {}, {}, name + ":7400", kNow};
    introduction.node_key.fill(key);
    introduction.steward_key.fill(static_cast<uint8_t>(key + 1));
    return keeper.Offer(SignIntroduction(introduction, introducer, "west", IdentityOf(introducer)),
                        kNow);
  };
  EXPECT_TRUE(offer("north", "lake", 1));
  for (size_t i = 0; i < kMaxWaitingOfOne; ++i)
    EXPECT_TRUE(offer("east", "site-" + std::to_string(i), static_cast<uint8_t>(10 + 2 * i)));
  EXPECT_EQ(CodeOf([&] { offer("east", "another", 100); }), ErrorCode::kPeerFault);
  // North's are all here, and more of its own are taken.
  EXPECT_EQ(keeper.Waiting().front().introduction.name, "lake");
  EXPECT_TRUE(offer("north", "pond", 110));
  // Another address or key of the same party is in its place.
  EXPECT_TRUE(offer("east", "site-0", 120));
  EXPECT_EQ(keeper.Waiting().size(), kMaxWaitingOfOne + 2);
  // A revoked introducer's go.
  keeper.Take(SignPartyList(WithRevoked(list, "east", kNow), IdentityOf("west/steward")), kNow);
  EXPECT_EQ(keeper.Waiting().size(), 2u);
}

// What the other site broke off would be waited for, and stand in the way of what it signs next.
TEST_F(NodeFolderTest, AnotherPairingWithASiteReplacesOneThatWaits) {
  PartyKeeper keeper(folder.state(), "west", {KeyOf("west/steward")});
  KeptPairing first;
  first.number = {1};
  first.name = "north";
  first.expires = kNow + 3600;
  PendingPair& pending = first.pending.emplace();
  pending.peer_certificate = CertificateOf("north");
  pending.agreed_at = kNow;
  KeptPairing other = first;
  other.number = {2};
  other.pending->peer_certificate = CertificateOf("lake");
  KeptPairing open = first;
  open.number = {3};
  open.pending.reset();
  for (const KeptPairing& pairing : {first, other, open}) keeper.Keep(pairing, kNow);
  EXPECT_EQ(keeper.Pairings().size(), 3u);
  KeptPairing second = first;
  second.number = {4};
  keeper.Keep(second, kNow);
  EXPECT_EQ(keeper.Pairings(), (std::vector<KeptPairing>{other, open, second}));
}

}  // namespace
}  // namespace partita::node::folder_test
