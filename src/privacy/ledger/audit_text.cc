// The ledger in words and tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text_table.h"
#include "privacy/ledger/audit.h"
#include "privacy/rounded_text.h"

namespace partita::privacy::ledger {
namespace {

constexpr size_t kIndent = 2;

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
  return PartText(units, cap, true);
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

// Of the part that is closer to its end, rounded down; 0 to 1.
double ShareLeft(const Cost& cap, const Cost& used) {
  const auto share = [](uint64_t whole, uint64_t gone) {
    if (whole == 0 || gone == 0) return 1.0;
    const double left = static_cast<double>(whole - std::min(whole, gone));
    return left / static_cast<double>(whole) * (1 - 0x1p-50);
  };
  return std::min(share(cap.rdp, used.rdp), share(cap.delta, used.delta));
}

// Rounded down.
std::string LeftText(double share) { return share == 1 ? "100 %" : PercentText(share, 2, false); }

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

// Follows a chain from entry to entry: what is used, and one row per study or change of policy.
class History {
 public:
  void Follow(const Entry& entry) {
    entry_ = &entry;
    std::visit([this](const auto& body) { Add(body); }, entry.body);
  }
  std::vector<HistoryLine> Lines() const {
    std::vector<HistoryLine> lines;
    for (const auto& entry : lines_) lines.push_back(entry.second);
    return lines;
  }

 private:
  void Add(const Opened& opened) {
    outside_ = opened.outside;
    insider_ = opened.insider;
  }
  void Add(const Reserved& reserved) {
    costs_[entry_->sequence] = {reserved.outside, reserved.insider};
    used_outside_ = used_outside_ + reserved.outside;
    used_insider_ = used_insider_ + reserved.insider;
    AddRow(reserved.study, Percent(reserved.outside, outside_.budget),
           insider_.has_value() ? Percent(reserved.insider, insider_->budget) : "-", "reserved",
           MechanismsText(reserved));
  }
  void Add(const Spent& spent) { lines_.at(spent.reservation).outcome = "spent"; }
  void Add(const Refunded& refunded) {
    lines_.at(refunded.reservation).outcome = "refunded: " + refunded.why;
    const auto& [outside, insider] = costs_.at(refunded.reservation);
    used_outside_ = {used_outside_.rdp - outside.rdp, used_outside_.delta - outside.delta};
    used_insider_ = {used_insider_.rdp - insider.rdp, used_insider_.delta - insider.delta};
  }
  void Add(const Countersigned&) {}
  void Add(const PolicyChanged& changed) {
    outside_ = changed.outside_filter;
    insider_ = changed.insider_filter;
    used_outside_ = changed.outside;
    used_insider_ = changed.insider;
    AddRow("(policy changed)", "-", "-", changed.why, "");
  }

  void AddRow(const std::string& study, const std::string& outside, const std::string& insider,
              const std::string& outcome, const std::string& mechanisms) {
    double left = ShareLeft(outside_.budget, used_outside_);
    if (insider_.has_value()) left = std::min(left, ShareLeft(insider_->budget, used_insider_));
    const Stamp& stamp = entry_->stamp;
    lines_[entry_->sequence] = {entry_->sequence, stamp.at,       stamp.by, study,     outside,
                                insider,          LeftText(left), outcome,  mechanisms};
  }

  const Entry* entry_ = nullptr;
  Filter outside_;
  std::optional<Filter> insider_;
  Cost used_outside_, used_insider_;
  std::map<uint64_t, std::pair<Cost, Cost>> costs_;
  std::map<uint64_t, HistoryLine> lines_;
};

}  // namespace

std::vector<HistoryLine> HistoryLines(const std::vector<Entry>& entries) {
  History history;
  for (const Entry& entry : entries) history.Follow(entry);
  return history.Lines();
}

std::string HistoryText(const std::vector<Entry>& entries) {
  TextTable table;
  table.header = {"entry",   "when (UTC)", "by",      "study",     "outside",
                  "insider", "left then",  "outcome", "mechanisms"};
  table.right = {0, 4, 5, 6};
  for (const HistoryLine& line : HistoryLines(entries)) {
    table.rows.push_back({std::to_string(line.sequence), TimeText(line.at), line.by, line.study,
                          line.outside, line.insider, line.left, line.outcome, line.mechanisms});
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

std::vector<BudgetLine> BudgetLines(const Standing& standing) {
  const Policy& policy = standing.policy;
  std::vector<BudgetLine> lines;
  const auto add = [&](const std::string& name, const Budget& budget, const Filter& filter,
                       const Cost& spent, const Cost& reserved) {
    const double share = ShareLeft(filter.budget, spent + reserved);
    lines.push_back({name, std::string(AdjacencyName(budget.adjacency)), budget.epsilon,
                     budget.delta, Percent(spent, filter.budget), Percent(reserved, filter.budget),
                     LeftText(share), share});
  };
  add("outsiders", policy.outside, standing.outside, standing.spent.outside,
      standing.reserved.outside);
  if (policy.insider.has_value()) {
    add(policy.coalition == 1 ? "each insider" : fmt::format("{} insiders", policy.coalition),
        *policy.insider, *standing.insider, standing.spent.insider, standing.reserved.insider);
  }
  return lines;
}

std::string ExactRuleText(const Standing& standing) {
  const Policy& policy = standing.policy;
  const uint64_t exact = standing.spent.exact + standing.reserved.exact;
  switch (policy.exact) {
    case ExactRule::kRefused:
      return "Results without noise are refused.";
    case ExactRule::kAllowed:
      return fmt::format("Results without noise are allowed; {} so far.", exact);
    case ExactRule::kCounted:
      break;
  }
  return fmt::format("{} of {} results without noise are used.", exact, policy.max_exact);
}

std::string StandingText(const Standing& standing) {
  const Policy& policy = standing.policy;
  TextTable table;
  table.header = {"against", "neighbours", "epsilon", "delta", "spent", "reserved", "left"};
  table.right = {2, 3, 4, 5, 6};
  for (const BudgetLine& line : BudgetLines(standing)) {
    table.rows.push_back({line.against, line.neighbours, line.epsilon, line.delta, line.spent,
                          line.reserved, line.left});
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
  text += WrapText(ExactRuleText(standing), kIndent);
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
