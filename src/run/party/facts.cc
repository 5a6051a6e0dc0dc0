#include "run/party/facts.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sodium.h>

#include <algorithm>

#include "base/utc_time.h"
#include "base/version.h"
#include "crypto/hash.h"
#include "privacy/rounded_text.h"

namespace partita::run {
namespace {

// Local work, in the order of the run: the fit comes last.
void AddStepFacts(const PartyOutcome& outcome, bool fit, report::RunFacts& facts) {
  for (const LocalStep& step : outcome.local_steps) {
    if ((step.name == "fit") != fit) continue;
    report::PhaseFacts phase;
    phase.phase = step.name;
    phase.seconds = step.seconds;
    facts.phases.push_back(std::move(phase));
  }
}

void AddTraffic(const PartyOutcome& outcome, report::RunFacts& facts) {
  for (const net::PhaseTraffic& traffic : outcome.traffic) {
    report::PhaseFacts phase;
    phase.phase = traffic.phase;
    phase.rounds = traffic.rounds;
    phase.seconds = traffic.seconds;
    for (const net::LinkTraffic& link : traffic.links) {
      phase.messages_sent += link.messages_sent;
      phase.messages_received += link.messages_received;
      phase.bytes_sent += link.bytes_sent;
      phase.bytes_received += link.bytes_received;
      phase.wire_bytes_sent += link.wire_sent;
      phase.wire_bytes_received += link.wire_received;
    }
    facts.phases.push_back(std::move(phase));
  }
}

void AddReleases(const PartyOutcome& outcome, report::RunFacts& facts) {
  for (const mpc::CountingReleaseGate::Count& count : outcome.releases) {
    facts.releases.push_back({count.release.id, count.release.what, count.release.to,
                              count.release.mechanism, count.release.max_count, count.opened});
  }
  for (const CheckOutcome& check : outcome.checks)
    facts.disclosure.push_back({check.variable, check.rule, check.passed});
}

void AddApprovals(const PartyOutcome& outcome, report::RunFacts& facts) {
  for (const study::SignedApproval& document : outcome.approvals) {
    const study::Approval& approval = document.approval;
    report::ApprovalFacts fact;
    fact.party = approval.party;
    fact.decision = approval.decision == study::Decision::kApprove ? "approved" : "rejected";
    fact.kind = document.delegation                    ? "policy"
                : approval.envelope == study::Digest{} ? "study"
                                                       : "envelope";
    if (!document.signature.certificate.empty())
      fact.signed_by = ToHex(crypto::Sha256Of(document.signature.certificate));
    fact.approved_at = FormatUtc(approval.approved_at);
    fact.valid_until = FormatUtc(approval.valid_until);
    fact.min_cell = approval.disclosure.min_cell;
    fact.min_rows = approval.disclosure.min_rows;
    facts.approvals.push_back(std::move(fact));
  }
}

// This party's own rows by reason, and all rows that took part. Of a private study the own numbers
// are exact functions of the rows: shown on the owner's terminal (OwnRowsText), and in no file.
void AddRows(const PartyOutcome& outcome, report::RunFacts& facts) {
  const OwnRows& own = outcome.rows;
  if (own.observed > 0 && !outcome.is_private) {
    report::RowFacts rows;
    rows.scope = outcome.party;
    rows.observed = own.observed;
    if (!own.match_is_hidden) rows.used = own.observed - own.not_in_population - own.incomplete;
    if (own.not_in_population > 0)
      rows.excluded.push_back({"not in the population", own.not_in_population});
    if (own.incomplete > 0) rows.excluded.push_back({"a missing value", own.incomplete});
    facts.rows.push_back(std::move(rows));
  }
  for (const UsedRows& used : outcome.used) {
    report::RowFacts rows;
    rows.scope = outcome.used.size() == 1 ? "all" : "all, analysis " + used.analysis;
    rows.used = used.rows;
    facts.rows.push_back(std::move(rows));
  }
}

void AddVariables(const PartyOutcome& outcome, report::RunFacts& facts) {
  for (const VariableSummary& variable : outcome.variables) {
    facts.variables.push_back({variable.name, variable.type, variable.unit, variable.held_by,
                               variable.lower, variable.upper, variable.num_rows, variable.mean,
                               variable.sd});
  }
}

void AddLeakage(const study::Plan& plan, report::RunFacts& facts) {
  facts.leakage_level = plan.leakage_level;
  for (const study::PlanExposure& exposure : plan.exposures) {
    const std::string known =
        exposure.statistics == 0
            ? ""
            : fmt::format(", where {} determine every analysis of these rows", exposure.statistics);
    facts.leakage.push_back(fmt::format("{}, to {}: at most {} numbers{}.", exposure.of,
                                        exposure.to, exposure.opened, known));
    if (exposure.bits) {
      facts.leakage.back() +=
          fmt::format(" {} bits of a table of {} bits: {}.", exposure.bits->opened,
                      exposure.bits->table, exposure.bits->meaning);
    }
  }
  for (const study::PlanPrivacy& row : plan.privacy) {
    facts.privacy.push_back(row.adversary +
                            (row.adjacency.empty() ? "" : " (" + row.adjacency + ")") + ": " +
                            row.loss + ".");
  }
}

bool Holds(const study::Plan& plan, const std::string& party) {
  for (const study::PlanParty& candidate : plan.parties) {
    const std::vector<std::string>& roles = candidate.roles;
    if (candidate.name == party)
      return std::find(roles.begin(), roles.end(), "holder") != roles.end();
  }
  return false;
}

std::string OwnAccount(const LedgerOutcome& outcome) {
  const privacy::ledger::Standing& standing = *outcome.standing;
  std::string text = fmt::format("Ledger of this party: table {}, entry {}", standing.policy.table,
                                 outcome.reservation);
  std::vector<std::string> signers;
  for (const PeerAccount& peer : outcome.parties) {
    if (peer.countersigned) signers.push_back(peer.party);
  }
  text += signers.empty() ? ", countersigned by nobody"
                          : fmt::format(", countersigned by {}", fmt::join(signers, ", "));
  const double used = privacy::ledger::EpsilonAfter(standing.policy.outside, standing.outside,
                                                    standing.spent.outside);
  // Of what the ledger adds up, Renyi divergences; a part of it is a larger part of epsilon.
  const double percent = 100 * static_cast<double>(standing.spent.outside.rdp) /
                         static_cast<double>(standing.outside.budget.rdp);
  return text +
         fmt::format(
             "; used so far against outsiders: {} % of the budget (eps <= {} of {} at delta = "
             "{}).",
             privacy::RoundedText(percent, 3, true), privacy::RoundedText(used, 3, true),
             standing.policy.outside.epsilon, standing.policy.outside.delta);
}

// Rule R-j: what was released before qualifies what is stated now.
void AddLedger(const PartyOutcome& outcome, report::RunFacts& facts) {
  bool any = false;
  for (const PeerAccount& account : outcome.ledger.parties) any = any || account.kept;
  for (const PeerAccount& account : outcome.ledger.parties) {
    if (!any || !Holds(outcome.plan, account.party)) continue;
    if (!account.kept) {
      facts.privacy.push_back(fmt::format(
          "Party {} keeps no privacy ledger: what was released from its table before is not known.",
          account.party));
    } else if (account.exact_before > 0) {
      facts.privacy.push_back(fmt::format(
          "This study alone: {} exact results were released before from the table of party {}.",
          account.exact_before, account.party));
    }
  }
  if (outcome.ledger.standing) facts.privacy.push_back(OwnAccount(outcome.ledger));
}

// The plan's numbers for this machine against what this party counted. Bytes of links that it does
// not see are in neither.
void AddPrediction(const PartyOutcome& outcome, report::RunFacts& facts) {
  if (outcome.plan.predictions.empty()) return;
  report::PredictionFacts prediction;
  prediction.predicted.seconds = outcome.plan.predictions.front().seconds;
  for (const study::PlanPhase& phase : outcome.plan.phases) {
    prediction.predicted.rounds += phase.rounds;
    for (const study::PlanLink& link : phase.links) {
      if (link.from == outcome.party || link.to == outcome.party)
        prediction.predicted.bytes += link.bytes;
    }
  }
  prediction.measured.seconds = outcome.seconds;
  for (const report::PhaseFacts& phase : facts.phases) {
    prediction.measured.rounds += phase.rounds;
    prediction.measured.bytes += phase.bytes_sent + phase.bytes_received;
  }
  facts.prediction = prediction;
}

}  // namespace

report::RunFacts FactsOf(const PartyOutcome& outcome) {
  report::RunFacts facts;
  facts.party = outcome.party;
  facts.agreement_hash = outcome.agreement_hash;
  facts.study_hash = outcome.study_hash;
  facts.plan_hash = outcome.plan_hash;
  facts.run_id = outcome.run_id;
  facts.software_version = kVersion;
  facts.started_at = FormatUtc(outcome.started);
  facts.seconds_total = outcome.seconds;
  facts.min_cell = outcome.disclosure.min_cell;
  facts.libraries = {OpenSSL_version(OPENSSL_VERSION),
                     std::string("libsodium ") + sodium_version_string()};
  AddStepFacts(outcome, false, facts);
  AddTraffic(outcome, facts);
  AddStepFacts(outcome, true, facts);
  AddReleases(outcome, facts);
  facts.corrected = outcome.corrected;
  AddApprovals(outcome, facts);
  AddRows(outcome, facts);
  AddVariables(outcome, facts);
  AddLeakage(outcome.plan, facts);
  AddLedger(outcome, facts);
  AddPrediction(outcome, facts);
  return facts;
}

}  // namespace partita::run
