// Tables of a restored node: closed until the steward signs, and never again charged to a budget of before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/job/closed.h"
#include "privacy/ledger/seen_heads.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "tests/node/job/job_world.h"

namespace partita::node::job_closed_test {
namespace {

namespace fs = std::filesystem;
using job_world::PrintOf;
using job_world::Said;
using job_world::Site;
using job_world::World;
using ::testing::HasSubstr;

void PutBytes(const fs::path& file, const Bytes& bytes) {
  WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

fs::path HomeOf(const Site& site) { return site.settings.studies.parent_path(); }

privacy::ledger::LedgerOptions LedgerOf(const Site& site) {
  privacy::ledger::LedgerOptions options;
  options.file = HomeOf(site) / "ledger.sqlite";
  return options;
}

// An account with one exact result.
void OpenAccount(Site& site, const std::string& table) {
  site.settings.ledger = LedgerOf(site).file;
  privacy::ledger::SqliteLedger::CreateUnlessThere(LedgerOf(site));
  privacy::ledger::Policy policy;
  policy.table = table;
  policy.outside = {privacy::Adjacency::kReplace, "1", "1e-6", "0"};
  policy.exact = privacy::ledger::ExactRule::kCounted;
  policy.max_exact = 3;
  crypto::SystemRandom random;
  privacy::ledger::SqliteLedger(LedgerOf(site)).OpenAccount(policy, random, {"operator", NowUtc()});
  site.settings.catalogue["pupils"].account = table;
}

// What a restore leaves at a site (daemon/backup.h).
RestoredMark Mark(Site& site) {
  RestoredMark mark;
  mark.owner = site.name;
  mark.time = NowUtc();
  mark.nonce = Digest{5};
  if (!site.settings.ledger.empty()) {
    privacy::ledger::SqliteLedger book(LedgerOf(site));
    for (const std::string& table : book.Tables())
      mark.accounts.insert(book.StandingOf(table).head.pseudonym);
  }
  site.settings.restored = HomeOf(site) / "restored";
  site.settings.reopened = HomeOf(site) / "reopened";
  PutBytes(site.settings.restored, Encode(mark));
  return mark;
}

void Reopen(const Site& site, const RestoredMark& mark, const crypto::Identity& steward) {
  const Digest digest = DigestOf(mark);
  PutBytes(site.settings.reopened,
           EncodeReopened(digest,
                          SignFields(steward, kReopenDomain, Bytes(digest.begin(), digest.end()))));
}

std::string Refusal(Site& site) {
  const Said said = World::Do(site, JobKind::kCheck, 0);
  const Checked* checked = said.Last<Checked>();
  if (checked == nullptr) throw Error(ErrorCode::kInternal, "a check said nothing");
  return checked->refusal;
}

void ProposeAnother(World& world, uint8_t letter) {
  for (auto& [name, site] : world.all()) {
    Study study;
    study.file = site.study.file;
    study.proposer = site.study.proposer;
    study.nonce.fill(letter);
    study.expires = site.study.expires;
    study.id = StudyIdOf(study.file, study.proposer, study.nonce, study.expires);
    site.study = study;
  }
}

TEST(JobClosedTest, NothingIsBoundCommittedOrReadBeforeTheStewardSigns) {
  World world;
  Site& south = world.at("south");
  world.Check();
  world.Approve();
  const RestoredMark mark = Mark(south);
  world.Schedule(1);
  // What was agreed before the restore does not run.
  const Said run = World::Do(south, JobKind::kRun, 1);
  ASSERT_NE(run.Last<JobEnded>(), nullptr);
  EXPECT_EQ(run.Last<JobEnded>()->ended.outcome, Outcome::kRefused);
  EXPECT_FALSE(run.Last<JobEnded>()->ended.may_have_opened);
  EXPECT_THAT(World::Problem(south), HasSubstr("closed since this node was restored"));

  ProposeAnother(world, 8);
  EXPECT_EQ(Refusal(south), "its tables are closed now");
  EXPECT_FALSE(fs::exists(World::FolderOf(south) / "table"));
  // The node's own word, or a peer's, opens nothing; nor does the steward's for another restore.
  Reopen(south, mark, south.node);
  EXPECT_EQ(Refusal(south), "its tables are closed now");
  RestoredMark other = mark;
  other.nonce = Digest{6};
  Reopen(south, other, south.steward);
  EXPECT_EQ(Refusal(south), "its tables are closed now");
  Reopen(south, mark, south.steward);
  EXPECT_EQ(Refusal(south), "");
  PutBytes(south.settings.restored, {1, 2, 3});
  ProposeAnother(world, 9);
  EXPECT_NE(Refusal(south), "");
}

TEST(JobClosedTest, ACommitReadsNoClosedTable) {
  World world;
  Site& south = world.at("south");
  world.Check();
  Mark(south);
  const Said said = World::Do(south, JobKind::kCommit, 0);
  EXPECT_EQ(said.Last<Committed>(), nullptr);
  EXPECT_FALSE(fs::exists(World::FolderOf(south) / "draft.json"));
}

// The attack: a study is run by all sites, and then its ledger is put back to what it was before.
TEST(JobClosedTest, ALedgerThatWasPutBackGivesNoBudgetBack) {
  World world;
  Site& south = world.at("south");
  OpenAccount(south, "pupils");
  const std::string before = ReadFile(LedgerOf(south).file, 1 << 24, "the ledger");
  const fs::path seen = privacy::ledger::SeenHeads::PathOf(LedgerOf(south).file);
  world.Check();
  world.Approve();
  world.Schedule(1);
  for (const auto& [name, said] : world.Run(1)) {
    ASSERT_NE(said.Last<JobEnded>(), nullptr);
    EXPECT_EQ(said.Last<JobEnded>()->ended.outcome, Outcome::kFinished)
        << name << ": " << World::Problem(world.at(name));
  }
  const auto exact = [&] {
    return privacy::ledger::SqliteLedger(LedgerOf(south)).StandingOf("pupils").spent.exact;
  };
  ASSERT_GT(exact(), 0U);
  const auto put_back = [&] {
    fs::remove(seen);
    WriteFileAtomically(LedgerOf(south).file.string(), before);
    ASSERT_EQ(exact(), 0U);
  };
  put_back();
  ProposeAnother(world, 8);
  EXPECT_EQ(Refusal(south), "") << "an old ledger alone is not noticed by a check";

  // With a restore it is. The steward's word says that all of it is spent, and no copy of it counts ever again.
  const RestoredMark mark = Mark(south);
  ProposeAnother(world, 9);
  EXPECT_EQ(Refusal(south), "its tables are closed now");
  Reopen(south, mark, south.steward);
  EXPECT_EQ(Refusal(south), "its tables are closed now");
  EXPECT_THAT(World::Problem(south), HasSubstr("account pupils counts as spent"));
  put_back();
  EXPECT_EQ(Refusal(south), "its tables are closed now");

  // What the table may still tell is a decision of its own.
  OpenAccount(south, "pupils-2");
  EXPECT_EQ(Refusal(south), "");
}

TEST(JobClosedTest, PoliciesFromBeforeARestoreApproveNothing) {
  World world;
  Site& south = world.at("south");
  EXPECT_TRUE(IsPolicyOfNow(south.settings, 5));
  const RestoredMark mark = Mark(south);
  Reopen(south, mark, south.steward);
  EXPECT_FALSE(IsPolicyOfNow(south.settings, mark.time - 1));
  EXPECT_FALSE(IsPolicyOfNow(south.settings, mark.time));
  EXPECT_TRUE(IsPolicyOfNow(south.settings, mark.time + 1));
}

}  // namespace
}  // namespace partita::node::job_closed_test
