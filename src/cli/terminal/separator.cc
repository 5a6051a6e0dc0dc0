#include "cli/terminal/separator.h"

namespace partita::cli {

void AddSeparator(CLI::App& command, std::string& separator, const std::string& otherwise) {
  command.add_option("--separator", separator, "Between the fields (default: " + otherwise + ")")
      ->check(CLI::IsMember({",", ";", "tab"}));
}

std::optional<char> SeparatorOf(const std::string& given) {
  if (given.empty()) return {};
  return given == "tab" ? '\t' : given[0];
}

}  // namespace partita::cli
