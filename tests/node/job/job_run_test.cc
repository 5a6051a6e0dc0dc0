// A study of four sites through their jobs, from check to result, and how it is stopped and attacked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "methods/prepare_study.h"
#include "node/job/door.h"
#include "node/study/closing_rule.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/party/facts.h"
#include "run/simulate/simulate.h"
#include "tests/node/job/job_world.h"

namespace partita::node::job_run_test {
namespace {

using job_world::kSites;
using job_world::Said;
using job_world::Site;
using job_world::World;
using ::testing::HasSubstr;

nlohmann::json Analyses(const std::string& text) {
  return nlohmann::json::parse(text).at("analyses");
}

// What `study simulate` computes of the same tables.
nlohmann::json PlainResult() {
  const std::string file = SourcePath(job_world::kExample + "study.toml");
  const auto study = methods::PrepareStudy(methods::LoadStudyFile(file));
  std::vector<std::filesystem::path> data;
  for (const study::Party& party : study->parties) {
    data.push_back(party.holder ? run::DefaultDataPath(file, party.name) : std::filesystem::path());
  }
  SilentProgress progress;
  for (const run::PartyEnd& end : run::SimulateInProcess(*study, data, {}, progress)) {
    if (!end.outcome || end.outcome->result == nullptr) continue;
    return Analyses(end.outcome->result->Json(end.outcome->plan, run::FactsOf(*end.outcome)));
  }
  throw Error(ErrorCode::kInternal, "no result");
}

const Ended& EndOf(const Said& said) {
  const JobEnded* ended = said.Last<JobEnded>();
  if (ended == nullptr) throw Error(ErrorCode::kInternal, "a job did not say how it ended");
  return ended->ended;
}

void ExpectRefused(World& world, Site& site, const std::string& why, uint32_t attempt = 1) {
  world.Schedule(9);
  const Said said = World::Do(site, JobKind::kRun, attempt);
  EXPECT_EQ(said.exit_code, 0);
  const Ended& ended = EndOf(said);
  EXPECT_EQ(ended.outcome, Outcome::kRefused);
  EXPECT_FALSE(ended.may_have_opened);
  EXPECT_EQ(said.reports.size(), 1u) << "it said that it is up";
  EXPECT_THAT(World::Problem(site), HasSubstr(why));
}

TEST(JobRunTest, FromStudyFileToResult) {
  World world;
  world.Check();
  world.Approve();
  for (const auto& [name, site] : world.all()) {
    EXPECT_EQ(site.study.facts.parties, kSites);
    EXPECT_EQ(site.study.facts.receivers, std::vector<std::string>{"north"});
    EXPECT_FALSE(site.study.facts.resumable);
    EXPECT_EQ(site.study.agreement_hash, world.at("north").study.agreement_hash) << name;
  }
  world.Schedule(1);
  const auto said = world.Run(1);
  std::vector<PartyEnd> ends;
  for (const auto& [name, of] : said) {
    Site& site = world.at(name);
    EXPECT_EQ(of.exit_code, 0);
    ASSERT_GE(of.reports.size(), 2u) << World::Problem(site);
    EXPECT_NE(std::get_if<JobUp>(&of.reports.front().event), nullptr);
    const Ended& ended = EndOf(of);
    EXPECT_EQ(ended.outcome, Outcome::kFinished) << name << ": " << World::Problem(site);
    EXPECT_TRUE(ended.may_have_opened);
    EXPECT_TRUE(world.Signed(site, ended)) << name;
    EXPECT_EQ(ended.result != Digest{}, name == "north");
    const StudyFolder folder(site.settings, site.study.id);
    EXPECT_TRUE(folder.Attempt().opened) << name;  // the dealer, too
    ends.push_back({name == "north", ended});
  }
  EXPECT_EQ(CloseAttempt(ends, false), Closed::kFinished);

  const std::filesystem::path folder = World::FolderOf(world.at("north"));
  const std::string json = ReadFile(folder / "result" / "result.json", 64 << 20, "the result");
  EXPECT_EQ(crypto::Sha256Of(AsBytes(json)), EndOf(said.at("north")).result);
  EXPECT_EQ(Analyses(json), PlainResult());
  EXPECT_TRUE(std::filesystem::exists(folder / "result" / "report.html"));
  EXPECT_FALSE(std::filesystem::exists(World::FolderOf(world.at("south")) / "result"));

  // Nothing is run twice: the same word again, byte for byte.
  for (const JobKind kind : {JobKind::kRun, JobKind::kAttach, JobKind::kStatus, JobKind::kStop})
    EXPECT_EQ(EndOf(World::Do(world.at("south"), kind, 1)), EndOf(said.at("south")));
  // Another attempt would be the second run that the approval was for once.
  world.Schedule(2);
  const auto again = world.Run(2);
  for (const auto& [name, of] : again) {
    if (name == "helper") continue;
    EXPECT_FALSE(EndOf(of).may_have_opened) << name;
    EXPECT_NE(EndOf(of).outcome, Outcome::kFinished) << name;
  }
}

TEST(JobRunTest, CheckAndCommitSayTheSameAgain) {
  World world;
  Site& site = world.at("south");
  const Said first = World::Do(site, JobKind::kCheck, 0);
  const Said second = World::Do(site, JobKind::kCheck, 0);
  ASSERT_NE(first.Last<Checked>(), nullptr);
  EXPECT_EQ(Encode(first.reports.back()), Encode(second.reports.back()));
  world.Check();
  const Said committed = World::Do(site, JobKind::kCommit, 0);
  ASSERT_NE(committed.Last<Committed>(), nullptr) << World::Problem(site);
  EXPECT_EQ(Encode(committed.reports.back()),
            Encode(World::Do(site, JobKind::kCommit, 0).reports.back()));
}

TEST(JobRunTest, AStudyThatIsNotValidHereIsRefusedInPublicWords) {
  const std::string good =
      ReadFile(SourcePath(job_world::kExample + "study.toml"), 1 << 20, "the study");
  const auto refusal = [](World& world) {
    const Said said = World::Do(world.at("south"), JobKind::kCheck, 0);
    const Checked* checked = said.Last<Checked>();
    if (checked == nullptr) throw Error(ErrorCode::kInternal, "silent");
    EXPECT_TRUE(checked->run_certificate.empty());
    EXPECT_THAT(checked->refusal, ::testing::Not(HasSubstr("/")));
    return checked->refusal;
  };
  World broken("partita = 1\nnonsense = /tmp");
  EXPECT_EQ(refusal(broken), "its study file is not valid in this release of Partita");
  World other(good);
  other.at("south").settings.self = "east";
  EXPECT_EQ(refusal(other), "this party has no part in it");
  World columns(good);
  WriteFileAtomically(columns.at("south").settings.catalogue["pupils"].data.string(), "a,b\n1,2\n");
  EXPECT_EQ(refusal(columns), "no table here offers the variables that it asks for");
  World twice(good);
  twice.at("south").settings.catalogue["other"] = twice.at("south").settings.catalogue["pupils"];
  EXPECT_EQ(refusal(twice), "more than one table here has the columns that it asks for");
  World gone(good);
  std::filesystem::remove(gone.at("south").settings.catalogue["pupils"].data);
  EXPECT_EQ(refusal(gone), "this node cannot check it now");
}

// A ledger with one account, which counts exact results or refuses them.
void KeepLedger(Site& site, privacy::ledger::ExactRule exact) {
  namespace ledger = privacy::ledger;
  site.settings.ledger = site.settings.studies.parent_path() / "ledger.sqlite";
  ledger::LedgerOptions options;
  options.file = site.settings.ledger;
  ledger::SqliteLedger::Create(options);
  ledger::Policy policy;
  policy.table = "pupils";
  policy.outside = {privacy::Adjacency::kReplace, "1", "1e-6", "0"};
  policy.exact = exact;
  if (exact == ledger::ExactRule::kCounted) policy.max_exact = 3;
  crypto::SystemRandom random;
  ledger::SqliteLedger(options).OpenAccount(policy, random, {"operator", NowUtc()});
}

TEST(JobRunTest, AStudyThatTheLedgerRefusesIsNotValidHere) {
  World world;
  KeepLedger(world.at("south"), privacy::ledger::ExactRule::kRefused);
  const Said said = World::Do(world.at("south"), JobKind::kCheck, 0);
  ASSERT_NE(said.Last<Checked>(), nullptr);
  EXPECT_EQ(said.Last<Checked>()->refusal, "the budget of its table does not allow it");
}

// Charged once, and countersigned by the peers with the keys that the roster pins for the run: those of
// the approvals are the stewards'.
TEST(JobRunTest, ReceiptsAreOfTheRunKeys) {
  World world;
  for (const char* name : {"north", "south"})
    KeepLedger(world.at(name), privacy::ledger::ExactRule::kCounted);
  world.Check();
  world.Approve();
  world.Schedule(10);
  const auto said = world.Run(1);
  for (const auto& [name, of] : said)
    EXPECT_EQ(EndOf(of).outcome, Outcome::kFinished) << World::Problem(world.at(name));
  for (const std::string name : {"north", "south"}) {
    const std::string peer = name == "north" ? "south" : "north";
    privacy::ledger::LedgerOptions options;
    options.file = world.at(name).settings.ledger;
    privacy::ledger::SqliteLedger book(options);
    book.Verify();
    size_t receipts = 0, spent = 0;
    for (const privacy::ledger::Entry& entry : book.Entries("pupils")) {
      spent += std::holds_alternative<privacy::ledger::Spent>(entry.body) ? 1 : 0;
      const auto* receipt = std::get_if<privacy::ledger::Countersigned>(&entry.body);
      if (receipt == nullptr) continue;
      ++receipts;
      EXPECT_EQ(receipt->peer, peer);
      EXPECT_EQ(receipt->certificate, world.RunCertificate(peer));
    }
    EXPECT_EQ(receipts, 1u);
    EXPECT_EQ(spent, 1u);
  }
}

// ---- attacks: nothing is read, nothing opens, and the refusal is signed.

TEST(JobRunTest, ARosterWithAForeignRunKeyIsRefused) {
  World world;
  world.Check();
  world.Approve();
  Site& south = world.at("south");
  // The daemon, which has the node key, puts a run key of its own into the offer.
  const crypto::Identity foreign = crypto::MakeIdentity({.name = "south"});
  Offer offer;
  offer.run_certificate = crypto::EncodeCertificate(*foreign.certificate);
  offer.steward = job_world::PrintOf(south.steward);
  offer.address = south.settings.address;
  offer.plan_hash = south.study.facts.plan_hash;
  world.PutOffer("south", offer);
  world.Settle();
  ExpectRefused(world, south, "another run key of this party");
}

TEST(JobRunTest, AnOfferByAKeyThatIsNotOnTheListIsRefused) {
  World world;
  world.Check();
  world.Approve();
  // A party that the daemon made up in the place of west: all documents fit each other.
  Site& west = world.at("west");
  west.node = crypto::MakeIdentity({.name = "west"});
  const Offer offer = DecodeOffer(DecodeMessage(west.study.own_offer).message.body);
  world.PutOffer("west", offer);
  world.Settle();
  ExpectRefused(world, world.at("south"), "not signed by the key that the own list of parties has");
}

TEST(JobRunTest, AnOwnStewardOfTheRosterAloneIsRefused) {
  World world;
  world.Check();
  Site& south = world.at("south");
  // The daemon names itself the steward and approves.
  south.steward = crypto::MakeIdentity({.name = "south"});
  Offer offer = DecodeOffer(DecodeMessage(south.study.own_offer).message.body);
  offer.steward = job_world::PrintOf(south.steward);
  world.PutOffer("south", offer);
  world.Settle();
  const Said said = World::Do(south, JobKind::kCommit, 0);
  EXPECT_EQ(said.Last<Committed>(), nullptr);
  EXPECT_THAT(World::Problem(south), HasSubstr("who is not in its stewards' file"));
  ExpectRefused(world, south, "who is not in its stewards' file");
}

TEST(JobRunTest, AnApprovalByAnotherKeyIsRefused) {
  World world;
  world.Check();
  world.Approve();
  Site& south = world.at("south");
  const study::SignedApproval own =
      study::ParseApproval(south.study.approvals["south"], "approval");
  south.study.approvals["south"] = study::RenderApproval(
      study::SignApproval(own.approval, crypto::MakeIdentity({.name = "south"})));
  ExpectRefused(world, south, "not signed by a key of the stewards' file");
}

// The draft passes the daemon, which may have asked for more than one run of this study.
TEST(JobRunTest, AnApprovalForMoreThanThisRunIsRefused) {
  World world;
  world.Check();
  world.Approve();
  Site& south = world.at("south");
  const study::Approval own =
      study::ParseApproval(south.study.approvals["south"], "approval").approval;
  const auto sign = [&](const study::Approval& approval) {
    south.study.approvals["south"] =
        study::RenderApproval(study::SignApproval(approval, south.steward));
  };
  study::Approval twice = own;
  twice.runs = 2;
  sign(twice);
  ExpectRefused(world, south, "for more than one run");
  study::Approval longer = own;
  longer.valid_until = south.study.expires + 1;
  sign(longer);
  ExpectRefused(world, south, "valid longer than the study", 2);
  study::Approval under = own;
  under.envelope.fill(1);
  sign(under);
  ExpectRefused(world, south, "under an envelope", 3);
}

TEST(JobRunTest, AnApprovalOfAnotherTableIsRefused) {
  World world;
  world.Check();
  world.Approve();
  Site& south = world.at("south");
  study::Approval other = study::ParseApproval(south.study.approvals["south"], "approval").approval;
  other.commitment.fill(3);
  south.study.approvals["south"] = study::RenderApproval(study::SignApproval(other, south.steward));
  world.Schedule(3);
  const Ended ended = EndOf(World::Do(south, JobKind::kRun, 1));
  EXPECT_NE(ended.outcome, Outcome::kFinished);
  EXPECT_FALSE(ended.may_have_opened);
  EXPECT_THAT(World::Problem(south), HasSubstr("belongs to another approval"));
}

TEST(JobRunTest, AnOlderListOfPartiesIsRefused) {
  World world;
  const PartyList old = world.ListOf("south");
  Site& south = world.at("south");
  World::WriteList(south, world.ListOf("south"));
  world.Check();
  world.Approve();
  World::WriteList(south, old);
  ExpectRefused(world, south, "a newer one was signed");
}

TEST(JobRunTest, AnAttemptThatIsNotAboveTheFoldersIsNotRun) {
  World world;
  world.Check();
  world.Approve();
  world.Schedule(4);
  Site& south = world.at("south");
  const Ended closed = EndOf(World::Do(south, JobKind::kStatus, 5));
  EXPECT_EQ(closed.outcome, Outcome::kRefused);
  EXPECT_TRUE(world.Signed(south, closed));
  EXPECT_EQ(EndOf(World::Do(south, JobKind::kRun, 5)), closed);
  const Ended stale = EndOf(World::Do(south, JobKind::kRun, 4));
  EXPECT_TRUE(stale.signature.empty());
  EXPECT_TRUE(stale.may_have_opened);
  StudyFolder folder(south.settings, south.study.id);
  EXPECT_EQ(folder.Attempt().attempt, 5u);
}

// ---- kill, stop, discard

// As a job that was killed leaves the folder.
TEST(JobRunTest, StatusSaysWhatTheFolderOfAKilledRunShows) {
  World world;
  world.Check();
  Site& south = world.at("south");
  {
    StudyFolder folder(south.settings, south.study.id);
    ASSERT_TRUE(folder.TryLock());
    folder.BeginAttempt(1);
  }
  const Ended before = EndOf(World::Do(south, JobKind::kStatus, 1));
  EXPECT_EQ(before.outcome, Outcome::kLost);
  EXPECT_FALSE(before.may_have_opened);
  EXPECT_TRUE(world.Signed(south, before));
  {
    StudyFolder folder(south.settings, south.study.id);
    ASSERT_TRUE(folder.TryLock());
    folder.BeginAttempt(2);
    folder.MarkOpened();
  }
  const Ended after = EndOf(World::Do(south, JobKind::kStatus, 2));
  EXPECT_EQ(after.outcome, Outcome::kLost);
  EXPECT_TRUE(after.may_have_opened);
  EXPECT_TRUE(world.Signed(south, after));
}

TEST(JobRunTest, WithoutFolderOrKeyNothingIsSigned) {
  World world;
  world.Check();
  Site& south = world.at("south");
  std::filesystem::remove_all(World::FolderOf(south));
  const Ended gone = EndOf(World::Do(south, JobKind::kStatus, 1));
  EXPECT_TRUE(gone.signature.empty());
  EXPECT_TRUE(gone.may_have_opened);
  Site& west = world.at("west");
  WriteFileAtomically((World::FolderOf(west) / "attempt").string(), "damaged");
  const Ended damaged = EndOf(World::Do(west, JobKind::kStatus, 1));
  EXPECT_TRUE(damaged.signature.empty());
  EXPECT_TRUE(damaged.may_have_opened);
}

// A run that waits for its peers is stopped, by another job, by SIGTERM's flag, and by SIGKILL.
TEST(JobRunTest, ARunIsStoppedBeforeItsPeersAreThere) {
  World world;
  world.Check();
  world.Approve();
  world.Schedule(5);
  Site& south = world.at("south");
  auto [daemon, job] = MakeJobChannel();
  std::thread thread(
      [&, end = std::move(job)]() mutable { RunJob(south.settings, std::move(end), nullptr); });
  auto [port_end, job_end] = MakeSocketPair();
  south.port->port().Expect(south.study.tag, std::move(port_end));
  SendOrder(daemon, {{JobKind::kRun, 1}, south.study}, job_end);
  const auto up = ReceiveReport(daemon);
  ASSERT_TRUE(up.has_value());
  EXPECT_NE(std::get_if<JobUp>(&up->event), nullptr) << World::Problem(south);
  const Ended stopped = EndOf(World::Do(south, JobKind::kStop, 1));
  thread.join();
  EXPECT_EQ(stopped.outcome, Outcome::kCancelled);
  EXPECT_FALSE(stopped.may_have_opened);
  EXPECT_TRUE(world.Signed(south, stopped));
  std::optional<JobReport> last;
  while (auto report = ReceiveReport(daemon)) last = report;
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(std::get<JobEnded>(last->event).ended, stopped);
  // SIGTERM before it begins.
  const std::atomic<bool> stop = true;
  const Ended second = EndOf(World::Do(south, JobKind::kRun, 2, &stop));
  EXPECT_EQ(second.outcome, Outcome::kCancelled);
  EXPECT_FALSE(second.may_have_opened);
}

// What a daemon says over the connection by which it gave the order: no signal, and no other job.
TEST(JobRunTest, ARunIsStoppedOverItsConnection) {
  World world;
  world.Check();
  world.Approve();
  world.Schedule(5);
  Site& south = world.at("south");
  auto [daemon, job] = MakeJobChannel();
  std::thread thread(
      [&, end = std::move(job)]() mutable { RunJob(south.settings, std::move(end), nullptr); });
  auto [port_end, job_end] = MakeSocketPair();
  south.port->port().Expect(south.study.tag, std::move(port_end));
  SendOrder(daemon, {{JobKind::kRun, 1}, south.study}, job_end);
  const auto up = ReceiveReport(daemon);
  ASSERT_TRUE(up.has_value());
  EXPECT_NE(std::get_if<JobUp>(&up->event), nullptr) << World::Problem(south);
  EXPECT_TRUE(SendStop(daemon));
  thread.join();
  std::optional<JobReport> last;
  while (auto report = ReceiveReport(daemon)) last = report;
  ASSERT_TRUE(last.has_value());
  const Ended stopped = std::get<JobEnded>(last->event).ended;
  EXPECT_EQ(stopped.outcome, Outcome::kCancelled);
  EXPECT_FALSE(stopped.may_have_opened);
  EXPECT_TRUE(world.Signed(south, stopped));
}

// Whoever may order could have tables read under documents of its own: nothing of the order is looked at.
TEST(JobRunTest, AnOrderOfAnotherUserIsNotRead) {
  World world;
  Site& south = world.at("south");
  south.settings.orders_from = ::geteuid() + 1;
  auto [daemon, job] = MakeJobChannel();
  SendOrder(daemon, {{JobKind::kCheck, 0}, south.study}, net::Socket());
  EXPECT_EQ(RunJob(south.settings, std::move(job)), 3);
  EXPECT_FALSE(ReceiveReport(daemon).has_value());
  EXPECT_FALSE(std::filesystem::exists(World::FolderOf(south)));
}

// Where the node is another user: what its group may read of a study, and that it may read nothing else.
TEST(JobRunTest, TheNodeIsShownWhatItNeedsAndNothingElse) {
  World world;
  Site& south = world.at("south");
  south.settings.shown_to_node = true;
  const mode_t mask = ::umask(0077);  // as of the service
  ASSERT_EQ(::chmod(south.settings.studies.c_str(), S_ISGID | 0750), 0);
  world.Check();
  world.Approve();
  world.Schedule(5);
  std::map<std::string, unsigned> modes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(World::FolderOf(south))) {
    struct stat status {};
    ASSERT_EQ(::lstat(entry.path().c_str(), &status), 0);
    if ((status.st_mode & 0077) != 0)
      modes[entry.path().filename().string()] = status.st_mode & 07777;
  }
  const std::map<std::string, unsigned> shown = {
      {"draft.json", 0640}, {"statement", 0640}, {"table", 0640}, {"result", S_ISGID | 0750}};
  ::umask(mask);
  EXPECT_EQ(modes, shown);
  struct stat status {};
  ASSERT_EQ(::stat(World::FolderOf(south).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, unsigned{S_ISGID | 0750});
}

// Asked for before it has begun, it does not begin.
TEST(JobRunTest, AStopBeforeTheRunWins) {
  World world;
  world.Check();
  world.Approve();
  world.Schedule(6);
  Site& south = world.at("south");
  const Ended stopped = EndOf(World::Do(south, JobKind::kStop, 1));
  EXPECT_EQ(stopped.outcome, Outcome::kRefused);
  const Said run = World::Do(south, JobKind::kRun, 1);
  EXPECT_EQ(run.reports.size(), 1u);
  EXPECT_EQ(EndOf(run), stopped);
}

TEST(JobRunTest, ARunThatIsKilledIsLostAndSaysSo) {
  World world;
  world.Check();
  world.Approve();
  world.Schedule(7);
  Site& south = world.at("south");
  auto [daemon, job] = MakeJobChannel();
  auto [port_end, job_end] = MakeSocketPair();
  const pid_t child = ::fork();
  if (child == 0) {
    daemon = net::Socket();
    ::_exit(RunJob(south.settings, std::move(job), nullptr));
  }
  job = net::Socket();
  SendOrder(daemon, {{JobKind::kRun, 1}, south.study}, job_end);
  job_end = net::Socket();
  ASSERT_TRUE(ReceiveReport(daemon).has_value());
  // One that attaches sees that it is up, and later that it is gone.
  Said attached;
  std::thread follower([&] { attached = World::Do(south, JobKind::kAttach, 1); });
  ::kill(child, SIGKILL);
  follower.join();
  ::waitpid(child, nullptr, 0);
  while (ReceiveReport(daemon)) {
  }
  EXPECT_NE(attached.Last<JobGone>(), nullptr);
  const Ended lost = EndOf(World::Do(south, JobKind::kStatus, 1));
  EXPECT_EQ(lost.outcome, Outcome::kLost);
  EXPECT_FALSE(lost.may_have_opened);
  EXPECT_TRUE(world.Signed(south, lost));
}

TEST(JobRunTest, DiscardRefusesTheNextAttemptAndDeletesKeyAndSalt) {
  World world;
  world.Check();
  world.Approve();
  Site& south = world.at("south");
  const std::filesystem::path folder = World::FolderOf(south);
  ASSERT_TRUE(std::filesystem::exists(folder / "approval.secret.json"));
  const Said said = World::Do(south, JobKind::kDiscard, 1);
  const Discarded* discarded = said.Last<Discarded>();
  ASSERT_NE(discarded, nullptr);
  EXPECT_EQ(discarded->refusal.outcome, Outcome::kRefused);
  EXPECT_FALSE(discarded->refusal.may_have_opened);
  EXPECT_TRUE(world.Signed(south, discarded->refusal));
  EXPECT_FALSE(std::filesystem::exists(folder / "run.key.pem"));
  EXPECT_FALSE(std::filesystem::exists(folder / "approval.secret.json"));
  const Said again = World::Do(south, JobKind::kDiscard, 1);
  ASSERT_NE(again.Last<Discarded>(), nullptr);
  EXPECT_EQ(again.Last<Discarded>()->refusal, discarded->refusal);
  world.Schedule(8);
  EXPECT_EQ(EndOf(World::Do(south, JobKind::kRun, 1)), discarded->refusal);
}

}  // namespace
}  // namespace partita::node::job_run_test
