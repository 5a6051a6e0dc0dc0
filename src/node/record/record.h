// The record of processing activities (GDPR, Article 30) of a site's node: what a study did with this site's rows, from
// what the node keeps and from its audit log.
//
// Words of study files are their proposers': whoever makes entries has such files read in a child (sign/read_file.h),
// and shows their words as text. Nothing of a table is in an entry, not even how many rows it has.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "node/sign/read_file.h"

namespace partita::node {

// A day as "2026-11-28", or nothing; for the first or the last second of it. Throws kUsage.
std::optional<int64_t> DayAsked(const std::string& text, bool is_end);

// Whether a study was open here at some time of these. study: as daemon/control.h says it, with `kept`.
bool WasOpenWithin(const nlohmann::ordered_json& study, std::optional<int64_t> from,
                   std::optional<int64_t> until);

// One entry (docs/schemas/node-record.json). own: this site's name; study: as above; log: entries of the audit log
// about it, the newest first, as daemon/control.h has them; read: its file.
nlohmann::ordered_json RecordEntry(const std::string& own, const nlohmann::ordered_json& study,
                                   const nlohmann::ordered_json& log, const FileRead& read);

// A list of entries for people, and as CSV with a header, a line for each.
std::string RecordText(const nlohmann::ordered_json& entries);
std::string RecordCsv(const nlohmann::ordered_json& entries);

}  // namespace partita::node
