#include "node/study/retention.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita::node {
namespace {

constexpr int64_t kKeptDay = 86'400;
constexpr int64_t kKeptYear = 31'557'600;  // 365.25 days

}  // namespace

KeptUntil KeptUntilOf(int64_t ended, const RetentionRules& rules) {
  const int64_t documents = ended + rules.documents_years * kKeptYear;
  if (rules.results_days == 0) return {documents, documents};
  return {std::min(documents, ended + rules.results_days * kKeptDay), documents};
}

Kept KeptAt(int64_t now, const OverStudy& study, const RetentionRules& rules) {
  const KeptUntil until = KeptUntilOf(study.ended, rules);
  const Kept due = now >= until.documents ? Kept::kNumber
                   : now >= until.results ? Kept::kDocuments
                                          : Kept::kAll;
  return std::max(due, study.kept);
}

std::string KeptText(Kept without, const RetentionRules& rules) {
  if (without == Kept::kDocuments && rules.results_days != 0) {
    return fmt::format("kept for {} day{} after the end of the study", rules.results_days,
                       rules.results_days == 1 ? "" : "s");
  }
  return fmt::format("kept for {} year{} after the end of the study", rules.documents_years,
                     rules.documents_years == 1 ? "" : "s");
}

}  // namespace partita::node
