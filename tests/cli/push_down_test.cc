// A study of three holders of whole rows: one has a CSV file, one an SQLite file and one a PostgreSQL server, of which
// only sums leave. The result is that of three CSV files, to the last digit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/data/source/sqlite_of_csv.h"
#include "tests/sums/protocol/postgres_server.h"

namespace partita::testing::push_down_test {
namespace {

using ::testing::HasSubstr;

constexpr char kStudy[] = R"(partita = 1
name = "pushed"

[[party]]
name = "north"
roles = ["holder", "receiver"]
rows = ["first"]

[[party]]
name = "south"
roles = ["holder"]
rows = ["second"]

[[party]]
name = "west"
roles = ["holder"]
rows = ["third"]

[[rows]]
name = "first"

[[rows]]
name = "second"

[[rows]]
name = "third"

[table]

[[variable]]
name = "sbp"
type = "numeric"
lower = 60
upper = 260

[[variable]]
name = "age"
type = "integer"
lower = 18
upper = 105
missing_codes = ["999"]

[[variable]]
name = "arm"
type = "factor"
levels = ["placebo", "low", "high"]

[[variable]]
name = "times"
type = "integer"
lower = 0
upper = 40

[design]
site = "ignore"
missing = "complete"
weights = "times"
weights_type = "frequency"

[engine]
name = "replicated"
input_bits = 30

[[analysis]]
name = "all"
method = "mle"
protocol = "pooled-moments"
release = ["moments"]
function = "sem"
model = "sbp ~ age + arm.low + arm.high"

[[analysis]]
name = "old"
method = "mle"
protocol = "pooled-moments"
release = ["moments"]
function = "sem"
model = "sbp ~ age"
group = "arm"
subset = [{variable = "age", at_least = 50}]
)";

class PushDownTest : public ::testing::Test {
 protected:
  PushDownTest() {
    StudyFolder::Write(folder_.study_file(), kStudy);
    for (const char* party : {"north", "south", "west"}) {
      std::filesystem::create_directories(In(party));
      StudyFolder::Write(folder_.data(party), Rows(party));
    }
  }

  std::string In(const std::string& name) const { return folder_.path() + "/" + name; }

  static std::string Rows(const std::string& party) {
    std::mt19937_64 random(party.size() + static_cast<unsigned char>(party[0]));
    std::string text = "sbp,age,arm,times\n";
    for (int i = 0; i < 240; ++i) {
      const auto age = 20 + random() % 70;
      const char* arms[] = {"placebo", "low", "high"};
      const auto arm = random() % 3;
      const double sbp = 100 + 0.5 * static_cast<double>(age) - 3 * static_cast<double>(arm) +
                         std::ldexp(static_cast<double>(random() >> 11), -48);
      text +=
          fmt::format("{},{},{},{}\n", random() % 17 == 0 ? "" : fmt::format("{}", sbp),
                      random() % 19 == 0 ? "999" : fmt::format("{}", age), arms[arm], random() % 5);
    }
    return text;
  }

  // The table of south in an SQLite file.
  void MakeSqlite() const {
    data::testing::SqliteOfCsv(folder_.data("south"), In("south/t.db"));
    StudyFolder::Write(In("south/t.toml"),
                       "source = \"sqlite:t.db\"\ntable = \"t\"\nmode = \"push-down\"\n");
  }

  // That of west in PostgreSQL.
  void MakePostgres() const {
    std::istringstream lines(StudyFolder::Read(folder_.data("west")));
    std::string line, rows;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      const std::vector<std::string> cells = data::testing::CellsOf(line);
      rows += fmt::format("{}({}, {}, '{}', {})", rows.empty() ? "" : ", ",
                          cells[0].empty() ? "NULL" : cells[0], cells[1], cells[2], cells[3]);
    }
    sums::SharedServer().Administer(
        database_,
        fmt::format("CREATE SCHEMA clinic; CREATE ROLE pusher_{0} LOGIN; "
                    "GRANT USAGE ON SCHEMA clinic TO pusher_{0}; "
                    "CREATE TYPE clinic.arm AS ENUM ('placebo', 'low', 'high'); "
                    "CREATE TABLE clinic.t (sbp double precision, age smallint, arm clinic.arm, "
                    "times numeric); INSERT INTO clinic.t VALUES {1}; "
                    "GRANT SELECT ON clinic.t TO pusher_{0}",
                    database_, rows));
    StudyFolder::Write(In("west/t.toml"),
                       fmt::format("source = \"postgresql://pusher_{0}@/{0}?host={1}\"\n"
                                   "table = \"clinic.t\"\nmode = \"push-down\"\n",
                                   database_, sums::SharedServer().folder().string()));
  }

  ProcessResult Freeze(const std::string& party, const std::string& output) const {
    return Partita({"data", "freeze", In(party + "/t.toml"), "--study", folder_.study_file(),
                    "--party", party, "--output", In(output), "--format", "json"});
  }

  nlohmann::json Result(const std::string& name, const std::vector<std::string>& data) const {
    std::vector<std::string> words = {"study",    "simulate", folder_.study_file(),
                                      "--output", In(name),   "--force"};
    words.insert(words.end(), data.begin(), data.end());
    const ProcessResult run = Partita(words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const nlohmann::json read = nlohmann::json::parse(StudyFolder::Read(In(name)));
    return read.contains("analyses") ? read["analyses"] : read["result"];
  }

  StudyFolder folder_;
  const std::string database_ = sums::SharedServer().MakeDatabase();
};

TEST_F(PushDownTest, TheResultIsThatOfCsvFilesToTheBit) {
  const nlohmann::json expected = Result("csv.json", {});
  ASSERT_EQ(expected.size(), 2u);
  MakeSqlite();
  MakePostgres();
  for (const std::string party : {"south", "west"}) {
    const ProcessResult formed = Freeze(party, party + ".sums");
    ASSERT_EQ(formed.exit_code, 0) << formed.err;
    const nlohmann::json facts = nlohmann::json::parse(formed.out)["data"];
    EXPECT_EQ(facts["rows"], 240);
    EXPECT_THAT(facts["engine"].get<std::string>(),
                ::testing::StartsWith(party == "south" ? "SQLite 3." : "PostgreSQL 1"));
    EXPECT_EQ(facts["columns"], (std::vector<std::string>{"sbp", "age", "arm", "times"}));
    // What left the database: a line a number, and a head of three.
    const std::string text = StudyFolder::Read(In(party + ".sums"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), facts["sums"].get<int>() + 3);
    struct stat status {};
    ASSERT_EQ(::stat(In(party + ".sums").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
  EXPECT_EQ(Result("sums.json",
                   {"--data", "south=" + In("south.sums"), "--data", "west=" + In("west.sums")}),
            expected);
  // The same numbers with the finest grid are others: the equality above is no accident of printing.
  folder_.Edit(folder_.study_file(), "input_bits = 30\n", "");
  EXPECT_NE(Result("fine.json", {}), expected);
}

TEST_F(PushDownTest, RegressionsAndTablesAreThoseOfCsvFiles) {
  MakeSqlite();
  MakePostgres();
  const std::string shared =
                        std::string(kStudy).substr(0, std::string(kStudy).find("[[analysis]]")),
                    accept = "[release]\naccept = \"table of covariates\"\n\n";
  const std::string weights = "weights = \"times\"\nweights_type = \"frequency\"\n";
  const size_t at = shared.find(weights);
  const std::string studies[] = {
      shared + accept +
          "[[analysis]]\nmethod = \"glm\"\nfamily = \"gaussian\"\nprotocol = \"aggregates\"\n"
          "steps = 2\nformula = \"sbp ~ age * arm\"\nrelease = [\"estimates\"]\n",
      shared.substr(0, at) + shared.substr(at + weights.size()) + accept +
          "[[analysis]]\nmethod = \"describe\"\nvariables = [\"sbp\", \"age\"]\ngroup = \"arm\"\n"
          "quantiles = []\ncompare = [\"anova\"]\nrelease = [\"table\"]\n"};
  for (const std::string& study : studies) {
    SCOPED_TRACE(study.substr(study.find("[[analysis]]")));
    StudyFolder::Write(folder_.study_file(), study);
    const nlohmann::json expected = Result("csv.json", {});
    ASSERT_FALSE(expected.empty());
    for (const std::string party : {"south", "west"}) {
      std::filesystem::remove(In(party + "/t.toml.sum-sets"));
      const ProcessResult formed = Freeze(party, party + ".sums");
      ASSERT_EQ(formed.exit_code, 0) << formed.out << formed.err;
    }
    EXPECT_EQ(Result("sums.json",
                     {"--data", "south=" + In("south.sums"), "--data", "west=" + In("west.sums")}),
              expected);
    for (const std::string party : {"south", "west"}) std::filesystem::remove(In(party + ".sums"));
  }
}

// The same numbers as the database's own, whichever it was asked first, and nothing of the rows beside them.
TEST_F(PushDownTest, RowsThatPassLeaveTheSameSums) {
  const nlohmann::json expected = Result("csv.json", {});
  MakePostgres();
  ASSERT_EQ(Freeze("west", "pushed.sums").exit_code, 0);
  folder_.Edit(In("west/t.toml"), "push-down", "stream");
  const ProcessResult formed = Freeze("west", "passed.sums");
  ASSERT_EQ(formed.exit_code, 0) << formed.err;
  EXPECT_THAT(nlohmann::json::parse(formed.out)["data"]["engine"].get<std::string>(),
              ::testing::StartsWith("this program, of rows from PostgreSQL 1"));
  EXPECT_THAT(formed.err, HasSubstr("rows pass"));
  const auto numbers = [&](const std::string& name) {
    std::string text = StudyFolder::Read(In(name));
    const size_t with = text.find("\nwith ");
    return text.erase(with, text.find('\n', with + 1) - with);
  };
  EXPECT_EQ(numbers("passed.sums"), numbers("pushed.sums"));
  EXPECT_EQ(Result("sums.json", {"--data", "west=" + In("passed.sums")}), expected);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"data", "describe", In("west/t.toml")},
        {"study", "simulate", folder_.study_file(), "--output", In("r.json"), "--data",
         "west=" + In("west/t.toml")}}) {
    const ProcessResult run = Partita(command);
    EXPECT_EQ(run.exit_code, 5);
    EXPECT_THAT(run.err, HasSubstr("only sums are kept of this database"));
  }
  // Another study looks again at what this one was given, in the same pass.
  folder_.Edit(folder_.study_file(), "at_least = 50", "at_least = 20");
  EXPECT_EQ(Freeze("west", "other.sums").exit_code, 0);
  sums::SharedServer().Administer(database_, "UPDATE clinic.t SET sbp = 101 WHERE age > 80");
  folder_.Edit(folder_.study_file(), "at_least = 20", "at_least = 30");
  const ProcessResult changed = Freeze("west", "third.sums");
  EXPECT_EQ(changed.exit_code, 5);
  EXPECT_THAT(changed.out, HasSubstr("rows have come, gone or changed since"));
  EXPECT_FALSE(std::filesystem::exists(In("third.sums")));
}

// Rows frozen for an exact study are of an edition, of which sums could tell who has left since.
TEST_F(PushDownTest, NoSumsWhereExactStudiesWereGivenRows) {
  MakePostgres();
  folder_.Edit(In("west/t.toml"), "mode = \"push-down\"\n", "");
  ASSERT_EQ(Freeze("west", "west.frozen").exit_code, 0);
  const std::string rows = StudyFolder::Read(In("west/t.toml"));
  for (const char* mode : {"push-down", "stream"}) {
    StudyFolder::Write(In("west/t.toml"), rows + "mode = \"" + mode + "\"\n");
    const ProcessResult formed = Freeze("west", "west.sums");
    EXPECT_EQ(formed.exit_code, 5);
    EXPECT_THAT(formed.out, HasSubstr("exact results were served of rows of this source"));
    EXPECT_THAT(formed.out, HasSubstr("t.toml.edition"));
    EXPECT_FALSE(std::filesystem::exists(In("west.sums")));
  }
}

TEST_F(PushDownTest, NoCommandReadsRows) {
  MakeSqlite();
  const std::string source = In("south/t.toml");
  const std::vector<std::vector<std::string>> commands = {
      {"data", "describe", source},
      {"data", "check", source, "--study", folder_.study_file(), "--party", "south"},
      {"study", "simulate", folder_.study_file(), "--output", In("r.json"), "--data",
       "south=" + source}};
  for (const std::vector<std::string>& command : commands) {
    const ProcessResult run = Partita(command);
    EXPECT_EQ(run.exit_code, 5) << command[1];
    EXPECT_THAT(run.err, HasSubstr("only sums leave this database")) << command[1];
  }
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--output", In("n.frozen")},
        {"--output", In("n.frozen"), "--study", folder_.study_file(), "--party", "south"},
        {"--output", In("n.sums")}}) {
    std::vector<std::string> words = {"data", "freeze", source};
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult run = Partita(words);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("only sums leave this database"));
  }
}

TEST_F(PushDownTest, AStudyThatNeedsRowsIsRefused) {
  MakeSqlite();
  folder_.Edit(folder_.study_file(), "input_bits = 30\n", "");
  const ProcessResult run = Freeze("south", "south.sums");
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_THAT(run.out, HasSubstr("only sums come from the database"));
  EXPECT_FALSE(std::filesystem::exists(In("south.sums")));
  EXPECT_FALSE(std::filesystem::exists(In("south/t.toml.sum-sets")));
}

}  // namespace
}  // namespace partita::testing::push_down_test
