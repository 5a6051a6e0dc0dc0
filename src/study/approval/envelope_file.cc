// The text of an envelope as a steward writes it.
#include <algorithm>

#include "base/utc_time.h"
#include "study/approval/envelope.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr size_t kMaxEnvelopeFileBytes = size_t{1} << 20;

// A list that has to be there and, unless it may be empty, to name something.
std::vector<std::string> ReadEnvelopeList(const TableReader& root, std::string_view key,
                                          const std::string& example, bool may_be_empty = false) {
  const std::vector<LocatedText> texts =
      root.Texts(key, std::string(key) + " = [\"" + example + "\"]");
  if (texts.empty() && !may_be_empty) {
    root.Fail(root.PositionOf(key), "'" + std::string(key) + "' lists nothing",
              "name what a study may use, for example \"" + example + "\"");
  }
  CheckDistinct(root, texts, key);
  std::vector<std::string> names;
  for (const LocatedText& text : texts) {
    CheckPlainText(root, text, key, kMaxEnvelopeNameBytes);
    names.push_back(text.value);
  }
  return names;
}

uint64_t ReadEnvelopeCount(const TableReader& root, std::string_view key, uint64_t least,
                           uint64_t most, uint64_t otherwise) {
  const auto number = root.OptionalInteger(key);
  if (!number) return otherwise;
  if (number->value < 0 || static_cast<uint64_t>(number->value) < least ||
      static_cast<uint64_t>(number->value) > most) {
    root.Fail(number->position,
              "'" + std::string(key) + "' cannot be " + std::to_string(number->value),
              "write a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<uint64_t>(number->value);
}

void CheckEnvelopeFormat(const TableReader& root) {
  const auto format = root.OptionalInteger("partita_envelope");
  if (!format) root.FailMissing("partita_envelope", "partita_envelope = 1");
  if (format->value != 1) {
    root.Fail(format->position,
              "this version of Partita cannot read format " + std::to_string(format->value),
              "write partita_envelope = 1");
  }
}

int64_t ReadUntil(const TableReader& root) {
  const LocatedText until = root.Text("valid_until", "valid_until = \"2030-12-31\"");
  const auto time = ParseUntil(until.value);
  if (!time) {
    root.Fail(until.position, "'valid_until' cannot be " + Quote(until.value),
              "write the last day between quotes, for example \"2030-12-31\"");
  }
  return *time;
}

}  // namespace

Envelope ParseEnvelopeFile(const std::string& text, const std::string& file,
                           const std::vector<std::string>& methods) {
  if (text.size() > kMaxEnvelopeFileBytes) {
    FailAt(file, {1, 1}, "the file is larger than 1 MiB", "an envelope lists a few names");
  }
  const toml::table tree = ParseToml(text, file);
  const TableReader root(file, tree, "the envelope",
                         {"partita_envelope", "name", "methods", "protocols", "functions",
                          "engines", "receivers", "releases", "variables", "max_results",
                          "valid_until", "min_cell", "min_rows", "refuse_small_samples"});
  CheckEnvelopeFormat(root);
  Envelope envelope;
  const LocatedText name = root.Text("name", "name = \"asthma\"");
  CheckName(root, name, kStudyName);
  envelope.name = name.value;
  envelope.methods = ReadEnvelopeList(root, "methods", methods.front());
  for (const LocatedText& method : root.Texts("methods", "")) {
    root.Choice(method, "methods", methods);
  }
  envelope.protocols = ReadEnvelopeList(root, "protocols", "pooled-moments");
  // Not every method has functions.
  envelope.functions = ReadEnvelopeList(root, "functions", "sem", true);
  envelope.engines = ReadEnvelopeList(root, "engines", "dealer");
  envelope.receivers = ReadEnvelopeList(root, "receivers", "north");
  envelope.releases = ReadEnvelopeList(root, "releases", "moments");
  envelope.variables = ReadEnvelopeList(root, "variables", "age");
  if (!root.Has("max_results")) root.FailMissing("max_results", "max_results = 10");
  envelope.max_results = ReadEnvelopeCount(root, "max_results", 1, kMaxEnvelopeResults, 1);
  envelope.valid_until = ReadUntil(root);
  DisclosureSpec& disclosure = envelope.disclosure;
  disclosure.min_cell = ReadEnvelopeCount(root, "min_cell", 1, kMaxThreshold, disclosure.min_cell);
  disclosure.min_rows = ReadEnvelopeCount(root, "min_rows", 1, kMaxThreshold, disclosure.min_rows);
  disclosure.refuse_small_samples = root.OptionalBool("refuse_small_samples").value_or(false);
  return envelope;
}

}  // namespace partita::study
