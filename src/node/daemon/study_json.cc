#include "node/daemon/study_json.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/hex.h"
#include "base/utc_time.h"
#include "node/study/step.h"
#include "study/approval/delegation.h"
#include "study/approval/persons.h"

namespace partita::node {
namespace {

using Answered = nlohmann::ordered_json;

}  // namespace

nlohmann::ordered_json StudyJson(const Study& study) {
  Answered approved = Answered::array(), by_policy = Answered::array();
  Answered signers = Answered::array();
  Answered progress = Answered::array(), ended = Answered::array();
  for (const auto& [party, document] : study.approvals) {
    approved.push_back(party);
    if (study::HasDelegation(document)) by_policy.push_back(party);
    const std::vector<std::string> names = study::WhoSigned(document);
    if (names.size() > 1 || (names.size() == 1 && names[0] != study::kStewardName))
      signers.push_back({{"party", party}, {"names", names}});
  }
  for (const auto& entry : study.progress) {
    progress.push_back({{"party", entry.first},
                        {"phase", entry.second.phase},
                        {"done_per_mille", entry.second.done_per_mille}});
  }
  for (const auto& entry : study.ended) {
    ended.push_back({{"party", entry.first},
                     {"outcome", OutcomeName(entry.second.outcome)},
                     {"may_have_opened", entry.second.may_have_opened}});
  }
  // At the proposer: who has not said yet whether the study is valid there.
  Answered unchecked = Answered::array();
  for (const std::string& party : study.facts.parties) {
    if (study.phase == Phase::kValidated && !study.offers.empty() && !study.offers.contains(party))
      unchecked.push_back(party);
  }
  return {{"study", ToHex(study.id)},
          {"proposer", study.proposer},
          {"state", PhaseName(study.phase)},
          {"is_over", IsEnd(study.phase)},
          {"parties", study.facts.parties},
          {"receivers", study.facts.receivers},
          {"unchecked", unchecked},
          {"approved", approved},
          {"by_policy", by_policy},
          {"signers", signers},
          {"signed_here", study.phase != Phase::kSettled ? std::vector<std::string>()
                                                         : study::WhoSigned(study.first)},
          {"attempt", study.closed + (IsAttempt(study.phase) ? 1U : 0U)},
          {"charged", study.charged},
          {"progress", progress},
          {"ended", ended},
          {"who", study.ending.who},
          {"reason", study.ending.what},
          {"began", FormatUtc(study.began)},
          {"expires", FormatUtc(study.expires)},
          {"waits_since", WaitsForOwnSteward(study) ? FormatUtc(study.waits_since) : ""}};
}

std::string FileOfStudy(const std::filesystem::path& file, size_t max_bytes) {
  return std::filesystem::exists(file) ? ReadFile(file, max_bytes, "a file of the study") : "";
}

void AddFilesOf(const std::filesystem::path& folder, nlohmann::ordered_json& json) {
  json["has_draft"] = std::filesystem::exists(folder / "draft.json");
  json["has_report"] = std::filesystem::exists(folder / "result" / "report.html");
  json["has_result"] = std::filesystem::exists(folder / "result" / "result.json");
}

}  // namespace partita::node
