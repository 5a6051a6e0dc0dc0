#include "run/method/plan_privacy.h"

#include <fmt/format.h>

#include "privacy/rounded_text.h"
#include "run/party/study_engine.h"

namespace partita::run {
namespace {

constexpr int kDigits = 4;

std::string PlanLossText(const privacy::StatementRow& row) {
  if (row.loss.infinite) return "no bound: " + row.reason;
  return fmt::format(
      "eps <= {} (true value >= {}) at delta = {}, if all computing parties follow the protocol; "
      "{}{}",
      privacy::RoundedText(row.loss.epsilon_upper, kDigits, true),
      privacy::RoundedText(row.loss.epsilon_lower, kDigits, false),
      privacy::DeltaText(row.loss.delta), row.reason, privacy::WeaknessText(row.loss));
}

std::string RepairCaveat(const Study& study) {
  const study::DesignSpec& design = study.file.design;
  const bool fill = design.faulty_rows == study::FaultyRowsRule::kFill;
  const char* faulty = design.missing != study::MissingPolicy::kRefuse ? "is incomplete"
                       : fill ? "counts with the middle of the bounds or the reference level there"
                              : "contributes nothing";
  return fmt::format(
      "A cell outside the bounds of the dictionary counts as the nearest bound, and a "
      "row without a usable value in a variable of the study {}; how many there are "
      "only their holder learns.",
      faulty);
}

}  // namespace

privacy::EngineStructure StructureOf(const study::EngineSpec& engine) {
  if (engine.threshold) return privacy::EngineStructure::Threshold(*engine.threshold);
  if (engine.name == "replicated") return privacy::EngineStructure::kReplicated;
  if (engine.name == "shamir") return privacy::EngineStructure::kHonestMajority;
  return engine.name == "ot" ? privacy::EngineStructure::kTwoParties
                             : privacy::EngineStructure::kDealer;
}

void AddStudyCaveats(const Study& study, std::string repaired, privacy::Statement& statement) {
  statement.caveats.emplace_back(
      study.shared_blocks.empty()
          ? "Every holder scales and clips its own rows, and nobody can check that it does: one "
            "that does not breaks this for its own rows."
          : "Every holder scales and clips its own columns, and nobody can check that it does: one "
            "whose column is not clipped breaks this for the rows that it shares with others, "
            "whoever holds their other columns.");
  statement.caveats.push_back(std::move(repaired));
  statement.caveats.emplace_back(
      "What the others see without any bound: that a holder refuses to approve or does not come, "
      "and that it stops because its file is no table of this study (no CSV, another header, "
      "other numbers of rows than declared or more than the method takes, keys that are missing, "
      "repeated or not those of the other holders of a block).");
}

void AddStudyCaveats(const Study& study, privacy::Statement& statement) {
  AddStudyCaveats(study, RepairCaveat(study), statement);
}

void AddEngineBounds(const Study& study, std::vector<study::PlanPrivacy>& rows) {
  if (study.file.engine.name == "replicated") {
    rows.push_back({"any 2 computing parties together", "",
                    "no bound: engine 'replicated' protects against one"});
  }
  if (study.file.engine.name == "shamir") {
    const size_t most = ThresholdOf(study);
    rows.push_back({fmt::format("any {} computing parties together", most + 1), "",
                    fmt::format("no bound: engine 'shamir' protects against {} of {}", most,
                                study.num_computing)});
  }
  if (study.file.engine.name == "dealer") {
    rows.push_back({"the dealer together with any party", "",
                    "no bound: the dealer must collude with nobody"});
  }
}

void AddNoBounds(const Study& study, std::vector<study::PlanPrivacy>& rows) {
  rows.push_back(
      {study.file.engine.name == "dealer" ? "every party but the dealer" : "every party", "",
       "no bound: the releases are exact, and nothing limits what they say about one person"});
  AddEngineBounds(study, rows);
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
  std::vector<std::string> sentences = {statement.mechanism};
  for (std::string& sentence : privacy::PlainSentences(statement))
    sentences.push_back(std::move(sentence));
  sentences.insert(sentences.end(), statement.caveats.begin(), statement.caveats.end());
  return sentences;
}

}  // namespace partita::run
