// The rules of one account: against an independent model, at the edges, and with broken chains.
#include "privacy/ledger/account_state.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "tests/privacy/ledger/fixtures.h"

namespace partita::privacy::ledger::account_state_test {
namespace {

Opened OpenedWith(const Policy& policy) {
  Opened opened{policy, DesignFilter(policy.outside), std::nullopt};
  if (policy.insider.has_value()) opened.insider = DesignFilter(*policy.insider);
  return opened;
}

AccountState OpenState(const Policy& policy) {
  AccountState state(Pseudonym{1, 2, 3});
  state.Append(Now(), OpenedWith(policy));
  return state;
}

// With costs of the test's choice: what the state machine does with units is not about mechanisms.
Reserved Asking(uint64_t run, const Cost& outside, const Cost& insider, size_t exact = 0) {
  Reserved reserved;
  reserved.run_id = DigestOf(run);
  reserved.study = "growth";
  reserved.charges = Charges(0.01);
  reserved.outside = outside;
  reserved.insider = insider;
  for (size_t i = 0; i < exact; ++i)
    reserved.exact.push_back({"fit", "the fit", "all", 7, 10, {"x1", "x2"}});
  return reserved;
}

// --- R30: any sequence of calls against a model in plain numbers
// -----------------------------------

// Caps of a few hundred units, so that sequences run into them.
constexpr uint64_t kCap = 300;

AccountState SmallState() {
  Opened opened = OpenedWith(PolicyOf("visits"));
  opened.outside.budget = {kCap, 40};
  opened.insider->budget = {kCap / 2, 40};
  AccountState state(Pseudonym{9});
  state.Append(Now(), opened);
  return state;
}

struct ModelReservation {
  uint64_t outside = 0, insider = 0, exact = 0;
};

struct Model {
  std::map<uint64_t, ModelReservation> open;
  ModelReservation spent;

  uint64_t Sum(uint64_t ModelReservation::*field) const {
    uint64_t sum = spent.*field;
    for (const auto& [number, reservation] : open) sum += reservation.*field;
    return sum;
  }
  bool Allows(const ModelReservation& asked) const {
    return Sum(&ModelReservation::outside) + asked.outside <= kCap &&
           Sum(&ModelReservation::insider) + asked.insider <= kCap / 2 &&
           Sum(&ModelReservation::exact) + asked.exact <= 3;
  }
};

template <typename Body>
bool Accepts(AccountState& state, const Body& body) {
  const Head before = state.head();
  try {
    state.Append(Now(), body);
    return true;
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::kBudget || error.code() == ErrorCode::kRefused);
    RC_ASSERT(state.head() == before);
    return false;
  }
}

void PlayOne(AccountState& state, Model& model, uint64_t run) {
  const int action = *rc::gen::inRange(0, 10);
  // Also numbers that were closed before, or never existed.
  const uint64_t number = *rc::gen::inRange<uint64_t>(1, state.head().sequence + 2);
  const bool open = model.open.contains(number);
  if (action < 6) {
    const ModelReservation asked{*rc::gen::inRange<uint64_t>(1, 60),
                                 *rc::gen::inRange<uint64_t>(1, 40),
                                 *rc::gen::inRange<uint64_t>(0, 2)};
    const bool expected = model.Allows(asked);
    RC_ASSERT(Accepts(state, Asking(run, {asked.outside, 0}, {asked.insider, 0}, asked.exact)) ==
              expected);
    if (expected) model.open[state.head().sequence] = asked;
  } else if (action < 8) {
    RC_ASSERT(Accepts(state, Spent{number}) == open);
    if (open) {
      model.spent.outside += model.open[number].outside;
      model.spent.insider += model.open[number].insider;
      model.spent.exact += model.open[number].exact;
      model.open.erase(number);
    }
  } else {
    RC_ASSERT(Accepts(state, Refunded{number, "nothing was sent"}) == open);
    model.open.erase(number);
  }
}

void RequireAgreement(const AccountState& state, const Model& model) {
  RC_ASSERT(state.spent().outside.rdp == model.spent.outside);
  RC_ASSERT(state.spent().insider.rdp == model.spent.insider);
  RC_ASSERT(state.spent().exact == model.spent.exact);
  RC_ASSERT(state.spent().outside.rdp + state.reserved().outside.rdp ==
            model.Sum(&ModelReservation::outside));
  RC_ASSERT(state.spent().insider.rdp + state.reserved().insider.rdp ==
            model.Sum(&ModelReservation::insider));
  RC_ASSERT(state.reservations().size() == model.open.size());
  RC_ASSERT(model.Sum(&ModelReservation::outside) <= kCap);
  RC_ASSERT(model.Sum(&ModelReservation::insider) <= kCap / 2);
}

TEST(AccountStateTest, AnySequenceOfCallsKeepsTheBudget) {
  const bool ok = rc::check([] {
    AccountState state = SmallState();
    Model model;
    const int steps = *rc::gen::inRange(1, 80);
    for (int step = 0; step < steps; ++step) {
      PlayOne(state, model, static_cast<uint64_t>(step));
      RequireAgreement(state, model);
    }
  });
  EXPECT_TRUE(ok);
}

// A crash forgets nothing but what is in memory: folding the entries again gives the same state.
TEST(AccountStateTest, FoldingTheEntriesAgainGivesTheSameState) {
  const bool ok = rc::check([] {
    AccountState state = SmallState();
    std::vector<Entry> entries;
    AccountState twin(Pseudonym{9});
    Opened opened = OpenedWith(PolicyOf("visits"));
    opened.outside.budget = {kCap, 40};
    opened.insider->budget = {kCap / 2, 40};
    entries.push_back(AccountState(Pseudonym{9}).Append(Now(), opened));
    for (int step = 0; step < 30; ++step) {
      const uint64_t number = *rc::gen::inRange<uint64_t>(1, state.head().sequence + 1);
      const int action = *rc::gen::inRange(0, 4);
      try {
        if (action < 2)
          entries.push_back(state.Append(Now(), Asking(step, {20, 0}, {10, 0})));
        else if (action == 2)
          entries.push_back(state.Append(Now(), Spent{number}));
        else
          entries.push_back(state.Append(Now(), Refunded{number, "died"}));
      } catch (const Error&) {
        continue;
      }
    }
    for (const Entry& entry : entries) twin.Replay(EncodeEntry(entry), entry.hash);
    RC_ASSERT(twin.head() == state.head());
    RC_ASSERT(twin.spent() == state.spent());
    RC_ASSERT(twin.reserved() == state.reserved());
    RC_ASSERT(twin.reservations().size() == state.reservations().size());
  });
  EXPECT_TRUE(ok);
}

// --- R34
// -------------------------------------------------------------------------------------------

TEST(AccountStateTest, TheLastUnitCanBeSpentAndNotOneMore) {
  AccountState state = OpenState(PolicyOf("visits"));
  const uint64_t cap = state.outside().budget.rdp;
  state.Append(Now(), Asking(1, {cap - 1, 0}, {1, 0}));
  ExpectError(
      ErrorCode::kBudget,
      [&] {
        state.Check(Asking(2, {2, 0}, {1, 0}));
      },
      "outside");
  state.Append(Now(), Asking(2, {1, 0}, {1, 0}));
  ExpectError(
      ErrorCode::kBudget,
      [&] {
        state.Check(Asking(3, {1, 0}, {1, 0}));
      },
      "outside");
  // The largest terms do not wrap.
  ExpectError(
      ErrorCode::kBudget,
      [&] {
        state.Check(Asking(3, {kMaxUnits, kMaxUnits}, {1, 0}));
      },
      "outside");
  // No delta was set aside.
  ExpectError(
      ErrorCode::kBudget,
      [&] {
        OpenState(PolicyOf("visits")).Check(Asking(3, {1, 1}, {1, 0}));
      },
      "approximate_delta");
  ExpectError(
      ErrorCode::kBudget,
      [&] {
        OpenState(PolicyOf("visits")).Check(Asking(3, {1, 0}, {cap + 1, 0}));
      },
      "insider");
}

TEST(AccountStateTest, ARefusalNamesTableCapSpentReservedAndAsked) {
  AccountState state = OpenState(PolicyOf("visits", "2"));
  const uint64_t cap = state.outside().budget.rdp;
  const Entry reservation = state.Append(Now(), Asking(1, {cap / 2, 0}, {1, 0}));
  state.Append(Now(), Spent{reservation.sequence});
  state.Append(Now(), Asking(2, {cap / 4, 0}, {1, 0}));
  try {
    state.Check(Asking(3, {cap / 2, 0}, {1, 0}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "table visits: the outside budget of epsilon 2 at delta 1e-6 does not allow this "
              "study: spent 50.00 %, reserved by other runs 25.00 %, asked 50.00 %");
    EXPECT_NE(error.hint().find("steward"), std::string::npos);
  }
}

// --- what a reservation must state
// -----------------------------------------------------------------

TEST(AccountStateTest, EveryBudgetMustBeCharged) {
  const AccountState state = OpenState(PolicyOf("visits"));
  const auto refused = [&](auto change, ErrorCode code, const std::string& part) {
    Reserved reserved = Asking(1, {1, 0}, {1, 0});
    change(reserved);
    ExpectError(
        code, [&] { state.Check(reserved); }, part);
  };
  state.Check(Asking(1, {1, 0}, {1, 0}));
  refused([](Reserved& r) { r.charges.pop_back(); }, ErrorCode::kRefused, "insiders");
  refused([](Reserved& r) { r.charges.erase(r.charges.begin()); }, ErrorCode::kRefused,
          "outsiders");
  refused([](Reserved& r) { r.charges[0].adjacency = Adjacency::kAddRemove; }, ErrorCode::kRefused,
          "add-remove");
  refused([](Reserved& r) { r.charges[1].adversary.with_dealer = true; }, ErrorCode::kUsage,
          "unlimited");
  refused([](Reserved& r) { r.charges[1].adversary.party.clear(); }, ErrorCode::kUsage, "nobody");
  refused([](Reserved& r) { r.charges[0].adversary.size = 2; }, ErrorCode::kUsage, "nobody");
  refused([](Reserved& r) { r.charges.clear(); }, ErrorCode::kUsage, "nothing");
}

TEST(AccountStateTest, ADeclaredCoalitionMustBeCharged) {
  Policy policy = PolicyOf("visits");
  policy.coalition = 2;
  const AccountState state = OpenState(policy);
  Reserved reserved = Asking(1, {1, 0}, {1, 0});
  ExpectError(
      ErrorCode::kRefused, [&] { state.Check(reserved); }, "any 2 parties together");
  reserved.charges[1].adversary = {AdversaryKind::kCoalition, "", 2, false};
  state.Check(reserved);
  reserved.charges[1].adversary.size = 1;
  ExpectError(
      ErrorCode::kRefused, [&] { state.Check(reserved); }, "any 2 parties together");
}

TEST(AccountStateTest, TrustedInsidersNeedNoCharge) {
  Policy policy = PolicyOf("visits");
  policy.insider.reset();
  const AccountState state = OpenState(policy);
  const Reserved reserved = state.Price(DigestOf(1), {}, "growth", {Charges(0.01)[0]}, {});
  state.Check(reserved);
  EXPECT_EQ(reserved.insider, Cost{});
}

TEST(AccountStateTest, InsidersCostTheOneWhoLearnsMost) {
  const AccountState state = OpenState(PolicyOf("visits"));
  std::vector<Charge> charges = Charges(0.01);
  Charge south = charges[1];
  south.adversary.party = "south";
  south.mechanism = ZeroConcentrated{0.02};
  charges.push_back(south);
  south.release = "scores";
  south.mechanism = ZeroConcentrated{0.03};
  charges.push_back(south);
  const Reserved reserved = state.Price(DigestOf(1), {}, "growth", charges, {});
  const uint64_t order = state.insider()->order;
  EXPECT_EQ(reserved.insider,
            CostOf(ZeroConcentrated{0.02}, 1, order) + CostOf(ZeroConcentrated{0.03}, 1, order));
  EXPECT_EQ(reserved.outside, CostOf(ZeroConcentrated{0.01}, 1, state.outside().order));
}

TEST(AccountStateTest, ExactReleasesFollowThePolicy) {
  Policy policy = PolicyOf("visits");
  policy.exact = ExactRule::kRefused;
  policy.max_exact = 0;
  ExpectError(
      ErrorCode::kRefused,
      [&] {
        OpenState(policy).Check(Asking(1, {1, 0}, {1, 0}, 1));
      },
      "without noise");
  policy.exact = ExactRule::kAllowed;
  OpenState(policy).Check(Asking(1, {1, 0}, {1, 0}, 1000));
  policy.exact = ExactRule::kCounted;
  policy.max_exact = 3;
  AccountState state = OpenState(policy);
  const Entry two = state.Append(Now(), Asking(1, {1, 0}, {1, 0}, 2));
  ExpectError(
      ErrorCode::kRefused,
      [&] {
        state.Check(Asking(2, {1, 0}, {1, 0}, 2));
      },
      "3 results");
  state.Append(Now(), Asking(2, {1, 0}, {1, 0}, 1));
  state.Append(Now(), Spent{two.sequence});
  EXPECT_EQ(state.spent().exact, 2u);
  EXPECT_EQ(state.spent().exact_values, 14u);
  ExpectError(
      ErrorCode::kRefused,
      [&] {
        state.Check(Asking(3, {1, 0}, {1, 0}, 1));
      },
      "3 results");
  // Exact numbers alone need no charge.
  Reserved exact_only = Asking(4, {}, {}, 1);
  exact_only.charges.clear();
  OpenState(policy).Check(exact_only);
}

TEST(AccountStateTest, ARunReservesOnce) {
  AccountState state = OpenState(PolicyOf("visits"));
  state.Append(Now(), Asking(1, {1, 0}, {1, 0}));
  ExpectError(
      ErrorCode::kRefused,
      [&] {
        state.Check(Asking(1, {1, 0}, {1, 0}));
      },
      "entry 2");
  state.Check(Asking(2, {1, 0}, {1, 0}));
}

TEST(AccountStateTest, ARefundNeedsAReasonAndSpentStaysSpent) {
  AccountState state = OpenState(PolicyOf("visits"));
  const uint64_t number = state.Append(Now(), Asking(1, {5, 0}, {5, 0})).sequence;
  ExpectError(
      ErrorCode::kUsage,
      [&] {
        state.Check(Refunded{number, ""});
      },
      "reason");
  state.Append(Now(), Spent{number});
  ExpectError(
      ErrorCode::kRefused,
      [&] {
        state.Check(Refunded{number, "please"});
      },
      "not open");
  ExpectError(
      ErrorCode::kRefused, [&] { state.Check(Spent{number}); }, "not open");
  EXPECT_EQ(state.spent().outside.rdp, 5u);
  EXPECT_EQ(state.studies_spent(), 1u);
}

// --- policy changes
// --------------------------------------------------------------------------------

TEST(AccountStateTest, AChangedPolicyCountsWhatWasSpentAtItsOwnOrder) {
  AccountState state(Pseudonym{4});
  std::vector<Entry> entries = {state.Append(Now(), OpenedWith(PolicyOf("visits", "1")))};
  const Reserved asked = state.Price(DigestOf(1), {}, "growth", Charges(0.01), {});
  entries.push_back(state.Append(Now(), asked));
  entries.push_back(state.Append(Now(), Spent{2}));
  const Policy wider = PolicyOf("visits", "10");
  ExpectError(
      ErrorCode::kRefused, [&] { state.Check(PlanPolicyChange(wider, entries, "")); }, "reason");
  entries.push_back(state.Append(Now(), PlanPolicyChange(wider, entries, "the board said so")));
  const uint64_t order = DesignFilter(wider.outside).order;
  EXPECT_NE(order, DesignFilter(PolicyOf("visits", "1").outside).order);
  EXPECT_EQ(state.spent().outside, CostOf(ZeroConcentrated{0.01}, 1, order));
  EXPECT_EQ(state.policy(), wider);
  EXPECT_EQ(state.policy_changes(), 1u);
  // Back to less than what is spent: nothing fits any more, and no reason is needed.
  const Policy narrow = PolicyOf("visits", "0.01");
  entries.push_back(state.Append(Now(), PlanPolicyChange(narrow, entries, "")));
  ExpectError(ErrorCode::kBudget,
              [&] { state.Check(state.Price(DigestOf(2), {}, "growth", Charges(1e-9), {})); });
}

TEST(AccountStateTest, APolicyDoesNotChangeUnderARunNorAgainstEarlierCharges) {
  AccountState state(Pseudonym{4});
  Policy trusting = PolicyOf("visits");
  trusting.insider.reset();
  std::vector<Entry> entries = {state.Append(Now(), OpenedWith(trusting))};
  entries.push_back(
      state.Append(Now(), state.Price(DigestOf(1), {}, "growth", {Charges(0.01)[0]}, {})));
  ExpectError(
      ErrorCode::kRefused, [&] { state.Check(PlanPolicyChange(trusting, entries, "x")); },
      "reservations");
  entries.push_back(state.Append(Now(), Spent{2}));
  // Nobody knows what insiders learned from that study.
  ExpectError(
      ErrorCode::kRefused, [&] { PlanPolicyChange(PolicyOf("visits"), entries, "stricter"); },
      "insiders");
  Policy other = trusting;
  other.outside.adjacency = Adjacency::kAddRemove;
  ExpectError(
      ErrorCode::kRefused, [&] { PlanPolicyChange(other, entries, "x"); }, "add-remove");
  other = trusting;
  other.table = "patients";
  ExpectError(
      ErrorCode::kUsage, [&] { state.Check(PlanPolicyChange(other, entries, "x")); }, "name");
}

// --- entries as bytes
// ------------------------------------------------------------------------------

std::vector<Entry> OneOfEach() {
  AccountState state(Pseudonym{7});
  std::vector<Entry> entries = {state.Append(Now(), OpenedWith(PolicyOf("visits")))};
  std::vector<Charge> charges = Charges(0.001);
  charges.push_back({"a", {}, Adjacency::kReplace, PureDp{0.01}, 3});
  charges.push_back({"b", {}, Adjacency::kReplace, GridGaussian{{{3, 7, 80}, 3, 65}, 0x1p30}, 1});
  Reserved reserved =
      state.Price(DigestOf(5), DigestOf(6), "growth", charges, Asking(1, {}, {}, 1).exact);
  entries.push_back(state.Append(Now(), reserved));
  entries.push_back(state.Append(Now(), Countersigned{2, "north", 2, Bytes{1, 2}, Bytes{3}}));
  entries.push_back(state.Append(Now(), Refunded{2, "the peer went away"}));
  reserved.run_id = DigestOf(8);
  entries.push_back(state.Append(Now(), reserved));
  entries.push_back(state.Append(Now(), Spent{5}));
  entries.push_back(
      state.Append(Now(), PlanPolicyChange(PolicyOf("visits", "3"), entries, "the board")));
  return entries;
}

TEST(EntryTest, EveryEntryHasOneEncoding) {
  for (const Entry& entry : OneOfEach()) {
    const Bytes bytes = EncodeEntry(entry);
    EXPECT_EQ(EncodeEntry(DecodeEntry(bytes)), bytes) << EntryKind(entry.body);
    // Every prefix, and anything behind, is refused.
    for (size_t size = 0; size < bytes.size(); ++size)
      ExpectError(ErrorCode::kRefused, [&] { DecodeEntry(ByteView(bytes).first(size)); });
    Bytes longer = bytes;
    longer.push_back(0);
    ExpectError(ErrorCode::kRefused, [&] { DecodeEntry(longer); });
  }
}

TEST(EntryTest, AnyChangedByteBreaksTheChain) {
  const std::vector<Entry> entries = OneOfEach();
  for (size_t changed = 0; changed < entries.size(); ++changed) {
    AccountState before(Pseudonym{7});
    for (size_t i = 0; i < changed; ++i) before.Replay(EncodeEntry(entries[i]), entries[i].hash);
    const Bytes bytes = EncodeEntry(entries[changed]);
    for (size_t at = 0; at < bytes.size(); ++at) {
      Bytes other = bytes;
      other[at] ^= static_cast<uint8_t>(1 << at % 8);
      AccountState state = before;
      ExpectError(ErrorCode::kRefused, [&] { state.Replay(other, entries[changed].hash); });
      EXPECT_EQ(state.head(), before.head());
    }
  }
}

TEST(EntryTest, EntriesCannotBeLeftOutExchangedOrMoved) {
  const std::vector<Entry> entries = OneOfEach();
  const auto fold = [&](const std::vector<size_t>& order, const Pseudonym& pseudonym) {
    AccountState state(pseudonym);
    for (const size_t i : order) state.Replay(EncodeEntry(entries[i]), entries[i].hash);
  };
  fold({0, 1, 2, 3, 4, 5, 6}, Pseudonym{7});
  ExpectError(ErrorCode::kRefused, [&] { fold({0, 2}, Pseudonym{7}); });
  ExpectError(ErrorCode::kRefused, [&] { fold({1}, Pseudonym{7}); });
  ExpectError(ErrorCode::kRefused, [&] { fold({0, 1, 1}, Pseudonym{7}); });
  ExpectError(ErrorCode::kRefused, [&] { fold({0}, Pseudonym{8}); });
}

// A chain whose hashes are all right but that breaks a rule: somebody computed it anew.
TEST(EntryTest, AChainThatBreaksARuleIsRefusedAlthoughItsHashesAreRight) {
  AccountState state = OpenState(PolicyOf("visits"));
  const uint64_t cap = state.outside().budget.rdp;
  const Stamp stamp = Now();
  for (const EntryBody& body :
       {EntryBody(Asking(1, {cap + 1, 0}, {1, 0})), EntryBody(Spent{1}),
        EntryBody(Refunded{9, "x"}), EntryBody(OpenedWith(PolicyOf("visits")))}) {
    const Bytes bytes = EncodeEntry({2, stamp, body, {}});
    AccountState copy = state;
    ExpectError(
        ErrorCode::kRefused, [&] { copy.Replay(bytes, ChainNext(copy.head().hash, bytes)); },
        "visits");
  }
}

TEST(EntryTest, TextsAndListsAreLimited) {
  AccountState state = OpenState(PolicyOf("visits"));
  Reserved reserved = Asking(1, {1, 0}, {1, 0});
  reserved.study = std::string(401, 'a');
  ExpectError(
      ErrorCode::kUsage, [&] { state.Append(Now(), reserved); }, "401 bytes");
  reserved.study = "two\nlines";
  ExpectError(ErrorCode::kUsage, [&] { state.Append(Now(), reserved); });
  reserved.study = "growth";
  reserved.charges.resize(4097, reserved.charges[0]);
  reserved.charges.push_back(Charges(0.01)[1]);
  ExpectError(
      ErrorCode::kUsage, [&] { state.Append(Now(), reserved); }, "list");
  EXPECT_EQ(state.head().sequence, 1u);
}

}  // namespace
}  // namespace partita::privacy::ledger::account_state_test
