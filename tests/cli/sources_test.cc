// Tables that are no CSV through the commands: a database is described, checked and frozen, and a study
// of the frozen rows, or of a compressed table, gives what the study of the CSV gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <zlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"

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
