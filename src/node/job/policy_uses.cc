#include "node/job/policy_uses.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "node/message/signed_document.h"

namespace partita::node {
namespace {

constexpr char kUsesName[] = "the record of a policy's uses";
bool IsEpsilon(double epsilon) { return std::isfinite(epsilon) && epsilon >= 0; }

}  // namespace

void PolicyUses::Start(const std::filesystem::path& file, const Digest& policy) {
  const PolicyUses none(file, policy);
  crypto::WriteState(file, crypto::EncodeState(none.kind_, policy, none.Content()));
}

PolicyUses::PolicyUses(std::filesystem::path file, const Digest& policy)
    : kind_{"partita node policy uses 1", kUsesName, "end the policy, and sign another one"},
      policy_(policy),
      file_(std::move(file)),
      lock_(file_, kUsesName) {
  const auto kept = crypto::ReadState(kind_, file_);
  if (!kept) return;
  crypto::DecodeState(kind_, kept->Expose(), policy_, [&](ByteReader& content) {
    latest_ = static_cast<int64_t>(content.U64());
    for (uint64_t left = content.U64(); left > 0; --left) {
      PolicyUse& use = uses_.emplace_back();
      use.number = content.U64();
      use.study = ReadDigest(content);
      use.epsilon = content.F64();
      use.document = content.String(study::kApprovalBytes);
      if (!IsEpsilon(use.epsilon)) throw crypto::DamagedState(kind_);
    }
  });
}

const PolicyUse* PolicyUses::Of(const StudyId& study) const {
  const auto found = std::find_if(uses_.begin(), uses_.end(),
                                  [&](const PolicyUse& use) { return use.study == study; });
  return found == uses_.end() ? nullptr : &*found;
}

const PolicyUse* PolicyUses::Numbered(uint64_t number) const {
  const auto found = std::find_if(uses_.begin(), uses_.end(),
                                  [&](const PolicyUse& use) { return use.number == number; });
  return found == uses_.end() ? nullptr : &*found;
}

uint64_t PolicyUses::newest() const {
  uint64_t newest = 0;
  for (const PolicyUse& use : uses_) newest = std::max(newest, use.number);
  return newest;
}

study::PolicySpent PolicyUses::SpentByOthers(const StudyId& study, int64_t now) const {
  return SpentBut(Of(study), now);
}

study::PolicySpent PolicyUses::Spent(int64_t now) const { return SpentBut(nullptr, now); }

study::PolicySpent PolicyUses::SpentBut(const PolicyUse* own, int64_t now) const {
  study::PolicySpent spent;
  for (const PolicyUse& use : uses_) {
    if (&use == own) continue;
    ++spent.results;
    spent.epsilon += use.epsilon;
  }
  spent.now = std::max(now, latest_);
  return spent;
}

void PolicyUses::Add(PolicyUse use, int64_t now) {
  const bool is_new = use.number > 0 && Numbered(use.number) == nullptr && Of(use.study) == nullptr;
  if (!is_new || !IsEpsilon(use.epsilon))
    throw Error(ErrorCode::kInternal, "this is no new use of a policy", "please report this");
  uses_.push_back(std::move(use));
  latest_ = std::max(now, latest_);
  crypto::WriteState(file_, crypto::EncodeState(kind_, policy_, Content()));
}

Bytes PolicyUses::Content() const {
  ByteWriter writer;
  writer.U64(static_cast<uint64_t>(latest_));
  writer.U64(uses_.size());
  for (const PolicyUse& use : uses_) {
    writer.U64(use.number);
    writer.Raw(use.study);
    writer.F64(use.epsilon);
    writer.String(use.document);
  }
  return writer.Take();
}

}  // namespace partita::node
