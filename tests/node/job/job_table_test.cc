// Tables of a node that lie in a database, and what a study takes of a table's budget.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <sstream>

#include "node/job/statement.h"
#include "node/job/table.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "tests/node/job/job_world.h"
#include "tests/paths.h"
#include "tests/study/edited.h"

namespace partita::node::job_table_test {
namespace {

namespace fs = std::filesystem;

using job_world::Said;
using job_world::Site;
using job_world::World;
using ::testing::HasSubstr;

fs::path HomeOf(const Site& site) { return site.settings.studies.parent_path(); }

void Execute(const Site& site, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open((HomeOf(site) / "pupils.db").c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

// The site's table of now is a query in a database with the rows of its CSV file.
void MoveIntoDatabase(Site& site, const std::string& query = "SELECT * FROM pupils") {
  std::istringstream lines(
      ReadFile(HomeOf(site) / "data.csv", 1 << 20, "the table of the example"));
  std::string line, sql = "BEGIN;";
  std::getline(lines, line);
  sql += fmt::format("CREATE TABLE pupils ({});", line);
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    std::istringstream fields(line);
    for (std::string cell; std::getline(fields, cell, ',');)
      cells.push_back(std::isdigit(static_cast<unsigned char>(cell[0])) != 0 || cell[0] == '-'
                          ? cell
                          : fmt::format("'{}'", cell));
    sql += fmt::format("INSERT INTO pupils VALUES ({});", fmt::join(cells, ","));
  }
  Execute(site, sql + "COMMIT;");
  WriteFileAtomically((HomeOf(site) / "q.sql").string(), query);
  WriteFileAtomically((HomeOf(site) / "pupils.toml").string(),
                      "source = \"sqlite:pupils.db\"\nquery = \"q.sql\"\n");
  site.settings.catalogue["pupils"] = {HomeOf(site) / "pupils.toml", ""};
}

// A ledger with an account for the table.
fs::path OpenBook(const Site& site, const std::string& table) {
  namespace ledger = privacy::ledger;
  ledger::LedgerOptions options;
  options.file = HomeOf(site) / "ledger.sqlite";
  ledger::SqliteLedger::Create(options);
  ledger::Policy policy;
  policy.table = table;
  policy.outside = {privacy::Adjacency::kReplace, "3", "1e-5", "0"};
  policy.exact = ledger::ExactRule::kCounted;
  policy.max_exact = 100;
  crypto::SystemRandom random;
  ledger::SqliteLedger(options).OpenAccount(policy, random, {"operator", NowUtc()});
  return options.file;
}

CommitStatement StatementOf(Site& site) {
  const Said said = World::Do(site, JobKind::kCommit, 0);
  if (said.Last<Committed>() == nullptr) throw Error(ErrorCode::kInternal, World::Problem(site));
  return DecodeSignedCommit(said.reports.back().statement).statement;
}

// The same study again, as another one.
void ProposeAgain(World& world, uint8_t nonce) {
  for (auto& [name, site] : world.all()) {
    Study again;
    again.file = site.study.file;
    again.proposer = site.study.proposer;
    again.nonce.fill(nonce);
    again.expires = site.study.expires;
    again.id = StudyIdOf(again.file, again.proposer, again.nonce, again.expires);
    site.study = again;
  }
}

// What was approved is what runs, whatever is written into the database in between; and the next exact study sees the
// rows of the same edition, so that no two results subtract to whoever changed.
TEST(JobTableTest, ExactStudiesOfADatabaseGetTheRowsOfItsEdition) {
  World world;
  Site& south = world.at("south");
  MoveIntoDatabase(south);
  world.Check();
  const fs::path frozen = World::FolderOf(south) / "rows.frozen";
  EXPECT_FALSE(fs::exists(frozen)) << "rows were read before anybody here saw the study";
  world.Approve();
  ASSERT_TRUE(fs::exists(frozen));
  const std::string rows = ReadFile(frozen, 1 << 20, "the frozen rows");
  // Whole rows: one has the same digest in the record of row sets whatever a study reads.
  EXPECT_THAT(rows, ::testing::StartsWith("id,school,x1,x2,x3,x4,x5,x6,x7,x8,x9\n"));
  Execute(south, "DELETE FROM pupils WHERE rowid = 7; UPDATE pupils SET x1 = 9 WHERE rowid = 8");
  const CommitStatement same = StatementOf(south);
  EXPECT_EQ(ReadFile(frozen, 1 << 20, "the frozen rows"), rows);
  EXPECT_EQ(same.edition,
            fmt::format("edition of {}, {} rows", FormatUtc(NowUtc()).substr(0, 10), same.rows));
  EXPECT_EQ(StatementOf(world.at("west")).edition, "") << "of a file";
  world.Schedule(1);
  const auto said = world.Run(1);
  for (const auto& [name, of] : said) {
    ASSERT_NE(of.Last<JobEnded>(), nullptr);
    EXPECT_EQ(of.Last<JobEnded>()->ended.outcome, Outcome::kFinished)
        << name << ": " << World::Problem(world.at(name));
  }
  EXPECT_TRUE(fs::exists(HomeOf(south) / "pupils.toml.row-sets"));
  World::Do(south, JobKind::kDiscard, 1);
  EXPECT_FALSE(fs::exists(frozen));

  ProposeAgain(world, 8);
  world.Check();
  EXPECT_EQ(StatementOf(south).rows, same.rows);
  EXPECT_EQ(ReadFile(World::FolderOf(south) / "rows.frozen", 1 << 20, "the frozen rows"), rows);
  // Nor does another source file make another table of what has one name in the catalogue.
  fs::copy_file(HomeOf(south) / "pupils.toml", HomeOf(south) / "pupils-of-2027.toml");
  south.settings.catalogue["pupils"].data = HomeOf(south) / "pupils-of-2027.toml";
  ProposeAgain(world, 10);
  world.Check();
  EXPECT_EQ(StatementOf(south).edition, same.edition);
  EXPECT_EQ(ReadFile(World::FolderOf(south) / "rows.frozen", 1 << 20, "the frozen rows"), rows);

  // An edition that differs by too few is opened by the steward's reason, and serves no exact study.
  const run::EditionTable editions =
      EditionsOf(south.settings.studies, "pupils", south.settings.catalogue["pupils"].data);
  crypto::SystemRandom random;
  run::OpenEdition(editions, {"an audit", {}}, NowUtc(), random);
  ProposeAgain(world, 11);
  world.Check();
  EXPECT_THROW(StatementOf(south), Error);
  EXPECT_THAT(World::Problem(south), HasSubstr("edition of"));
  EXPECT_FALSE(fs::exists(World::FolderOf(south) / "rows.frozen"));
}

// What was served of a table is known to the next study, of whatever file its name stands for now.
TEST(JobTableTest, ATableUnderOneNameIsOneTable) {
  World world;
  Site& south = world.at("south");
  world.Check();
  world.Approve();
  world.Schedule(1);
  for (const auto& [name, of] : world.Run(1)) {
    ASSERT_NE(of.Last<JobEnded>(), nullptr);
    EXPECT_EQ(of.Last<JobEnded>()->ended.outcome, Outcome::kFinished)
        << World::Problem(world.at(name));
  }
  const std::string csv = ReadFile(HomeOf(south) / "data.csv", 1 << 20, "the table");
  WriteFileAtomically((HomeOf(south) / "2027.csv").string(),
                      csv.substr(0, csv.rfind('\n', csv.size() - 2) + 1));
  south.settings.catalogue["pupils"].data = HomeOf(south) / "2027.csv";
  ProposeAgain(world, 8);
  world.Check();
  EXPECT_THROW(StatementOf(south), Error);
  EXPECT_THAT(World::Problem(south), HasSubstr("rows"));
  const fs::path data = south.settings.catalogue["pupils"].data;
  EXPECT_TRUE(WasServedExactly(south.settings.studies, "pupils", data));
  const fs::path broken = HomeOf(south) / "broken.toml";
  WriteFileAtomically(broken.string(), "source = ");
  EXPECT_TRUE(WasServedExactly(south.settings.studies, "pupils", broken));
  EXPECT_FALSE(WasServedExactly(south.settings.studies, "patients", broken));
  EXPECT_FALSE(WasServedExactly(south.settings.studies, "patients", data));
}

// Noise protects its rows whatever others were told: the rows of now, and the columns that the study reads.
TEST(JobTableTest, StudiesWithNoiseGetTheRowsOfNow) {
  World world(ReadFile(SourcePath(job_world::kExample + "study.toml"), 1 << 20, "the study file") +
              "\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = "
              "\"replace\"\nplanning_rows = 300\n");
  for (auto& [name, site] : world.all()) site.settings.ledger = OpenBook(site, "pupils-of-" + name);
  Site& south = world.at("south");
  MoveIntoDatabase(south);
  world.Check();
  const CommitStatement before = StatementOf(south);
  EXPECT_EQ(before.edition, "");
  EXPECT_THAT(ReadFile(World::FolderOf(south) / "rows.frozen", 1 << 20, "the frozen rows"),
              ::testing::StartsWith("x1,x2,x3,x4,x5,x6,x7,x8,x9\n"));
  Execute(south, "DELETE FROM pupils WHERE rowid = 7");
  // A job was killed after it froze them.
  fs::remove(World::FolderOf(south) / "draft.json");
  EXPECT_EQ(StatementOf(south).rows, before.rows);
  ProposeAgain(world, 8);
  world.Check();
  EXPECT_EQ(StatementOf(south).rows, before.rows - 1);
  // But without those who withdrew their consent.
  WriteFileAtomically((HomeOf(south) / "pupils.toml").string(),
                      "source = \"sqlite:pupils.db\"\nquery = \"q.sql\"\nkey = \"id\"\n");
  crypto::SystemRandom random;
  run::OpenEdition(EditionsOf(south.settings.studies, "pupils", HomeOf(south) / "pupils.toml"),
                   {"", {"p11581"}}, NowUtc(), random);
  ProposeAgain(world, 9);
  world.Check();
  EXPECT_EQ(StatementOf(south).rows, before.rows - 2);
}

// Whoever withdrew consent is in no study that has opened nothing.
TEST(JobTableTest, AThawEndsStudiesOnFrozenRows) {
  World world;
  Site& south = world.at("south");
  MoveIntoDatabase(south);
  WriteFileAtomically((HomeOf(south) / "pupils.toml").string(),
                      "source = \"sqlite:pupils.db\"\nquery = \"q.sql\"\nkey = \"id\"\n");
  world.Check();
  world.Approve();
  const fs::path folder = World::FolderOf(south);
  crypto::SystemRandom random;
  run::OpenEdition(EditionsOf(south.settings.studies, "pupils", HomeOf(south) / "pupils.toml"),
                   {"consent withdrawn", {"p11581"}}, NowUtc(), random);
  EXPECT_TRUE(EndFrozenStudies(south.settings, "patients").ended.empty());
  EXPECT_TRUE(fs::exists(folder / "rows.frozen"));
  {
    StudyFolder working(south.settings, south.study.id);
    ASSERT_TRUE(working.TryLock());
    EXPECT_THAT(EndFrozenStudies(south.settings, "pupils").running,
                ::testing::ElementsAre(ToHex(south.study.id)));
  }
  EXPECT_THAT(EndFrozenStudies(south.settings, "pupils").ended,
              ::testing::ElementsAre(ToHex(south.study.id)));
  EXPECT_TRUE(EndFrozenStudies(south.settings, "pupils").ended.empty());
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(south.settings.studies)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(ReadFile(entry.path(), 1 << 20, "it"), ::testing::Not(HasSubstr("p11581")))
        << entry.path();
  }
  // It cannot run any more, and the others see that nothing opened.
  world.Schedule(1);
  const Said said = World::Do(south, JobKind::kRun, 1);
  ASSERT_NE(said.Last<JobEnded>(), nullptr);
  EXPECT_NE(said.Last<JobEnded>()->ended.outcome, Outcome::kFinished);
}

// Nothing but sums enters the folder, and what was formed before is formed again or nothing is.
TEST(JobTableTest, SumsOfADatabaseAreFormedForAStudy) {
  World world(study::Edited(
      ReadFile(SourcePath(job_world::kExample + "study.toml"), 1 << 20, "the study file"),
      "[engine]\n", "[engine]\ninput_bits = 30\n"));
  Site& south = world.at("south");
  MoveIntoDatabase(south);
  const fs::path source = HomeOf(south) / "pupils.toml";
  WriteFileAtomically(source.string(), ReadFile(source, 1 << 20, "it") + "mode = \"push-down\"\n");
  world.Check();
  world.Approve();
  const fs::path sums = World::FolderOf(south) / "rows.frozen.sums";
  EXPECT_THAT(ReadFile(sums, 1 << 20, "the sums"), ::testing::StartsWith("partita sums 1\n"));
  EXPECT_FALSE(fs::exists(World::FolderOf(south) / "rows.frozen"));
  EXPECT_TRUE(fs::exists(HomeOf(south) / "pupils.toml.sum-sets"));
  world.Schedule(1);
  for (const auto& [name, of] : world.Run(1)) {
    ASSERT_NE(of.Last<JobEnded>(), nullptr);
    EXPECT_EQ(of.Last<JobEnded>()->ended.outcome, Outcome::kFinished)
        << name << ": " << World::Problem(world.at(name));
  }
  World::Do(south, JobKind::kDiscard, 1);
  EXPECT_FALSE(fs::exists(sums));

  Execute(south, "DELETE FROM pupils WHERE rowid = 7");
  ProposeAgain(world, 8);
  world.Check();
  EXPECT_THROW(StatementOf(south), Error);
  EXPECT_THAT(World::Problem(south), HasSubstr("come, gone or changed"));
}

// Whoever proposes studies does not have the query run.
TEST(JobTableTest, ACheckRunsNoQuery) {
  World world;
  Site& south = world.at("south");
  // Fails at its first row, which SQLite computes when it is asked for.
  MoveIntoDatabase(south, "SELECT * FROM pupils WHERE abs(-9223372036854775807 - (rowid > 0)) > 0");
  const Said said = World::Do(south, JobKind::kCheck, 0);
  ASSERT_NE(said.Last<Checked>(), nullptr);
  EXPECT_EQ(said.Last<Checked>()->refusal, "") << World::Problem(south);
  world.Check();
  EXPECT_THROW(StatementOf(south), Error);
  EXPECT_FALSE(fs::exists(World::FolderOf(south) / "rows.frozen"));
  // One that lacks a column is no table of the study.
  World other;
  MoveIntoDatabase(other.at("south"), "SELECT x1, x2 FROM pupils");
  const Said without = World::Do(other.at("south"), JobKind::kCheck, 0);
  ASSERT_NE(without.Last<Checked>(), nullptr);
  EXPECT_EQ(without.Last<Checked>()->refusal,
            "no table here offers the variables that it asks for");
}

TEST(JobTableTest, StewardsSeeWhatAStudyTakesOfTheBudget) {
  namespace ledger = privacy::ledger;
  World world;
  Site& south = world.at("south");
  south.settings.ledger = HomeOf(south) / "ledger.sqlite";
  ledger::LedgerOptions options;
  options.file = south.settings.ledger;
  ledger::SqliteLedger::Create(options);
  ledger::Policy policy;
  policy.table = "pupils-of-south";
  policy.outside = {privacy::Adjacency::kReplace, "1", "1e-6", "0"};
  policy.exact = ledger::ExactRule::kCounted;
  policy.max_exact = 100;
  crypto::SystemRandom random;
  ledger::SqliteLedger book(options);
  book.OpenAccount(policy, random, {"operator", NowUtc()});
  world.Check();
  EXPECT_THAT(StatementOf(south).budget,
              ::testing::AllOf(HasSubstr("fits the policy of table pupils-of-south"),
                               HasSubstr("exact results"),
                               ::testing::Not(HasSubstr("released from it before"))));
  EXPECT_EQ(StatementOf(world.at("west")).budget, "");

  // Charged by another study since the check: the steward is told, and a run would be refused.
  ProposeAgain(world, 8);
  world.Check();
  ledger::ReservationRequest request;
  request.table = policy.table;
  request.run_id.fill(1);
  request.agreement_hash.fill(2);
  request.study = "another";
  for (int i = 0; i < 100; ++i)
    request.exact.push_back({fmt::format("r{}", i), "means", "north", 1, 1, {"x1"}});
  const ledger::Stamp now{"operator", NowUtc()};
  book.Spend(request.table, book.Reserve(request, now).number, now);
  EXPECT_THAT(StatementOf(south).budget, HasSubstr("A run would be refused."));
  ProposeAgain(world, 9);
  EXPECT_EQ(World::Do(south, JobKind::kCheck, 0).Last<Checked>()->refusal,
            "the budget of its table does not allow it");
}

}  // namespace
}  // namespace partita::node::job_table_test
