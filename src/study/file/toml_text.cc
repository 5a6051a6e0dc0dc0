#include "study/file/toml_text.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/stray_character.h"

namespace partita::study {
namespace {

// The value of `text`; empty if it is not one.
toml::table Parsed(const std::string& text) {
  if (text.find('\n') != std::string::npos || FindStrayCharacter(text)) return {};
  try {
    toml::table table = toml::parse("value = " + text);
    if (table.size() == 1) return table;
  } catch (const toml::parse_error&) {
  }
  return {};
}

}  // namespace

std::string TomlText(std::string_view text) {
  const bool lines = text.find('\n') != std::string_view::npos;
  std::string quoted = lines ? "\"\"\"\n" : "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\t') {
      quoted += "\\t";
    } else if ((static_cast<unsigned char>(c) < ' ' && c != '\n') || c == '\x7f') {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + (lines ? "\"\"\"" : "\"");
}

std::string TomlTexts(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(TomlText(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

bool IsTomlValue(const std::string& text) { return !Parsed(text).empty(); }

bool IsTomlBound(const std::string& text, bool date) {
  const toml::table table = Parsed(text);
  const toml::node* value = table.get("value");
  return value != nullptr && (date ? value->is_date() : value->is_number());
}

}  // namespace partita::study
