#include "runtime/plan_privacy.h"

#include <fmt/format.h>

#include "privacy/rounded_text.h"

namespace partita::runtime {
namespace {

constexpr int kDigits = 4;

std::string PlanLossText(const privacy::StatementRow& row) {
  if (row.loss.infinite) return "no bound: " + row.reason;
  return fmt::format(
      "eps <= {} (true value >= {}) at delta = {}, if all computing parties follow the protocol; "
      "{}",
      privacy::RoundedText(row.loss.epsilon_upper, kDigits, true),
      privacy::RoundedText(row.loss.epsilon_lower, kDigits, false),
      privacy::DeltaText(row.loss.delta), row.reason);
}

}  // namespace

privacy::EngineStructure StructureOf(const study::EngineSpec& engine) {
  if (engine.threshold) return privacy::EngineStructure::Threshold(*engine.threshold);
  if (engine.name == "replicated") return privacy::EngineStructure::kReplicated;
  if (engine.name == "shamir") return privacy::EngineStructure::kHonestMajority;
  return engine.name == "ot" ? privacy::EngineStructure::kTwoParties
                             : privacy::EngineStructure::kDealer;
}

std::vector<study::PlanPrivacy> PlanPrivacyRows(const privacy::Statement& statement) {
  std::vector<study::PlanPrivacy> rows;
  for (const privacy::StatementRow& row : statement.rows) {
    rows.push_back({privacy::AdversaryText(row.adversary),
                    row.loss.infinite ? "" : std::string(AdjacencyName(row.adjacency)),
                    PlanLossText(row)});
  }
  return rows;
}

std::vector<std::string> PlanPrivacySentences(const privacy::Statement& statement) {
  const privacy::StatementRow& outside = statement.rows.front();
  std::vector<std::string> sentences = {statement.mechanism,
                                        privacy::PlainSentence(outside.adjacency, outside.loss)};
  sentences.insert(sentences.end(), statement.caveats.begin(), statement.caveats.end());
  return sentences;
}

}  // namespace partita::runtime
