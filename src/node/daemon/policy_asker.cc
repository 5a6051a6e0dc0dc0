#include "node/daemon/policy_asker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "node/daemon/control_socket.h"
#include "node/daemon/signer_documents.h"

namespace partita::node {
namespace {

using PolicyJson = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kPolicyPatience{90'000};  // it computes plans
constexpr std::chrono::seconds kWaitingPatience{10}, kLookAgain{5};
constexpr size_t kMostReasonsNoted = 5;

PolicyJson AskSigner(const std::filesystem::path& socket, const PolicyJson& request) {
  return PolicyJson::parse(AskControl(socket, request.dump(), kPolicyPatience, SignerServer()));
}

}  // namespace

PolicyAsker::Waiting PolicyAsker::LookForStudies() const {
  auto told = std::make_shared<std::promise<Waiting>>();
  std::future<Waiting> answer = told->get_future();
  parts_.loop.Do([told, asked = asked_, self = parts_.self, run = parts_.run](Node& node, int64_t) {
    Waiting waiting;
    waiting.stopped = node.stopped();
    if (!waiting.stopped) {
      for (const auto& [id, study] : node.open()) {
        const bool waits = study.phase == Phase::kSettled && study.agreement_hash.has_value() &&
                           !study.approvals.contains(self);
        if (!waits || !std::filesystem::exists(run / ToHex(id) / "draft.json")) continue;
        waiting.any = true;
        if (asked.contains(id)) continue;
        waiting.first = study;
        break;
      }
    }
    told->set_value(std::move(waiting));
  });
  told.reset();
  if (answer.wait_for(kWaitingPatience) != std::future_status::ready) return {};
  try {
    return answer.get();
  } catch (const std::future_error&) {  // the loop ended
    return {};
  }
}

bool PolicyAsker::LookForPolicies() {
  const PolicyJson listed = AskSigner(parts_.signer, {{"do", "policy-list"}});
  std::string policies;
  for (const PolicyJson& policy : listed.at("policies")) {
    policies += policy.at("name").get<std::string>() + ' ' + policy.at("from").get<std::string>() +
                ' ' + policy.at("text").get<std::string>() + '\n';
  }
  looked_ = std::chrono::steady_clock::now();
  if (policies != policies_) asked_.clear();
  policies_ = std::move(policies);
  return !policies_.empty();
}

void PolicyAsker::AskAbout(const Study& study) {
  const PolicyJson answer =
      AskSigner(parts_.signer, {{"do", "policy-approve"},
                                {"documents", SignerDocuments(study, parts_.run / ToHex(study.id))},
                                {"list", ToHex(parts_.keeper.Document())}});
  if (answer.contains("document")) {
    const Actor actor{ActorKind::kPolicy, answer.at("policy").get<std::string>()};
    const std::string document = answer.at("document");
    parts_.loop.Do([id = study.id, document, actor](Node& node, int64_t now) {
      // After a stop that came meanwhile it is asked about again.
      if (!node.stopped()) node.Command(id, OwnApproval{document}, now, actor);
    });
    return;
  }
  auto reasons = answer.at("reasons").get<std::vector<std::string>>();
  if (reasons.size() > kMostReasonsNoted) reasons.resize(kMostReasonsNoted);
  AuditRecord record;
  record.action = AuditAction::kPolicyRefused;
  record.study = study.id;
  record.outcome = fmt::format("{}", fmt::join(reasons, "; "));
  parts_.loop.Do([record](Node& node, int64_t now) mutable {
    record.time = now;
    node.Note(record);
  });
}

void PolicyAsker::Ask() {
  if (parts_.signer.empty()) return;
  const Waiting waiting = LookForStudies();
  if (waiting.stopped) asked_.clear();
  const auto again = looked_ + kLookAgain;
  if (!waiting.any || (!waiting.first && std::chrono::steady_clock::now() < again)) return;
  try {
    if (!LookForPolicies() || !waiting.first) return;
    // Before, so that what the signer cannot answer is not asked again and again.
    asked_.insert(waiting.first->id);
    AskAbout(*waiting.first);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnreachable) {
      if (waiting.first) asked_.erase(waiting.first->id);
      return;
    }
    parts_.log.Write(error, "asking for a policy");
  }
}

}  // namespace partita::node
