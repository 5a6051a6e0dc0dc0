#include "privacy/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text_table.h"

namespace partita::privacy {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kFalseAlarms = 0.05;
constexpr size_t kIndent = 2;

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
  }
  throw Error(ErrorCode::kInternal, "unknown adversary");
}

bool IsWellFormed(const PrivacyLoss& loss) {
  const bool beta_ok = !loss.beta_at_5_percent.has_value() ||
                       (*loss.beta_at_5_percent >= 0 && *loss.beta_at_5_percent <= 1);
  const bool mu_ok = !loss.mu.has_value() || (std::isfinite(*loss.mu) && *loss.mu >= 0);
  if (loss.infinite) return !loss.mu.has_value() && !loss.beta_at_5_percent.has_value();
  return beta_ok && mu_ok && loss.epsilon_lower >= 0 && loss.epsilon_lower <= loss.epsilon_upper &&
         std::isfinite(loss.epsilon_upper) && loss.delta >= 0 && loss.delta < 1;
}

// Four digits, never on the wrong side of the value.
std::string Rounded(double value, bool up) {
  if (value == 0) return "0";
  const std::string nearest = fmt::format("{:.3e}", value);
  const double shown = std::strtod(nearest.c_str(), nullptr);
  const bool wrong = up ? shown < value : shown > value;
  if (!wrong) return fmt::format("{:.4g}", shown);
  const int exponent = std::atoi(nearest.c_str() + nearest.find('e') + 1);
  const double unit = std::pow(10.0, exponent - 3);
  return fmt::format("{:.4g}", up ? shown + unit : std::max(0.0, shown - unit));
}

std::string LossText(const PrivacyLoss& loss) {
  if (loss.infinite) return "unlimited";
  return Rounded(loss.epsilon_upper, true);
}

double Beta(const PrivacyLoss& loss) {
  if (loss.beta_at_5_percent.has_value()) return *loss.beta_at_5_percent;
  return BetaAt5Percent(loss.epsilon_upper, loss.delta);
}

// The share of right guesses in percent, rounded up to one decimal.
std::string PowerText(const PrivacyLoss& loss) {
  if (loss.infinite) return "100.0 %";
  return fmt::format("{:.1f} %", std::ceil((1 - Beta(loss)) * 1000) / 10);
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
  return json;
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
  }
  throw Error(ErrorCode::kInternal, "unknown adversary");
}

std::string PlainSentence(Adjacency adjacency, const PrivacyLoss& loss) {
  if (loss.infinite) return "Nothing limits what this adversary learns about one person.";
  const char* question = adjacency == Adjacency::kAddRemove ? "whether one person is in the data"
                                                            : "which of two people is in the data";
  return fmt::format("Whoever guesses {}, with 5 % false alarms, is right at most {} of the time.",
                     question, PowerText(loss));
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
                          LossText(row.loss),
                          row.loss.infinite ? "-" : fmt::format("{:g}", row.loss.delta),
                          PowerText(row.loss), row.reason});
  }
  std::string text = WrapText(statement.mechanism, kIndent) + RenderTable(table, kIndent);
  text += WrapText(PlainSentence(statement.rows[0].adjacency, statement.rows[0].loss), kIndent);
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
    entry["sentence"] = PlainSentence(row.adjacency, row.loss);
    json["rows"].push_back(std::move(entry));
  }
  json["caveats"] = statement.caveats;
  return json.dump(2);
}

}  // namespace partita::privacy
