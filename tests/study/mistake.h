// Edits of a valid text, and the message that each gets.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/study/edited.h"

namespace partita::study {

struct Mistake {
  std::string from, to;  // the edit
  std::string place;     // LINE:COLUMN, or LINE: for any column
  std::string what;      // part of the message
  std::string remedy;    // part of the hint
};

// `parse` refuses what it is given, in the file `name`, as the mistake says.
inline void ExpectMistake(const std::function<void(const std::string&)>& parse,
                          const std::string& name, const std::string& text,
                          const Mistake& mistake) {
  SCOPED_TRACE(mistake.to + " " + mistake.what);
  try {
    parse(text);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), ::testing::StartsWith(name + ":" + mistake.place +
                                                       (mistake.place.ends_with(':') ? "" : ": ")));
    EXPECT_THAT(error.message(), ::testing::HasSubstr(mistake.what));
    EXPECT_THAT(error.hint(), ::testing::HasSubstr(mistake.remedy));
    EXPECT_FALSE(error.hint().empty());
  }
}

inline void ExpectMistakes(const std::function<void(const std::string&)>& parse,
                           const std::string& name, const std::string& text,
                           const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    ExpectMistake(parse, name, Edited(text, mistake.from, mistake.to), mistake);
  }
}

}  // namespace partita::study
