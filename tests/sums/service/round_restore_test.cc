// A compute node whose store is put back to an earlier state, or edited, while its ledger and its
// key are not: one sum and one charge, whoever the other node is.
#include <sqlite3.h>

#include <thread>

#include "privacy/ledger/seen_heads.h"
#include "sums/spool/postgres_spool.h"
#include "sums/spool/sqlite_spool.h"
#include "tests/sums/protocol/postgres_server.h"
#include "tests/sums/service/round_lives.h"

namespace partita::sums::round_restore_test {
namespace {

using ::testing::Values;

class RoundRestoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  RoundLives lives_{GetParam()};
  run::LedgerOptions ledger_ = lives_.OpenAccount("ledger.sqlite");
  Told told_;
};

INSTANTIATE_TEST_SUITE_P(NoiseFrom, RoundRestoreTest, Values("nodes", "clients"),
                         [](const auto& source) { return std::string(source.param); });

// Every state that the store ever was in, three restarts from each.
TEST_P(RoundRestoreTest, EveryStateLeadsToTheSameSumForOneCharge) {
  MemorySpool spool;
  std::vector<MemorySpool::Content> states = {spool.content};
  WatchedSpool watched(
      spool, [](int) {}, [&](int) { states.push_back(spool.content); });
  ASSERT_EQ(lives_.Live(watched, ledger_, lives_.HonestPeer(), told_), "");
  ASSERT_EQ(told_.publications.size(), 1U);
  int restarts = 0;
  for (const MemorySpool::Content& state : states) {
    for (int restart = 0; restart < 3; ++restart) {
      spool.content = state;
      EXPECT_EQ(lives_.Live(spool, ledger_, lives_.HonestPeer(), told_), "");
      ++restarts;
    }
  }
  EXPECT_GT(restarts, 45);
  EXPECT_EQ(told_.closings.size(), 1U);
  lives_.ExpectSound(told_, ledger_);
  lives_.ExpectTheSum(told_, ledger_);
}

// The other node closes whatever this one does, so that only the ledger remembers: every subset of
// the uploads that the contract allows is refused after the first.
TEST_P(RoundRestoreTest, AnotherSetIsRefusedByTheLedgerAlone) {
  MemorySpool spool;
  const std::vector<uint32_t> all = RoundLives::All();
  ASSERT_EQ(lives_.Live(spool, ledger_, lives_.CorruptPeer(lives_.SetOf(all)), told_), "");
  ASSERT_EQ(told_.publications.size(), 1U);
  for (const uint32_t missing : all) {
    std::vector<uint32_t> fewer = all;
    std::erase(fewer, missing);
    // It does not get that upload; or it has it, and is told that the other node does not.
    for (const std::vector<uint32_t>& got : {fewer, all}) {
      spool.content = {};
      const std::string problem =
          lives_.Live(spool, ledger_, lives_.CorruptPeer(lives_.SetOf(fewer)), told_, got);
      EXPECT_NE(problem.find("was opened for other closings"), std::string::npos) << problem;
      EXPECT_FALSE(spool.content.publication);
    }
  }
  EXPECT_EQ(told_.closings.size(), 5U);
  EXPECT_EQ(told_.publications.size(), 1U);
  lives_.ExpectSound(told_, ledger_);
}

// The same set, and another commitment of the other node, which tries for a second agreement.
TEST_P(RoundRestoreTest, AnotherCommitmentOfTheOtherNodeIsRefused) {
  MemorySpool spool;
  const AcceptedSet all = lives_.SetOf(RoundLives::All());
  ASSERT_EQ(lives_.Live(spool, ledger_, lives_.CorruptPeer(all), told_), "");
  spool.content = {};
  EXPECT_NE(lives_.Live(spool, ledger_, lives_.CorruptPeer(all, 1), told_)
                .find("was opened for other closings"),
            std::string::npos);
  lives_.ExpectSound(told_, ledger_);
  // Without a ledger it is published again, with the same words.
  spool.content = {};
  EXPECT_EQ(lives_.Live(spool, std::nullopt, lives_.CorruptPeer(all, 1), told_), "");
  EXPECT_EQ(told_.publications.size(), 2U);
  lives_.ExpectSound(told_, std::nullopt);
}

// Put back to a state of a time when another set was closed, and a publication of that time.
TEST_P(RoundRestoreTest, RecordsOfAnotherTimeAreRefused) {
  MemorySpool other, spool;
  Told other_told;
  const std::vector<uint32_t> fewer = {0, 1, 2};
  ASSERT_EQ(
      lives_.Live(other, std::nullopt, lives_.CorruptPeer(lives_.SetOf(fewer)), other_told, fewer),
      "");
  const AskPeers corrupt = lives_.CorruptPeer(lives_.SetOf(RoundLives::All()));
  ASSERT_EQ(lives_.Live(spool, ledger_, corrupt, told_), "");
  const MemorySpool::Content whole = spool.content;
  const auto refused = [&] { EXPECT_NE(lives_.Live(spool, ledger_, corrupt, told_), ""); };
  spool.content = other.content;
  refused();
  spool.content.publication.reset();
  refused();
  spool.content = whole;
  spool.content.publication = other.content.publication;
  refused();
  spool.content = whole;
  spool.content.closing = other.content.closing;
  refused();
  EXPECT_EQ(told_.publications.size(), 1U);
  lives_.ExpectSound(told_, ledger_);
}

// Two processes of one node, on one store and one ledger, at the same time: one charge.
TEST_P(RoundRestoreTest, RacesEndInOneCharge) {
  for (int race = 0; race < 5; ++race) {
    RoundLives lives(GetParam());
    const run::LedgerOptions ledger = lives.OpenAccount("ledger.sqlite");
    const Agreement first{4, {1}}, second{4, {2}};
    std::atomic<int> charged = 0, refused = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] {
        try {
          ChargeRound(lives.collection(), i % 2 == 0 ? first : second, ledger, "process");
          ++charged;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kRefused) << error.message();
          ++refused;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(charged, 3);
    EXPECT_EQ(refused, 3);
    EXPECT_EQ(RoundLives::SpentReleases(ledger).size(), 1U);
    EXPECT_TRUE(privacy::ledger::SqliteLedger({.file = ledger.file})
                    .StandingOf("steps")
                    .reservations.empty());
  }
}

// A reader of the same institution finds the node's charge, and none for other closings.
TEST_P(RoundRestoreTest, ReadersAndNodesHaveOneCharge) {
  MemorySpool spool;
  ASSERT_EQ(lives_.Live(spool, ledger_, lives_.HonestPeer(), told_), "");
  lives_.ExpectTheSum(told_, ledger_);
  Agreement other{4, {9}};
  EXPECT_THROW(ChargeRound(lives_.collection(), other, ledger_, "reader"), Error);
  EXPECT_EQ(RoundLives::SpentReleases(ledger_).size(), 1U);
}

// Store and ledger put back together are refused as long as what the host has seen of the ledger is
// there. Without that nobody at this node notices; the same uploads have the same noise all the
// same.
TEST_P(RoundRestoreTest, ALedgerThatIsPutBackTooGainsNoSecondNoise) {
  const std::filesystem::path kept = lives_.Path("kept.sqlite");
  std::filesystem::copy_file(ledger_.file, kept);
  MemorySpool spool;
  ASSERT_EQ(lives_.Live(spool, ledger_, lives_.HonestPeer(), told_), "");
  const auto put_back = [&] {
    spool.content = {};
    std::filesystem::copy_file(kept, ledger_.file,
                               std::filesystem::copy_options::overwrite_existing);
  };
  put_back();
  EXPECT_NE(lives_.Live(spool, ledger_, lives_.HonestPeer(), told_).find("put back"),
            std::string::npos);
  EXPECT_FALSE(spool.content.publication);
  for (int restart = 0; restart < 3; ++restart) {
    put_back();
    std::filesystem::remove(privacy::ledger::SeenHeads::PathOf(ledger_.file));
    EXPECT_EQ(lives_.Live(spool, ledger_, lives_.HonestPeer(), told_), "");
  }
  EXPECT_EQ(told_.publications.size(), 1U);
  lives_.ExpectSound(told_, ledger_);
}

// --- The same in SQLite and PostgreSQL ----------------------------------------------------------

void Sql(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  sqlite3_close(database);
}

// What somebody does to the store of a round that was published. It leads back to the same sum, or,
// if it is fatal, opens nothing.
struct Edit {
  std::string sql;
  bool fatal = false;
};
// schema: before the names of tables. forget: makes the store forget that it has published.
std::vector<Edit> Edits(const std::string& schema, const std::string& forget) {
  const std::string round = "UPDATE " + schema + "round SET ";
  const std::string share = "UPDATE " + schema + "share SET ";
  const std::string open = round + "closing = NULL; " + round + "frozen = false; ";
  return {
      {forget},
      {forget + round + "closing = NULL"},
      {forget + open},
      {forget + open + "DELETE FROM " + schema + "share"},
      {round + "publication = substr(publication, 2)", true},
      {forget + round + "closing = substr(closing, 2)", true},
      {forget + round + "closing = substr(closing, 49)", true},
      {forget + "DELETE FROM " + schema + "share", true},
      {forget + share + "share = (SELECT share FROM " + schema + "share ORDER BY client LIMIT 1)",
       true},
      {forget + share + "upload = client", true}};
}

TEST_P(RoundRestoreTest, SqliteStoresThatAreEditedOpenTheSameSumOrNone) {
  const std::filesystem::path file = ledger_.file.parent_path() / "edited.uploads";
  const std::filesystem::path kept = ledger_.file.parent_path() / "kept.uploads";
  const auto live = [&] {
    SqliteSpool spool(file, lives_.collection().contract.study, lives_.collection().epoch);
    return lives_.Live(spool, ledger_, lives_.HonestPeer(), told_);
  };
  ASSERT_EQ(live(), "");
  std::filesystem::copy_file(file, kept);
  for (const Edit& edit : Edits("", "UPDATE round SET publication = NULL; ")) {
    std::filesystem::copy_file(kept, file, std::filesystem::copy_options::overwrite_existing);
    Sql(file, edit.sql);
    EXPECT_EQ(!live().empty(), edit.fatal) << edit.sql;
  }
  EXPECT_EQ(told_.publications.size(), 1U);
  lives_.ExpectSound(told_, ledger_);
  lives_.ExpectTheSum(told_, ledger_);
}

TEST_P(RoundRestoreTest, DatabasesThatAreEditedOpenTheSameSumOrNone) {
  const auto live = [&](const std::string& database) {
    PostgresSettings settings = SharedServer().Settings(database);
    settings.node = lives_.box_key();
    PostgresSpool spool(settings, lives_.collection().contract.study, lives_.collection().epoch);
    return lives_.Live(spool, ledger_, lives_.HonestPeer(), told_);
  };
  const std::string forget = "UPDATE partita_dca.round SET publication = NULL; ";
  std::vector<Edit> edits = Edits(
      "partita_dca.",
      forget +
          "DELETE FROM partita_dca.chunk; UPDATE partita_dca.round SET chunk_uploads = NULL; ");
  // Parts of the sum that were added up before are its parts.
  edits.push_back({forget});
  edits.push_back({forget + "UPDATE partita_dca.chunk SET result = substr(result, 2)", true});
  edits.push_back({forget + "UPDATE partita_dca.round SET chunk_uploads = 3", true});
  for (const Edit& edit : edits) {
    const std::string database = SharedServer().MakeDatabase();
    ASSERT_EQ(live(database), "");
    SharedServer().Administer(database, edit.sql);
    EXPECT_EQ(!live(database).empty(), edit.fatal) << edit.sql;
  }
  EXPECT_EQ(told_.publications.size(), 1U);
  lives_.ExpectSound(told_, ledger_);
  lives_.ExpectTheSum(told_, ledger_);
}

}  // namespace
}  // namespace partita::sums::round_restore_test
