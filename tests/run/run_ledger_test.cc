// Runs and the privacy ledgers of their parties: what a study takes, that it is taken before
// anything opens, that a run that opened nothing takes nothing, and that old copies of a ledger are
// found out by the others.
#include "run/ledger/run_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "privacy/ledger/audit.h"
#include "privacy/ledger/seen_heads.h"
#include "run/ledger/ledger_charges.h"
#include "run/party/own_error.h"
#include "run/party/party.h"
#include "tests/cli/study_folder.h"
#include "tests/data/expect_error.h"

namespace partita::run::run_ledger_test {
namespace {

namespace fs = std::filesystem;
using methods::mle::MleStudy;
using methods::mle::PrepareMleStudy;
using privacy::ledger::ExactRule;
using privacy::ledger::Policy;
using privacy::ledger::SqliteLedger;
using privacy::ledger::Standing;
using ::testing::HasSubstr;

constexpr char kPrivacy[] =
    "\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = \"replace\"\n";

class RunLedgerTest : public ::testing::Test {
 protected:
  fs::path File(const std::string& party) const {
    return fs::path(folder_.path()) / (party + ".ledger");
  }
  static Policy PolicyFor(const std::string& epsilon) {
    Policy policy;
    policy.table = "visits";
    policy.outside.epsilon = epsilon;
    policy.outside.delta = "1e-6";
    policy.insider = policy.outside;
    policy.exact = ExactRule::kAllowed;
    return policy;
  }
  void OpenLedger(const std::string& party, const Policy& policy) {
    SqliteLedger::Create({.file = File(party)});
    SqliteLedger ledger({.file = File(party)});
    if (party != "dealer") ledger.OpenAccount(policy, random_, {"steward", 0});
  }
  void OpenLedgers(const Policy& policy) {
    for (const std::string party : {"north", "south", "dealer"}) OpenLedger(party, policy);
  }
  Standing StandingAt(const std::string& party) const {
    return SqliteLedger({.file = File(party)}).StandingOf("visits");
  }
  void MakePrivate() {
    StudyText(partita::testing::StudyFolder::Read(folder_.study_file()) + kPrivacy);
  }
  void StudyText(const std::string& text) {
    partita::testing::StudyFolder::Write(folder_.study_file(), text);
  }

  struct End {
    std::optional<PartyOutcome> outcome;
    std::optional<Error> error;
  };
  // All parties as threads; those whose ledger file is there keep it. identities: none: nobody
  // signs.
  std::map<std::string, End> Run() {
    const MleStudy study = PrepareMleStudy(methods::LoadStudyFile(folder_.study_file()));
    const std::vector<std::string> names = PartyNames(study);
    std::vector<std::unique_ptr<net::Transport>> transports =
        net::MakeMemoryTransports(names, random_);
    std::map<std::string, End> ends;
    for (const std::string& name : names) ends[name];
    std::vector<std::thread> threads;
    for (size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i, transport = std::move(transports[i])]() mutable {
        crypto::SystemRandom random;
        SilentProgress progress;
        End& end = ends.at(names[i]);
        try {
          const std::unique_ptr<Approvals> approvals = UnsignedApprovals(random);
          std::optional<RunLedger> ledger;
          if (fs::exists(File(names[i])))
            ledger.emplace(LedgerOptions{File(names[i]), ""}, crypto::Identity{});
          const PartyInput input{
              i, folder_.data(names[i]), {}, approvals.get(), ledger ? &*ledger : nullptr};
          end.outcome = RunParty(
              study, input, [&](bool) { return std::move(transport); }, random, progress);
        } catch (const Error& error) {
          end.error = error;
        }
        transport.reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return ends;
  }
  static void ExpectAllDone(const std::map<std::string, End>& ends) {
    for (const auto& [party, end] : ends) {
      EXPECT_TRUE(end.outcome.has_value())
          << party << ": " << (end.error ? end.error->message() : "");
    }
  }

  partita::testing::StudyFolder folder_;
  crypto::SystemRandom random_;
};

TEST_F(RunLedgerTest, APrivateStudyIsSpentAtEveryHolder) {
  MakePrivate();
  OpenLedgers(PolicyFor("5"));
  auto ends = Run();
  ExpectAllDone(ends);
  for (const std::string party : {"north", "south"}) {
    const Standing standing = StandingAt(party);
    EXPECT_GT(standing.spent.outside.rdp, 0u);
    // The party that takes part knows one of the two shares of noise: to it the release says more.
    EXPECT_GT(standing.spent.insider.rdp, standing.spent.outside.rdp);
    EXPECT_EQ(standing.reserved, privacy::ledger::Totals{});
    EXPECT_EQ(standing.studies_spent, 1u);
    EXPECT_EQ(standing.spent.exact, 0u);
    const LedgerOutcome& told = ends[party].outcome->ledger;
    EXPECT_TRUE(told.spent);
    EXPECT_EQ(told.standing->spent, standing.spent);
    ASSERT_EQ(told.parties.size(), 3u);
    EXPECT_TRUE(told.parties[0].kept);
    EXPECT_TRUE(told.parties[1].kept);
    EXPECT_FALSE(told.parties[2].kept);  // the dealer has no table
  }
  SqliteLedger({.file = File("north")}).Verify();
  // The same again costs the same.
  const Standing once = StandingAt("north");
  ExpectAllDone(Run());
  EXPECT_EQ(StandingAt("north").spent.outside.rdp, 2 * once.spent.outside.rdp);
}

// What is charged is what the statement of the study says, not more than a few units above it: rho
// of the noise that remains, at the order of the account.
TEST_F(RunLedgerTest, ChargesTheNoiseThatRemains) {
  MakePrivate();
  const MleStudy study = PrepareMleStudy(methods::LoadStudyFile(folder_.study_file()));
  const auto request = ChargesOf(study, PolicyFor("5"));
  ASSERT_EQ(request.charges.size(), 2u);
  const auto& outside = std::get<privacy::ledger::GridGaussian>(request.charges[0].mechanism);
  const auto& insider = std::get<privacy::ledger::GridGaussian>(request.charges[1].mechanism);
  EXPECT_EQ(outside.remaining.shares, 2u);
  EXPECT_EQ(insider.remaining.shares, 1u);
  EXPECT_EQ(outside.sensitivity, study.privacy->replace_sensitivity.value());
  EXPECT_EQ(outside.remaining.dimension, study.privacy->num_noised);
  EXPECT_TRUE(request.exact.empty());
}

TEST_F(RunLedgerTest, RefusesABudgetThatNoChargeCanCover) {
  MakePrivate();
  const MleStudy study = PrepareMleStudy(methods::LoadStudyFile(folder_.study_file()));
  Policy policy = PolicyFor("5");
  policy.outside.adjacency = privacy::Adjacency::kAddRemove;
  const auto error = ThrownBy([&] { ChargesOf(study, policy); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), ErrorCode::kRefused);
  EXPECT_THAT(error->message(), HasSubstr("add-remove"));
}

TEST_F(RunLedgerTest, AStudyBeyondTheBudgetIsRefusedBeforeAnybodyIsConnected) {
  MakePrivate();
  OpenLedger("north", PolicyFor("5"));
  OpenLedger("south", PolicyFor("0.5"));  // the study asks for 1
  auto ends = Run();
  ASSERT_TRUE(ends["south"].error.has_value());
  EXPECT_EQ(ends["south"].error->code(), ErrorCode::kBudget);
  EXPECT_THAT(ends["south"].error->message(), HasSubstr("visits"));
  // The others are told no amounts.
  for (const std::string party : {"north", "dealer"}) {
    ASSERT_TRUE(ends[party].error.has_value()) << party;
    EXPECT_THAT(ends[party].error->message(), HasSubstr("ledger does not allow this run"));
    EXPECT_THAT(ends[party].error->message(), ::testing::Not(HasSubstr("0.5")));
  }
  for (const std::string party : {"north", "south"}) {
    EXPECT_EQ(StandingAt(party).spent, privacy::ledger::Totals{}) << party;
    EXPECT_EQ(StandingAt(party).reserved, privacy::ledger::Totals{}) << party;
  }
}

TEST_F(RunLedgerTest, TheBudgetEndsAfterAsManyStudiesAsItSays) {
  MakePrivate();
  OpenLedgers(PolicyFor("2"));
  const MleStudy study = PrepareMleStudy(methods::LoadStudyFile(folder_.study_file()));
  SqliteLedger ledger({.file = File("north")});
  const auto priced = ledger.Price(ChargesOf(study, PolicyFor("2")));
  const uint64_t left =
      privacy::ledger::StudiesLeft(StandingAt("north"), priced.outside, priced.insider);
  ASSERT_GE(left, 1u);
  ASSERT_LE(left, 20u);
  for (uint64_t i = 0; i < left; ++i) ExpectAllDone(Run());
  auto ends = Run();
  ASSERT_TRUE(ends["north"].error.has_value());
  EXPECT_EQ(ends["north"].error->code(), ErrorCode::kBudget);
  EXPECT_EQ(StandingAt("north").studies_spent, left);
}

TEST_F(RunLedgerTest, ExactResultsAreEnteredAndQualifyWhatComesAfter) {
  OpenLedgers(PolicyFor("5"));
  ExpectAllDone(Run());
  const Standing after = StandingAt("south");
  EXPECT_GT(after.spent.exact, 0u);
  EXPECT_GT(after.spent.exact_values, 0u);
  EXPECT_EQ(after.spent.outside.rdp, 0u);
  MakePrivate();
  auto ends = Run();
  ExpectAllDone(ends);
  EXPECT_EQ(ends["dealer"].outcome->ledger.parties[1].exact_before, after.spent.exact);
}

TEST_F(RunLedgerTest, ATableWithoutExactResultsRefusesThem) {
  Policy policy = PolicyFor("5");
  policy.exact = ExactRule::kRefused;
  OpenLedgers(policy);
  auto ends = Run();
  for (const std::string party : {"north", "south"}) {
    ASSERT_TRUE(ends[party].error.has_value());
    EXPECT_EQ(ends[party].error->code(), ErrorCode::kRefused) << ends[party].error->message();
  }
}

// South's rows are others than north's: the row lists differ, and nothing is opened.
TEST_F(RunLedgerTest, ARunThatOpensNothingCostsNothing) {
  MakePrivate();
  OpenLedgers(PolicyFor("5"));
  folder_.Edit(folder_.data("south"), "p007", "p907");
  for (const auto& [party, end] : Run()) EXPECT_TRUE(end.error.has_value()) << party;
  for (const std::string party : {"north", "south"}) {
    const Standing standing = StandingAt(party);
    EXPECT_EQ(standing.spent, privacy::ledger::Totals{});
    EXPECT_EQ(standing.reserved, privacy::ledger::Totals{});
    const auto entries = SqliteLedger({.file = File(party)}).Entries("visits");
    EXPECT_EQ(privacy::ledger::EntryKind(entries.back().body), "refunded");
  }
}

TEST_F(RunLedgerTest, ARestoredBackupIsFoundOut) {
  MakePrivate();
  OpenLedgers(PolicyFor("50"));
  ExpectAllDone(Run());
  const fs::path backup = fs::path(folder_.path()) / "backup";
  fs::copy_file(File("south"), backup);
  ExpectAllDone(Run());
  fs::copy_file(backup, File("south"), fs::copy_options::overwrite_existing);
  // The own host knows it first.
  EXPECT_EQ(ThrownBy([&] { RunLedger({File("south"), ""}, {}); })->code(), ErrorCode::kRefused);
  fs::remove(privacy::ledger::SeenHeads::PathOf(File("south")));  // set back as a whole
  auto ends = Run();
  // Whoever sees it first says it; the others hear it from that party.
  bool named = false;
  for (const auto& [party, end] : ends) {
    ASSERT_TRUE(end.error.has_value()) << party;
    if (party != "south") named = named || end.error->message().find("south") != std::string::npos;
  }
  EXPECT_TRUE(named);
  EXPECT_EQ(StandingAt("north").studies_spent, 2u);
  EXPECT_EQ(StandingAt("north").reserved, privacy::ledger::Totals{});
}

// A dealer has no account, but receipts: it shows the head of its journal.
TEST_F(RunLedgerTest, ARestoredLedgerWithoutATableIsFoundOut) {
  MakePrivate();
  OpenLedgers(PolicyFor("50"));
  ExpectAllDone(Run());
  const fs::path backup = fs::path(folder_.path()) / "backup";
  fs::copy_file(File("dealer"), backup);
  ExpectAllDone(Run());
  ExpectAllDone(Run());
  fs::copy_file(backup, File("dealer"), fs::copy_options::overwrite_existing);
  fs::remove(privacy::ledger::SeenHeads::PathOf(File("dealer")));
  auto ends = Run();
  bool named = false;
  for (const auto& [party, end] : ends) {
    ASSERT_TRUE(end.error.has_value()) << party;
    named =
        named || end.error->message().find("dealer shows a privacy ledger") != std::string::npos;
  }
  EXPECT_TRUE(named);
  EXPECT_EQ(StandingAt("north").studies_spent, 3u);
}

// What fails in the own file during a run has its path for the owner and none for the peers.
TEST_F(RunLedgerTest, PeersAreToldOfTheLedgerInGeneralWords) {
  MakePrivate();
  OpenLedgers(PolicyFor("5"));
  const MleStudy study = PrepareMleStudy(methods::LoadStudyFile(folder_.study_file()));
  RunLedger ledger({File("north"), ""}, {});
  ledger.Prepare(study, 0);
  partita::testing::StudyFolder::Write(File("north"), std::string(9000, 'x'));
  const std::vector<std::function<void()>> calls = {
      [&] { ledger.Reserve({}); }, [&] { ledger.RunsOf({}); },
      [&] {
        ledger.Spend(privacy::ledger::Used{{1}, 1, {2}});
      },
      [&] {
        ledger.Witness({{1}, 1, {2}}, {}, "south");
      }};
  for (size_t i = 0; i < calls.size(); ++i) {
    try {
      calls[i]();
      ADD_FAILURE() << "call " << i << " went well";
    } catch (const OwnError& error) {
      EXPECT_THAT(error.message(), HasSubstr(File("north").string()));
      EXPECT_EQ(error.told(), net::StopReason::kLedger);
    }
  }
}

// A party without a ledger is told apart from one whose table has no exact results.
TEST_F(RunLedgerTest, SaysWhoKeepsNoLedger) {
  OpenLedger("north", PolicyFor("5"));
  auto ends = Run();
  ExpectAllDone(ends);
  const std::vector<PeerAccount>& seen = ends["dealer"].outcome->ledger.parties;
  EXPECT_TRUE(seen[0].kept);
  EXPECT_FALSE(seen[1].kept);
}

// The reservation is spent when this party is about to say ok, not later.
TEST_F(RunLedgerTest, SpendsBeforeItSaysOk) {
  MakePrivate();
  OpenLedgers(PolicyFor("5"));
  const MleStudy study = PrepareMleStudy(methods::LoadStudyFile(folder_.study_file()));
  RunLedger ledger({File("north"), ""}, {});
  ledger.Prepare(study, 0);
  ledger.Reserve({});
  LedgerGate gate(&ledger, crypto::Digest{});
  gate.Reserve(study.releases);
  EXPECT_EQ(StandingAt("north").studies_spent, 0u);
  EXPECT_FALSE(ledger.spent());
  EXPECT_EQ(gate.Commit().size(), LedgerGate::kOkBytes);
  EXPECT_TRUE(ledger.spent());
  EXPECT_EQ(StandingAt("north").studies_spent, 1u);
  ledger.Refund("too late");
  EXPECT_EQ(StandingAt("north").studies_spent, 1u);
}

// What a restart does with the charge of the attempt before (charged_run.h). `ends`: how that one
// ended, with its reservation open if it does nothing.
class ChargedRunTest : public RunLedgerTest {
 protected:
  void SetUp() override {
    MakePrivate();
    OpenLedgers(PolicyFor("5"));
    study_.emplace(PrepareMleStudy(methods::LoadStudyFile(folder_.study_file())));
  }
  fs::path Folder() const { return fs::path(folder_.path()) / "north.run"; }
  // One attempt up to its reservation; then `ends`.
  template <typename F>
  void Attempt(uint8_t id, bool goes_on, F ends) {
    ChargedRun run(Folder(), study_hash_);
    RunLedger ledger({File("north"), ""}, {});
    ledger.Prepare(*study_, 0, &run, goes_on);
    RunIdentity identity;
    identity.run_id[0] = id;
    identity.agreement_hash = study_hash_;
    ledger.Reserve(identity);
    ends(ledger);
  }
  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    for (const auto& entry : SqliteLedger({.file = File("north")}).Entries("visits"))
      kinds.emplace_back(privacy::ledger::EntryKind(entry.body));
    return kinds;
  }
  using Words = std::vector<std::string>;
  static void Killed(RunLedger&) {}
  static void Spends(RunLedger& ledger) { ledger.Spend(); }
  static void Fails(RunLedger& ledger) { ledger.Refund("it failed"); }

  crypto::Digest study_hash_{7};
  std::optional<MleStudy> study_;
};

TEST_F(ChargedRunTest, AnOpenReservationIsTakenUp) {
  Attempt(1, false, Killed);
  Attempt(2, false, Killed);
  EXPECT_EQ(Kinds(), (Words{"opened", "reserved"}));
  Attempt(3, false, Spends);
  EXPECT_EQ(Kinds(), (Words{"opened", "reserved", "spent"}));
  EXPECT_EQ(StandingAt("north").studies_spent, 1u);
}

TEST_F(ChargedRunTest, ATakenUpReservationCanBeRefunded) {
  Attempt(1, false, Killed);
  Attempt(2, false, Fails);
  EXPECT_EQ(Kinds(), (Words{"opened", "reserved", "refunded"}));
  Attempt(3, false, Spends);
  EXPECT_EQ(StandingAt("north").studies_spent, 1u);
}

// A spent charge covers who kept what prevents a second opening, and nobody else.
TEST_F(ChargedRunTest, ASpentChargeCoversWhoGoesOn) {
  Attempt(1, false, Spends);
  Attempt(2, true, Spends);
  Attempt(3, true, Fails);
  EXPECT_EQ(Kinds(), (Words{"opened", "reserved", "spent"}));
  Attempt(4, false, Spends);
  EXPECT_EQ(StandingAt("north").studies_spent, 2u);
  Attempt(5, true, Spends);
  EXPECT_EQ(StandingAt("north").studies_spent, 2u);
}

// Another study, or the same in another folder, is another run.
TEST_F(ChargedRunTest, AChargeIsOfItsStudyAndFolder) {
  Attempt(1, false, Killed);
  study_hash_[5] = 1;
  Attempt(2, true, Spends);
  EXPECT_EQ(Kinds(), (Words{"opened", "reserved", "reserved", "spent"}));
  fs::remove_all(Folder());
  Attempt(3, true, Spends);
  EXPECT_EQ(StandingAt("north").studies_spent, 2u);
}

TEST_F(ChargedRunTest, TwoProcessesDoNotShareAFolder) {
  std::optional<ChargedRun> first(std::in_place, Folder(), study_hash_);
  const auto error = ThrownBy([&] { ChargedRun(Folder(), study_hash_); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), ErrorCode::kRefused);
  EXPECT_THAT(error->message(), HasSubstr("another process runs this study"));
  first.reset();
  Attempt(1, false, Killed);
  std::ofstream(Folder() / "charge", std::ios::app) << "x";
  const auto damaged = ThrownBy([&] { ChargedRun(Folder(), study_hash_); });
  ASSERT_TRUE(damaged.has_value());
  EXPECT_EQ(damaged->code(), ErrorCode::kBadInput);
}

// No opening happens before the parties agreed to it, and one that does not happen costs nothing.
TEST_F(RunLedgerTest, AnOpeningBeforeTheOkSpendsNothing) {
  MakePrivate();
  OpenLedgers(PolicyFor("5"));
  const MleStudy study = PrepareMleStudy(methods::LoadStudyFile(folder_.study_file()));
  RunLedger ledger({File("north"), ""}, {});
  ledger.Prepare(study, 0);
  ledger.Reserve({});
  LedgerGate gate(&ledger, crypto::Digest{});
  gate.Reserve(study.releases);
  const mpc::Release& release = study.releases.front();
  EXPECT_TRUE(ThrownBy([&] {
                gate.Opening(release.id, *release.to_party, *release.num_values);
              }).has_value());
  EXPECT_EQ(StandingAt("north").studies_spent, 0u);
  ledger.Refund("nothing was opened");
  EXPECT_EQ(StandingAt("north").reserved, privacy::ledger::Totals{});
}

TEST_F(RunLedgerTest, AsksWhichTableIsMeant) {
  OpenLedgers(PolicyFor("5"));
  const MleStudy study = PrepareMleStudy(methods::LoadStudyFile(folder_.study_file()));
  {
    RunLedger ledger({File("north"), "vists"}, {});
    const auto error = ThrownBy([&] { ledger.Prepare(study, 0); });
    ASSERT_TRUE(error.has_value());
    EXPECT_THAT(error->message(), HasSubstr("visits"));
  }
  Policy second = PolicyFor("5");
  second.table = "laboratory";
  SqliteLedger({.file = File("north")}).OpenAccount(second, random_, {"steward", 0});
  RunLedger ledger({File("north"), ""}, {});
  const auto error = ThrownBy([&] { ledger.Prepare(study, 0); });
  ASSERT_TRUE(error.has_value());
  EXPECT_THAT(error->message(), HasSubstr("laboratory"));
}

}  // namespace
}  // namespace partita::run::run_ledger_test
