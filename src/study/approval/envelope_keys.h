// Keys that the texts of envelopes and policies have alike. Private to those (heavy include).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "study/approval/envelope.h"
#include "study/file/toml_reader.h"

namespace partita::study {

// Throws kBadInput for a text that is longer than 1 MiB or no TOML.
toml::table ParseEnvelopeToml(const std::string& text, const std::string& file);

// A list that has to be there and, unless it may be empty, to name something; each once.
std::vector<std::string> ReadEnvelopeList(const TableReader& root, std::string_view key,
                                          const std::string& example, bool may_be_empty = false,
                                          size_t max_bytes = kMaxEnvelopeNameBytes);
uint64_t ReadEnvelopeCount(const TableReader& root, std::string_view key, uint64_t least,
                           uint64_t most, uint64_t otherwise);

// `name`, the seven lists, `max_results`, `valid_until`, and the three of [disclosure].
std::string ReadEnvelopeName(const TableReader& root);
AdmittedLists ReadAdmitted(const TableReader& root, const std::vector<std::string>& methods);
uint64_t ReadMaxResults(const TableReader& root);
int64_t ReadUntil(const TableReader& root);
DisclosureSpec ReadDemands(const TableReader& root);

}  // namespace partita::study
