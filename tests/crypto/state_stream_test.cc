// States that are read and written piece by piece: the same bytes as those that are in memory whole, and damage is
// noticed wherever it is.
#include "crypto/state_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace partita::crypto::state_stream_test {
namespace {

namespace fs = std::filesystem;

const StateKind kKind = {"partita stream test 1", "the state of the test", "make it anew"};

class StateStreamTest : public ::testing::Test {
 protected:
  StateStreamTest()
      : folder_(fs::temp_directory_path() / ("state_stream_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~StateStreamTest() override { fs::remove_all(folder_); }

  fs::path File() const { return folder_ / "state"; }

  // Not durable, unlike WriteState.
  void Put(ByteView bytes) const {
    std::ofstream(File(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  const fs::path folder_;
};

Bytes Content(size_t size) {
  Bytes content;
  for (size_t i = 0; i < size; ++i) content.push_back(static_cast<uint8_t>(31 * i + i / 7));
  return content;
}

// In pieces of `piece` bytes.
Bytes ReadAll(const fs::path& file, size_t piece) {
  StateStream stream(kKind, file);
  Bytes content(stream.left());
  for (size_t first = 0; first < content.size(); first += piece)
    stream.Read(std::span(content).subspan(first, std::min(piece, content.size() - first)));
  EXPECT_EQ(stream.left(), 0u);
  stream.ExpectEnd();
  return content;
}

ErrorCode CodeOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

Bytes OnDisk(const fs::path& file) {
  const std::string text = ReadFile(file, 1 << 20, "the file");
  return {text.begin(), text.end()};
}

TEST_F(StateStreamTest, BytesAreThoseOfAStateInMemory) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{1000}}) {
    const Bytes content = Content(size);
    WriteState(File(), EncodeState(kKind, {}, content));
    EXPECT_EQ(ReadAll(File(), 1), content);
    EXPECT_EQ(ReadAll(File(), 7), content);
    EXPECT_EQ(ReadAll(File(), 4096), content);
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{4096}}) {
      WriteStateInPieces(kKind, File(), [&](const StateContent& add) {
        for (size_t first = 0; first < size; first += piece)
          add(ByteView(content).subspan(first, std::min(piece, size - first)));
      });
      EXPECT_EQ(OnDisk(File()), EncodeState(kKind, {}, content));
      EXPECT_EQ(fs::status(File()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    }
  }
}

TEST_F(StateStreamTest, EveryFlippedByteAndEveryLengthIsNoticed) {
  const Bytes whole = EncodeState(kKind, {}, Content(20));
  for (size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] ^= 0x40;
    Put(damaged);
    EXPECT_EQ(CodeOf([&] { ReadAll(File(), 8); }), ErrorCode::kBadInput) << at;
    Put(ByteView(whole).first(at));
    EXPECT_EQ(CodeOf([&] { ReadAll(File(), 8); }), ErrorCode::kBadInput) << at;
  }
  Bytes longer = whole;
  longer.push_back(0);
  Put(longer);
  EXPECT_EQ(CodeOf([&] { ReadAll(File(), 8); }), ErrorCode::kBadInput);
}

TEST_F(StateStreamTest, ReadsNoFurtherThanTheContentAndLeavesNothing) {
  WriteState(File(), EncodeState(kKind, {}, Content(12)));
  EXPECT_EQ(CodeOf([&] {
              StateStream stream(kKind, File());
              stream.U64();
              stream.U64();
            }),
            ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf([&] {
              StateStream stream(kKind, File());
              stream.U64();
              stream.ExpectEnd();
            }),
            ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf([&] { StateStream(kKind, folder_); }), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf([&] { StateStream(kKind, folder_ / "none"); }), ErrorCode::kBadInput);
  EXPECT_FALSE(StateExists(folder_ / "none"));
  EXPECT_TRUE(StateExists(File()));
}

// As where a state is written of the one before it, and that is damaged.
TEST_F(StateStreamTest, WhatWasThereStaysWhereNothingNewIsWhole) {
  const Bytes whole = EncodeState(kKind, {}, Content(12));
  WriteState(File(), whole);
  EXPECT_EQ(CodeOf([&] {
              WriteStateInPieces(kKind, File(), [](const StateContent& add) {
                add(Content(5));
                throw DamagedState(kKind);
              });
            }),
            ErrorCode::kBadInput);
  EXPECT_EQ(OnDisk(File()), whole);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace partita::crypto::state_stream_test
