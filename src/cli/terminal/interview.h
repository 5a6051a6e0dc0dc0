// Questions of a command that can also be answered by options: asked at a terminal, else listed as
// what is missing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace partita::cli {

class Interview {
 public:
  // The answer to a question, or nothing at the end of the input.
  using Ask = std::function<std::optional<std::string>(const std::string& question)>;

  // ask: empty if there is nobody to ask.
  explicit Interview(Ask ask) : ask_(std::move(ask)) {}

  // What was said with the option, else what is answered, else `otherwise`. Without any of them the
  // option is missing: "". Throws kUsage where input ends before an answer that is needed.
  std::string Say(const std::string& said, const std::string& option, const std::string& question,
                  const std::optional<std::string>& otherwise = std::nullopt);

  // Notes what was taken without a question.
  void Took(const std::string& option, const std::string& value) {
    taken_.emplace_back(option, value);
  }

  const std::vector<std::string>& missing() const { return missing_; }
  // Throws kUsage if something is missing.
  void RequireAll() const;

  // Options that nobody said, with what was taken for them.
  const std::vector<std::pair<std::string, std::string>>& taken() const { return taken_; }

 private:
  Ask ask_;
  std::vector<std::string> missing_;
  std::vector<std::pair<std::string, std::string>> taken_;
};

// Asks on standard error, and reads a line of standard input. Empty unless that is a terminal.
Interview::Ask TerminalAsk();

}  // namespace partita::cli
