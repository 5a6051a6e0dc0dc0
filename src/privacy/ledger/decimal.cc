#include "privacy/ledger/decimal.h"

#include <fmt/format.h>

#include "base/error.h"

namespace partita::privacy::ledger {
namespace {

constexpr size_t kMaxDecimal = 24;

size_t SkipDigits(const std::string& text, size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

}  // namespace

bool IsDecimal(const std::string& text) {
  if (text.size() > kMaxDecimal) return false;
  size_t at = SkipDigits(text, 0);
  if (at == 0) return false;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = SkipDigits(text, at + 1);
    if (fraction == at + 1) return false;
    at = fraction;
  }
  if (at < text.size() && text[at] == 'e') {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t end = SkipDigits(text, at);
    if (end == at || end > at + 2) return false;
    at = end;
  }
  return at == text.size();
}

PreciseInterval OfDecimal(const std::string& text) {
  if (!IsDecimal(text)) {
    throw Error(ErrorCode::kUsage, fmt::format("'{}' is no decimal number", text.substr(0, 40)),
                "write it like 0.5 or 1e-6, without a sign");
  }
  PreciseInterval value(kDefaultPrecision);
  mpfr_set_str(value.lower().get(), text.c_str(), 10, MPFR_RNDD);
  mpfr_set_str(value.upper().get(), text.c_str(), 10, MPFR_RNDU);
  return value;
}

bool DecimalLess(const std::string& a, const std::string& b) {
  return mpfr_less_p(OfDecimal(a).lower().get(), OfDecimal(b).lower().get()) != 0;
}

}  // namespace partita::privacy::ledger
