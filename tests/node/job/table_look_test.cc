// What the own people may know of tables: kinds and budgets, and nothing of where they lie or of their rows.
#include "node/job/table_look.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/utc_time.h"
#include "crypto/random.h"
#include "node/job/wire.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/party/row_sets.h"

namespace partita::node::table_look_test {
namespace {

namespace fs = std::filesystem;
namespace ledger = privacy::ledger;
using ::testing::HasSubstr;
using ::testing::Not;
using TestJson = nlohmann::ordered_json;

class TableLookTest : public ::testing::Test {
 protected:
  TableLookTest() {
    fs::remove_all(home_);
    fs::create_directories(home_);
  }
  ~TableLookTest() override { fs::remove_all(home_); }

  void Add(const std::string& name, const std::string& file, const std::string& text,
           const std::string& account = "") {
    WriteFileAtomically((home_ / file).string(), text);
    settings_.catalogue[name] = {home_ / file, account};
  }
  ledger::SqliteLedger KeepLedger(const std::vector<std::string>& accounts) {
    settings_.ledger = home_ / "ledger.sqlite";
    ledger::LedgerOptions options;
    options.file = settings_.ledger;
    ledger::SqliteLedger::Create(options);
    ledger::SqliteLedger book(options);
    for (const std::string& account : accounts) {
      ledger::Policy policy;
      policy.table = account;
      policy.outside = {privacy::Adjacency::kReplace, "3", "1e-6", "0"};
      policy.exact = ledger::ExactRule::kCounted;
      policy.max_exact = 4;
      book.OpenAccount(policy, random_, {"operator", NowUtc()});
    }
    return book;
  }
  TestJson Look(TableLook look = TableLook::kBudgets) {
    const std::string text = LookAtTables(settings_, look);
    // What is wrong with a ledger is told to its owner with its name.
    if (look == TableLook::kPlaces) {
      EXPECT_THAT(text, Not(HasSubstr(home_.string())));
    }
    EXPECT_THAT(text, Not(HasSubstr("17.25"))) << "a cell";
    return TestJson::parse(text).at("tables");
  }

  fs::path home_ = fs::path(::testing::TempDir()) / fmt::format("look-{}", ::getpid());
  crypto::SystemRandom random_;
  JobSettings settings_;
};

TEST_F(TableLookTest, NamesKindsAndNoPlaces) {
  Add("csv", "a.csv", "x,y\n17.25,2\n");
  Add("gz", "a.csv.gz", "none");
  Add("spss", "a.sav", "none");
  Add("stata", "a.dta", "none");
  Add("sas", "a.sas7bdat", "none");
  Add("lite", "lite.toml", "source = \"sqlite:secret.db\"\ntable = \"t\"\n");
  Add("pg", "pg.toml",
      "source = \"postgresql://reader@db.example.org/house\"\ntable = \"house.t\"\n");
  Add("odbc", "odbc.toml", "source = \"odbc:DSN=warehouse\"\ntable = \"t\"\n");
  Add("other", "other.toml", "source = \"gone.csv\"\nseparator = \";\"\n");
  Add("bad", "bad.toml", "source = 7\n");
  settings_.catalogue["none"] = {home_ / "none.csv", ""};
  std::map<std::string, std::string> kinds;
  std::map<std::string, bool> present;
  const TestJson tables = Look(TableLook::kPlaces);
  for (const TestJson& table : tables) {
    EXPECT_EQ(table.size(), 3U);
    kinds[table.at("name")] = table.at("source");
    present[table.at("name")] = table.at("present");
  }
  EXPECT_EQ(kinds, (std::map<std::string, std::string>{{"csv", "CSV file"},
                                                       {"gz", "compressed CSV file"},
                                                       {"spss", "SPSS file"},
                                                       {"stata", "Stata file"},
                                                       {"sas", "SAS file"},
                                                       {"lite", "SQLite database"},
                                                       {"pg", "PostgreSQL database"},
                                                       {"odbc", "database by ODBC"},
                                                       {"other", "CSV file"},
                                                       {"bad", "source file that cannot be read"},
                                                       {"none", "CSV file"}}));
  for (const auto& [name, is_there] : present)
    EXPECT_EQ(is_there, name != "none" && name != "bad" && name != "other") << name;
  for (const char* secret : {"secret", "reader", "example.org", "warehouse", "gone"})
    EXPECT_THAT(tables.dump(), Not(HasSubstr(secret)));
}

TEST_F(TableLookTest, BudgetsAreThoseOfTheLedger) {
  Add("pupils", "a.csv", "x,y\n17.25,2\n", "pupils");
  Add("wards", "b.csv", "x,y\n17.25,2\n", "wards");
  Add("visits", "c.csv", "x,y\n17.25,2\n", "nobody");
  ledger::SqliteLedger book = KeepLedger({"pupils", "wards"});
  ledger::ReservationRequest request;
  request.table = "pupils";
  request.run_id.fill(1);
  request.agreement_hash.fill(2);
  request.study = "school-hours";
  request.exact.push_back({"moments", "means", "north", 1, 1, {"x"}});
  const ledger::Stamp now{"operator", 1'790'000'000};
  book.Spend(request.table, book.Reserve(request, now).number, now);
  WriteFileAtomically(run::RowSetsPath(home_ / "a.csv").string(), "kept");

  const TestJson tables = Look();
  const TestJson& pupils = tables.at(0);
  EXPECT_EQ(pupils.at("name"), "pupils");
  EXPECT_EQ(pupils.at("exact_served"), true);
  const TestJson& budget = pupils.at("budget");
  EXPECT_EQ(budget.at("lines").size(), 1U);
  EXPECT_EQ(budget.at("lines").at(0).at("against"), "outsiders");
  EXPECT_EQ(budget.at("lines").at(0).at("epsilon"), "3");
  EXPECT_EQ(budget.at("lines").at(0).at("left"), "100 %");
  EXPECT_EQ(budget.at("exact"), "1 of 4 results without noise are used.");
  ASSERT_EQ(budget.at("history").size(), 1U);
  EXPECT_EQ(budget.at("history").at(0).at("study"), "school-hours");
  EXPECT_EQ(budget.at("history").at(0).at("outcome"), "spent");
  EXPECT_EQ(budget.at("history").at(0).at("time"), FormatUtc(now.at));
  // One that nobody opened does not hide the others.
  EXPECT_EQ(tables.at(1).at("name"), "visits");
  EXPECT_TRUE(tables.at(1).at("budget").is_null());
  EXPECT_THAT(tables.at(1).at("problem").get<std::string>(), HasSubstr("nobody"));
  EXPECT_EQ(tables.at(2).at("exact_served"), false);
  EXPECT_TRUE(tables.at(2).at("budget").at("history").empty());
}

TEST_F(TableLookTest, WithoutALedgerThereIsNoBudget) {
  Add("pupils", "a.csv", "x,y\n17.25,2\n");
  const TestJson tables = Look();
  EXPECT_TRUE(tables.at(0).at("budget").is_null());
  EXPECT_EQ(tables.at(0).at("problem"), "");
}

TEST_F(TableLookTest, ALongHistoryIsItsNewest) {
  Add("pupils", "a.csv", "x,y\n17.25,2\n");
  ledger::SqliteLedger book = KeepLedger({"pupils"});
  const ledger::Stamp now{"operator", 1'790'000'000};
  ledger::Policy policy = book.StandingOf("pupils").policy;
  for (uint64_t i = 0; i < 505; ++i) {
    policy.max_exact = 5 + i;
    book.ChangePolicy(policy, fmt::format("change {}", i), now);
  }
  const TestJson tables = Look();
  const TestJson& history = tables.at(0).at("budget").at("history");
  ASSERT_EQ(history.size(), 500U);
  EXPECT_EQ(history.at(0).at("outcome"), "change 5");
  EXPECT_EQ(history.at(499).at("outcome"), "change 504");
}

// To the end of the channel, for whoever reads; whoever does not read is no bug of the job.
TEST_F(TableLookTest, IsToldByTheChannel) {
  Add("pupils", "a.csv", "x,y\n17.25,2\n");
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  net::Socket reads(ends[0]);
  {
    const net::Socket channel(ends[1]);
    EXPECT_TRUE(SendText(channel, LookAtTables(settings_, TableLook::kPlaces)));
  }
  std::string text(4096, '\0');
  const ssize_t got = ::recv(reads.fd(), text.data(), text.size(), MSG_WAITALL);
  ASSERT_GT(got, 0);
  EXPECT_EQ(text.substr(0, static_cast<size_t>(got)), LookAtTables(settings_, TableLook::kPlaces));
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  reads = net::Socket(ends[0]);
  const net::Socket channel(ends[1]);
  reads = net::Socket();
  EXPECT_FALSE(SendText(channel, LookAtTables(settings_, TableLook::kPlaces)));
}

}  // namespace
}  // namespace partita::node::table_look_test
