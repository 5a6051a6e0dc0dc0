// Tables that are no CSV through the commands: a database is described, checked and frozen, and a study
// of the frozen rows, or of a compressed table, gives what the study of the CSV gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <zlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/data/source/sqlite_of_csv.h"
#include "tests/paths.h"

namespace partita::testing::sources_test {
namespace {

using ::testing::HasSubstr;

class SourcesTest : public ::testing::Test {
 protected:
  SourcesTest() { folder_.MakeHorizontal(); }
  std::string In(const std::string& name) const { return folder_.path() + "/" + name; }

  // The table of north in a database, in another order and with a column that the study does not ask for.
  std::string Database() const {
    std::istringstream lines(StudyFolder::Read(folder_.data("north")));
    std::string header, line, rows;
    std::getline(lines, header);
    while (std::getline(lines, line)) {
      std::string values;
      std::istringstream cells(line);
      for (std::string cell; std::getline(cells, cell, ',');) values += "'" + cell + "',";
      rows = "INSERT INTO t VALUES (" + values + "'note');" + rows;
    }
    sqlite3* connection = nullptr;
    EXPECT_EQ(sqlite3_open(In("north.db").c_str(), &connection), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(connection, ("CREATE TABLE t (" + header + ", remark);" + rows).c_str(),
                           nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(connection);
    StudyFolder::Write(In("north.toml"), "source = \"sqlite:north.db\"\ntable = \"t\"\n");
    return In("north.toml");
  }

  nlohmann::json Estimates(const std::string& name, const std::vector<std::string>& data) const {
    std::vector<std::string> words = {"study", "simulate", folder_.study_file(), "--output",
                                      In(name)};
    words.insert(words.end(), data.begin(), data.end());
    const ProcessResult run = Partita(words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return nlohmann::json::parse(StudyFolder::Read(In(name)))["analyses"][0]["parameters"];
  }

  StudyFolder folder_;
};

TEST_F(SourcesTest, AFrozenDatabaseGivesWhatTheCsvGives) {
  const std::string source = Database(), frozen = In("north.frozen");
  const nlohmann::json expected = Estimates("csv.json", {});
  ASSERT_GT(expected.size(), 3u);

  const ProcessResult described = Partita({"data", "describe", source});
  EXPECT_EQ(described.exit_code, 0) << described.err;
  EXPECT_THAT(described.out, HasSubstr("remark"));
  const ProcessResult checked =
      Partita({"data", "check", source, "--study", folder_.study_file(), "--party", "north"});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;

  const ProcessResult direct = Partita({"study", "simulate", folder_.study_file(), "--output",
                                        In("direct.json"), "--data", "north=" + source});
  EXPECT_EQ(direct.exit_code, 5);
  EXPECT_THAT(direct.err, HasSubstr("partita data freeze"));

  const std::vector<std::string> freeze = {
      "data",     "freeze", source,     "--study", folder_.study_file(), "--party", "north",
      "--output", frozen,   "--format", "json"};
  const ProcessResult written = Partita(freeze);
  EXPECT_EQ(written.exit_code, 0) << written.err;
  const nlohmann::json facts = nlohmann::json::parse(written.out)["data"];
  EXPECT_EQ(facts["rows"], 20);
  EXPECT_EQ(facts["columns"], (std::vector<std::string>{"x1", "x2", "x3"}));
  struct stat status {};
  ASSERT_EQ(::stat(frozen.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(Partita(freeze).exit_code, 2) << "an existing file is not overwritten";

  EXPECT_EQ(Estimates("frozen.json", {"--data", "north=" + frozen}), expected);
  // Whatever the study says of CSV files.
  folder_.Edit(folder_.study_file(), "[table]\n", "[table]\nseparator = \";\"\n");
  std::string semicolons = StudyFolder::Read(folder_.data("south"));
  std::replace(semicolons.begin(), semicolons.end(), ',', ';');
  StudyFolder::Write(folder_.data("south"), semicolons);
  EXPECT_EQ(Estimates("other.json", {"--data", "north=" + frozen}), expected);
}

// A study of rows that match reads the columns of the matching again from its table.
TEST_F(SourcesTest, AFrozenTableOfAMatchedStudyKeepsTheColumnsOfTheMatching) {
  const std::string lists = SourcePath("examples/matched_lists");
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(In("registry.db").c_str(), &connection), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(connection,
                         "CREATE TABLE t (remark, income, education, persnr, name, geburtsdatum);"
                         "INSERT INTO t VALUES ('r', 30, 'school', '05419323', 'A', '15.06.1978')",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(connection);
  StudyFolder::Write(In("registry.toml"), "source = \"sqlite:registry.db\"\ntable = \"t\"\n");
  std::vector<std::string> freeze = {
      "data",    "freeze",   In("registry.toml"), "--study",     lists + "/study.toml",
      "--party", "registry", "--output",          In("r.frozen")};
  const ProcessResult without = Partita(freeze);
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("--matching FILE"));
  EXPECT_FALSE(std::filesystem::exists(In("r.frozen")));
  freeze.insert(freeze.end(), {"--matching", lists + "/matching.toml"});
  const ProcessResult with = Partita(freeze);
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(StudyFolder::Read(In("r.frozen")),
            "income,education,persnr,name,geburtsdatum\n30,school,05419323,A,15.06.1978\n");
}

// A study names the record of a matching, so that the matching comes first, on frozen rows with all columns.
TEST_F(SourcesTest, ATableIsFrozenForAMatchingBeforeAnyStudy) {
  const std::string matching = SourcePath("examples/matched_lists/matching.toml");
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(In("registry.db").c_str(), &connection), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(connection,
                         "CREATE TABLE t (remark, income, persnr, name, geburtsdatum);"
                         "INSERT INTO t VALUES ('r', 30, '05419323', 'A', '15.06.1978');"
                         "CREATE TABLE u (income, name, geburtsdatum);"
                         "INSERT INTO u VALUES (30, 'A', '15.06.1978')",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(connection);
  StudyFolder::Write(In("t.toml"), "source = \"sqlite:registry.db\"\ntable = \"t\"\n");
  StudyFolder::Write(In("u.toml"), "source = \"sqlite:registry.db\"\ntable = \"u\"\n");
  const auto freeze = [&](const std::string& source, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"data",         "freeze",  In(source), "--output",
                                          In("r.frozen"), "--party", "registry"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Partita(arguments);
  };
  const ProcessResult lacks = freeze("u.toml", {"--matching", matching});
  EXPECT_EQ(lacks.exit_code, 7);
  EXPECT_THAT(lacks.err, HasSubstr("no column 'persnr'"));
  EXPECT_EQ(freeze("t.toml", {}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(In("r.frozen")));
  const ProcessResult whole = freeze("t.toml", {"--matching", matching});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(StudyFolder::Read(In("r.frozen")),
            "remark,income,persnr,name,geburtsdatum\nr,30,05419323,A,15.06.1978\n");
  const ProcessResult check =
      Partita({"match", "check", matching, "--party", "registry", "--data", In("r.frozen")});
  EXPECT_EQ(check.exit_code, 0) << check.err;
}

// The same rows for every exact study, until the steward opens another edition; the rows of now for one with noise.
TEST_F(SourcesTest, ExactStudiesGetTheRowsOfTheEdition) {
  const std::string source = Database();
  const auto json = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--format", "json"});
    const ProcessResult result = Partita(all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["data"];
  };
  const auto freeze = [&](const std::string& output, const std::string& study) {
    std::vector<std::string> arguments = {"data", "freeze", source, "--output", In(output)};
    if (!study.empty()) arguments.insert(arguments.end(), {"--study", study, "--party", "north"});
    return json(arguments);
  };
  EXPECT_TRUE(json({"data", "edition", source})["editions"].empty());
  const nlohmann::json first = freeze("1.frozen", folder_.study_file());
  EXPECT_EQ(first["edition"]["number"], 1);
  EXPECT_EQ(first["edition"]["rows"], 20);
  data::testing::ChangeSqlite(In("north.db"), "DELETE FROM t WHERE rowid = 1");
  EXPECT_EQ(freeze("2.frozen", folder_.study_file())["sha256"], first["sha256"]);
  EXPECT_EQ(freeze("3.frozen", "")["rows"], 20) << "of no study, which may be an exact one";
  const std::string noisy = In("noisy.toml");
  StudyFolder::Write(noisy, StudyFolder::Read(folder_.study_file()) +
                                "\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\n"
                                "adjacency = \"replace\"\nplanning_rows = 60\n");
  const nlohmann::json now = freeze("4.frozen", noisy);
  EXPECT_EQ(now["rows"], 19);
  EXPECT_FALSE(now.contains("edition"));

  const nlohmann::json look = json({"data", "edition", source});
  EXPECT_EQ(look["rows_now"], 19);
  EXPECT_TRUE(look["since"].is_null()) << "no column of keys is named";
  const ProcessResult refused = Partita({"data", "edition", source, "--open"});
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_THAT(refused.err, HasSubstr("no column of keys"));
  EXPECT_EQ(Partita({"data", "edition", source, "--reason", "x"}).exit_code, 2);
  EXPECT_EQ(json({"data", "edition", source, "--open", "--reason", "audit"})["opened"]["rows"], 19);
  const ProcessResult exact = Partita({"data", "freeze", source, "--output", In("5.frozen")});
  EXPECT_EQ(exact.exit_code, 5);
  EXPECT_FALSE(std::filesystem::exists(In("5.frozen")));
  EXPECT_EQ(Partita({"data", "edition", folder_.data("north")}).exit_code, 2)
      << "a file that stays";
}

TEST_F(SourcesTest, AThawTakesPersonsOut) {
  StudyFolder::Write(In("t.csv"), "id,a\np1,1\np2,2\np3,3\n");
  data::testing::SqliteOfCsv(In("t.csv"), In("t.db"));
  StudyFolder::Write(In("t.toml"), "source = \"sqlite:t.db\"\ntable = \"t\"\nkey = \"id\"\n");
  StudyFolder::Write(In("keys"), "p2\r\n\nnobody\n");
  ASSERT_EQ(Partita({"data", "freeze", In("t.toml"), "--output", In("1.frozen")}).exit_code, 0);
  const std::vector<std::string> thaw = {"data", "thaw", In("t.toml"), "--keys", In("keys")};
  EXPECT_EQ(Partita(thaw).exit_code, 5);
  std::vector<std::string> with_reason = thaw;
  with_reason.insert(with_reason.end(), {"--reason", "consent withdrawn", "--format", "json"});
  const ProcessResult thawed = Partita(with_reason);
  ASSERT_EQ(thawed.exit_code, 0) << thawed.err;
  const nlohmann::json said = nlohmann::json::parse(thawed.out)["data"];
  EXPECT_EQ(said["found"], 1);
  EXPECT_EQ(said["keys"], 2);
  EXPECT_EQ(said["edition"]["rows"], 2);
  EXPECT_EQ(said["edition"]["reason"], "consent withdrawn");
  EXPECT_EQ(StudyFolder::Read(In("t.toml.edition-2.frozen")), "id,a\np1,1\np3,3\n");
  StudyFolder::Write(In("keys"), "\n");
  EXPECT_EQ(Partita(thaw).exit_code, 2);
}

// While an endless query runs; its text comes through a pipe, so that the signal comes when the program reads.
TEST_F(SourcesTest, ControlCEndsAFreezeAtOnce) {
  Database();
  StudyFolder::Write(In("north.toml"),
                     "source = \"sqlite:north.db\"\nquery = \"q.sql\"\ntimeout_seconds = 60\n");
  ASSERT_EQ(::mkfifo(In("q.sql").c_str(), 0600), 0);
  Process freeze(
      {PartitaProgram(), "data", "freeze", In("north.toml"), "--output", In("n.frozen")});
  StudyFolder::Write(In("q.sql"),
                     "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
                     "SELECT count(*) AS x FROM c");
  freeze.Kill(SIGINT);
  EXPECT_EQ(freeze.Wait().exit_code, 130) << "it waited for the end of the query";
  EXPECT_FALSE(std::filesystem::exists(In("n.frozen")));
}

TEST_F(SourcesTest, ACompressedTableGivesWhatItHolds) {
  const nlohmann::json expected = Estimates("csv.json", {});
  const std::string text = StudyFolder::Read(folder_.data("north"));
  gzFile file = gzopen(In("north.csv.gz").c_str(), "wb");
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  gzclose(file);
  EXPECT_EQ(Estimates("gz.json", {"--data", "north=" + In("north.csv.gz")}), expected);
}

TEST_F(SourcesTest, WhatCannotBeFrozenIsSaid) {
  const std::string source = Database();
  const ProcessResult csv =
      Partita({"data", "freeze", folder_.data("north"), "--study", folder_.study_file(), "--party",
               "north", "--output", In("n.frozen")});
  EXPECT_EQ(csv.exit_code, 2);
  EXPECT_THAT(csv.err, HasSubstr("stays as it is"));
  StudyFolder::Write(In("north.toml"), "source = \"sqlite:north.db\"\nquery = \"q.sql\"\n");
  StudyFolder::Write(In("q.sql"), "SELECT x1, x2 FROM t");
  const ProcessResult other = Partita({"data", "freeze", source, "--study", folder_.study_file(),
                                       "--party", "north", "--output", In("n.frozen")});
  EXPECT_EQ(other.exit_code, 7);
  EXPECT_THAT(other.err, HasSubstr("there is no column \"x3\""));
  EXPECT_FALSE(std::filesystem::exists(In("n.frozen")));
}

}  // namespace
}  // namespace partita::testing::sources_test
