#include "privacy/ledger/account_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "privacy/rounded_text.h"

namespace partita::privacy::ledger {
namespace {

[[noreturn]] void Refuse(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kRefused, message, hint);
}

[[noreturn]] void ThrowBroken(const std::string& table) {
  Refuse(table.empty()
             ? "the privacy ledger is damaged: an account does not begin as it should"
             : fmt::format("the privacy ledger is damaged: the chain of table {} is broken", table),
         "let nobody use it, keep the file, and find the newest intact copy");
}

Cost Less(const Cost& a, const Cost& b) { return {a.rdp - b.rdp, a.delta - b.delta}; }

Totals Plus(const Totals& totals, const OpenReservation& reservation) {
  return {totals.outside + reservation.outside, totals.insider + reservation.insider,
          totals.exact + reservation.exact, totals.exact_values + reservation.exact_values};
}

Totals Less(const Totals& totals, const OpenReservation& reservation) {
  return {Less(totals.outside, reservation.outside), Less(totals.insider, reservation.insider),
          totals.exact - reservation.exact, totals.exact_values - reservation.exact_values};
}

std::string Share(uint64_t units, uint64_t cap) {
  if (cap == 0) return units == 0 ? "0 %" : "more than the whole";
  return PartText(units, cap, true);
}

// Throws kBudget unless everything together fits.
void RequireFits(const Policy& policy, AdversaryClass adversary_class, const Cost& cap,
                 const Cost& spent, const Cost& reserved, const Cost& asked) {
  // No term exceeds kMaxUnits: three of them do not wrap.
  const bool renyi = spent.rdp + reserved.rdp + asked.rdp > cap.rdp;
  if (!renyi && spent.delta + reserved.delta + asked.delta <= cap.delta) return;
  const Budget& budget = *BudgetOf(policy, adversary_class);
  const auto share = [&](const Cost& cost) {
    return renyi ? Share(cost.rdp, cap.rdp) : Share(cost.delta, cap.delta);
  };
  const std::string part =
      renyi ? "" : fmt::format(" (its approximate_delta of {})", budget.approximate_delta);
  throw Error(
      ErrorCode::kBudget,
      fmt::format("table {}: the {} budget of epsilon {} at delta {}{} does not allow this study: "
                  "spent {}, reserved by other runs {}, asked {}",
                  policy.table, AdversaryClassName(adversary_class), budget.epsilon, budget.delta,
                  part, share(spent), share(reserved), share(asked)),
      renyi
          ? "ask with more noise or fewer releases, wait for or refund the other runs, or let the "
            "steward of the table decide about its budget"
          : "the study's guarantee is known by its epsilon and delta alone, and such deltas have a "
            "part of the budget of their own: the steward opens the account of a table with "
            "--approximate-delta, somewhat above the sum of these studies' deltas and below "
            "--delta (docs/privacy-ledger.md)");
}

uint64_t ValuesOf(const std::vector<ExactRelease>& exact) {
  uint64_t values = 0;
  for (const ExactRelease& release : exact) {
    if (release.values > kMaxUnits || values + release.values > kMaxUnits)
      throw Error(ErrorCode::kUsage, "an impossible number of exact values");
    values += release.values;
  }
  return values;
}

void CheckAdversary(const Charge& charge) {
  const Adversary& adversary = charge.adversary;
  const bool sized =
      adversary.kind == AdversaryKind::kCoalition || adversary.kind == AdversaryKind::kComputeNodes;
  if (adversary.with_dealer) {
    throw Error(ErrorCode::kUsage,
                fmt::format("release {} is charged against {}, whose loss is unlimited",
                            charge.release, AdversaryText(adversary)),
                "charge only against adversaries that the noise protects from");
  }
  if (sized != (adversary.size > 0) ||
      (adversary.kind == AdversaryKind::kParty) != !adversary.party.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("release {} is charged against nobody in particular", charge.release),
                "name the party, or the size of the coalition");
  }
}

// Every class that has a budget is charged, under its adjacency, and a coalition of the declared
// size among the insiders.
void CheckCharges(const Policy& policy, const std::vector<Charge>& charges) {
  for (const Charge& charge : charges) {
    CheckAdversary(charge);
    const Budget* budget = BudgetOf(policy, ClassOf(charge.adversary));
    if (budget != nullptr && budget->adjacency != charge.adjacency) {
      Refuse(fmt::format("release {} is charged for {} against {}, but the budget of table {} is "
                         "for {}",
                         charge.release, AdjacencyName(charge.adjacency),
                         AdversaryText(charge.adversary), policy.table,
                         AdjacencyName(budget->adjacency)),
             "losses under different adjacencies do not add up: use that of the budget");
    }
  }
  const auto covers = [&](AdversaryClass adversary_class) {
    return std::any_of(charges.begin(), charges.end(), [&](const Charge& charge) {
      if (ClassOf(charge.adversary) != adversary_class) return false;
      return adversary_class == AdversaryClass::kOutside || policy.coalition == 1 ||
             (charge.adversary.kind != AdversaryKind::kParty &&
              charge.adversary.size >= policy.coalition);
    });
  };
  for (const AdversaryClass adversary_class :
       {AdversaryClass::kOutside, AdversaryClass::kInsider}) {
    if (BudgetOf(policy, adversary_class) == nullptr || covers(adversary_class)) continue;
    Refuse(fmt::format(
               "table {} has a budget against {}, but the study states no finite loss "
               "against {}",
               policy.table, adversary_class == AdversaryClass::kOutside ? "outsiders" : "insiders",
               adversary_class == AdversaryClass::kOutside ? "the outside analyst"
               : policy.coalition == 1                     ? "its parties"
                                       : fmt::format("any {} parties together", policy.coalition)),
           "let enough parties add noise, or let the steward of the table decide about its policy");
  }
}

void CheckExact(const Policy& policy, const std::vector<ExactRelease>& exact, uint64_t before) {
  if (exact.empty()) return;
  if (policy.exact == ExactRule::kRefused) {
    Refuse(fmt::format("table {} allows no results without noise, and this study releases {}",
                       policy.table, exact.size()),
           "ask for results with noise, or let the steward of the table decide about its policy");
  }
  if (policy.exact == ExactRule::kCounted && before + exact.size() > policy.max_exact) {
    Refuse(
        fmt::format("table {} allows {} results without noise: {} were released or reserved, and "
                    "this study asks for {}",
                    policy.table, policy.max_exact, before, exact.size()),
        "ask for results with noise, or let the steward of the table decide about its policy");
  }
}

void CheckFilters(const Policy& policy, const std::optional<Filter>& insider) {
  if (policy.insider.has_value() != insider.has_value())
    throw Error(ErrorCode::kUsage, "filters and budgets do not belong together");
}

std::vector<const Reserved*> SpentStudies(const std::vector<Entry>& entries) {
  std::map<uint64_t, const Reserved*> reserved;
  std::vector<const Reserved*> spent;
  for (const Entry& entry : entries) {
    if (const auto* reservation = std::get_if<Reserved>(&entry.body))
      reserved.emplace(entry.sequence, reservation);
    else if (const auto* spending = std::get_if<Spent>(&entry.body))
      spent.push_back(reserved.at(spending->reservation));
  }
  return spent;
}

struct Checker {
  const AccountState& state;

  void operator()(const Opened& opened) const {
    if (state.opened())
      throw Error(ErrorCode::kUsage,
                  fmt::format("table {} has an account already", state.policy().table),
                  "change its policy instead");
    CheckPolicy(opened.policy);
    CheckFilters(opened.policy, opened.insider);
  }
  void operator()(const Reserved& reserved) const {
    const Policy& policy = state.policy();
    if (reserved.charges.empty() && reserved.exact.empty())
      throw Error(ErrorCode::kUsage, "a reservation of nothing");
    for (const auto& [number, open] : state.reservations()) {
      if (open.run_id == reserved.run_id) {
        Refuse(fmt::format("this run has a reservation in the account of table {}: entry {}",
                           policy.table, number),
               "a run reserves once");
      }
    }
    if (!reserved.charges.empty()) CheckCharges(policy, reserved.charges);
    ValuesOf(reserved.exact);
    CheckExact(policy, reserved.exact, state.spent().exact + state.reserved().exact);
    if (reserved.charges.empty()) return;
    RequireFits(policy, AdversaryClass::kOutside, state.outside().budget, state.spent().outside,
                state.reserved().outside, reserved.outside);
    if (!policy.insider.has_value()) return;
    RequireFits(policy, AdversaryClass::kInsider, state.insider()->budget, state.spent().insider,
                state.reserved().insider, reserved.insider);
  }
  void operator()(const Spent& spent) const { RequireOpen(spent.reservation, "spent"); }
  void operator()(const Refunded& refunded) const {
    RequireOpen(refunded.reservation, "refunded");
    if (refunded.why.empty())
      throw Error(ErrorCode::kUsage, "a refund without a reason", "say why nothing was sent");
  }
  void operator()(const Countersigned& signed_by) const {
    RequireOpen(signed_by.reservation, "countersigned");
    if (signed_by.head < signed_by.reservation || signed_by.head > state.head().sequence) {
      Refuse(
          fmt::format("{} signed entry {} of the account of table {}, which does not contain "
                      "reservation {}",
                      signed_by.peer, signed_by.head, state.policy().table, signed_by.reservation),
          "show the head of the account after reserving");
    }
  }
  void operator()(const PolicyChanged& changed) const {
    const Policy& now = state.policy();
    CheckPolicy(changed.policy);
    CheckFilters(changed.policy, changed.insider_filter);
    if (changed.policy.table != now.table)
      throw Error(ErrorCode::kUsage, "an account keeps the name of its table");
    if (!state.reservations().empty()) {
      Refuse(fmt::format("{} runs have reservations in the account of table {}",
                         state.reservations().size(), now.table),
             "let them end, or refund those of runs that died before they sent anything");
    }
    if (changed.why.empty() && IsWider(now, changed.policy)) {
      Refuse(
          fmt::format("the new policy of table {} allows more than the old one, without a reason",
                      now.table),
          "give the reason: it is kept for ever");
    }
  }

  void RequireOpen(uint64_t reservation, const char* what) const {
    if (state.reservations().contains(reservation)) return;
    Refuse(fmt::format("reservation {} of table {} cannot be {}: it is not open", reservation,
                       state.policy().table, what),
           "a reservation is spent or refunded once; what is spent stays spent");
  }
};

}  // namespace

AccountState::AccountState(const Pseudonym& pseudonym) {
  head_.pseudonym = pseudonym;
  head_.hash = ChainStart(pseudonym);
}

void AccountState::Check(const EntryBody& body) const {
  if (!opened() && !std::holds_alternative<Opened>(body))
    throw Error(ErrorCode::kUsage, "the account is not open yet", "open it with a policy first");
  std::visit(Checker{*this}, body);
}

Entry AccountState::Append(const Stamp& stamp, EntryBody body, std::optional<JournalMark> mark) {
  Check(body);
  Entry entry{head_.sequence + 1, stamp, std::move(body), {}, mark};
  entry.hash = ChainNext(head_.hash, EncodeEntry(entry));
  Apply(entry.sequence, entry.body);
  head_.hash = entry.hash;
  if (mark) mark_ = mark;
  return entry;
}

void AccountState::Replay(ByteView entry_bytes, const Digest& hash) {
  if (ChainNext(head_.hash, entry_bytes) != hash) ThrowBroken(policy_.table);
  try {
    const Entry entry = DecodeEntry(entry_bytes);
    if (entry.sequence != head_.sequence + 1) ThrowBroken(policy_.table);
    Check(entry.body);
    const bool backwards = entry.mark && mark_ && entry.mark->number < mark_->number;
    if (backwards) ThrowBroken(policy_.table);
    Apply(entry.sequence, entry.body);
    if (entry.mark) mark_ = entry.mark;
  } catch (const Error&) {
    ThrowBroken(policy_.table);
  }
  head_.hash = hash;
}

Reserved AccountState::Price(const Digest& run_id, const Digest& agreement_hash, std::string study,
                             std::vector<Charge> charges, std::vector<ExactRelease> exact) const {
  Reserved reserved;
  reserved.run_id = run_id;
  reserved.agreement_hash = agreement_hash;
  reserved.study = std::move(study);
  reserved.outside = CostAgainst(charges, AdversaryClass::kOutside, outside_.order);
  if (insider_.has_value())
    reserved.insider = CostAgainst(charges, AdversaryClass::kInsider, insider_->order);
  reserved.charges = std::move(charges);
  reserved.exact = std::move(exact);
  return reserved;
}

void AccountState::Apply(uint64_t sequence, const EntryBody& body) {
  if (const auto* entry = std::get_if<Opened>(&body)) {
    policy_ = entry->policy;
    outside_ = entry->outside;
    insider_ = entry->insider;
  } else if (const auto* reserved = std::get_if<Reserved>(&body)) {
    OpenReservation open{reserved->run_id,         reserved->agreement_hash, reserved->study,
                         reserved->outside,        reserved->insider,        reserved->exact.size(),
                         ValuesOf(reserved->exact)};
    reserved_ = Plus(reserved_, open);
    reservations_.emplace(sequence, std::move(open));
  } else if (const auto* spent = std::get_if<Spent>(&body)) {
    const auto open = reservations_.find(spent->reservation);
    spent_ = Plus(spent_, open->second);
    reserved_ = Less(reserved_, open->second);
    reservations_.erase(open);
    ++studies_spent_;
  } else if (const auto* refunded = std::get_if<Refunded>(&body)) {
    const auto open = reservations_.find(refunded->reservation);
    reserved_ = Less(reserved_, open->second);
    reservations_.erase(open);
  } else if (const auto* changed = std::get_if<PolicyChanged>(&body)) {
    policy_ = changed->policy;
    outside_ = changed->outside_filter;
    insider_ = changed->insider_filter;
    spent_.outside = changed->outside;
    spent_.insider = changed->insider;
    ++policy_changes_;
  }
  head_.sequence = sequence;
}

Cost SpentCost(const std::vector<Entry>& entries, AdversaryClass adversary_class, uint64_t order) {
  Cost sum;
  for (const Reserved* reserved : SpentStudies(entries))
    sum = sum + CostAgainst(reserved->charges, adversary_class, order);
  return sum;
}

PolicyChanged PlanPolicyChange(const Policy& policy, const std::vector<Entry>& entries,
                               std::string why) {
  CheckPolicy(policy);
  for (const Reserved* reserved : SpentStudies(entries))
    if (!reserved->charges.empty()) CheckCharges(policy, reserved->charges);
  PolicyChanged changed;
  changed.policy = policy;
  changed.why = std::move(why);
  changed.outside_filter = DesignFilter(policy.outside);
  changed.outside = SpentCost(entries, AdversaryClass::kOutside, changed.outside_filter.order);
  if (policy.insider.has_value()) {
    changed.insider_filter = DesignFilter(*policy.insider);
    changed.insider = SpentCost(entries, AdversaryClass::kInsider, changed.insider_filter->order);
  }
  return changed;
}

}  // namespace partita::privacy::ledger
