// Canonical texts of keys: any bytes under any rule; what is canonical stays so.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "match/key_rule.h"

using partita::match::CanonicalKey;
using partita::match::KeyRule;
using partita::match::KeyRuleKind;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  KeyRule rule;
  rule.kind = static_cast<KeyRuleKind>(data[0] % 5);
  rule.drop_marks = (data[0] & 8) != 0;
  rule.drop_punctuation = (data[0] & 16) != 0;
  rule.length = data[1] % 16 + 1;
  rule.format = partita::match::DateFormats()[data[1] % partita::match::DateFormats().size()];
  rule.country = "49";
  const std::string cell(reinterpret_cast<const char*>(data) + 2, size - 2);
  const CanonicalKey once = partita::match::Canonical(rule, cell);
  if (!once.text) return 0;
  // A number with its country is marked as one by a plus.
  const std::string again = rule.kind == KeyRuleKind::kPhone ? "+" + *once.text : *once.text;
  const CanonicalKey twice = partita::match::Canonical(rule, again);
  if (!twice.text || *twice.text != *once.text) std::abort();
  return 0;
}
