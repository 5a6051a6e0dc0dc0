// Manual pages of section 1, one per command, in the man macros of troff.
#pragma once

#include <string>
#include <vector>

#include "cli/generate/command_tree.h"

namespace partita::cli {

struct ManualPage {
  std::string file_name;  // "partita-study-plan.1"
  std::string text;
};

std::vector<ManualPage> Manual(const CommandNode& root);

}  // namespace partita::cli
