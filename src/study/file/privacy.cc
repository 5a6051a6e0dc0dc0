// [analysis.privacy].
#include <algorithm>
#include <cmath>

#include "study/file/limits.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

const std::vector<std::string> kPrivacyKeys = {
    "epsilon", "delta", "adjacency", "norm", "known_shares", "planning_sd", "planning_rows"};

double ReadWithin(const TableReader& reader, std::string_view key, double value, double low,
                  double high, const std::string& hint) {
  if (std::isfinite(value) && value >= low && value <= high) return value;
  reader.Fail(reader.PositionOf(key), "'" + std::string(key) + "' is out of range", hint);
}

uint32_t ReadKnownShares(const TableReader& reader, const std::vector<Party>& parties) {
  const auto computing = std::count_if(parties.begin(), parties.end(),
                                       [](const Party& party) { return !party.dealer; });
  const auto known = reader.OptionalInteger("known_shares");
  if (!known) return 1;
  if (known->value < 0 || known->value >= computing) {
    reader.Fail(known->position,
                "'known_shares' must be at least 0 and below the number of computing parties, " +
                    std::to_string(computing),
                "1 protects from every single party, which knows its own share of the noise");
  }
  return static_cast<uint32_t>(known->value);
}

std::map<std::string, double> ReadPlanningSds(const TableReader& reader, const StudyFile& study) {
  std::vector<std::string> names;
  for (const data::DesignColumn& column : data::DesignColumns(study.dictionary, study.derived))
    names.push_back(column.schema.name);
  std::map<std::string, double> sds;
  const auto table = reader.OptionalTable("planning_sd", names, "planning_sd");
  if (!table) return sds;
  for (const std::string& name : names) {
    const auto sd = table->OptionalNumber(name);
    if (!sd) continue;
    if (!std::isfinite(sd->value) || sd->value <= 0) {
      table->Fail(sd->position, "a standard deviation for planning must be positive",
                  "write what is typical of " + Quote(name) + ", in its own unit");
    }
    sds[name] = sd->value;
  }
  return sds;
}

}  // namespace

std::optional<PrivacySpec> ReadPrivacy(const TableReader& analysis, const StudyFile& study) {
  const auto reader = analysis.OptionalTable("privacy", kPrivacyKeys, "[analysis.privacy]");
  if (!reader) return std::nullopt;
  PrivacySpec spec;
  spec.position = reader->position();
  spec.epsilon = ReadWithin(*reader, "epsilon", reader->Number("epsilon", "epsilon = 1.0").value,
                            kMinEpsilon, kMaxEpsilon,
                            "use a number from 0.0001 to 100; around 1 is usual, above 10 "
                            "protects little");
  spec.delta = ReadWithin(*reader, "delta", reader->Number("delta", "delta = 1e-6").value,
                          kMinDelta, kMaxDelta,
                          "use a number from 1e-15 to 0.01, well below one over the number of "
                          "persons");
  const std::string adjacency = reader->Choice(reader->Text("adjacency", "adjacency = \"replace\""),
                                               "adjacency", {"replace", "add-remove"});
  spec.adjacency =
      adjacency == "replace" ? privacy::Adjacency::kReplace : privacy::Adjacency::kAddRemove;
  if (const auto norm = reader->OptionalNumber("norm")) {
    spec.norm = ReadWithin(*reader, "norm", norm->value, kMinNorm, kMaxNorm,
                           "use a number from 0.01 to 100: rows of scaled values that are longer "
                           "are shortened to it");
  }
  spec.known_shares = ReadKnownShares(*reader, study.parties);
  spec.planning_sd = ReadPlanningSds(*reader, study);
  if (const auto rows = reader->OptionalInteger("planning_rows")) {
    if (rows->value < 1) {
      reader->Fail(rows->position, "'planning_rows' must be at least 1",
                   "write how many rows you expect in all");
    }
    spec.planning_rows = static_cast<uint64_t>(rows->value);
  }
  return spec;
}

}  // namespace partita::study
