// Asserts that a statement throws partita::Error with a code and parts of its message and hint.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "base/error.h"

namespace partita {

inline std::optional<Error> ThrownBy(const std::function<void()>& statement) {
  try {
    statement();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

inline void ExpectError(ErrorCode code, const std::string& message, const std::string& hint,
                        const std::function<void()>& statement) {
  std::optional<Error> error = ThrownBy(statement);
  ASSERT_TRUE(error.has_value()) << "nothing was thrown; expected: " << message;
  EXPECT_EQ(ErrorCodeName(error->code()), ErrorCodeName(code)) << error->message();
  EXPECT_THAT(error->message(), ::testing::HasSubstr(message));
  EXPECT_THAT(error->hint(), ::testing::HasSubstr(hint));
}

}  // namespace partita
