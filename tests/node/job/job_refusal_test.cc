// What jobs refuse a daemon that lies, and what the answers to a proposal do not tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "node/job/ended_list.h"
#include "node/job/folder.h"
#include "node/job/statement.h"
#include "tests/node/job/job_world.h"

namespace partita::node::job_refusal_test {
namespace {

using job_world::Said;
using job_world::Site;
using job_world::World;
using ::testing::HasSubstr;

std::string Example(const std::string& of) {
  return ReadFile(SourcePath("examples/three_factor/" + of + "/study.toml"), 1 << 20, "the study");
}

// Without `part`, which stands there once.
std::string Without(std::string text, const std::string& part) {
  const size_t at = text.find(part);
  if (at == std::string::npos) throw Error(ErrorCode::kInternal, "not there: " + part);
  return text.erase(at, part.size());
}

// The example without its last column.
std::string EightColumns() {
  return Without(Without(Example("horizontal"),
                         "[[variable]]\nname = \"x9\"\ntype = \"numeric\"\nlower = -10\n"
                         "upper = 20\nunit = \"points\"\n"),
                 " + x9");
}

void SetId(Study& study) {
  study.id = StudyIdOf(study.file, study.proposer, study.nonce, study.expires);
}

std::string RefusalOf(const Said& said) {
  const Checked* checked = said.Last<Checked>();
  if (checked == nullptr) throw Error(ErrorCode::kInternal, "a job did not say what it found");
  EXPECT_EQ(checked->run_certificate.empty(), !checked->refusal.empty());
  return checked->refusal;
}

bool HasFile(const Site& site, const std::string& name) {
  return std::filesystem::exists(World::FolderOf(site) / name);
}

// ---- rules of the house

TEST(JobRefusalTest, AHouseThatWantsAnEthicsReferenceTakesNoStudyWithoutOne) {
  World world;
  Site& south = world.at("south");
  south.settings.ethics_required = true;
  const std::string none =
      "this site takes no study without an ethics reference: the study file has none ('ethics' in "
      "[study])";
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), none);
  EXPECT_FALSE(HasFile(south, "table"));
  EXPECT_FALSE(HasFile(south, "run.key.pem"));
  // A purpose is none.
  south.study.file = Example("horizontal") + "\n[study]\npurpose = \"abilities\"\n";
  SetId(south.study);
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), none);
  south.study.file = Example("horizontal") + "\n[study]\nethics = \"EK 2026/117\"\n";
  SetId(south.study);
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), "");
}

// The rule came after the check: nothing is frozen, and what was approved does not run.
TEST(JobRefusalTest, AHouseThatChangesItsRuleCommitsAndRunsNothingWithout) {
  World world;
  Site& south = world.at("south");
  world.Check();
  south.settings.ethics_required = true;
  EXPECT_EQ(World::Do(south, JobKind::kCommit, 0).Last<Committed>(), nullptr);
  EXPECT_FALSE(HasFile(south, "draft.json"));
  EXPECT_THAT(World::Problem(south), HasSubstr("no study without an ethics reference"));
  south.settings.ethics_required = false;
  ASSERT_NE(World::Do(south, JobKind::kCommit, 0).Last<Committed>(), nullptr);
  south.settings.ethics_required = true;
  const JobEnded* ended = World::Do(south, JobKind::kRun, 1).Last<JobEnded>();
  ASSERT_NE(ended, nullptr);
  EXPECT_FALSE(ended->ended.may_have_opened);
  EXPECT_THAT(World::Problem(south), HasSubstr("no study without an ethics reference"));
}

// ---- the study is what its number stands for

TEST(JobRefusalTest, NoOtherFileNamesTheTableOfAStudy) {
  World world(EightColumns());
  Site& south = world.at("south");
  const std::filesystem::path nine = south.settings.catalogue["pupils"].data;
  const std::filesystem::path eight = nine.parent_path() / "eight.csv";
  WriteFileAtomically(eight.string(), "x1,x2,x3,x4,x5,x6,x7,x8\n1,2,3,4,5,6,7,8\n");
  south.settings.catalogue["eight"] = {eight, ""};
  const std::string two = "more than one table here has the columns that it asks for";
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), two);
  // The same number with a file that only one of the tables fits.
  south.study.file = Example("horizontal");
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), "this node cannot check it now");
  EXPECT_THAT(World::Problem(south), HasSubstr("not the one that its number stands for"));
  EXPECT_FALSE(HasFile(south, "table"));
  EXPECT_FALSE(HasFile(south, "run.key.pem"));
  SetId(south.study);
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), "");
  const StudyFolder folder(south.settings, south.study.id);
  EXPECT_EQ(folder.Table(), "pupils");
}

TEST(JobRefusalTest, ATableThatIsBoundStays) {
  World world;
  Site& south = world.at("south");
  ASSERT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), "");
  south.settings.catalogue["richer"] = south.settings.catalogue["pupils"];
  south.settings.catalogue.erase("pupils");
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), "this node cannot check it now");
  EXPECT_THAT(World::Problem(south), HasSubstr("bound to another table"));
  const StudyFolder folder(south.settings, south.study.id);
  EXPECT_EQ(folder.Table(), "pupils");
}

// No word about the study: the node asks again.
TEST(JobRefusalTest, ADatabaseThatIsAwayIsAskedAgain) {
  World world;
  Site& south = world.at("south");
  const std::filesystem::path table = south.settings.catalogue["pupils"].data;
  const std::filesystem::path source = table.parent_path() / "away.toml";
  WriteFileAtomically(source.string(),
                      "source = \"postgresql://u@/d?host=/nowhere\"\ntable = \"c.t\"\n");
  south.settings.catalogue["pupils"].data = source;
  const Said said = World::Do(south, JobKind::kCheck, 0);
  EXPECT_EQ(said.Last<Checked>(), nullptr);
  EXPECT_NE(said.exit_code, 0);
  EXPECT_THAT(World::Problem(south), HasSubstr("the database"));
  south.settings.catalogue["pupils"].data = table;
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), "");
}

TEST(JobRefusalTest, AStudyExpiresWithinSixtyDays) {
  World world;
  Site& south = world.at("south");
  for (const int64_t expires :
       {NowUtc() - 1, NowUtc() + kMaxStudySeconds + 3600, INT64_MAX, INT64_MIN}) {
    south.study.expires = expires;
    SetId(south.study);
    EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), "this node cannot check it now");
    EXPECT_FALSE(HasFile(south, "run.key.pem"));
  }
  south.study.expires = NowUtc() + kMaxStudySeconds - 3600;
  SetId(south.study);
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), "");
}

// What is said of the table is for the own steward, beside the draft, and signed by the job key.
TEST(JobRefusalTest, CommitSignsWhatItSaysOfTheTable) {
  World world;
  Site& south = world.at("south");
  const std::filesystem::path data = south.settings.catalogue["pupils"].data;
  const std::string rows = ReadFile(data, 1 << 20, "the table");
  world.Check();
  const JobReport report = World::Do(south, JobKind::kCommit, 0).reports.back();
  const SignedCommit commit = DecodeSignedCommit(report.statement);
  const Digest job_key = job_world::PrintOf(south.jobs);
  EXPECT_NO_THROW(RequireCommit(commit, job_key, south.study.id, report.draft));
  EXPECT_EQ(commit.statement.table, "pupils");
  EXPECT_EQ(commit.statement.commitment,
            study::ParseApproval(report.draft, "").approval.commitment);
  // Every line but the header is a row.
  EXPECT_EQ(commit.statement.rows,
            static_cast<uint64_t>(std::count(rows.begin(), rows.end(), '\n')) - 1);
  EXPECT_EQ(commit.statement.missing, 0u);
  // Done again it says the same, byte for byte.
  EXPECT_EQ(Encode(World::Do(south, JobKind::kCommit, 0).reports.back()), Encode(report));

  Site& helper = world.at("helper");
  const JobReport of_helper = World::Do(helper, JobKind::kCommit, 0).reports.back();
  const SignedCommit none = DecodeSignedCommit(of_helper.statement);
  EXPECT_NO_THROW(
      RequireCommit(none, job_world::PrintOf(helper.jobs), helper.study.id, of_helper.draft));
  EXPECT_EQ(none.statement.table, "");
  EXPECT_EQ(none.statement.rows, 0u);
}

// A job that was killed between the draft and its statement makes both again, before anybody saw them.
TEST(JobRefusalTest, ADraftWithoutItsStatementIsMadeAnew) {
  World world;
  Site& south = world.at("south");
  world.Check();
  const JobReport first = World::Do(south, JobKind::kCommit, 0).reports.back();
  std::filesystem::remove(World::FolderOf(south) / "statement");
  const JobReport second = World::Do(south, JobKind::kCommit, 0).reports.back();
  EXPECT_NE(second.draft, first.draft);
  EXPECT_NO_THROW(RequireCommit(DecodeSignedCommit(second.statement),
                                job_world::PrintOf(south.jobs), south.study.id, second.draft));
}

// ---- approvals that were taken back

// A daemon that keeps a withdrawal back orders the run; or puts the list of before in its place.
TEST(JobRefusalTest, AStudyThatWasTakenBackDoesNotRun) {
  World world;
  world.Check();
  world.Approve();
  world.Schedule(5);
  Site& south = world.at("south");
  const std::string before = ReadFile(south.settings.ended, 1 << 20, "the list");
  const EndedList list = DecodeSignedEndedList(AsBytes(before)).list;
  World::WriteEnded(south, WithEnded(list, {south.study.id, south.study.expires}, NowUtc()));
  const auto run = [&](uint32_t attempt) {
    const Said said = World::Do(south, JobKind::kRun, attempt);
    const JobEnded* ended = said.Last<JobEnded>();
    if (ended == nullptr) throw Error(ErrorCode::kInternal, "no last word");
    EXPECT_NE(ended->ended.outcome, Outcome::kFinished);
    EXPECT_FALSE(ended->ended.may_have_opened);
    return World::Problem(south);
  };
  EXPECT_THAT(run(1), HasSubstr("a steward of this party took its approval back"));
  WriteFileAtomically(south.settings.ended.string(), before);
  EXPECT_THAT(run(2), HasSubstr("a newer one was signed"));
  // Nor one that somebody else signed, nor none at all.
  Site stranger;
  stranger.settings.ended = south.settings.ended;
  EndedList newer = list;
  newer.serial += 7;
  World::WriteEnded(stranger, newer);
  EXPECT_THAT(run(3), HasSubstr("not signed by a steward of this site"));
  std::filesystem::remove(south.settings.ended);
  EXPECT_THAT(run(4), HasSubstr("the list of ended approvals"));
  // Of another study only: this one goes on to look for the others.
  StudyId other{};
  World::WriteEnded(south, WithEnded(newer, {other, NowUtc() + 60}, NowUtc()));
  south.settings.connect_timeout = std::chrono::milliseconds(50);
  EXPECT_THAT(run(5), ::testing::Not(HasSubstr("took its approval back")));
}

// ---- attempts

TEST(JobRefusalTest, NoStudyHasMoreAttemptsThanTwenty) {
  World world;
  world.Check();
  world.Approve();
  world.Schedule(3);
  Site& south = world.at("south");
  const auto kept = [&] { return StudyFolder(south.settings, south.study.id).Attempt().attempt; };
  for (const uint32_t attempt : {uint32_t{0}, kMostAttempts + 1, UINT32_MAX}) {
    for (const JobKind kind : {JobKind::kRun, JobKind::kStatus, JobKind::kStop}) {
      const Said said = World::Do(south, kind, attempt);
      EXPECT_EQ(said.reports.size(), 1u) << "it said that it is up";
      ASSERT_NE(said.Last<JobEnded>(), nullptr);
      EXPECT_TRUE(said.Last<JobEnded>()->ended.signature.empty());
      EXPECT_TRUE(said.Last<JobEnded>()->ended.may_have_opened);
    }
    EXPECT_EQ(kept(), 0u);
    EXPECT_FALSE(HasFile(south, "attempt"));
  }
  StudyFolder folder(south.settings, south.study.id);
  EXPECT_THROW(folder.BeginAttempt(kMostAttempts + 1), Error);
  EXPECT_THROW(folder.BeginAttempt(0), Error);
  for (uint32_t attempt = 1; attempt <= kMostAttempts; ++attempt) {
    const Said said = World::Do(south, JobKind::kStatus, attempt);
    ASSERT_NE(said.Last<JobEnded>(), nullptr);
    EXPECT_TRUE(world.Signed(south, said.Last<JobEnded>()->ended)) << attempt;
    EXPECT_EQ(kept(), attempt);
  }
}

// After twenty attempts a node asks for the end of attempt 21: keys and salt go, and nothing is signed.
TEST(JobRefusalTest, AfterTheLastAttemptTheStudyIsDiscarded) {
  World world;
  world.Check();
  world.Approve();
  Site& south = world.at("south");
  const Said said = World::Do(south, JobKind::kDiscard, kMostAttempts + 1);
  ASSERT_NE(said.Last<Discarded>(), nullptr);
  EXPECT_TRUE(said.Last<Discarded>()->refusal.signature.empty());
  EXPECT_FALSE(HasFile(south, "run.key.pem"));
  EXPECT_FALSE(HasFile(south, "approval.secret.json"));
}

// A job that was killed between writing the salt and giving it its name left it under another one.
TEST(JobRefusalTest, NothingOfAnEndedStudyComesBack) {
  World world;
  world.Check();
  world.Approve();
  Site& south = world.at("south");
  const std::filesystem::path folder = World::FolderOf(south);
  WriteFileAtomically((folder / "approval.secret.json.abcdef").string(), "salt");
  WriteFileAtomically((folder / "run.key.pem.abcdef").string(), "key");
  ASSERT_NE(World::Do(south, JobKind::kDiscard, 1).Last<Discarded>(), nullptr);
  const auto secrets = [&] {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      count += name.find("secret") != std::string::npos || name.find("key") != std::string::npos;
    }
    return count;
  };
  EXPECT_EQ(secrets(), 0u);
  EXPECT_EQ(RefusalOf(World::Do(south, JobKind::kCheck, 0)), "this node cannot check it now");
  EXPECT_THAT(World::Problem(south), HasSubstr("its keys are deleted"));
  EXPECT_TRUE(World::Do(south, JobKind::kCommit, 0).reports.empty());
  world.Schedule(4);
  EXPECT_NE(World::Do(south, JobKind::kRun, 2).Last<JobEnded>()->ended.outcome, Outcome::kFinished);
  EXPECT_EQ(secrets(), 0u);
}

// ---- a proposal reads no rows

// The proposer chooses the columns, the key among them: whatever stands in the rows, the answer is the
// same, byte for byte.
TEST(JobRefusalTest, TheAnswerToAProposalTellsNothingOfRows) {
  World world(Example("complex"));
  Site& south = world.at("south");
  const auto answer = [&](const std::string& rows) {
    WriteFileAtomically(south.settings.catalogue["pupils"].data.string(), "id,x1,x2,x3\n" + rows);
    const Said said = World::Do(south, JobKind::kCheck, 0);
    EXPECT_EQ(RefusalOf(said), "");
    return Encode(said.reports.back());
  };
  const Bytes good = answer("p1,1,2,3\n");
  for (const char* rows :
       {",1,2,3\n", "p1 ,1,2,3\n", "\xff,1,2,3\n", "p1,1,2,3\n\np2,1,2,3\n", "p\"1,1,2,3\n",
        "p1,1\n", "p1,,x,900\n", "\"p1", "p1,1,2,3\np1,1,2,3\n", ""})
    EXPECT_EQ(answer(rows), good) << rows;
}

// What is wrong in the table is said to its owner, before anything is approved.
TEST(JobRefusalTest, TheOwnerHearsOfItsRowsAtCommit) {
  World world;
  Site& south = world.at("south");
  WriteFileAtomically(south.settings.catalogue["pupils"].data.string(),
                      "x1,x2,x3,x4,x5,x6,x7,x8,x9\n1,,3,4,5,6,7,8,9\n");
  world.Check();
  const Said said = World::Do(south, JobKind::kCommit, 0);
  EXPECT_TRUE(said.reports.empty());
  EXPECT_THAT(World::Problem(south), HasSubstr("x2"));
  EXPECT_FALSE(HasFile(south, "approval.secret.json"));
}

}  // namespace
}  // namespace partita::node::job_refusal_test
