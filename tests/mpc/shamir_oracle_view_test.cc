// Exact privacy of the linear oracle of three parties of the engine `shamir`, over F_5.
#include <gtest/gtest.h>

#include "mpc/oracle_schedule.h"
#include "tests/mpc/shamir_views.h"

namespace partita::mpc::testing::shamir_views::shamir_oracle_view_test {
namespace {

// One run for every weight and its dealing's random element; in each, columns for every value, the
// random element of its dealing, and the term that the two who reply have in common.
class OracleTape : public Tape {
 public:
  static constexpr size_t kColumns = 125, kRuns = 25;
  OracleTape(PartyIndex owner, PartyIndex centre, bool honest, Group group)
      : owner_(owner), centre_(centre), honest_(honest), group_(group) {}
  static uint8_t Value(size_t column) { return static_cast<uint8_t>(column % 5); }
  static uint8_t Weight(size_t run) { return static_cast<uint8_t>(run % 5); }
  // What the group knows of one instance.
  std::string Known(size_t run, size_t column) const {
    std::string known;
    if (group_ == PairWithNext(owner_)) known.push_back(Dealt(column));
    if (group_ == PairWithNext(centre_)) known.push_back(static_cast<char>(run / 5));
    if (!shamir::IsMember(group_, centre_)) known.push_back(Common(column));
    return known;
  }
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    // Intervals are whole cipher blocks: the value's dealing, the weight's, the common term.
    constexpr size_t kLong = 128, kShort = 16, kRun = 2 * kLong + kShort;
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t run = (offset + i) / kRun, at = (offset + i) % kRun;
      out[i] = at < kLong            ? static_cast<uint8_t>(Dealt(at))
               : at < kLong + kShort ? static_cast<uint8_t>(run / 5)
                                     : static_cast<uint8_t>(Common(at - kLong - kShort));
    }
  }

 private:
  static Group PairWithNext(PartyIndex party) {
    return Group{1} << party | Group{1} << (party + 1) % 3;
  }
  static char Dealt(size_t column) { return static_cast<char>(column / 5 % 5); }
  char Common(size_t column) const { return honest_ ? static_cast<char>(column / 25 % 5) : '\0'; }

  PartyIndex owner_, centre_;
  bool honest_;
  Group group_;
};

Views EnumerateOracle(PartyIndex owner, PartyIndex centre, bool honest) {
  constexpr size_t kColumns = OracleTape::kColumns, kRuns = OracleTape::kRuns;
  IntMatrix values{{1, kColumns}, {}};
  for (size_t c = 0; c < kColumns; ++c) values.values.push_back(OracleTape::Value(c));
  Transcript transcript;
  RunOptions options;
  options.kind = "shamir";
  options.num_parties = 3;
  options.make = [&](net::Channel& channel, ReleaseGate& gate) {
    const GroupTapes tapes = [=](Group group) -> std::unique_ptr<Tape> {
      return std::make_unique<OracleTape>(owner, centre, honest, group);
    };
    return std::make_unique<ShamirEngine<Field5, 2>>(channel, gate, tapes, 0);
  };
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), transcript);
  };
  const OracleTask task{centre, 0, 0, {{"out", 1, 1}}};
  std::vector<IntMatrix> opened(kRuns);
  RunAll(options, [&](Engine& engine, size_t) {
    for (size_t run = 0; run < kRuns; ++run) {
      const Shared value = InputOf(engine, owner, values, 0.4);
      engine.RunOracle(value, task, [&](const OracleEvaluate& evaluate) {
        opened[run] = evaluate(0, {{1, 1}, {OracleTape::Weight(run)}});
      });
    }
  }).ThrowIfFailed();
  Views views;
  views.owners = {owner, centre};
  views.domain = {0, 1, 2, 3, 4};
  views.num_secrets = 25;
  views.num_instances = kRuns * kColumns;
  views.view.assign(3, std::vector<std::string>(views.num_instances));
  views.output = views.view;
  std::map<std::pair<PartyIndex, PartyIndex>, std::vector<Bytes>> received;
  for (PartyIndex from = 0; from < 3; ++from) {
    for (PartyIndex to = 0; to < 3; ++to) received[{from, to}] = transcript.Messages(from, to);
  }
  for (size_t i = 0; i < views.num_instances; ++i) {
    // The value, the weight, and the random numbers, lowest digit first.
    const size_t rest = i / 25, run = i / 5 % 5 + rest / 25 * 5;
    const size_t column = i % 5 + rest % 25 * 5;
    views.output[centre][i] = ToString(opened[run].values[column]);
    for (PartyIndex party = 0; party < 3; ++party) {
      std::string& seen = views.view[party][i];
      for (PartyIndex peer = 0; peer < 3; ++peer) {
        if (peer == party) continue;
        const OracleTape tape(owner, centre, honest, Group{1} << party | Group{1} << peer);
        seen += tape.Known(run, column);
        const std::vector<Bytes>& messages = received.at({peer, party});
        const size_t each = messages.size() / kRuns;
        for (size_t m = run * each; m < (run + 1) * each; ++m) {
          const size_t size = messages[m].size();
          if (size == kColumns) seen.push_back(static_cast<char>(messages[m][column]));
          if (size == kOracleHeadBytes + 1) seen.push_back(static_cast<char>(messages[m].back()));
        }
      }
    }
  }
  return views;
}

TEST(ShamirOracleViewTest, TheOracleTellsTheCentreItsProductsAndTheOthersNothing) {
  for (PartyIndex owner = 0; owner < 3; ++owner) {
    for (PartyIndex centre = 0; centre < 3; ++centre) {
      SCOPED_TRACE(std::to_string(owner) + " " + std::to_string(centre));
      const Views views = EnumerateOracle(owner, centre, true);
      ExpectPrivateForEach(views, 3);
      for (size_t i = 0; i < views.num_instances; ++i) {
        const Int128 product = views.Input(i, 0) * views.Input(i, 1);
        ASSERT_EQ(views.output[centre][i], ToString(Field5::ToSigned(Field5::FromSigned(product))));
      }
    }
  }
}

TEST(ShamirOracleViewTest, OracleRepliesWithoutACommonTermAreCaught) {
  EXPECT_GT(NumLeaks(EnumerateOracle(1, 0, false), {0}), 0u);
}

}  // namespace
}  // namespace partita::mpc::testing::shamir_views::shamir_oracle_view_test
