#include "base/json_problem.h"

#include <algorithm>

namespace partita {
namespace {

// What stands between the first `open` and the next `close`; empty if they are not there.
std::string_view Between(std::string_view text, std::string_view open, std::string_view close) {
  const size_t begin = text.find(open);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = text.substr(begin + open.size());
  const size_t end = rest.find(close);
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

}  // namespace

std::string JsonProblem(int id, std::string_view what) {
  constexpr int kMissingKey = 403, kOverflow = 406, kOwn = 501;
  if (id < 200) {
    std::string_view column = Between(what, "column ", ":"), line = Between(what, "line ", ",");
    const auto is_number = [](std::string_view text) {
      return !text.empty() &&
             std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    if (!is_number(line) || !is_number(column)) return "it is no JSON";
    return "it is no JSON (line " + std::string(line) + ", column " + std::string(column) + ")";
  }
  if (id == kOwn) return std::string(what.substr(what.find("] ") + 2));
  if (id == kOverflow) return "a number in it is too large";
  if (id == kMissingKey) return "'" + std::string(Between(what, "key '", "'")) + "' is missing";
  if (id >= 400 && id < 500) return "a list in it is too short";
  const std::string_view wanted = Between(what, "type must be ", ",");
  if (!wanted.empty())
    return "something in it is no " + std::string(wanted) + ", and should be one";
  return "something in it is of another type than it should be";
}

}  // namespace partita
