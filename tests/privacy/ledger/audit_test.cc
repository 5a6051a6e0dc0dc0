// What auditors and people get to see.
#include "privacy/ledger/audit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "crypto/signature.h"
#include "privacy/accounting/rdp.h"
#include "privacy/sampling/calibrate.h"
#include "tests/privacy/ledger/fixtures.h"
#include "tests/privacy/ledger/information.h"

namespace partita::privacy::ledger::audit_test {
namespace {

// A chain with everything in it: a spent study with a receipt, a refunded one, an open one, exact
// results, a wider policy.
struct Example {
  Folder folder;
  LedgerOptions options{folder / "ledger", std::chrono::milliseconds(200), ""};
  SqliteLedger ledger = [this] {
    SqliteLedger::Create(options);
    return SqliteLedger(options);
  }();

  Example() {
    crypto::SystemRandom random;
    ledger.OpenAccount(PolicyOf("visits"), random, Now());
    ReservationRequest request = RequestOf("visits", 1, 0.001);
    request.exact = {{"fit", "the fit", "all", 7, 10, {"x1", "x2"}}};
    const Reservation first = ledger.Reserve(request, Now());
    const crypto::Identity north = crypto::MakeIdentity({.name = "north"});
    ledger.Countersign("visits", first.number,
                       {"north", first.head, crypto::EncodeCertificate(*north.certificate),
                        SignReceipt(north, {first.head, request.run_id, request.agreement_hash})},
                       Now());
    ledger.Spend("visits", first.number, Now());
    const Reservation second = ledger.Reserve(RequestOf("visits", 2, 0.002), Now());
    ledger.Refund("visits", second.number, NothingSent("north went away"), Now());
    ledger.ChangePolicy(PolicyOf("visits", "2"), "the board said so", Now());
    ledger.Reserve(RequestOf("visits", 3, 0.003), Now());
  }

  Pseudonym pseudonym() { return ledger.HeadOf("visits").pseudonym; }
};

TEST(ChainJsonTest, IsCanonicalAndComesBack) {
  Example example;
  const std::vector<Entry> entries = example.ledger.Entries("visits");
  const std::string text = ChainJson(example.pseudonym(), entries);
  const std::vector<Entry> again = ReadChainJson(text, "ledger.json");
  ASSERT_EQ(again.size(), entries.size());
  EXPECT_EQ(again.back().hash, example.ledger.HeadOf("visits").hash);
  EXPECT_EQ(ChainJson(example.pseudonym(), again), text);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.at("entries").at(0).at("kind"), "opened");
  EXPECT_EQ(json.at("entries").at(1).at("exact").at(0).at("variables").at(1), "x2");
  EXPECT_EQ(json.at("entries").at(5).at("why"), "north went away");
}

TEST(ChainJsonTest, AnyChangedCharacterIsNoticed) {
  Example example;
  const std::string text = ChainJson(example.pseudonym(), example.ledger.Entries("visits"));
  for (size_t at = 0; at < text.size(); at += 7) {
    std::string other = text;
    other[at] = other[at] == '1' ? '2' : '1';
    if (other == text) continue;
    try {
      ReadChainJson(other, "ledger.json");
      FAIL() << "character " << at;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kBadInput || error.code() == ErrorCode::kRefused);
    }
  }
  for (const std::string& junk :
       {std::string(), std::string("{}"), std::string("[]"), text + " ",
        text.substr(0, text.size() / 2), std::string("null"), std::string(100'000, '[')}) {
    ExpectError(
        ErrorCode::kBadInput, [&] { ReadChainJson(junk, "ledger.json"); }, "ledger.json");
  }
}

TEST(VerifyTest, FindsClaimsThatDoNotFollow) {
  Example example;
  const Pseudonym pseudonym = example.pseudonym();
  const std::vector<Entry> entries = example.ledger.Entries("visits");
  VerifyEntries(pseudonym, entries);
  // Change one entry and compute all hashes from there anew: only its content is wrong.
  const auto refused = [&](size_t index, auto change) {
    std::vector<Entry> changed = entries;
    change(changed[index].body);
    Digest hash = ChainStart(pseudonym);
    for (Entry& entry : changed) entry.hash = hash = ChainNext(hash, EncodeEntry(entry));
    ExpectError(ErrorCode::kRefused, [&] { VerifyEntries(pseudonym, changed); });
  };
  refused(0, [](EntryBody& b) { ++std::get<Opened>(b).outside.budget.rdp; });
  refused(0, [](EntryBody& b) { std::get<Opened>(b).policy.outside.epsilon = "0.9"; });
  refused(1, [](EntryBody& b) { --std::get<Reserved>(b).insider.rdp; });
  refused(1, [](EntryBody& b) { std::get<Reserved>(b).charges[0].count = 2; });
  refused(1, [](EntryBody& b) { std::get<Reserved>(b).run_id[0] ^= 1; });  // the receipt
  refused(2, [](EntryBody& b) { std::get<Countersigned>(b).signature[0] ^= 1; });
  refused(2, [](EntryBody& b) { std::get<Countersigned>(b).head = 1; });
  refused(3, [](EntryBody& b) { std::get<Spent>(b).reservation = 5; });
  refused(5, [](EntryBody& b) { std::get<Refunded>(b).reservation = 2; });
  refused(6, [](EntryBody& b) { --std::get<PolicyChanged>(b).outside.rdp; });
  refused(6, [](EntryBody& b) { ++std::get<PolicyChanged>(b).insider_filter->budget.rdp; });
  refused(6, [](EntryBody& b) { std::get<PolicyChanged>(b).why.clear(); });
}

TEST(StandingTest, EveryLaterStatementNamesTheExactReleases) {
  Example example;
  const std::vector<std::string> sentences = Qualifications(example.ledger.StandingOf("visits"));
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0],
            "This release alone; 1 exact result was released before from table visits.");
  EXPECT_NE(sentences[1].find("changed 1 time"), std::string::npos);
  const Folder folder;
  const LedgerOptions options{folder / "ledger", std::chrono::milliseconds(200), ""};
  SqliteLedger::Create(options);
  SqliteLedger fresh(options);
  crypto::SystemRandom random;
  fresh.OpenAccount(PolicyOf("visits"), random, Now());
  EXPECT_TRUE(Qualifications(fresh.StandingOf("visits")).empty());
}

// Of epsilon 1 at delta 1e-6, after rho 0.001: by the conversion at the best of all orders.
std::string LeftAfterTheFirstStudy() {
  double low = 0, high = 1;
  for (int i = 0; i < 100; ++i) {
    const double rho = (low + high) / 2;
    (ZcdpEpsilon(rho, 1e-6) <= 1 ? low : high) = rho;
  }
  return fmt::format("{:.2f} %", std::floor((1 - 0.001 / low) * 1e4) / 100);
}

TEST(StandingTest, TextsNameWhatIsThere) {
  Example example;
  const Standing standing = example.ledger.StandingOf("visits");
  const std::string text = StandingText(standing);
  for (const char* part : {"Table visits: 1 study spent, 1 open", "outsiders", "each insider",
                           "replace", "1 of 3 results without noise", "This release alone"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  const std::string left = LeftAfterTheFirstStudy();
  const std::string history = HistoryText(example.ledger.Entries("visits"));
  for (const char* part :
       {"2026-09-21 14:13", "operator", "growth", "refunded: north went away", "spent", "reserved",
        "the board said so", "rho 0.003", "1 without noise", "left then", left.c_str()})
    EXPECT_NE(history.find(part), std::string::npos) << part << " is not in\n" << history;
  EXPECT_EQ(HistoryText({}), "  No study has used this table.\n");
  const auto json = nlohmann::json::parse(StandingJson(standing));
  EXPECT_EQ(json.at("outside").at("spent").at("rdp_units"),
            std::to_string(standing.spent.outside.rdp));
  EXPECT_EQ(json.at("exact_values_spent"), 7);
}

TEST(StandingTest, CountsHowManyMoreStudiesFit) {
  Standing standing;
  standing.outside.budget = {100, 10};
  standing.insider = Filter{2 << 16, {50, 10}};
  standing.spent.outside = {20, 0};
  standing.reserved.outside = {20, 4};
  EXPECT_EQ(StudiesLeft(standing, {7, 0}, {1, 0}), 8u);
  EXPECT_EQ(StudiesLeft(standing, {7, 0}, {7, 0}), 7u);
  EXPECT_EQ(StudiesLeft(standing, {1, 3}, {1, 0}), 2u);
  EXPECT_EQ(StudiesLeft(standing, {61, 0}, {1, 0}), 0u);
}

// --- the epsilon of what was charged, had it been planned at once
// ---------------------------------

Reserved WithMechanism(const ChargedMechanism& mechanism, uint64_t count) {
  Reserved reserved;
  reserved.charges = {{"m", {}, Adjacency::kReplace, mechanism, count}};
  return reserved;
}

Bounds EpsilonOf(const std::vector<Reserved>& studies) {
  std::vector<Entry> entries;
  for (const Reserved& study : studies) entries.push_back({entries.size() + 1, Now(), study, {}});
  return NonAdaptiveEpsilon(entries, PolicyOf("visits"), AdversaryClass::kOutside);
}

TEST(InformationTest, GaussiansTogetherAreOneGaussian) {
  // Four of sigma 2 and one of sigma 1, sensitivity 1: as one of sigma 1/sqrt(2).
  const ChargedMechanism wide = GridGaussian{{{uint64_t{4} << 40, 1, 0}, 1, 1}, 0x1p20};
  const ChargedMechanism narrow = GridGaussian{{{uint64_t{1} << 40, 1, 0}, 1, 1}, 0x1p20};
  const Bounds both = EpsilonOf({WithMechanism(wide, 4), WithMechanism(narrow, 1)});
  const Bounds one = GaussianEpsilon(L2Sensitivity(1), std::sqrt(0.5), Delta(1e-6));
  EXPECT_LE(both.lower, one.upper * (1 + 1e-9));
  EXPECT_GE(both.upper, one.lower * (1 - 1e-9));
  EXPECT_LE(both.upper - both.lower, 2e-3 * both.upper);
}

TEST(InformationTest, IsBelowWhatTheFilterCharged) {
  const Filter filter = DesignFilter(PolicyOf("visits").outside);
  const ChargedMechanism gaussian = GridGaussian{{{uint64_t{400} << 40, 1, 0}, 2, 1}, 0x1p20};
  const Cost cost = CostOf(gaussian, 20, filter.order) + CostOf(PureDp{0.05}, 3, filter.order);
  const Bounds epsilon = EpsilonOf({WithMechanism(gaussian, 20), WithMechanism(PureDp{0.05}, 3)});
  EXPECT_GT(epsilon.lower, 0);
  EXPECT_LT(epsilon.upper, EpsilonAfter(PolicyOf("visits").outside, filter, cost));
}

TEST(InformationTest, LeavesOutRefundsAndKnowsRhoAlone) {
  EXPECT_EQ(EpsilonOf({}).upper, 0);
  std::vector<Entry> entries = {{1, Now(), WithMechanism(ZeroConcentrated{0.01}, 2), {}},
                                {2, Now(), WithMechanism(PureDp{0.1}, 1), {}},
                                {3, Now(), Refunded{2, "x"}, {}}};
  const Bounds epsilon = NonAdaptiveEpsilon(entries, PolicyOf("visits"), AdversaryClass::kOutside);
  EXPECT_EQ(epsilon.lower, 0);
  EXPECT_NEAR(epsilon.upper, ZcdpEpsilon(0.02, 1e-6), 1e-6);
  Policy trusting = PolicyOf("visits");
  trusting.insider.reset();
  ExpectError(ErrorCode::kUsage,
              [&] { NonAdaptiveEpsilon(entries, trusting, AdversaryClass::kInsider); });
}

}  // namespace
}  // namespace partita::privacy::ledger::audit_test
