#include "cli/terminal/interview.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "base/error.h"
#include "base/trim.h"

namespace partita::cli {

std::string Interview::Say(const std::string& said, const std::string& option,
                           const std::string& question,
                           const std::optional<std::string>& otherwise) {
  if (!said.empty()) return said;
  if (!ask_) {
    if (!otherwise) {
      missing_.push_back(option);
    } else if (!otherwise->empty()) {
      taken_.emplace_back(option, *otherwise);
    }
    return otherwise.value_or("");
  }
  const bool has_default = otherwise && !otherwise->empty();
  const std::string asked = has_default ? fmt::format("{} [{}]", question, *otherwise) : question;
  while (true) {
    const std::optional<std::string> answer = ask_(asked + ": ");
    if (!answer) {
      throw Error(ErrorCode::kUsage, fmt::format("the input ended before {}", option),
                  "answer the question, or say " + option);
    }
    std::string trimmed(Trim(*answer));
    if (!trimmed.empty()) return trimmed;
    if (otherwise) return *otherwise;
  }
}

void Interview::RequireAll() const {
  if (missing_.empty()) return;
  throw Error(ErrorCode::kUsage, fmt::format("something is missing: {}", fmt::join(missing_, ", ")),
              "say it with these options; at a terminal, the command asks for it");
}

Interview::Ask TerminalAsk() {
  if (::isatty(STDIN_FILENO) != 1) return {};
  return [](const std::string& question) -> std::optional<std::string> {
    std::cerr << question << std::flush;
    std::string answer;
    if (!std::getline(std::cin, answer)) return std::nullopt;
    return answer;
  };
}

}  // namespace partita::cli
