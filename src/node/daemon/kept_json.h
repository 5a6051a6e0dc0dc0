// What the control socket (control.h) says of how long things are kept.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "node/study/retention.h"
#include "node/study/study.h"

namespace partita::node {

// {"ended", "result_until", "documents_until", "result_kept"}; null for a study that goes on.
nlohmann::ordered_json KeptJson(const std::optional<OverStudy>& study, const RetentionRules& rules);

// The answer to `retention`. run: folders of studies; open: all that are; ended: what the store says.
nlohmann::ordered_json RetentionJson(const std::vector<Study>& open, std::vector<OverStudy> ended,
                                     const RetentionRules& rules, const std::filesystem::path& run);

}  // namespace partita::node
