#include "report/plan_statements.h"

#include <algorithm>
#include <utility>

#include "privacy/rounded_text.h"
#include "privacy/statement.h"

namespace partita::report {
namespace {

bool HasRole(const study::PlanParty& party, const char* role) {
  return std::find(party.roles.begin(), party.roles.end(), role) != party.roles.end();
}

std::vector<std::string> PartiesWith(const study::Plan& plan, const char* role) {
  std::vector<std::string> names;
  for (const study::PlanParty& party : plan.parties) {
    if (HasRole(party, role)) names.push_back(party.name);
  }
  return names;
}

std::vector<std::string> ComputingParties(const study::Plan& plan) {
  std::vector<std::string> names;
  for (const study::PlanParty& party : plan.parties) {
    if (!HasRole(party, "dealer")) names.push_back(party.name);
  }
  return names;
}

// "epsilon at most 1.61 at delta = 1e-05 (replace)"; of plans without a statement, their own words.
std::vector<std::pair<std::string, std::string>> LossesByAdversary(const study::Plan& plan) {
  constexpr int kDigits = 3;
  std::vector<std::pair<std::string, std::string>> losses;
  if (!plan.privacy_statement) {
    for (const study::PlanPrivacy& row : plan.privacy) losses.emplace_back(row.adversary, row.loss);
    return losses;
  }
  for (const privacy::StatementRow& row : plan.privacy_statement->rows) {
    const std::string bound =
        row.loss.infinite
            ? "no bound"
            : "epsilon at most " + privacy::RoundedText(row.loss.epsilon_upper, kDigits, true) +
                  " at delta = " + privacy::DeltaText(row.loss.delta) + " (" +
                  std::string(AdjacencyName(row.adjacency)) + ")";
    losses.emplace_back(privacy::AdversaryText(row.adversary), bound);
  }
  return losses;
}

// What may be learned about one person, by whom: who learns as much is named together.
std::string Losses(const study::Plan& plan) {
  std::vector<std::pair<std::string, std::vector<std::string>>> who;
  for (const auto& [adversary, loss] : LossesByAdversary(plan)) {
    auto found = std::find_if(who.begin(), who.end(), [&, &bound = loss](const auto& entry) {
      return entry.first == bound;
    });
    if (found == who.end()) found = who.insert(who.end(), {loss, {}});
    found->second.push_back(adversary);
  }
  if (who.empty()) return "";
  std::string text;
  for (const auto& [loss, adversaries] : who)
    text += (text.empty() ? " Of one person may be learned, by " : "; by ") + List(adversaries) +
            ": " + loss;
  return text + ". This holds under the conditions of the privacy statement.";
}

Statement DifferentialPrivacy(const study::Plan& plan) {
  // Exact bits of random decisions are covered only where the whole study has a promise.
  const bool promises = std::none_of(plan.releases.begin(), plan.releases.end(),
                                     [](const auto& of) { return of.mechanism == "exact"; });
  std::vector<std::string> exact, receivers, noisy;
  for (const study::PlanRelease& release : plan.releases) {
    const bool is_exact = !promises && release.mechanism.starts_with("exact");
    (is_exact ? exact : noisy).push_back(release.id);
    if (is_exact && std::find(receivers.begin(), receivers.end(), release.to) == receivers.end())
      receivers.push_back(release.to);
  }
  if (plan.releases.empty()) {
    return {"differential-privacy",
            "NOT differentially private: no mechanism adds noise to what this study says."};
  }
  if (exact.empty()) {
    return {"differential-privacy",
            "Differentially private as the privacy statement says; it covers " + List(noisy) + "." +
                Losses(plan)};
  }
  return {"differential-privacy", "NOT differentially private: what is released to " +
                                      List(receivers) + " (" + List(exact) +
                                      ") is exact. Secure computation hides the rows from the "
                                      "parties, but nothing limits what the "
                                      "released numbers themselves say about single persons."};
}

// Who together could undo the protection: by the engine's trust assumption.
std::string Coalitions(const study::Plan& plan) {
  const std::vector<std::string> computing = ComputingParties(plan);
  const std::vector<std::string> dealers = PartiesWith(plan, "dealer");
  if (plan.engine == "dealer" && !dealers.empty()) {
    return "Together, the dealer " + dealers.front() + " and any one of " + List(computing) +
           " could compute what the others put in, down to rows where columns of several parties "
           "are multiplied: the dealer is trusted to see no data and to collude with nobody.";
  }
  if (plan.engine == "replicated") {
    return "Any two of " + List(computing) +
           " together could compute everything that the third puts in.";
  }
  if (plan.engine == "shamir") {
    // Results of before thresholds could be chosen have none.
    const size_t beyond = plan.threshold ? *plan.threshold + 1 : (computing.size() + 1) / 2;
    return "Any " + std::to_string(beyond) + " of " + List(computing) +
           " together could compute everything that the others put in; fewer cannot.";
  }
  if (plan.engine == "ot") {
    return "There is no third party to trust: what " + List(computing) +
           " send each other is protected by oblivious transfers, as long as the discrete "
           "logarithms behind them are hard and AES is sound.";
  }
  return "Parties beyond the threshold of the engine " + plan.engine +
         " together could compute what the others put in.";
}

Statement Adversary(const study::Plan& plan) {
  std::string text =
      "Protects against parties that follow the protocol: one that deviates can "
      "spoil the result or learn more, and is not detected. " +
      Coalitions(plan);
  const std::vector<std::string> receivers = PartiesWith(plan, "receiver");
  if (!receivers.empty() && PartiesWith(plan, "holder").size() > 1 && !AllNoisy(plan)) {
    text += " Whatever the engine, " + List(receivers) +
            " together with all other holders but one can compute what that one contributed to "
            "the released numbers.";
  }
  return {"adversary", text};
}

}  // namespace

std::string List(const std::vector<std::string>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  return text;
}

bool AllNoisy(const study::Plan& plan) {
  return !plan.releases.empty() &&
         std::none_of(plan.releases.begin(), plan.releases.end(),
                      [](const auto& release) { return release.mechanism == "exact"; });
}

std::vector<Statement> PlanStatements(const study::Plan& plan) {
  return {DifferentialPrivacy(plan), Adversary(plan)};
}

}  // namespace partita::report
