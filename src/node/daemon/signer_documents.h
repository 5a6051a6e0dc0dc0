// What the steward's signer needs of a study (node/sign), byte for byte.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "node/study/study.h"

namespace partita::node {

// folder: of the study, with what the job froze, if it has.
nlohmann::ordered_json SignerDocuments(const Study& study, const std::filesystem::path& folder);

}  // namespace partita::node
