#include "node/job/own_persons.h"

#include <fmt/format.h>

#include "base/error.h"

namespace partita::node {
namespace {

bool IsNamed(const EndedList& list, const study::Deputy& deputy,
             const study::Signature& signature) {
  const PublishedDeputy* named = FindDeputy(list, deputy.name);
  return named != nullptr && named->key == crypto::Sha256Of(signature.certificate) &&
         named->word == deputy;
}

}  // namespace

uint64_t StewardsNeeded(const JobSettings& settings, const std::string& table) {
  const auto found = settings.catalogue.find(table);
  return found == settings.catalogue.end() ? 1 : found->second.stewards_needed;
}

const study::Deputy* UnnamedDeputy(const EndedList& list, const study::SignedApproval& document) {
  const auto& first = document.deputy;
  const auto& second = document.second;
  if (first && !IsNamed(list, *first, document.signature)) return &*first;
  if (second && second->deputy && !IsNamed(list, *second->deputy, second->signature))
    return &*second->deputy;
  return nullptr;
}

void RequireOwnPersons(const JobSettings& settings, const EndedList& list, const std::string& table,
                       const study::SignedApproval& document) {
  const uint64_t needed = StewardsNeeded(settings, table);
  if (document.approval.stewards < needed) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("the own approval asks for {} person to sign, and the table '{}' for {}",
                    document.approval.stewards, table, needed),
        "Withdraw the study; when it is proposed again, two persons have to sign.");
  }
  const study::Deputy* unnamed = UnnamedDeputy(list, document);
  if (unnamed == nullptr) return;
  throw Error(
      ErrorCode::kRefused,
      fmt::format("the own approval is signed by the deputy {}, whom the steward ended or named "
                  "for another time",
                  unnamed->name),
      "Withdraw the study; when it is proposed again, let the steward or another deputy sign.");
}

}  // namespace partita::node
