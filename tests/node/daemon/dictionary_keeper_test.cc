// Dictionaries as the node keeps them: one writer after the other, and none over what it has not seen.
#include "node/daemon/dictionary_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "node/job/own_dictionary.h"

namespace partita::node::dictionary_keeper_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Of(const std::string& name) {
  return "[[variable]]\nname = \"" + name + "\"\ntype = \"numeric\"\npeers = \"hidden\"\n";
}

class DictionaryKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  ErrorCode Refusal(const std::string& text, const std::string& seen) {
    try {
      keeper_.Save("pupils", text, seen);
    } catch (const Error& error) {
      return error.code();
    }
    ADD_FAILURE() << "saved";
    return ErrorCode::kInternal;
  }

  fs::path folder_ =
      fs::path(::testing::TempDir()) / ("dictionaries-" + std::to_string(::getpid()));
  DictionaryKeeper keeper_{folder_};
};

TEST_F(DictionaryKeeperTest, KeepsWhatIsSavedForTheOwnUserAlone) {
  EXPECT_EQ(keeper_.Read("pupils").version, "");
  const SavedDictionary first = keeper_.Save("pupils", Of("income"), "");
  EXPECT_THAT(first.changes, ElementsAre("'income': new, hidden"));
  EXPECT_EQ(keeper_.Read("pupils").text, Of("income"));
  EXPECT_EQ(keeper_.Read("pupils").version, first.version);
  EXPECT_EQ(first.version.size(), 64U);
  EXPECT_EQ(fs::status(folder_).permissions() & (fs::perms::group_all | fs::perms::others_all),
            fs::perms::none);
  EXPECT_EQ(*DictionaryText(folder_, "pupils"), Of("income"));
  EXPECT_EQ(DictionaryText(folder_, "wards"), std::nullopt);
  // The same words give the same version.
  EXPECT_EQ(keeper_.Save("wards", Of("income"), "").version, first.version);
}

TEST_F(DictionaryKeeperTest, NothingIsSavedOverAVersionThatWasNotSeen) {
  const std::string first = keeper_.Save("pupils", Of("a"), "").version;
  EXPECT_EQ(Refusal(Of("b"), ""), ErrorCode::kRefused);
  const std::string second = keeper_.Save("pupils", Of("b"), first).version;
  EXPECT_EQ(Refusal(Of("c"), first), ErrorCode::kRefused);
  EXPECT_EQ(keeper_.Read("pupils").version, second);
  // One that somebody took away.
  fs::remove(DictionaryFile(folder_, "pupils"));
  EXPECT_EQ(Refusal(Of("c"), second), ErrorCode::kRefused);
}

// Of many who saw the same one wins.
TEST_F(DictionaryKeeperTest, OfManyAtOnceOneIsSaved) {
  const std::string seen = keeper_.Save("pupils", Of("a"), "").version;
  std::atomic<int> saved{0}, refused{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      try {
        keeper_.Save("pupils", Of("b" + std::to_string(i)), seen);
        ++saved;
      } catch (const Error& error) {
        refused += error.code() == ErrorCode::kRefused ? 1 : 0;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(saved, 1);
  EXPECT_EQ(refused, 7);
}

TEST_F(DictionaryKeeperTest, WhatIsNoDictionaryIsNotSaved) {
  EXPECT_EQ(Refusal("[[variable]]\nname = \"x\"\n", ""), ErrorCode::kBadInput);
  EXPECT_EQ(Refusal(std::string((size_t{1} << 20) + 1, '#'), ""), ErrorCode::kBadInput);
  EXPECT_FALSE(fs::exists(DictionaryFile(folder_, "pupils")));
}

// What was broken by hand can be replaced.
TEST_F(DictionaryKeeperTest, OneThatCannotBeReadIsReplaced) {
  keeper_.Save("pupils", Of("a"), "");
  WriteFileAtomically(DictionaryFile(folder_, "pupils").string(), "name = ");
  const KeptDictionary broken = keeper_.Read("pupils");
  EXPECT_EQ(broken.text, "name = ");
  EXPECT_THAT(keeper_.Save("pupils", Of("a"), broken.version).changes,
              ElementsAre(HasSubstr("could not be read")));
}

}  // namespace
}  // namespace partita::node::dictionary_keeper_test
