// Any text is either a document that reads back to itself or a kBadInput error; never a crash.
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "study/approval/bundle.h"
#include "study/approval/envelope.h"
#include "study/approval/policy.h"

namespace {

template <typename Parse>
void Try(Parse parse) {
  try {
    parse();
  } catch (const partita::Error& error) {
    if (error.code() != partita::ErrorCode::kBadInput) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace partita::study;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Try([&] {
    const SignedApproval document = ParseApproval(text, "a.json");
    if (!text.starts_with(RenderApproval(document).substr(0, text.size()))) std::abort();
    if (RenderApproval(document).size() > kApprovalBytes) std::abort();
  });
  Try([&] { ParseEnvelope(text, "e.json"); });
  Try([&] { ParseBundle(text, "b.json"); });
  Try([&] { ParseSecret(text, "s.json"); });
  Try([&] { ParseEnvelopeFile(std::string(text), "e.toml", {"mle"}); });
  Try([&] { ParsePolicyFile(std::string(text), "p.toml", {"mle"}); });
  IsPolicyFile(std::string(text));
  IsEnvelope(text);
  return 0;
}
