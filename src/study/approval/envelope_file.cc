// The text of an envelope as a steward writes it.
#include <algorithm>

#include "base/utc_time.h"
#include "study/approval/envelope.h"
#include "study/approval/envelope_keys.h"
#include "study/approval/policy.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr size_t kMaxEnvelopeFileBytes = size_t{1} << 20;

}  // namespace

std::vector<std::string> ReadEnvelopeList(const TableReader& root, std::string_view key,
                                          const std::string& example, bool may_be_empty,
                                          size_t max_bytes) {
  const std::vector<LocatedText> texts =
      root.Texts(key, std::string(key) + " = [\"" + example + "\"]");
  if (texts.empty() && !may_be_empty) {
    root.Fail(root.PositionOf(key), "'" + std::string(key) + "' lists nothing",
              "name what a study may use, for example \"" + example + "\"");
  }
  CheckDistinct(root, texts, key);
  std::vector<std::string> names;
  for (const LocatedText& text : texts) {
    CheckPlainText(root, text, key, max_bytes);
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

toml::table ParseEnvelopeToml(const std::string& text, const std::string& file) {
  if (text.size() > kMaxEnvelopeFileBytes) {
    FailAt(file, {1, 1}, "the file is larger than 1 MiB", "an envelope lists a few names");
  }
  return ParseToml(text, file);
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

std::string ReadEnvelopeName(const TableReader& root) {
  const LocatedText name = root.Text("name", "name = \"asthma\"");
  CheckName(root, name, kStudyName);
  return name.value;
}

AdmittedLists ReadAdmitted(const TableReader& root, const std::vector<std::string>& methods) {
  AdmittedLists admitted;
  admitted.methods = ReadEnvelopeList(root, "methods", methods.front());
  for (const LocatedText& method : root.Texts("methods", "")) {
    root.Choice(method, "methods", methods);
  }
  admitted.protocols = ReadEnvelopeList(root, "protocols", "pooled-moments");
  // Not every method has functions.
  admitted.functions = ReadEnvelopeList(root, "functions", "sem", true);
  admitted.engines = ReadEnvelopeList(root, "engines", "dealer");
  admitted.receivers = ReadEnvelopeList(root, "receivers", "north");
  admitted.releases = ReadEnvelopeList(root, "releases", "moments");
  admitted.variables = ReadEnvelopeList(root, "variables", "age");
  return admitted;
}

uint64_t ReadMaxResults(const TableReader& root) {
  if (!root.Has("max_results")) root.FailMissing("max_results", "max_results = 10");
  return ReadEnvelopeCount(root, "max_results", 1, kMaxEnvelopeResults, 1);
}

DisclosureSpec ReadDemands(const TableReader& root) {
  DisclosureSpec disclosure;
  disclosure.min_cell = ReadEnvelopeCount(root, "min_cell", 1, kMaxThreshold, disclosure.min_cell);
  disclosure.min_rows = ReadEnvelopeCount(root, "min_rows", 1, kMaxThreshold, disclosure.min_rows);
  disclosure.refuse_small_samples = root.OptionalBool("refuse_small_samples").value_or(false);
  return disclosure;
}

Envelope ParseEnvelopeFile(const std::string& text, const std::string& file,
                           const std::vector<std::string>& methods) {
  const toml::table tree = ParseEnvelopeToml(text, file);
  if (IsPolicyFile(text)) {
    const auto& begin = tree.get("partita_envelope")->source().begin;
    FailAt(file, {begin.line, begin.column},
           "format 2 is a policy of a node, by which nothing can be signed yet",
           "write partita_envelope = 1 for runs without a node; at a node approve every study");
  }
  const TableReader root(file, tree, "the envelope",
                         {"partita_envelope", "name", "methods", "protocols", "functions",
                          "engines", "receivers", "releases", "variables", "max_results",
                          "valid_until", "min_cell", "min_rows", "refuse_small_samples"});
  CheckFormat(root, "partita_envelope", 1);
  Envelope envelope;
  envelope.name = ReadEnvelopeName(root);
  static_cast<AdmittedLists&>(envelope) = ReadAdmitted(root, methods);
  envelope.max_results = ReadMaxResults(root);
  envelope.valid_until = ReadUntil(root);
  envelope.disclosure = ReadDemands(root);
  return envelope;
}

}  // namespace partita::study
