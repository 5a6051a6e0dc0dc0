// Node: what is kept of studies that are over (study/retention.h).
#include "node/service/node.h"

namespace partita::node {
namespace {

constexpr int64_t kDaySecondsKept = 86'400;
constexpr size_t kMostTidied = 100;  // in one transaction

AuditRecord DeletedEntry(const StudyId& study, const char* what, Kept kept,
                         const RetentionRules& rules, int64_t now) {
  AuditRecord record;
  record.time = now;
  record.action = AuditAction::kDeleted;
  record.study = study;
  record.subject = what;
  record.outcome = KeptText(kept, rules);
  return record;
}

}  // namespace

bool Node::IsClockDoubtful(int64_t certain) {
  if (served_day_ == 0 || certain / kDaySecondsKept - served_day_ <= kAwayDays) return false;
  if (!doubtful_since_ || *doubtful_since_ > certain) doubtful_since_ = certain;
  return certain - *doubtful_since_ < kClockDoubtSeconds;
}

size_t Node::Tidy(const RetentionRules& rules, int64_t now) {
  const int64_t certain = certain_.At(now);
  if (IsClockDoubtful(certain)) return 0;
  Change change;
  for (const OverStudy& study : parts_.store.FindEnded()) {
    if (change.keep_less.size() >= kMostTidied) break;
    // A late word of a job opens one again, until its key is deleted once more.
    if (open_.contains(study.id)) continue;
    const Kept kept = KeptAt(certain, study, rules);
    if (kept == study.kept) continue;
    change.keep_less.push_back({study.id, study.ended, kept});
    if (study.kept < Kept::kDocuments)
      change.audit.push_back(DeletedEntry(study.id, "result", Kept::kDocuments, rules, now));
    if (kept == Kept::kNumber)
      change.audit.push_back(DeletedEntry(study.id, "documents", Kept::kNumber, rules, now));
  }
  if (!change.keep_less.empty()) Commit(change);
  return change.keep_less.size();
}

}  // namespace partita::node
