// Studies as the control socket (control.h) says them, and what their folders have for people.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "node/study/study.h"

namespace partita::node {

inline constexpr size_t kMaxTableNameBytes = 4096;

nlohmann::ordered_json StudyJson(const Study& study);

// Of a file in a study's folder; empty if there is none.
std::string FileOfStudy(const std::filesystem::path& file, size_t max_bytes);

// has_draft, has_report and has_result of a study's folder.
void AddFilesOf(const std::filesystem::path& folder, nlohmann::ordered_json& json);

}  // namespace partita::node
