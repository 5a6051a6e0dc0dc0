#include "node/daemon/kept_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hex.h"
#include "base/utc_time.h"
#include "node/job/folder.h"

namespace partita::node {
namespace {

using Answered = nlohmann::ordered_json;

constexpr size_t kMostShown = 100;

// When something of it goes the next time.
int64_t NextToGo(const OverStudy& study, const RetentionRules& rules) {
  const KeptUntil until = KeptUntilOf(study.ended, rules);
  return study.kept == Kept::kAll ? until.results : until.documents;
}

}  // namespace

Answered KeptJson(const std::optional<OverStudy>& study, const RetentionRules& rules) {
  if (!study) return nullptr;
  const KeptUntil until = KeptUntilOf(study->ended, rules);
  return {{"ended", FormatUtc(study->ended)},
          {"result_until", FormatUtc(until.results)},
          {"documents_until", FormatUtc(until.documents)},
          {"result_kept", study->kept == Kept::kAll}};
}

Answered RetentionJson(const std::vector<Study>& open, std::vector<OverStudy> ended,
                       const RetentionRules& rules, const std::filesystem::path& run) {
  Answered frozen = Answered::array(), studies = Answered::array();
  for (const Study& study : open) {
    if (std::filesystem::exists(run / ToHex(study.id) / kFrozenRows))
      frozen.push_back({{"study", ToHex(study.id)}, {"expires", FormatUtc(study.expires)}});
  }
  const size_t deleted =
      std::erase_if(ended, [](const OverStudy& study) { return study.kept == Kept::kNumber; });
  std::stable_sort(ended.begin(), ended.end(), [&](const OverStudy& a, const OverStudy& b) {
    return NextToGo(a, rules) < NextToGo(b, rules);
  });
  for (const OverStudy& study : ended) {
    if (studies.size() == kMostShown) break;
    Answered json = {{"study", ToHex(study.id)}};
    json.update(KeptJson(study, rules));
    studies.push_back(std::move(json));
  }
  return {{"results_days", rules.results_days},
          {"documents_years", rules.documents_years},
          {"frozen", frozen},
          {"over", ended.size()},
          {"deleted", deleted},
          {"studies", studies}};
}

}  // namespace partita::node
