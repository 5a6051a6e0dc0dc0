#include "node/daemon/signer_documents.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "node/job/statement.h"
#include "study/approval/approval.h"

namespace partita::node {
namespace {

std::string PassedFile(const std::filesystem::path& file, size_t max_bytes) {
  return std::filesystem::exists(file) ? ReadFile(file, max_bytes, "a file of the study") : "";
}

}  // namespace

nlohmann::ordered_json SignerDocuments(const Study& study, const std::filesystem::path& folder) {
  nlohmann::ordered_json offers = nlohmann::ordered_json::object();
  for (const auto& [party, offer] : study.offers) offers[party] = ToHex(offer);
  return {{"study", ToHex(study.id)},
          {"proposer", study.proposer},
          {"nonce", ToHex(study.nonce)},
          {"expires", study.expires},
          {"file", study.file},
          {"roster", study.roster},
          {"own_offer", ToHex(study.own_offer)},
          {"offers", offers},
          // Of the job that froze the table.
          {"statement", ToHex(AsBytes(PassedFile(folder / "statement", kMaxStatementBytes)))},
          {"draft", PassedFile(folder / "draft.json", study::kApprovalBytes)},
          {"first", study.first}};
}

}  // namespace partita::node
