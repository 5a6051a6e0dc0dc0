// Editions of a table in a database: what exact studies see while it changes, and when they see other rows.
#include "run/party/editions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/utc_time.h"
#include "data/source/open_table.h"
#include "tests/data/source/folder.h"
#include "tests/data/source/sqlite_of_csv.h"

namespace partita::run::editions_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

int64_t Day(const std::string& day) { return *ParseUtc(day + "T12:00:00Z"); }

// 40 patients, and the source file of their table.
class EditionsTest : public ::testing::Test {
 protected:
  EditionsTest() {
    std::string csv = "id,age,sbp,seen\n";
    for (int i = 0; i < 40; ++i) csv += Patient(i, 50 + i % 7, 120 + i);
    folder_.Write("t.csv", csv);
    data::testing::SqliteOfCsv(folder_ / "t.csv", folder_ / "t.db");
    Source("");
  }

  static std::string Patient(int i, int age, int sbp) {
    return fmt::format("p{:03},{},{},monday\n", i, age, sbp);
  }
  void Source(const std::string& more, const std::string& key = "key = \"id\"\n") const {
    folder_.Write("t.toml", "source = \"sqlite:t.db\"\ntable = \"t\"\n" + key + more);
  }
  void Change(const std::string& sql) const { data::testing::ChangeSqlite(folder_ / "t.db", sql); }
  // New patients, from a number on.
  void Admit(int first, int count) const {
    for (int i = first; i < first + count; ++i)
      Change(fmt::format("INSERT INTO t VALUES ('p{:03}', 60, {}, 'monday')", i, 150 + i));
  }
  EditionTable Table() const { return {folder_ / "t.toml", folder_ / "t.toml.edition"}; }

  // The rows that an exact study gets.
  std::string Use(int64_t now = Day("2026-11-28"), const EditionUse& use = {{"age", "sbp"}, 10}) {
    std::string rows;
    UseEdition(Table(), use, now, random_, [&](const fs::path& extract, const Edition& edition) {
      rows = ReadFile(extract, 1 << 20, "the extract");
      number_ = edition.number;
    });
    return rows;
  }
  // What Use, or an opening, throws; "" if nothing.
  std::string Refusal(const std::function<void()>& act, ErrorCode code = ErrorCode::kRefused) {
    try {
      act();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.message();
      return error.message() + "; " + error.hint();
    }
    return "";
  }
  OpenedEdition Open(const std::string& reason = "", const std::vector<std::string>& keys = {}) {
    return OpenEdition(Table(), {reason, keys}, Day("2026-11-29"), random_);
  }
  std::vector<Edition> Editions() const { return LookAtEdition(Table(), 0).editions; }

  // Names and contents of the edition's files.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(fs::path(folder_ / "t.db").parent_path())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("t.toml.edition") && !name.ends_with(".lock"))
        files[name] = ReadFile(entry.path(), 1 << 20, "it");
    }
    return files;
  }

  data::testing::Folder folder_;
  crypto::SystemRandom random_;
  uint64_t number_ = 0;  // of the edition that Use got
};

struct Sums {
  int64_t rows = 0, sbp = 0;
};

// What an exact study of the mean opens.
Sums ExactSums(const std::string& rows) {
  Sums sums;
  std::istringstream lines(rows);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    ++sums.rows;
    sums.sbp += std::stoi(data::testing::CellsOf(line)[2]);
  }
  return sums;
}

std::string RowsOfNow(const data::testing::Folder& folder) {
  const data::OpenedTable opened = data::OpenTable(folder / "t.toml");
  std::string rows;
  data::Freeze(opened.bytes, "t", {}, {}, fs::temp_directory_path())
      .Write([&](std::string_view piece) { rows += piece; });
  return rows;
}

// The attack: results of two days subtract to the blood pressure of whoever came in between, and to the change of
// whoever was there. Rows that are frozen anew for each study give it, those of an edition do not.
TEST_F(EditionsTest, ResultsOfTwoDaysDoNotSubtractToAPatient) {
  const Sums fresh_before = ExactSums(RowsOfNow(folder_));
  const Sums before = ExactSums(Use());
  Admit(40, 1);  // with a blood pressure of 190
  const Sums fresh_after = ExactSums(RowsOfNow(folder_));
  EXPECT_EQ(fresh_after.rows - fresh_before.rows, 1);
  EXPECT_EQ(fresh_after.sbp - fresh_before.sbp, 190) << "the attack itself";
  const Sums after = ExactSums(Use(Day("2026-11-29")));
  EXPECT_EQ(after.rows, before.rows);
  EXPECT_EQ(after.sbp, before.sbp);

  // Nobody came or went, as the keys of rows alone would say.
  Change("DELETE FROM t WHERE id = 'p040'; UPDATE t SET sbp = 177 WHERE id = 'p003'");
  EXPECT_EQ(ExactSums(RowsOfNow(folder_)).sbp - fresh_before.sbp, 177 - 123) << "the attack";
  EXPECT_EQ(ExactSums(Use(Day("2026-11-30"))).sbp, before.sbp);
}

TEST_F(EditionsTest, EveryStudyOfAnEditionSeesTheSameBytes) {
  const std::string first = Use();
  EXPECT_THAT(first, ::testing::StartsWith("id,age,sbp,seen\n"));
  EXPECT_EQ(ExactSums(first).rows, 40);
  Change("DELETE FROM t; ALTER TABLE t ADD COLUMN more");
  EXPECT_EQ(Use(Day("2027-11-28"), {{"seen"}, 50}), first) << "other columns, a year later";
  EXPECT_EQ(number_, 1u);
  for (const auto& [name, content] : Files()) {
    struct stat status {};
    ASSERT_EQ(::stat((folder_ / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
    if (name.ends_with(".frozen")) continue;
    EXPECT_THAT(content, Not(HasSubstr("p003"))) << name;
  }
}

TEST_F(EditionsTest, AnEditionOpensFromTenPersonsOn) {
  const std::string first = Use();
  EXPECT_THAT(Refusal([&] { Open(); }), HasSubstr("no row has come"));
  Admit(40, 9);
  const auto files = Files();
  EXPECT_THAT(Refusal([&] { Open(); }),
              AllOf(HasSubstr("9 came, 0 changed and 0 went"), HasSubstr("fewer than 10")));
  EXPECT_EQ(Files(), files);
  EXPECT_EQ(Use(), first);
  Admit(49, 1);
  EXPECT_EQ(Open().edition.rows, 50u);
  EXPECT_EQ(ExactSums(Use()).rows, 50);
  EXPECT_EQ(number_, 2u);
  EXPECT_FALSE(Files().contains("t.toml.edition-1.frozen")) << "rows that nobody needs any more";
  EXPECT_TRUE(Files().contains("t.toml.edition-1.digests"));
}

TEST_F(EditionsTest, ChangesAndLeavingCountAsComingDoes) {
  Use();
  Change("UPDATE t SET sbp = 100, age = age + 1 WHERE id < 'p012'");
  EXPECT_EQ(Open().edition.number, 2u);
  Use();
  Change("DELETE FROM t WHERE id < 'p012'");
  EXPECT_EQ(Open().edition.number, 3u);
  EXPECT_EQ(ExactSums(Use()).rows, 28);
}

// A column that is new for everybody every day, as a date, would hide whoever came.
TEST_F(EditionsTest, AColumnThatAlwaysChangesOpensNoEdition) {
  Use();
  Change("UPDATE t SET seen = 'tuesday'");
  Admit(40, 1);
  EXPECT_THAT(Refusal([&] { Open(); }), AllOf(HasSubstr("1 came, 40 changed"), HasSubstr("by 1,")));
  Change("DELETE FROM t WHERE id = 'p040'");
  EXPECT_EQ(Open().edition.number, 2u) << "in all but that column nobody differs";
}

// Ten come and go again, and one is new: it differs by eleven from the last edition, by one from that before.
TEST_F(EditionsTest, AnEditionIsComparedWithAllThatWereServed) {
  Use();
  Admit(40, 10);
  Open();
  Use();
  Change("DELETE FROM t WHERE id >= 'p040'");
  Admit(60, 1);
  EXPECT_THAT(Refusal([&] { Open(); }), HasSubstr("1 came, 0 changed and 0 went"));
}

TEST_F(EditionsTest, AnEditionThatNobodyWasGivenIsReplacedFreely) {
  EXPECT_EQ(Open().edition.number, 1u);
  Admit(40, 1);
  EXPECT_EQ(Open().edition.number, 2u);
  EXPECT_FALSE(Files().contains("t.toml.edition-1.digests"));
  EXPECT_EQ(ExactSums(Use()).rows, 41);
  EXPECT_TRUE(Editions().back().served);
}

TEST_F(EditionsTest, AReasonOpensAnEditionAndProtectsAllTheSame) {
  Use();
  Change("UPDATE t SET age = 99 WHERE id < 'p003'");
  EXPECT_EQ(Open("the audit").edition.number, 2u);
  EXPECT_EQ(Editions().back().reason, "the audit");
  EXPECT_THAT(Refusal([&] { Use(); }),
              AllOf(HasSubstr("by 3 persons, fewer than 10"), HasSubstr("edition of 2026-11-28")));
  EXPECT_THAT(Refusal([&] { Use(0, {}); }), HasSubstr("by 3 persons")) << "for any study";
  EXPECT_FALSE(Editions().back().served);
  // A study that does not read the column sees nothing of it.
  EXPECT_EQ(ExactSums(Use(Day("2026-11-29"), {{"sbp"}, 10})).rows, 40);
}

TEST_F(EditionsTest, AStudyMayAskForMorePersonsThanTheRule) {
  Use();
  Admit(40, 12);
  Open();
  EXPECT_THAT(Refusal([&] { Use(0, {{"sbp"}, 45}); }), HasSubstr("by 12 persons, fewer than 45"));
  EXPECT_EQ(ExactSums(Use(0, {{"sbp"}, 12})).rows, 52);
}

// What was asked for once, and what the source file says, is what the next edition differs by.
TEST_F(EditionsTest, TheRuleAsksForWhatStudiesAskedFor) {
  Use(0, {{"sbp"}, 15});
  Admit(40, 14);
  EXPECT_THAT(Refusal([&] { Open(); }), HasSubstr("fewer than 15"));
  Source("edition_rows = 16\n");
  Admit(54, 1);
  EXPECT_THAT(Refusal([&] { Open(); }), HasSubstr("fewer than 16"));
  Admit(55, 1);
  EXPECT_EQ(Open().edition.rows, 56u);
}

TEST_F(EditionsTest, DatesOpenEditionsByThemselves) {
  Source("edition = \"monthly\"\n");
  Use(Day("2026-11-28"));
  Admit(40, 9);
  Use(Day("2026-12-01"));
  EXPECT_EQ(number_, 1u) << "too few, the old one stays";
  Admit(49, 1);
  Use(Day("2026-11-30"));
  EXPECT_EQ(number_, 1u) << "not yet";
  EXPECT_EQ(ExactSums(Use(Day("2026-12-02"))).rows, 50);
  EXPECT_EQ(number_, 2u);
  Admit(50, 10);
  Source("edition = \"quarterly\"\n");
  Use(Day("2026-12-31"));
  EXPECT_EQ(number_, 2u);
  Use(Day("2027-01-01"));
  EXPECT_EQ(number_, 3u);
  Admit(60, 10);
  Source("edition = \"yearly\"\n");
  Use(Day("2027-12-31"));
  EXPECT_EQ(number_, 3u);
  EXPECT_TRUE(LookAtEdition(Table(), Day("2028-01-01")).due);
  Use(Day("2028-01-01"));
  EXPECT_EQ(number_, 4u);
  Admit(70, 10);
  Source("");
  Use(Day("2031-01-01"));
  EXPECT_EQ(number_, 4u) << "the steward has not said so";
}

TEST_F(EditionsTest, WithoutAKeyThereIsOneEdition) {
  Source("", "");
  Use();
  Admit(40, 30);
  EXPECT_THAT(Refusal([&] { Open(); }), HasSubstr("no column of keys"));
  Open("a new year");
  EXPECT_THAT(Refusal([&] { Use(); }), HasSubstr("it is not known"));
  Source("");
  EXPECT_THAT(Refusal([&] { Open(); }), HasSubstr("no row has come"));
  Admit(70, 1);
  EXPECT_EQ(Open().edition.number, 3u) << "compared with the first, which had the column, too";
  EXPECT_EQ(ExactSums(Use()).rows, 71);
  Change("INSERT INTO t VALUES (NULL, 1, 2, '')");
  Refusal([&] { Open("again"); }, ErrorCode::kBadData);
  Source("", "key = \"patient\"\n");
  Refusal([&] { Open("again"); }, ErrorCode::kBadData);
}

TEST_F(EditionsTest, WhoeverWithdrewConsentIsInNoEditionAnyMore) {
  Use();
  EXPECT_THAT(Refusal([&] { Open("", {"p003", "p004"}); }), HasSubstr("2 went"));
  EXPECT_TRUE(WithdrawnRows(Table()).column.empty()) << "nothing has changed";
  const OpenedEdition opened = Open("consent withdrawn", {"p003", "p004", "nobody"});
  EXPECT_EQ(opened.keys_found, 2u);
  EXPECT_EQ(opened.edition.rows, 38u);
  for (const auto& [name, content] : Files()) EXPECT_THAT(content, Not(HasSubstr("p003"))) << name;
  EXPECT_THAT(Refusal([&] { Use(); }), HasSubstr("by 2 persons"));
  // The same again, as after an interruption.
  EXPECT_EQ(Open("", {"p003"}).edition.number, 2u);
  EXPECT_EQ(LookAtEdition(Table(), 0).rows_now, 38u);
  EXPECT_EQ(LookAtEdition(Table(), 0).since->all(), 0u);

  // Whoever is in the table still is left out of every other one, and of rows with noise.
  Admit(40, 10);
  Open();
  const std::string rows = Use();
  EXPECT_EQ(ExactSums(rows).rows, 48);
  EXPECT_THAT(rows, Not(HasSubstr("p003")));
  const data::DroppedRows dropped = WithdrawnRows(Table());
  EXPECT_EQ(dropped.column, "id");
  EXPECT_TRUE(dropped.drop("p003"));
  EXPECT_FALSE(dropped.drop("p005"));
  Source("", "key = \"sbp\"\n");
  EXPECT_THAT(Refusal([&] { Open("", {"123"}); }, ErrorCode::kUsage), HasSubstr("key = \"id\""));
  Source("", "");
  Refusal([&] { Open("", {"123"}); }, ErrorCode::kUsage);
}

TEST_F(EditionsTest, DamagedFilesServeNothing) {
  const std::string first = Use();
  const std::string extract = folder_ / "t.toml.edition-1.frozen";
  WriteFileAtomically(extract, first.substr(0, first.rfind("p039")));
  EXPECT_THAT(Refusal([&] { Use(); }, ErrorCode::kBadInput), HasSubstr("is damaged"));
  fs::remove(extract);
  EXPECT_THAT(Refusal([&] { Use(); }, ErrorCode::kBadInput), HasSubstr("is not there"));
  WriteFileAtomically(extract, first);
  EXPECT_EQ(Use(), first);
  Admit(40, 10);
  const std::string digests = folder_ / "t.toml.edition-1.digests";
  std::string kept = ReadFile(digests, 1 << 20, "it");
  fs::remove(digests);
  Refusal([&] { Open(); }, ErrorCode::kBadInput);
  std::string broken = kept;
  broken[broken.size() / 2] ^= 1;
  WriteFileAtomically(digests, broken);
  Refusal([&] { Open(); }, ErrorCode::kBadInput);
  EXPECT_EQ(Use(), first);
  EXPECT_FALSE(fs::exists(folder_ / "t.toml.edition-2.frozen")) << "rows of no edition";
  WriteFileAtomically(digests, kept);
  EXPECT_EQ(Open().edition.number, 2u);
}

// Killed before the record names the new edition: the old one is still there, and what was left goes.
TEST_F(EditionsTest, AnInterruptedOpeningLeavesTheOldEdition) {
  const std::string first = Use();
  const auto before = Files();
  Admit(40, 10);
  Open();
  const auto after = Files();
  for (const auto& [name, content] : after) {
    fs::remove(folder_ / name);
    if (name.find("-2.") != std::string::npos) folder_.Write(name, content);
  }
  for (const auto& [name, content] : before) folder_.Write(name, content);
  folder_.Write("t.toml.edition-2.frozen.AbCdEf", "half of it");
  folder_.Write("t.toml.edition-notes.txt", "the owner's own");
  EXPECT_EQ(Use(), first);
  EXPECT_EQ(number_, 1u);
  Open();
  const auto again = Files();
  EXPECT_FALSE(again.contains("t.toml.edition-2.frozen.AbCdEf"));
  EXPECT_TRUE(again.contains("t.toml.edition-notes.txt"));
  EXPECT_EQ(again.at("t.toml.edition-2.frozen"), after.at("t.toml.edition-2.frozen"));
}

// No room from some byte on, at every file and every place in it.
TEST_F(EditionsTest, AFullDiskLeavesTheOldEdition) {
  const std::string first = Use();
  const auto before = Files();
  Admit(40, 10);
  ASSERT_NE(std::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  int failures = 0;
  for (rlim_t bytes = 1;; bytes += 97) {
    const rlimit small{bytes, limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    std::string problem;
    try {
      Open();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStorage) << error.message();
      problem = error.message();
    }
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    if (problem.empty()) break;
    ++failures;
    auto now = Files();
    now.erase("t.toml.edition-2.digests");  // of no rows and no name
    EXPECT_EQ(now, before) << bytes;
  }
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_GT(failures, 5);
  EXPECT_EQ(ExactSums(Use()).rows, 50);
}

// A database that fails in the middle of a row.
TEST_F(EditionsTest, ATableThatCannotBeReadLeavesTheOldEdition) {
  const std::string first = Use();
  const auto before = Files();
  Change("INSERT INTO t VALUES ('p999', x'00', 1, '')");
  EXPECT_ANY_THROW(Open("a reason"));
  EXPECT_EQ(Files(), before);
  EXPECT_EQ(Use(), first);
}

// A file that is written anew every night is the same.
TEST_F(EditionsTest, ACsvFileMayHaveEditions) {
  folder_.Write("c.csv", "id;age\np1;50\np2;51\n");
  folder_.Write("c.toml", "source = \"c.csv\"\nseparator = \";\"\nedition = \"steward\"\n");
  EXPECT_TRUE(data::MayChange(folder_ / "c.toml"));
  EXPECT_THROW(data::OpenTableFile(folder_ / "c.toml"), Error);
  const EditionTable table{folder_ / "c.toml", folder_ / "c.toml.edition"};
  const auto use = [&] {
    std::string rows;
    UseEdition(table, {{"age"}, 10}, 0, random_, [&](const fs::path& extract, const Edition&) {
      rows = ReadFile(extract, 1 << 20, "the extract");
    });
    return rows;
  };
  const std::string first = use();
  EXPECT_EQ(first, "id,age\np1,50\np2,51\n");
  folder_.Write("c.csv", "id;age\np1;50\np2;51\np3;52\n");
  EXPECT_EQ(use(), first);
  folder_.Write("c.toml", "source = \"c.csv\"\n");
  EXPECT_FALSE(data::MayChange(folder_ / "c.toml"));
}

}  // namespace
}  // namespace partita::run::editions_test
