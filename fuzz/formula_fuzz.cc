// Any text must give a formula or a kBadInput error with a hint.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "data/formula.h"

namespace {

void Check(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto parse : {partita::data::ParseFormula, partita::data::ParseSurvivalFormula}) {
    try {
      const auto formula = parse(text);
      Check(!formula.outcome.text.empty());
      for (const auto& term : formula.terms) Check(!term.empty());
    } catch (const partita::Error& error) {
      Check(error.code() == partita::ErrorCode::kBadInput && !error.hint().empty());
    }
  }
  return 0;
}
