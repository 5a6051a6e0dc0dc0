#include "privacy/ledger/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "base/error.h"
#include "base/text_table.h"
#include "crypto/signature.h"

namespace partita::privacy::ledger {
namespace {

constexpr size_t kIndent = 2;

[[noreturn]] void Distrust(uint64_t sequence, const std::string& what) {
  throw Error(ErrorCode::kRefused, fmt::format("entry {} of the ledger: {}", sequence, what),
              "let nobody rely on this ledger, and find out who changed it");
}

// A filter is sound if its budget is not above that of its order.
void VerifyFilter(const Budget& budget, const Filter& filter, uint64_t sequence) {
  if (!Fits(filter.budget, BudgetAtOrder(budget, filter.order)))
    Distrust(sequence, "its filter allows more than its budget");
}

void VerifyFilters(const Policy& policy, const Filter& outside,
                   const std::optional<Filter>& insider, uint64_t sequence) {
  VerifyFilter(policy.outside, outside, sequence);
  if (policy.insider.has_value() != insider.has_value())
    Distrust(sequence, "filters and budgets do not belong together");
  if (insider.has_value()) VerifyFilter(*policy.insider, *insider, sequence);
}

class Verifier {
 public:
  Verifier(const Pseudonym& pseudonym, const std::vector<Entry>& entries)
      : state_(pseudonym), entries_(entries) {}

  void Run() {
    for (const Entry& entry : entries_) {
      try {
        std::visit([&](const auto& body) { VerifyClaims(entry.sequence, body); }, entry.body);
        state_.Replay(EncodeEntry(entry), entry.hash);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kRefused) throw;
        // A budget, order or mechanism that nobody could have written down.
        Distrust(entry.sequence, error.message());
      }
    }
  }

 private:
  void VerifyClaims(uint64_t sequence, const Opened& opened) {
    VerifyFilters(opened.policy, opened.outside, opened.insider, sequence);
  }
  void VerifyClaims(uint64_t sequence, const Reserved& reserved) {
    const Reserved priced = state_.Price(reserved.run_id, reserved.study_file_hash, reserved.study,
                                         reserved.charges, {});
    if (priced.outside != reserved.outside || priced.insider != reserved.insider)
      Distrust(sequence, "its costs are not those of its mechanisms");
  }
  void VerifyClaims(uint64_t, const Spent&) {}
  void VerifyClaims(uint64_t, const Refunded&) {}
  void VerifyClaims(uint64_t sequence, const Countersigned& signed_by) {
    const auto open = state_.reservations().find(signed_by.reservation);
    const auto certificate = crypto::DecodeCertificate(signed_by.certificate);
    if (open == state_.reservations().end() || signed_by.head < 1 || signed_by.head >= sequence ||
        certificate == nullptr)
      Distrust(sequence, "its receipt is for nothing that is there");
    const Receipt receipt{
        {state_.head().pseudonym, signed_by.head, entries_[signed_by.head - 1].hash},
        open->second.run_id,
        open->second.study_file_hash};
    if (!VerifyReceipt(*certificate, receipt, signed_by.signature))
      Distrust(sequence, "its signature is wrong");
  }
  void VerifyClaims(uint64_t sequence, const PolicyChanged& changed) {
    VerifyFilters(changed.policy, changed.outside_filter, changed.insider_filter, sequence);
    const std::vector<Entry> before(entries_.begin(),
                                    entries_.begin() + static_cast<std::ptrdiff_t>(sequence - 1));
    const auto cost = [&](AdversaryClass adversary_class, const Filter& filter) {
      return SpentCost(before, adversary_class, filter.order);
    };
    const Cost insider = changed.insider_filter.has_value()
                             ? cost(AdversaryClass::kInsider, *changed.insider_filter)
                             : Cost{};
    if (cost(AdversaryClass::kOutside, changed.outside_filter) != changed.outside ||
        insider != changed.insider)
      Distrust(sequence, "what was spent costs something else under its budget");
  }

  AccountState state_;
  const std::vector<Entry>& entries_;
};

std::string TimeText(int64_t at) {
  const std::time_t time = static_cast<std::time_t>(at);
  std::tm parts{};
  char text[32];
  if (gmtime_r(&time, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts) == 0)
    return "-";
  return text;
}

// Rounded up, so that small charges are not 0.
std::string Percent(uint64_t units, uint64_t cap) {
  if (units == 0) return "0 %";
  if (cap == 0) return "all";
  const double percent = 100 * static_cast<double>(units) / static_cast<double>(cap);
  return fmt::format("{:.2f} %", std::max(0.01, std::ceil(percent * 100) / 100));
}

// The part of the budget that is closer to its end.
std::string Percent(const Cost& cost, const Cost& cap) {
  const double renyi =
      static_cast<double>(cost.rdp) / static_cast<double>(std::max<uint64_t>(1, cap.rdp));
  const double delta =
      static_cast<double>(cost.delta) / static_cast<double>(std::max<uint64_t>(1, cap.delta));
  return renyi >= delta ? Percent(cost.rdp, cap.rdp) : Percent(cost.delta, cap.delta);
}

Cost LeftOf(const Cost& cap, const Cost& spent, const Cost& reserved) {
  const Cost used = spent + reserved;
  return {cap.rdp - std::min(cap.rdp, used.rdp), cap.delta - std::min(cap.delta, used.delta)};
}

std::string MechanismsText(const Reserved& reserved) {
  std::vector<std::string> texts;
  for (const Charge& charge : reserved.charges) {
    if (ClassOf(charge.adversary) != AdversaryClass::kOutside) continue;
    std::string text = MechanismText(charge.mechanism);
    if (charge.count > 1) text += fmt::format(", {} times", charge.count);
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  if (!reserved.exact.empty())
    texts.push_back(fmt::format("{} without noise", reserved.exact.size()));
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : "; ") + text;
  return joined.empty() ? "against insiders only" : joined;
}

struct StudyRow {
  const Entry* entry = nullptr;
  Filter outside;
  std::optional<Filter> insider;
  std::string outcome = "reserved";
};

}  // namespace

void VerifyEntries(const Pseudonym& pseudonym, const std::vector<Entry>& entries) {
  Verifier(pseudonym, entries).Run();
}

std::string HistoryText(const std::vector<Entry>& entries) {
  std::map<uint64_t, StudyRow> rows;
  StudyRow now;
  for (const Entry& entry : entries) {
    if (const auto* opened = std::get_if<Opened>(&entry.body)) {
      now.outside = opened->outside;
      now.insider = opened->insider;
    } else if (const auto* changed = std::get_if<PolicyChanged>(&entry.body)) {
      now.outside = changed->outside_filter;
      now.insider = changed->insider_filter;
      now.entry = &entry;
      rows[entry.sequence] = now;
    } else if (std::holds_alternative<Reserved>(entry.body)) {
      now.entry = &entry;
      rows[entry.sequence] = now;
    } else if (const auto* spent = std::get_if<Spent>(&entry.body)) {
      rows[spent->reservation].outcome = "spent";
    } else if (const auto* refunded = std::get_if<Refunded>(&entry.body)) {
      rows[refunded->reservation].outcome = "refunded: " + refunded->why;
    }
  }
  TextTable table;
  table.header = {"entry",   "when (UTC)", "by",      "study",
                  "outside", "insider",    "outcome", "mechanisms"};
  table.right = {0, 4, 5};
  for (const auto& [sequence, row] : rows) {
    const Stamp& stamp = row.entry->stamp;
    if (const auto* reserved = std::get_if<Reserved>(&row.entry->body)) {
      table.rows.push_back(
          {std::to_string(sequence), TimeText(stamp.at), stamp.by, reserved->study,
           Percent(reserved->outside, row.outside.budget),
           row.insider.has_value() ? Percent(reserved->insider, row.insider->budget) : "-",
           row.outcome, MechanismsText(*reserved)});
    } else if (const auto* changed = std::get_if<PolicyChanged>(&row.entry->body)) {
      table.rows.push_back({std::to_string(sequence), TimeText(stamp.at), stamp.by,
                            "(policy changed)", "-", "-", changed->why, ""});
    }
  }
  if (table.rows.empty()) return "  No study has used this table.\n";
  return RenderTable(table, kIndent);
}

std::vector<std::string> Qualifications(const Standing& standing) {
  std::vector<std::string> sentences;
  const Totals& spent = standing.spent;
  if (spent.exact > 0) {
    sentences.push_back(
        fmt::format("This release alone; {} exact {} released before from table {}.", spent.exact,
                    spent.exact == 1 ? "result was" : "results were", standing.policy.table));
  }
  if (standing.policy_changes > 0) {
    sentences.push_back(
        fmt::format("The policy of table {} was changed {} {}: its budget holds if those decisions "
                    "did not depend "
                    "on results.",
                    standing.policy.table, standing.policy_changes,
                    standing.policy_changes == 1 ? "time" : "times"));
  }
  return sentences;
}

std::string StandingText(const Standing& standing) {
  const Policy& policy = standing.policy;
  TextTable table;
  table.header = {"against", "neighbours", "epsilon", "delta", "spent", "reserved", "left"};
  table.right = {2, 3, 4, 5, 6};
  const auto add = [&](const std::string& name, const Budget& budget, const Filter& filter,
                       const Cost& spent, const Cost& reserved) {
    const Cost used = spent + reserved;
    const Cost left = LeftOf(filter.budget, spent, reserved);
    const double share = filter.budget.rdp == 0 ? 0
                                                : 100 * static_cast<double>(left.rdp) /
                                                      static_cast<double>(filter.budget.rdp);
    table.rows.push_back(
        {name, std::string(AdjacencyName(budget.adjacency)), budget.epsilon, budget.delta,
         Percent(spent, filter.budget), Percent(reserved, filter.budget),
         used == Cost{} ? "100 %" : fmt::format("{:.2f} %", std::floor(share * 100) / 100)});
  };
  add("outsiders", policy.outside, standing.outside, standing.spent.outside,
      standing.reserved.outside);
  if (policy.insider.has_value()) {
    add(policy.coalition == 1 ? "each insider" : fmt::format("{} insiders", policy.coalition),
        *policy.insider, *standing.insider, standing.spent.insider, standing.reserved.insider);
  }
  std::string text =
      WrapText(fmt::format("Table {}: {} {} spent, {} open.", policy.table, standing.studies_spent,
                           standing.studies_spent == 1 ? "study" : "studies",
                           standing.reservations.size()),
               kIndent) +
      RenderTable(table, kIndent);
  if (!policy.insider.has_value())
    text +=
        WrapText("Nothing limits what the other parties of its studies learn together.", kIndent);
  const uint64_t exact = standing.spent.exact + standing.reserved.exact;
  switch (policy.exact) {
    case ExactRule::kRefused:
      text += WrapText("Results without noise are refused.", kIndent);
      break;
    case ExactRule::kAllowed:
      text +=
          WrapText(fmt::format("Results without noise are allowed; {} so far.", exact), kIndent);
      break;
    case ExactRule::kCounted:
      text +=
          WrapText(fmt::format("{} of {} results without noise are used.", exact, policy.max_exact),
                   kIndent);
      break;
  }
  for (const std::string& sentence : Qualifications(standing)) text += WrapText(sentence, kIndent);
  return text;
}

uint64_t StudiesLeft(const Standing& standing, const Cost& outside, const Cost& insider) {
  uint64_t studies = UINT64_MAX;
  const auto limit = [&](uint64_t left, uint64_t cost) {
    if (cost > 0) studies = std::min(studies, left / cost);
  };
  const auto limit_both = [&](const Cost& left, const Cost& cost) {
    limit(left.rdp, cost.rdp);
    limit(left.delta, cost.delta);
  };
  limit_both(LeftOf(standing.outside.budget, standing.spent.outside, standing.reserved.outside),
             outside);
  if (standing.insider.has_value()) {
    limit_both(LeftOf(standing.insider->budget, standing.spent.insider, standing.reserved.insider),
               insider);
  }
  return studies;
}

}  // namespace partita::privacy::ledger
