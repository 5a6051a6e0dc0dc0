// The steward's signer: what it shows and signs, and what it refuses a daemon, a web process and a stranger
// who has neither passphrase nor the right user.
#include "node/sign/signer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/sha.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "net/socket.h"
#include "node/daemon/control.h"
#include "node/daemon/control_socket.h"
#include "node/job/statement.h"
#include "node/parties/introduction.h"
#include "node/sign/lock_in.h"
#include "tests/node/job/job_world.h"

namespace partita::node::signer_test {
namespace {

using job_world::PrintOf;
using job_world::Site;
using job_world::World;
using ::testing::HasSubstr;
using TestJson = nlohmann::ordered_json;

constexpr char kPhrase[] = "several words of a steward";

// Code and message of the error that `act` throws; "none" if it throws none.
std::string ErrorOf(const std::function<void()>& act) {
  try {
    act();
    return "none";
  } catch (const Error& error) {
    return std::string(ErrorCodeName(error.code())) + ": " + error.message();
  }
}

// A site of the world with its steward's folder, and a daemon that passes on what it is told to.
class SignerTest : public testing::Test {
 protected:
  SignerTest() {
    // The world's steward is the one whose key lies under the passphrase.
    SignerConfig config;
    config.site = "south";
    config.ended = south.settings.ended;
    south.steward =
        SignerFolder::Make(home, config, *south.node.certificate, *south.jobs.certificate, kPhrase);
    WriteFileAtomically(south.settings.stewards.string(),
                        crypto::FormatCertificate(*south.steward.certificate));
    list = Bytes();
    World::WriteList(south, world.ListOf("south"));
    const std::string text = ReadFile(south.settings.parties, 1 << 20, "the list");
    list.assign(text.begin(), text.end());
    world.Check();
    Commit();
  }

  void Commit() {
    const JobReport report = World::Do(south, JobKind::kCommit, 0).reports.back();
    draft = report.draft;
    statement = report.statement;
  }
  TestJson Documents() const {
    const Study& study = south.study;
    TestJson offers = TestJson::object();
    for (const auto& [party, offer] : study.offers) offers[party] = ToHex(offer);
    return {{"study", ToHex(study.id)},
            {"proposer", study.proposer},
            {"nonce", ToHex(study.nonce)},
            {"expires", study.expires},
            {"file", study.file},
            {"roster", study.roster},
            {"own_offer", ToHex(study.own_offer)},
            {"offers", offers},
            {"statement", ToHex(statement)},
            {"draft", draft}};
  }
  TestJson Request(const std::string& what) const {
    return {{"do", what}, {"documents", Documents()}, {"list", ToHex(list)}};
  }
  // One that ends the study, which it names.
  TestJson EndRequest(const std::string& what) const {
    TestJson request = {{"do", what}, {"documents", Documents()}, {"study", ToHex(south.study.id)}};
    if (what == "reject") {
      request["list"] = ToHex(list);
      request["reason"] = "no ethics reference";
    }
    request["passphrase"] = kPhrase;
    return request;
  }
  ReadOrder Order() {
    ReadOrder order;
    order.study = south.study;
    order.list = world.ListOf("south");
    order.node_certificate = crypto::EncodeCertificate(*south.node.certificate);
    order.steward = PrintOf(south.steward);
    return order;
  }
  TestJson Ask(const TestJson& request) { return TestJson::parse(signer->Answer(request.dump())); }
  TestJson Show() { return Ask(Request("study")); }
  TestJson ApproveRequest() {
    TestJson request = Request("approve");
    request["code"] = Show().at("code");
    request["passphrase"] = kPhrase;
    return request;
  }
  std::string Refusal(const TestJson& request) {
    return ErrorOf([&] { Ask(request); });
  }
  std::unique_ptr<Signer> NewSigner() {
    return std::make_unique<Signer>(
        SignerParts{SignerFolder(home), ReadForSteward, [this] { return now; }});
  }

  World world;
  Site& south = world.at("south");
  std::filesystem::path home = world.folder() / "south-steward";
  int64_t now = NowUtc();
  std::unique_ptr<Signer> signer = NewSigner();
  Bytes list, statement;
  std::string draft;
};

// ---- what it shows and signs

TEST_F(SignerTest, ShowsWhatTheBytesSay) {
  const TestJson shown = Show();
  EXPECT_EQ(shown.at("name"), "three-factor-rows");
  EXPECT_EQ(shown.at("site"), "south");
  EXPECT_EQ(shown.at("proposer"), "north");
  EXPECT_TRUE(shown.at("settled").get<bool>());
  EXPECT_TRUE(shown.at("can_approve").get<bool>());
  EXPECT_EQ(shown.at("code").get<std::string>().size(), 25u);
  EXPECT_EQ(shown.at("table").at("name"), "pupils");
  EXPECT_GT(shown.at("table").at("rows").get<uint64_t>(), 0u);
  EXPECT_EQ(shown.at("valid_until"), FormatUtc(south.study.expires));
  EXPECT_THAT(shown.at("plan_text").get<std::string>(), HasSubstr("three-factor-rows"));
  EXPECT_EQ(shown.at("plan").at("study"), "three-factor-rows");
  EXPECT_EQ(shown.at("parties").size(), 3u);
  EXPECT_TRUE(shown.at("trust").empty());
}

TEST_F(SignerTest, WhatItSignsHoldsForTheJob) {
  TestJson request = ApproveRequest();
  request["min_cell"] = 12;
  request["valid_until"] = FormatUtc(south.study.expires - 60);
  const std::string text = Ask(request).at("document");
  const study::SignedApproval document = study::ParseApproval(text, "document");
  EXPECT_NO_THROW(study::RequireSigned(document, "south", ToHex(PrintOf(south.steward))));
  EXPECT_EQ(document.approval.disclosure.min_cell, 12u);
  EXPECT_EQ(document.approval.valid_until, south.study.expires - 60);
  const study::Approval asked = study::ParseApproval(draft, "draft").approval;
  EXPECT_EQ(document.approval.agreement_hash, asked.agreement_hash);
  EXPECT_EQ(document.approval.plan_hash, asked.plan_hash);
  EXPECT_EQ(document.approval.commitment, asked.commitment);
}

TEST_F(SignerTest, AStewardIsStricterThanTheStudyNeverLaxer) {
  const auto with = [&](const char* field, const TestJson& value) {
    TestJson request = ApproveRequest();
    request[field] = value;
    return Refusal(request);
  };
  EXPECT_THAT(with("min_cell", 1), HasSubstr("usage: the least cell is from 5"));
  EXPECT_THAT(with("min_cell", -1), HasSubstr("usage: the least cell"));
  EXPECT_THAT(with("min_cell", INT64_MAX), HasSubstr("usage: the least cell"));
  EXPECT_THAT(with("valid_until", FormatUtc(south.study.expires + 1)), HasSubstr("usage: an appr"));
  EXPECT_THAT(with("valid_until", FormatUtc(now)), HasSubstr("usage: an approval"));
  EXPECT_THAT(with("valid_until", "tomorrow"), HasSubstr("usage: an approval"));
  EXPECT_THAT(with("runs", 7), HasSubstr("fields that are not known"));
  // None of these looked at a passphrase.
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
}

TEST_F(SignerTest, ARejectionIsSignedAndEndsTheStudyHere) {
  const std::string text = Ask(EndRequest("reject")).at("document");
  const study::SignedApproval document = study::ParseApproval(text, "document");
  EXPECT_NO_THROW(study::RequireSigned(document, "south", ToHex(PrintOf(south.steward))));
  EXPECT_EQ(document.approval.decision, study::Decision::kReject);
  EXPECT_EQ(document.approval.reason, "no ethics reference");
  EXPECT_FALSE(Show().at("can_approve").get<bool>());
}

TEST_F(SignerTest, BeforeItIsSettledThereIsAPlanAndNothingToSign) {
  south.study.roster.clear();
  draft.clear();
  statement.clear();
  const TestJson shown = Show();
  EXPECT_FALSE(shown.at("settled").get<bool>());
  EXPECT_EQ(shown.at("code"), "");
  EXPECT_TRUE(shown.at("table").is_null());
  EXPECT_THAT(shown.at("plan_text").get<std::string>(), HasSubstr("three-factor-rows"));
  EXPECT_THAT(Refusal(ApproveRequest()), HasSubstr("refused: there is nothing to approve"));
}

// ---- a daemon that lies

// What the daemon has put together is shown to nobody.
void ExpectRefused(const std::string& error, const std::string& words) {
  EXPECT_THAT(error, HasSubstr(words));
  EXPECT_FALSE(error.starts_with("none"));
}

TEST_F(SignerTest, ARosterWithAForeignRunKeyIsRefused) {
  // Somebody runs as west: an offer under a node key that is not on this site's list.
  Site& west = world.at("west");
  west.node = crypto::MakeIdentity({.name = "west"});
  Offer offer = DecodeOffer(DecodeMessage(west.study.own_offer).message.body);
  offer.run_certificate =
      crypto::EncodeCertificate(*crypto::MakeIdentity({.name = "west"}).certificate);
  world.PutOffer("west", offer);
  world.Settle();
  ExpectRefused(Refusal(Request("study")),
                "not signed by the key that the own list of parties has");
}

TEST_F(SignerTest, ARosterWithAForeignStewardIsRefused) {
  Site& west = world.at("west");
  west.steward = crypto::MakeIdentity({.name = "west"});
  Offer offer = DecodeOffer(DecodeMessage(west.study.own_offer).message.body);
  offer.steward = PrintOf(west.steward);
  world.PutOffer("west", offer);
  world.Settle();
  ExpectRefused(Refusal(Request("study")), "steward who is not on the own list");
}

TEST_F(SignerTest, ARosterWithAStewardOfTheDaemonsIsRefused) {
  const crypto::Identity own = south.steward;
  south.steward = crypto::MakeIdentity({.name = "south"});
  Offer offer = DecodeOffer(DecodeMessage(south.study.own_offer).message.body);
  offer.steward = PrintOf(south.steward);
  world.PutOffer("south", offer);
  world.Settle();
  south.steward = own;
  ExpectRefused(Refusal(Request("study")), "steward who is not on the own list");
}

// The daemon has the node key, so it can make another offer of this site; the draft is of the job's.
TEST_F(SignerTest, ARosterWithAnotherRunKeyOfThisSiteIsNotWhatTheJobFroze) {
  Offer offer = DecodeOffer(DecodeMessage(south.study.own_offer).message.body);
  offer.run_certificate =
      crypto::EncodeCertificate(*crypto::MakeIdentity({.name = "south"}).certificate);
  world.PutOffer("south", offer);
  world.Settle();
  ExpectRefused(Refusal(Request("study")), "refused: ");
  EXPECT_THAT(Refusal(Request("study")), HasSubstr("roster"));
}

TEST_F(SignerTest, ACommitStatementOfAnotherTableIsRefused) {
  const SignedCommit real = DecodeSignedCommit(statement);
  const Bytes good = statement;
  const auto said = [&](const SignedCommit& commit) {
    statement = Encode(commit);
    std::string error = Refusal(Request("study"));
    statement = good;
    return error;
  };
  // The name alone: the signature is the job's over the other name.
  SignedCommit renamed = real;
  renamed.statement.table = "screening";
  ExpectRefused(said(renamed), "not signed by the key of this site's jobs");
  renamed = real;
  renamed.statement.rows += 1;
  ExpectRefused(said(renamed), "not signed by the key of this site's jobs");
  // Signed again, by a key of the daemon's.
  const crypto::Identity daemon = crypto::MakeIdentity({.name = "south"});
  ExpectRefused(said(SignCommit(real.statement, daemon)),
                "not signed by the key of this site's jobs");
  ExpectRefused(said(SignCommit(real.statement, south.node)), "not signed by the key of this site");
  // The job's own words, about another study, another draft, or another table than the draft's.
  CommitStatement other = real.statement;
  other.study[0] ^= 1;
  ExpectRefused(said(SignCommit(other, south.jobs)), "about another study");
  other = real.statement;
  other.draft[0] ^= 1;
  ExpectRefused(said(SignCommit(other, south.jobs)), "not the one that the job wrote");
  other = real.statement;
  other.commitment[0] ^= 1;
  ExpectRefused(said(SignCommit(other, south.jobs)), "it is about another table");
  other = real.statement;
  other.table.clear();
  ExpectRefused(said(SignCommit(other, south.jobs)), "it is about another table");
  statement.clear();
  ExpectRefused(Refusal(Request("study")), "is not whole");
}

TEST_F(SignerTest, ADraftThatWasChangedIsRefused) {
  study::Approval more = study::ParseApproval(draft, "draft").approval;
  more.runs = 2;
  draft = study::RenderApproval({more, {}});
  ExpectRefused(Refusal(Request("study")), "not the one that the job wrote");
  // Signed by the key of the jobs, too: a job that was broken into gets no second run.
  CommitStatement of_job = DecodeSignedCommit(statement).statement;
  of_job.draft = crypto::Sha256Of(AsBytes(draft));
  statement = Encode(SignCommit(of_job, south.jobs));
  ExpectRefused(Refusal(Request("study")), "for more than one run");
}

TEST_F(SignerTest, AnotherStudyUnderTheNumberIsRefused) {
  for (const char* field : {"file", "proposer", "nonce", "expires"}) {
    TestJson request = Request("study");
    TestJson& value = request["documents"][field];
    if (value.is_number()) {
      value = value.get<int64_t>() + 1;
    } else {
      std::string text = value;
      text[0] = text[0] == '0' ? '1' : '0';
      value = text;
    }
    ExpectRefused(Refusal(request), "not the one that its number stands for");
  }
}

TEST_F(SignerTest, OnlyTheStudyThatWasSeenIsSigned) {
  TestJson request = ApproveRequest();
  std::string code = request.at("code");
  code[0] = code[0] == 'a' ? 'b' : 'a';
  request["code"] = code;
  EXPECT_THAT(Refusal(request), HasSubstr("untrusted: the code that was seen"));
  request["code"] = "";
  EXPECT_THAT(Refusal(request), HasSubstr("untrusted: the code that was seen"));
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
}

// ---- the passphrase

TEST_F(SignerTest, WrongPassphrasesWaitLongerAndLonger) {
  const auto go_on = [](const std::string& phrase) {
    return TestJson{{"do", "go-on"}, {"text", std::string(64, '0')}, {"passphrase", phrase}};
  };
  const TestJson wrong = go_on("some other words"), right = go_on(kPhrase);
  const auto wait = [&] { return Ask({{"do", "status"}}).at("wait_seconds").get<int64_t>(); };
  EXPECT_EQ(wait(), 0);
  for (const int64_t expected : {0, 0, 1, 2, 4, 8, 16, 30, 30, 30}) {
    EXPECT_THAT(Refusal(wrong), HasSubstr("refused: the passphrase is wrong"));
    EXPECT_EQ(wait(), expected);
    if (expected == 0) continue;
    // Not looked at before its time, a right one neither; not by another process either.
    EXPECT_THAT(Refusal(right), HasSubstr("too many wrong passphrases"));
    now += expected - 1;
    signer = NewSigner();
    EXPECT_THAT(Refusal(right), HasSubstr("too many wrong passphrases"));
    now += 1;
  }
  // A clock that is set back does not let anybody in early, and nobody wait for hours.
  Refusal(wrong);
  now -= 7200;
  EXPECT_EQ(wait(), 30);
  EXPECT_THAT(Refusal(right), HasSubstr("too many wrong passphrases"));
  now += 29;
  EXPECT_THAT(Refusal(right), HasSubstr("too many wrong passphrases"));
  now += 1;
  EXPECT_EQ(Refusal(right), "none");
  EXPECT_EQ(wait(), 0);
  EXPECT_THAT(Refusal(wrong), HasSubstr("the passphrase is wrong"));
  EXPECT_EQ(wait(), 0);
}

TEST_F(SignerTest, TheFolderIsTheStewardsAlone) {
  struct stat status {};
  ASSERT_EQ(::stat(home.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((home / "steward.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_THAT(ErrorOf([&] { SignerFolder(world.folder()).Config(); }),
              HasSubstr("usage: there is no steward's key"));
  WriteFileAtomically((home / "signer.toml").string(),
                      "partita_signer = 1\nsite = \"south\"\nusers = [\"no-such-user\"]\n");
  EXPECT_THAT(ErrorOf([&] { SignerFolder(home).Config(); }), HasSubstr("there is no user"));
  WriteFileAtomically((home / "signer.toml").string(),
                      "partita_signer = 1\nsite = \"south\"\nusers = [\"root\", \"1234\"]\n");
  const SignerConfig config = SignerFolder(home).Config();
  EXPECT_EQ(config.users, (std::vector<uid_t>{0, 1234}));
  EXPECT_TRUE(config.ended.empty());
  EXPECT_EQ(config.socket, home / "sign.sock");
}

TEST_F(SignerTest, OnlyTheWebProcessAndTheOwnUserMayAsk) {
  const std::vector<uid_t> web = {1234};
  EXPECT_TRUE(MayControl(1234, 1000, web));
  EXPECT_TRUE(MayControl(1000, 1000, web));
  EXPECT_TRUE(MayControl(0, 1000, web));
  EXPECT_FALSE(MayControl(1235, 1000, web));
  EXPECT_FALSE(MayControl(static_cast<uid_t>(-1), 1000, web));
  // With such users the kernel lets anybody connect, so what SO_PEERCRED says decides.
  const auto mode = [&](const std::vector<uid_t>& users) {
    const std::filesystem::path path = home / "s";
    const ControlSocket socket(
        path, [](const std::string&) { return "{}"; }, [](uid_t) {}, users);
    struct stat status {};
    ::stat(path.c_str(), &status);
    return status.st_mode & 0777;
  };
  EXPECT_EQ(mode({}), 0600u);
  EXPECT_EQ(mode(web), 0666u);
}

// ---- withdrawals

TEST_F(SignerTest, WhatIsTakenBackIsNeitherSignedNorRun) {
  TestJson request = EndRequest("withdraw");
  request["passphrase"] = "wrong words";
  EXPECT_THAT(Refusal(request), HasSubstr("the passphrase is wrong"));
  EXPECT_TRUE(Show().at("can_approve").get<bool>());
  request["passphrase"] = kPhrase;
  EXPECT_EQ(Refusal(request), "none");
  EXPECT_EQ(Refusal(request), "none") << "a second time changes nothing";
  EXPECT_EQ(Show().at("why_not"), "this site took its approval back");
  EXPECT_THAT(Refusal(ApproveRequest()), HasSubstr("this site took its approval back"));
  // The job reads what was published.
  const SignedEndedList published =
      DecodeSignedEndedList(AsBytes(ReadFile(south.settings.ended, 1 << 20, "the list")));
  EXPECT_TRUE(IsEnded(published.list, south.study.id));
  EXPECT_NO_THROW(RequireEndedList(published, "south", {PrintOf(south.steward)}, 3));
  // A daemon that puts the list of before in its place changes nothing in the signer's.
  EndedList empty;
  empty.owner = "south";
  empty.serial = 1;
  World::WriteEnded(south, empty);
  EXPECT_THAT(Refusal(ApproveRequest()), HasSubstr("this site took its approval back"));
}

// Documents of another study under the name: the daemon would choose what is ended.
TEST_F(SignerTest, OnlyTheStudyThatWasNamedIsEnded) {
  for (const char* what : {"withdraw", "reject"}) {
    TestJson request = EndRequest(what);
    std::string number = request.at("study");
    number[0] = number[0] == '0' ? '1' : '0';
    request["study"] = number;
    EXPECT_THAT(Refusal(request), HasSubstr("untrusted: the documents are those of another study"));
    request.erase("study");
    EXPECT_THAT(Refusal(request), HasSubstr("usage: "));
  }
  EXPECT_TRUE(Show().at("can_approve").get<bool>());
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
}

// ---- the list of parties

TEST_F(SignerTest, AnOlderListIsNotTakenAndTheNewestIsKept) {
  const Bytes first = list;
  EXPECT_EQ(Ask({{"do", "parties"}, {"list", ToHex(list)}}).at("parties").size(), 3u);
  const TestJson revoked =
      Ask({{"do", "revoke"}, {"name", "west"}, {"list", ToHex(list)}, {"passphrase", kPhrase}});
  // A daemon that shows the list of before, or none.
  for (const Bytes& shown : {first, Bytes()}) {
    const TestJson said = Ask({{"do", "parties"}, {"list", ToHex(shown)}});
    EXPECT_EQ(said.at("document"), revoked.at("document"));
    EXPECT_NE(said.at("parties").at(2).at("revoked_at"), "");
  }
  ExpectRefused(Refusal(Request("study")),
                "not signed by the key that the own list of parties has");
  std::filesystem::remove(home / "parties");
  EXPECT_THAT(Refusal({{"do", "parties"}, {"list", ToHex(first)}}), HasSubstr("untrusted: "));
  EXPECT_THAT(Refusal({{"do", "parties"}, {"list", ""}}),
              HasSubstr("untrusted: the list of parties that was signed last is not here"));
  EXPECT_EQ(Refusal({{"do", "parties"}, {"list", revoked.at("document")}}), "none");
}

TEST_F(SignerTest, AListOfTheDaemonsIsNone) {
  const PartyList forged = world.ListOf("south");
  const Bytes bytes = EncodeSignedList(SignPartyList(forged, south.node));
  EXPECT_THAT(Refusal({{"do", "parties"}, {"list", ToHex(bytes)}}),
              HasSubstr("untrusted: the list of parties does not count"));
}

PairedParty East(const crypto::Identity& node, const crypto::Identity& steward, int64_t now) {
  return {"east", crypto::EncodeCertificate(*node.certificate),
          crypto::EncodeCertificate(*steward.certificate), "east.example.org:7400", now};
}

TEST_F(SignerTest, OneUnlockedHourIsForOnePairing) {
  Digest hash{};
  hash.fill(3);
  const PairedParty east =
      East(crypto::MakeIdentity({.name = "east"}), crypto::MakeIdentity({.name = "east"}), now);
  const auto pair = [&] {
    return Ask({{"do", "pairing"},
                {"name", "east"},
                {"role", 1},
                {"hash", ToHex(hash)},
                {"address", "south.example.org:7400"},
                {"passphrase", kPhrase}});
  };
  const auto add = [&](const std::string& name, const Digest& of) {
    return TestJson{{"do", "add"},
                    {"hash", ToHex(of)},
                    {"party",
                     {{"name", name},
                      {"node_certificate", ToHex(east.node_certificate)},
                      {"steward_certificate", ToHex(east.steward_certificate)},
                      {"address", east.address},
                      {"compared_at", east.compared_at}}},
                    {"list", ToHex(list)}};
  };
  const std::string missing = "the text 'passphrase' is missing";
  EXPECT_THAT(Refusal(add("east", hash)), HasSubstr(missing));
  const TestJson word = pair();
  const StewardWord expected =
      SignPaired(PairingRole::kInviter, hash, south.steward, "south.example.org:7400");
  EXPECT_EQ(word.at("signature"), ToHex(expected.signature));
  Digest other = hash;
  other[0] ^= 1;
  EXPECT_THAT(Refusal(add("east", other)), HasSubstr(missing));
  EXPECT_THAT(Refusal(add("lake", hash)), HasSubstr(missing));
  // Not only refused afterwards, but gone without a request.
  EXPECT_FALSE(signer->Forget());
  now += kPairedSeconds + 1;
  EXPECT_TRUE(signer->Forget());
  EXPECT_THAT(Refusal(add("east", hash)), HasSubstr(missing));
  pair();
  const SignedPartyList made =
      DecodeSignedList(FromHex(Ask(add("east", hash)).at("document").get<std::string>()));
  EXPECT_NO_THROW(RequireSignedList(made, "south", {PrintOf(south.steward)}, {}));
  ASSERT_NE(FindListed(made.list, "east"), nullptr);
  EXPECT_THAT(Refusal(add("east", hash)), HasSubstr(missing)) << "once";
  TestJson bad = {{"do", "pairing"},     {"name", "east"},   {"role", 257},
                  {"hash", ToHex(hash)}, {"address", "a:1"}, {"passphrase", kPhrase}};
  EXPECT_THAT(Refusal(bad), HasSubstr("usage: a pairing has no such role"));
}

TEST_F(SignerTest, IntroducedPartiesAreAcceptedByName) {
  Introduction lake;
  lake.name = "lake";
  lake.node_key.fill(8);
  lake.steward_key.fill(9);
  lake.address = "lake.example.org:7400";
  lake.compared_at = now - 60;
  TestJson request = {
      {"do", "accept"},
      {"name", "lake"},
      {"node_key", ToHex(lake.node_key)},
      {"steward_key", ToHex(lake.steward_key)},
      {"introductions",
       {{{"introducer", "north"}, {"introduction", ToHex(EncodeIntroduction(lake))}}}},
      {"list", ToHex(list)},
      {"passphrase", kPhrase}};
  // Other keys than those that were seen: put there since the look, or another introducer's word.
  for (const char* key : {"node_key", "steward_key"}) {
    TestJson swapped = request;
    swapped[key] = std::string(64, 'a');
    EXPECT_THAT(Refusal(swapped),
                HasSubstr("untrusted: nobody introduces lake with the keys that were shown"));
  }
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
  Introduction other = lake;
  other.node_key.fill(7);
  request["introductions"].push_back(
      {{"introducer", "west"}, {"introduction", ToHex(EncodeIntroduction(other))}});
  const TestJson said = Ask(request);
  EXPECT_EQ(said.at("introducers"), TestJson({"north"}));
  const SignedPartyList made = DecodeSignedList(FromHex(said.at("document").get<std::string>()));
  ASSERT_NE(FindListed(made.list, "lake"), nullptr);
  EXPECT_EQ(FindListed(made.list, "lake")->introducers, std::vector<std::string>{"north"});
  EXPECT_EQ(FindListed(made.list, "lake")->node_key, lake.node_key);
  request["name"] = "pond";
  EXPECT_THAT(Refusal(request), HasSubstr("usage: nobody introduced pond"));
}

TEST_F(SignerTest, AStoppedNodeGoesOnByTheStewardsWord) {
  Digest text{};
  text.fill(5);
  const TestJson word = Ask({{"do", "go-on"}, {"text", ToHex(text)}, {"passphrase", kPhrase}});
  EXPECT_TRUE(crypto::VerifySignature(*south.steward.certificate, kGoOnDomain, text,
                                      FromHex(word.at("signature").get<std::string>())));
  EXPECT_THAT(Refusal({{"do", "go-on"}, {"text", "ab"}, {"passphrase", kPhrase}}),
              HasSubstr("usage: "));
  EXPECT_THAT(Refusal({{"do", "sign-anything"}}), HasSubstr("usage: the signer knows no request"));
}

// ---- the child that reads

TEST_F(SignerTest, WhatTheChildSaysComesBackAsItWas) {
  ReadOrder order = Order();
  EXPECT_EQ(DecodeReadOrder(Encode(order)), order);
  const ForSteward here = ReadForSteward(order);
  const Bytes answer = AnswerReadOrder(Encode(order));
  const ForSteward there = DecodeReadAnswer(answer);
  EXPECT_EQ(there.plan_text, here.plan_text);
  EXPECT_EQ(there.plan_json, here.plan_json);
  EXPECT_EQ(there.terms.agreement_hash, here.terms.agreement_hash);
  EXPECT_EQ(there.terms.plan_hash, here.terms.plan_hash);
  EXPECT_EQ(there.terms.disclosure.min_rows, here.terms.disclosure.min_rows);
  EXPECT_EQ(there.parties, here.parties);
  EXPECT_EQ(there.is_holder, here.is_holder);
  order.study.file += " ";
  EXPECT_THAT(ErrorOf([&] { DecodeReadAnswer(AnswerReadOrder(Encode(order))); }),
              HasSubstr("untrusted: the study is not the one that its number stands for"));
  for (size_t size = 0; size < answer.size(); size += 1 + size / 7) {
    const Bytes cut(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(ErrorOf([&] { DecodeReadAnswer(cut); }), HasSubstr("peer-fault: ")) << size;
  }
  // A child that ends without an answer, or is none.
  EXPECT_THAT(ErrorOf([&] { ReadInChild({"/bin/true"})(order); }),
              HasSubstr("internal: the process that reads studies"));
  EXPECT_THAT(ErrorOf([&] { ReadInChild({"/nowhere/reader"})(order); }),
              HasSubstr("internal: the process that reads studies"));
}

// A program in the place of the child: `script` of a shell, after all that it is given was read.
StudyReader ShellReader(const std::string& script) {
  return ReadInChild({"/bin/sh", "-c", "cat >/dev/null; " + script});
}

TEST_F(SignerTest, AChildThatAnsweredIsEnded) {
  // The answer, which is an error, and then nothing: it would be waited for without end.
  WriteFileAtomically((world.folder() / "answer").string(), [] {
    const Bytes answer = AnswerReadOrder({});
    return std::string(answer.begin(), answer.end());
  }());
  const auto began = std::chrono::steady_clock::now();
  const StudyReader stays = ShellReader("cat " + (world.folder() / "answer").string() +
                                        "; exec 0<&- 1>&-; exec sleep 30");
  EXPECT_THAT(ErrorOf([&] { stays(Order()); }), HasSubstr("peer-fault: "));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST_F(SignerTest, TheChildInheritsNothing) {
  const std::string answer = (world.folder() / "answer").string();
  const Bytes bytes = AnswerReadOrder({});
  WriteFileAtomically(answer, std::string(bytes.begin(), bytes.end()));
  const net::Socket left_open(::open("/dev/null", O_RDONLY));  // as by whoever started the signer
  const auto reads = [&](const std::string& condition) {
    return ErrorOf(
        [&] { ShellReader("if " + condition + "; then cat " + answer + "; fi")(Order()); });
  };
  EXPECT_THAT(reads("[ ! -e /proc/self/fd/" + std::to_string(left_open.fd()) + " ]"),
              HasSubstr("peer-fault: "));
  EXPECT_THAT(reads("[ ! -e /proc/self/fd/1 ]"), HasSubstr("ended without an answer"));
}

// A study that is long in the child keeps no withdrawal waiting.
TEST_F(SignerTest, OthersAreAnsweredWhileAStudyIsRead) {
  std::promise<void> begun, answered;
  std::future<void> is_answered = answered.get_future();
  signer = std::make_unique<Signer>(SignerParts{SignerFolder(home),
                                                [&](const ReadOrder& order) {
                                                  begun.set_value();
                                                  is_answered.wait_for(std::chrono::seconds(30));
                                                  return ReadForSteward(order);
                                                },
                                                [this] { return now; }});
  std::thread looking([&] { EXPECT_EQ(Show().at("why_not"), "this site took its approval back"); });
  begun.get_future().wait();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(Refusal(EndRequest("withdraw")), "none");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  answered.set_value();
  looking.join();
}

// What the signer says is the code is of what it has, whatever the child says.
TEST_F(SignerTest, TheCodeIsOfFileRosterAndPlan) {
  const std::string code = Show().at("code");
  const Digest plan = study::ParseApproval(draft, "draft").approval.plan_hash;
  EXPECT_EQ(code, CodeOf(south.study, plan));
  // SHA-256 of the four fields, each after its length (u64, little-endian), in base 32: by OpenSSL alone.
  std::string text;
  for (const std::string& field : {std::string("partita plan code 1"), south.study.file,
                                   south.study.roster, std::string(plan.begin(), plan.end())}) {
    for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(field.size() >> (8 * i)));
    text += field;
  }
  std::array<uint8_t, 32> digest{};
  ::SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest.data());
  std::string expected;
  for (size_t bit = 0; bit < 125; bit += 5) {
    unsigned five = 0;
    for (size_t i = bit; i < bit + 5; ++i) five = 2 * five + ((digest[i / 8] >> (7 - i % 8)) & 1U);
    expected.push_back("abcdefghijklmnopqrstuvwxyz234567"[five]);
  }
  EXPECT_EQ(code, expected);
  // Another roster, file or plan has another code, and neither is signed with the other's.
  Study other = south.study;
  other.roster += " ";
  EXPECT_NE(CodeOf(other, plan), code);
  other = south.study;
  other.file += " ";
  EXPECT_NE(CodeOf(other, plan), code);
  Digest other_plan = plan;
  other_plan[31] ^= 1;
  EXPECT_NE(CodeOf(south.study, other_plan), code);
  const TestJson request = ApproveRequest();
  signer = std::make_unique<Signer>(SignerParts{SignerFolder(home),
                                                [&](const ReadOrder& order) {
                                                  ForSteward read = ReadForSteward(order);
                                                  read.settled = false;
                                                  return read;
                                                },
                                                [this] { return now; }});
  EXPECT_EQ(Show().at("code"), "");
  signer = std::make_unique<Signer>(SignerParts{SignerFolder(home),
                                                [&](const ReadOrder& order) {
                                                  ForSteward read = ReadForSteward(order);
                                                  read.terms.plan_hash = other_plan;
                                                  return read;
                                                },
                                                [this] { return now; }});
  ExpectRefused(Refusal(request), "refused: ");
}

// Nesting that would end the process on its stack.
TEST_F(SignerTest, WhatIsTooDeepIsNoRequest) {
  const std::string deep(2'000'000, '[');
  EXPECT_THAT(ErrorOf([&] { signer->Answer(R"({"do":"withdraw","documents":)" + deep + "}"); }),
              HasSubstr("usage: the signer does not understand the request"));
  const std::string closed = deep + std::string(deep.size(), ']');
  EXPECT_THAT(ErrorOf([&] { signer->Answer(R"({"do":"withdraw","documents":)" + closed + "}"); }),
              HasSubstr("usage: the signer does not understand the request"));
  signer = std::make_unique<Signer>(SignerParts{SignerFolder(home),
                                                [&](const ReadOrder& order) {
                                                  ForSteward read = ReadForSteward(order);
                                                  read.plan_json = R"({"a":)" + closed + "}";
                                                  return read;
                                                },
                                                [this] { return now; }});
  EXPECT_THAT(Refusal(Request("study")), HasSubstr("wrote a plan that is none"));
}

// What a hole in a parser could try, a bit each; 0: nothing went well.
int WhatIsStillPossible(const std::string& folder, int inherited) {
  const auto name = [&](const char* file) { return folder + "/" + file; };
  int done = 0;
  auto tried = [&done, bit = 0](bool went_well) mutable {
    if (went_well) done |= 1 << bit;
    ++bit;
  };
  tried(::open("/etc/passwd", O_RDONLY) >= 0);
  tried(::socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
  tried(::rename(name("a").c_str(), name("b").c_str()) == 0);
  tried(::unlink(name("b").c_str()) == 0 || ::unlink(name("a").c_str()) == 0);
  tried(::symlink("/etc/passwd", name("c").c_str()) == 0);
  tried(::chmod(folder.c_str(), 0700) == 0);
  tried(::kill(::getppid(), 0) == 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  tried(child > 0);
  char byte = 0;
  tried(::read(inherited, &byte, 1) >= 0 || errno != EBADF);
  return done;
}

TEST_F(SignerTest, TheChildCanOnlyComputeAndSpeak) {
  const std::string folder = world.folder().string();
  for (const bool locks : {false, true}) {
    WriteFileAtomically(folder + "/a", "a file of the steward");
    const net::Socket inherited(::open("/dev/zero", O_RDONLY));
    EXPECT_EXIT(
        {
          if (locks) LockReaderIn();
          const int possible = WhatIsStillPossible(folder, inherited.fd());
          // 511: all nine, without the lock.
          ::_exit(possible == (locks ? 0 : 511) ? 7 : 8);
        },
        testing::ExitedWithCode(7), "");
    EXPECT_EQ(std::filesystem::exists(folder + "/a"), locks);
  }
}

// ---- bytes

// Every prefix, an additional byte, and every byte changed: refused, or other bytes of the same form.
template <class Again>
void ExpectStrict(const Bytes& bytes, const Again& again) {
  EXPECT_EQ(again(bytes), bytes);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    Bytes changed(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    if (size == bytes.size()) changed.push_back(0);
    EXPECT_THAT(ErrorOf([&] { again(changed); }), HasSubstr("bad-input: ")) << size;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const uint8_t flip : std::array<uint8_t, 2>{0x01, 0x80}) {
      Bytes changed = bytes, written;
      changed[i] = static_cast<uint8_t>(changed[i] ^ flip);
      const std::string error = ErrorOf([&] { written = again(changed); });
      if (error == "none") {
        EXPECT_EQ(written, changed) << i;
      } else {
        EXPECT_THAT(error, HasSubstr("bad-input: ")) << i;
      }
    }
  }
}

TEST_F(SignerTest, StatementsAndEndedListsAreReadStrictly) {
  ExpectStrict(statement, [](const Bytes& bytes) { return Encode(DecodeSignedCommit(bytes)); });
  EndedList ended;
  ended.owner = "south";
  for (const uint8_t number : std::array<uint8_t, 3>{9, 4, 6}) {
    StudyId id{};
    id.fill(number);
    ended = WithEnded(ended, {id, now + number}, now);
  }
  EXPECT_EQ(ended.serial, 3u);
  EXPECT_EQ(ended.studies.size(), 3u);
  ExpectStrict(Encode(SignEndedList(ended, south.steward)),
               [](const Bytes& bytes) { return Encode(DecodeSignedEndedList(bytes)); });
}

// Entries go a day after their study's expiry, when no approval of it holds any more; the list is bounded.
TEST(EndedListTest, ForgetsWhatHasExpiredAndNothingElse) {
  constexpr int64_t kThen = 1'800'000'000;
  EndedList list;
  list.owner = "south";
  StudyId one{}, two{};
  one.fill(1);
  two.fill(2);
  list = WithEnded(list, {one, kThen + 10}, kThen);
  list = WithEnded(list, {two, kThen + 90'000}, kThen + 10 + 86'400);
  EXPECT_TRUE(IsEnded(list, one));
  list = WithEnded(list, {two, kThen + 90'000}, kThen + 11 + 86'400);
  EXPECT_FALSE(IsEnded(list, one));
  EXPECT_TRUE(IsEnded(list, two));
  EXPECT_EQ(list.studies.size(), 1u);
  list.studies.assign(kMaxEndedStudies, {one, kThen + 90'000});
  EXPECT_THAT(ErrorOf([&] {
                WithEnded(list, {two, kThen + 90'000}, kThen);
              }),
              HasSubstr("refused: the list of ended approvals is full"));
}

}  // namespace
}  // namespace partita::node::signer_test
