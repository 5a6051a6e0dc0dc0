#include "privacy/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_problem.h"
#include "base/text_table.h"
#include "privacy/rounded_text.h"

namespace partita::privacy {

std::string BeyondThreshold(const EngineStructure& engine) {
  std::string withstands = "single parties only";
  if (engine.kind == EngineStructure::Kind::kHonestMajority) {
    withstands = engine.threshold == 0 ? "fewer than half of the parties"
                                       : std::to_string(engine.threshold) + " of the parties";
  }
  return "the engine withstands " + withstands + ": together they open every input";
}
namespace {

using Json = nlohmann::ordered_json;

constexpr double kFalseAlarms = 0.05;
constexpr size_t kIndent = 2;
constexpr int kDigits = 4;

std::string_view KindName(AdversaryKind kind) {
  switch (kind) {
    case AdversaryKind::kOutsideAnalyst:
      return "outside-analyst";
    case AdversaryKind::kParty:
      return "party";
    case AdversaryKind::kCoalition:
      return "coalition";
    case AdversaryKind::kComputeNodes:
      return "compute-nodes";
    case AdversaryKind::kDealer:
      return "dealer";
    case AdversaryKind::kBatchObserver:
      return "batch-observer";
  }
  throw Error(ErrorCode::kInternal, "unknown adversary");
}

bool IsTradeOff(const std::vector<TradeOffPoint>& points) {
  double before = -1;
  for (const TradeOffPoint& point : points) {
    const bool good = point.alpha > before && point.alpha <= 1 && point.beta_lower >= 0 &&
                      point.beta_lower <= point.beta_upper && point.beta_upper <= 1 - point.alpha;
    if (!good) return false;
    before = point.alpha;
  }
  return true;
}

bool IsWellFormed(const PrivacyLoss& loss) {
  const bool beta_ok = !loss.beta_at_5_percent.has_value() ||
                       (*loss.beta_at_5_percent >= 0 && *loss.beta_at_5_percent <= 1);
  const bool mu_ok = !loss.mu.has_value() || (std::isfinite(*loss.mu) && *loss.mu >= 0);
  if (loss.infinite) {
    return !loss.mu.has_value() && !loss.beta_at_5_percent.has_value() && loss.trade_off.empty();
  }
  return beta_ok && mu_ok && IsTradeOff(loss.trade_off) && loss.epsilon_lower >= 0 &&
         loss.epsilon_lower <= loss.epsilon_upper && std::isfinite(loss.epsilon_upper) &&
         loss.delta >= 0 && loss.delta < 1;
}

std::string LossText(const PrivacyLoss& loss) {
  if (loss.infinite) return "unlimited";
  return RoundedText(loss.epsilon_upper, kDigits, true);
}

double Beta(const PrivacyLoss& loss) {
  if (loss.beta_at_5_percent.has_value()) return *loss.beta_at_5_percent;
  return BetaAt5Percent(loss.epsilon_upper, loss.delta);
}

Json LossJson(const PrivacyLoss& loss) {
  Json json;
  if (loss.infinite) {
    json["epsilon"] = "infinite";
    return json;
  }
  json["epsilon"] = {{"lower", loss.epsilon_lower}, {"upper", loss.epsilon_upper}};
  json["delta"] = loss.delta;
  if (loss.mu.has_value()) json["mu"] = *loss.mu;
  json["beta_at_5_percent_false_alarms"] = Beta(loss);
  for (const TradeOffPoint& point : loss.trade_off) {
    json["trade_off"].push_back({{"alpha", point.alpha},
                                 {"beta_lower", point.beta_lower},
                                 {"beta_upper", point.beta_upper}});
  }
  return json;
}

template <typename T>
std::optional<T> Optional(const Json& json, const char* key) {
  return json.contains(key) ? std::optional<T>(json.at(key).get<T>()) : std::nullopt;
}

PrivacyLoss ParseLoss(const Json& json) {
  PrivacyLoss loss;
  const Json& epsilon = json.at("epsilon");
  loss.infinite = epsilon == "infinite";
  if (loss.infinite) return loss;
  loss.epsilon_lower = epsilon.at("lower");
  loss.epsilon_upper = epsilon.at("upper");
  loss.delta = json.at("delta");
  loss.mu = Optional<double>(json, "mu");
  loss.beta_at_5_percent = json.at("beta_at_5_percent_false_alarms").get<double>();
  if (!json.contains("trade_off")) return loss;
  for (const Json& point : json.at("trade_off")) {
    loss.trade_off.push_back({point.at("alpha"), point.at("beta_lower"), point.at("beta_upper")});
  }
  return loss;
}

Adversary ParseAdversary(const Json& json) {
  Adversary adversary;
  const std::string name = json.at("kind");
  bool known = false;
  for (AdversaryKind kind :
       {AdversaryKind::kOutsideAnalyst, AdversaryKind::kParty, AdversaryKind::kCoalition,
        AdversaryKind::kComputeNodes, AdversaryKind::kDealer, AdversaryKind::kBatchObserver}) {
    if (KindName(kind) != name) continue;
    adversary.kind = kind;
    known = true;
  }
  if (!known) throw Error(ErrorCode::kBadInput, "unknown adversary " + name);
  adversary.party = json.value("party", "");
  adversary.size = json.value("size", 0U);
  adversary.with_dealer = json.value("with_dealer", false);
  return adversary;
}

Adjacency ParseAdjacency(const std::string& name) {
  for (Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplace}) {
    if (AdjacencyName(adjacency) == name) return adjacency;
  }
  throw Error(ErrorCode::kBadInput, "unknown adjacency " + name);
}

StatementRow ParseRow(const Json& json) {
  StatementRow row;
  row.adversary = ParseAdversary(json.at("adversary"));
  row.adjacency = ParseAdjacency(json.at("adjacency"));
  row.loss = ParseLoss(json);
  row.reason = json.at("reason");
  row.uses_cap = Optional<uint64_t>(json, "uses_cap");
  row.uses_realised = Optional<uint64_t>(json, "uses_realised");
  return row;
}

// The reason, with the uses if they were counted.
std::string Because(const StatementRow& row) {
  if (!row.uses_realised) return row.reason;
  return fmt::format("{}; used {} times in this run", row.reason, *row.uses_realised);
}

Json AdversaryJson(const Adversary& adversary) {
  Json json;
  json["kind"] = KindName(adversary.kind);
  if (!adversary.party.empty()) json["party"] = adversary.party;
  if (adversary.size != 0) json["size"] = adversary.size;
  if (adversary.with_dealer) json["with_dealer"] = true;
  json["text"] = AdversaryText(adversary);
  return json;
}

}  // namespace

void CheckStatement(const Statement& statement) {
  for (const StatementRow& row : statement.rows) {
    if (!IsWellFormed(row.loss)) {
      throw Error(ErrorCode::kInternal,
                  fmt::format("the privacy loss against {} is not well formed",
                              AdversaryText(row.adversary)));
    }
  }
  if (statement.rows.empty()) {
    throw Error(ErrorCode::kInternal, "a privacy statement names no adversary");
  }
}

std::string AdversaryText(const Adversary& adversary) {
  const char* dealer = adversary.with_dealer ? " together with the dealer" : "";
  switch (adversary.kind) {
    case AdversaryKind::kOutsideAnalyst:
      return "outside analyst";
    case AdversaryKind::kParty:
      return adversary.party.empty() ? fmt::format("any party{}", dealer)
                                     : fmt::format("party {}{}", adversary.party, dealer);
    case AdversaryKind::kCoalition:
      return fmt::format("any {} parties together{}", adversary.size,
                         adversary.with_dealer ? " and the dealer" : "");
    case AdversaryKind::kComputeNodes:
      return fmt::format("any {} compute nodes together", adversary.size);
    case AdversaryKind::kDealer:
      return "the dealer, with the published report";
    case AdversaryKind::kBatchObserver:
      return "whoever knows the batches";
  }
  throw Error(ErrorCode::kInternal, "unknown adversary");
}

std::string PlainSentence(Adjacency adjacency, const PrivacyLoss& loss) {
  if (loss.infinite) return "Nothing limits what this adversary learns about one person.";
  const char* question = adjacency == Adjacency::kAddRemove ? "whether one person is in the data"
                                                            : "which of two people is in the data";
  return fmt::format("Whoever guesses {}, with 5 % false alarms, is right at most {} of the time.",
                     question, RightGuessesText(loss));
}

std::vector<std::string> PlainSentences(const Statement& statement) {
  const StatementRow& outside = statement.rows.front();
  const StatementRow* worst = &outside;
  for (const StatementRow& row : statement.rows) {
    if (!row.loss.infinite && row.loss.epsilon_upper > worst->loss.epsilon_upper) worst = &row;
  }
  if (worst == &outside) return {PlainSentence(outside.adjacency, outside.loss)};
  const auto of = [](const StatementRow& row) {
    std::string sentence =
        AdversaryText(row.adversary) + ": " + PlainSentence(row.adjacency, row.loss);
    sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
    return sentence;
  };
  return {of(outside), of(*worst)};
}

std::string RightGuessesText(const PrivacyLoss& loss) {
  if (loss.infinite) return "100.0 %";
  return PercentText(OneMinus(Beta(loss)), 1, true);
}

std::string WeaknessText(const PrivacyLoss& loss) {
  constexpr double kProtectsNobody = 1e-3;
  if (loss.infinite || Beta(loss) > kProtectsNobody) return "";
  return fmt::format(
      "; so large that it protects nobody: whoever guesses with 5 % false alarms may be right {} "
      "of "
      "the time",
      RightGuessesText(loss));
}

double BetaAt5Percent(double epsilon, double delta) {
  if (!(epsilon >= 0 && delta >= 0 && delta < 1)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("epsilon {} at delta {} is no privacy loss", epsilon, delta));
  }
  const double steep = 1 - delta - std::exp(epsilon) * kFalseAlarms;
  const double flat = std::exp(-epsilon) * (1 - delta - kFalseAlarms);
  // Each has fewer than 8 roundings of a number below 1 (where it counts).
  return std::max(0.0, std::max(steep, flat) - 0x1p-49);
}

std::string StatementText(const Statement& statement) {
  CheckStatement(statement);
  TextTable table;
  table.header = {"adversary", "neighbours", "epsilon", "delta", "right guesses", "because"};
  table.right = {2, 3, 4};
  for (const StatementRow& row : statement.rows) {
    table.rows.push_back({AdversaryText(row.adversary), std::string(AdjacencyName(row.adjacency)),
                          LossText(row.loss), row.loss.infinite ? "-" : DeltaText(row.loss.delta),
                          RightGuessesText(row.loss), Because(row)});
  }
  std::string text = WrapText(statement.mechanism, kIndent) + RenderTable(table, kIndent);
  for (const std::string& sentence : PlainSentences(statement)) text += WrapText(sentence, kIndent);
  for (const std::string& caveat : statement.caveats) text += WrapText(caveat, kIndent);
  return text;
}

std::string StatementJson(const Statement& statement) {
  CheckStatement(statement);
  Json json;
  json["mechanism"] = statement.mechanism;
  json["rows"] = Json::array();
  for (const StatementRow& row : statement.rows) {
    Json entry;
    entry["adversary"] = AdversaryJson(row.adversary);
    entry["adjacency"] = AdjacencyName(row.adjacency);
    entry.update(LossJson(row.loss));
    entry["reason"] = row.reason;
    if (row.uses_cap) entry["uses_cap"] = *row.uses_cap;
    if (row.uses_realised) entry["uses_realised"] = *row.uses_realised;
    entry["sentence"] = PlainSentence(row.adjacency, row.loss);
    json["rows"].push_back(std::move(entry));
  }
  json["caveats"] = statement.caveats;
  return json.dump(2);
}

Statement ParseStatementJson(const std::string& text) {
  const auto refuse = [](const std::string& why) {
    return Error(ErrorCode::kBadInput, "this is no privacy statement of Partita: " + why,
                 "it is the `statement` of what `partita privacy eps --format json` writes");
  };
  try {
    const Json json = Json::parse(text);
    Statement statement;
    statement.mechanism = json.at("mechanism");
    for (const Json& row : json.at("rows")) statement.rows.push_back(ParseRow(row));
    statement.caveats = json.at("caveats").get<std::vector<std::string>>();
    CheckStatement(statement);
    return statement;
  } catch (const Json::exception& error) {
    throw refuse(JsonProblem(error.id, error.what()));
  } catch (const Error& error) {  // a loss that is none
    throw refuse(error.message());
  }
}

}  // namespace partita::privacy
