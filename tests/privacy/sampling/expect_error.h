// The code of the Error that a call throws.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace partita::privacy {

inline void ExpectError(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_FALSE(error.message().empty());
  }
}

inline void ExpectUsage(const std::function<void()>& call) { ExpectError(ErrorCode::kUsage, call); }

}  // namespace partita::privacy
