// Edits of texts.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace partita::study {

// The text with the first occurrence of `from` replaced; fails if there is none.
inline std::string Edited(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace partita::study
