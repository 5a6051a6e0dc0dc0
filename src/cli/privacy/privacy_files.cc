// The TOML files of `partita privacy`: compositions and pairs of laws.
#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "cli/privacy/privacy_mechanism.h"
#include "study/file/toml_reader.h"

namespace partita::cli {
namespace {

std::string ReadPrivacyText(const std::string& file) {
  return ReadFile(file, uint64_t{64} << 20, "the file");
}

// A text or a number, as text.
std::string ValueText(const study::TableReader& table, const std::string& key) {
  if (table.IsText(key)) return table.Text(key, key + " = 1").value;
  return fmt::format("{}", table.Number(key, key + " = 1").value);
}

}  // namespace

CompositionFile LoadCompositionFile(const std::string& file) {
  const toml::table root = study::ParseToml(ReadPrivacyText(file), file);
  const study::TableReader reader(file, root, "the file", {"adjacency", "delta", "mechanism"});
  CompositionFile composition;
  if (const auto adjacency = reader.OptionalText("adjacency"))
    composition.adjacency = reader.Choice(*adjacency, "adjacency", {"add-remove", "replace"});
  if (reader.Has("delta")) composition.delta = ValueText(reader, "delta");
  std::vector<std::string> keys = MechanismKeys();
  keys.push_back("kind");
  for (const study::TableReader& table : reader.Tables("mechanism", keys)) {
    MechanismText& mechanism = composition.mechanisms.emplace_back();
    const study::LocatedText kind = table.Text("kind", "kind = \"gaussian\"");
    mechanism.kind = table.Choice(kind, "kind", MechanismKinds());
    mechanism.where = fmt::format("{}:{}:{}: ", file, kind.position.line, kind.position.column);
    for (const std::string& key : MechanismKeys()) {
      if (table.Has(key)) mechanism.values[key] = ValueText(table, key);
    }
  }
  if (composition.mechanisms.empty()) {
    throw Error(ErrorCode::kBadInput, file + " holds no mechanism",
                "write [[mechanism]] with kind = \"gaussian\" and sigma = 2, for example");
  }
  return composition;
}

void LoadPmfPair(const std::string& file, std::vector<double>& p, std::vector<double>& q) {
  const toml::table root = study::ParseToml(ReadPrivacyText(file), file);
  const study::TableReader reader(file, root, "the file", {"p", "q"});
  const auto read = [&](const char* key) {
    std::vector<double> law;
    for (const auto& value : reader.Values(key, false, std::string(key) + " = [0.5, 0.5]"))
      law.push_back(value.value);
    return law;
  };
  p = read("p");
  q = read("q");
}

}  // namespace partita::cli
