// A privacy statement: who, attacking what, learns at most how much about one person.
//
// A statement is a set of rows (adversary, adjacency -> privacy loss). There is no epsilon without
// an adversary and an adjacency (methods.md, R-h): noise that an adversary knows does not protect
// from it, and outside the structure that the engine withstands the loss is infinite. Renderers:
// terminal text, JSON, and the plain sentence. HTML is made in report/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "privacy/adjacency.h"

namespace partita::privacy {

// Who may pool what without seeing the inputs of the others.
struct EngineStructure {
  enum class Kind { kAllButOne, kSingle, kHonestMajority };
  Kind kind = Kind::kAllButOne;
  bool dealer = false;     // there is one; it and a party together see everything
  uint32_t threshold = 0;  // of kHonestMajority: so many at most; 0: any that are fewer than half

  static const EngineStructure kDealer;          // all but one party; never the dealer with a party
  static const EngineStructure kReplicated;      // one of three
  static const EngineStructure kTwoParties;      // one of two; there is no dealer
  static const EngineStructure kHonestMajority;  // fewer than half; there is no dealer
  static constexpr EngineStructure Threshold(uint32_t parties);  // so many; there is no dealer
  bool operator==(const EngineStructure&) const = default;
};
inline constexpr EngineStructure EngineStructure::kDealer = {Kind::kAllButOne, true};
inline constexpr EngineStructure EngineStructure::kReplicated = {Kind::kSingle};
inline constexpr EngineStructure EngineStructure::kTwoParties = {Kind::kAllButOne};
inline constexpr EngineStructure EngineStructure::kHonestMajority = {Kind::kHonestMajority};
constexpr EngineStructure EngineStructure::Threshold(uint32_t parties) {
  return {Kind::kHonestMajority, false, parties};
}

// Whether so many of the parties together learn nothing of the others' inputs.
constexpr bool Withstands(const EngineStructure& engine, uint32_t coalition, uint32_t parties) {
  switch (engine.kind) {
    case EngineStructure::Kind::kSingle:
      return coalition <= 1;
    case EngineStructure::Kind::kHonestMajority:
      return 2 * coalition < parties && (engine.threshold == 0 || coalition <= engine.threshold);
    case EngineStructure::Kind::kAllButOne:
      break;
  }
  return coalition < parties;
}
// Why a larger coalition has no bound, in the words of a statement.
std::string BeyondThreshold(const EngineStructure& engine);

enum class AdversaryKind {
  kOutsideAnalyst,  // sees the published result only
  kParty,           // one party: the result, its own data and its own noise share
  kCoalition,       // `size` parties that pool what they know
  kComputeNodes,    // `size` computing nodes that pool their shares
  kDealer,          // the dealer of correlated randomness, with the published result
  kBatchObserver,   // the result, and which rows were in which batch
};

struct Adversary {
  AdversaryKind kind = AdversaryKind::kOutsideAnalyst;
  std::string party;         // kParty: its name
  uint32_t size = 0;         // kCoalition, kComputeNodes
  bool with_dealer = false;  // kParty, kCoalition: the dealer is among them
};

// One point of a trade-off function: at a false-alarm rate of alpha every test misses with a
// probability of at least beta_lower (a guarantee), and some test with at most beta_upper.
struct TradeOffPoint {
  double alpha = 0;
  double beta_lower = 0;
  double beta_upper = 1;  // 1 - alpha says nothing

  bool operator==(const TradeOffPoint&) const = default;
};

// Unlimited, or epsilon within [epsilon_lower, epsilon_upper] at delta. mu: the loss is at most
// that of telling N(0,1) from N(mu,1), where that is known.
struct PrivacyLoss {
  bool infinite = false;
  double epsilon_lower = 0;
  double epsilon_upper = 0;
  double delta = 0;
  std::optional<double> mu;
  // Type II error at a false-alarm rate of 5 %: a LOWER bound of the trade-off function there.
  std::optional<double> beta_at_5_percent;
  std::vector<TradeOffPoint> trade_off = {};  // for plots, alpha increasing; empty: not computed

  bool operator==(const PrivacyLoss&) const = default;
};

struct StatementRow {
  Adversary adversary;
  Adjacency adjacency = Adjacency::kReplace;
  PrivacyLoss loss;
  std::string reason;  // one clause: what protects, or why nothing does
  // How often the record is used that is used most: what the loss is computed for, and what a run
  // counted.
  std::optional<uint64_t> uses_cap = std::nullopt;
  std::optional<uint64_t> uses_realised = std::nullopt;
};

struct Statement {
  std::string mechanism;  // one sentence with the parameters of the noise
  std::vector<StatementRow> rows;
  std::vector<std::string> caveats;  // whole sentences
};

// Throws kInternal unless every loss is well formed: no NaN, 0 <= lower <= upper < infinity,
// 0 < delta < 1 (or 0 for pure), beta in [0, 1], an epsilon of 0 only if delta says why (lower
// = 0 there), and trade-offs are points 0 <= beta_lower <= beta_upper <= 1 - alpha with alpha
// increasing.
void CheckStatement(const Statement& statement);

// "outside analyst", "party north", "any 2 parties together", "the dealer, with the published
// report", "whoever knows the batches".
std::string AdversaryText(const Adversary& adversary);

// "Whoever guesses whether one person is in the data, with 5 % false alarms, is right at most 12.3
// % of the time." For replacement: "which of two people is in the data". The percentage is 1 -
// beta, rounded up.
std::string PlainSentence(Adjacency adjacency, const PrivacyLoss& loss);

// The sentences for people: of the first row, and where an adversary with a bound learns more, of each of the
// two, named: "Party north: Whoever guesses ...". Of what has no bound the rows tell.
std::vector<std::string> PlainSentences(const Statement& statement);

// "12.3 %": the share of right guesses in that sentence. "100.0 %" for an infinite loss.
std::string RightGuessesText(const PrivacyLoss& loss);

// "; so large that it protects nobody: whoever guesses with 5 % false alarms may be right 99.9 % of
// the time", behind an epsilon under which that share may exceed 99.9 %; else empty.
std::string WeaknessText(const PrivacyLoss& loss);

// beta(5 %) of a trade-off that is at least that of (epsilon, delta):
// max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)), rounded down (Dong, Roth & Su 2022,
// eq. 5).
double BetaAt5Percent(double epsilon, double delta);

// `digits` significant digits, never on the wrong side of the value: up or down. 0 only for 0.
std::string RoundedText(double value, int digits, bool up);

// A table for the terminal, the plain sentence of the first row, then the caveats.
std::string StatementText(const Statement& statement);

// {"mechanism", "rows": [{"adversary", "adjacency", "epsilon": {"lower", "upper"} or "infinite",
// ...}], "caveats"}: numbers round-trip; infinite is the word, for JSON has no infinity.
std::string StatementJson(const Statement& statement);
// Its inverse. Throws kBadInput for anything else.
Statement ParseStatementJson(const std::string& json);

}  // namespace partita::privacy
