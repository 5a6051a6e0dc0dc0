// Products from transfers, against integers, for all widths and numbers of entries; pads.
#include "mpc/ot/transfers.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace partita::mpc::ot::transfers_test {
namespace {

using crypto::Block;

// Both ends' rows without a network.
struct Rows {
  std::vector<Block> sent, received;
  Block difference = 0;
  BitAppender choices;
};

Rows MakeRows(std::mt19937_64& random, size_t count) {
  Rows rows;
  auto block = [&] { return static_cast<Block>(random()) << 64 | random(); };
  rows.difference = block();
  for (size_t i = 0; i < count; ++i) {
    rows.sent.push_back(block());
    const bool choice = (random() & 1) != 0;
    rows.choices.Append(choice ? 1 : 0, 1);
    rows.received.push_back(rows.sent[i] ^ (choice ? rows.difference : 0));
  }
  return rows;
}

struct Case {
  size_t groups, transfers, entries;
};

TEST(TransfersTest, SharesAddUpToTheProduct) {
  std::mt19937_64 random(1);
  for (const Case& c : {Case{1, 1, 1},
                        {3, 1, 1},
                        {2000, 1, 1},
                        {5, 16, 1},
                        {70, 16, 3},
                        {9, 16, 100},
                        {2, 16, 1500}}) {
    OtTask task;
    task.groups = c.groups;
    task.transfers = c.transfers;
    task.entries = c.entries;
    for (size_t j = 0; j < c.transfers; ++j) task.widths.push_back(static_cast<uint8_t>(16 - j));
    const size_t count = c.groups * c.transfers;
    Rows rows = MakeRows(random, count);
    crypto::BlockPermutation permutation(Bytes(16, 3));
    Bytes payload(task.PayloadBytes(task.groups) + kSlackBytes, 0xee);
    std::vector<Block> messages(count * c.entries), sent(messages.size()),
        received(messages.size());
    for (Block& m : messages) m = static_cast<Block>(random()) << 64 | random();
    auto at = [&](size_t g, size_t j, size_t e) { return (g * c.transfers + j) * c.entries + e; };
    auto same = [](size_t g) { return g; };
    SendProducts(
        {task, permutation, rows.sent, 17, 2}, rows.difference, payload.data(), same,
        [&](size_t g, size_t j, size_t e) { return messages[at(g, j, e)]; },
        [&](size_t g, size_t j, size_t e, Block share) { sent[at(g, j, e)] = share; });
    ReceiveProducts(
        {task, permutation, rows.received, 17, 2}, rows.choices.words(), 0, payload.data(), same,
        [&](size_t g, size_t j, size_t e, Block share) { received[at(g, j, e)] = share; });
    for (size_t g = 0; g < c.groups; ++g) {
      for (size_t j = 0; j < c.transfers; ++j) {
        const bool choice = BitAt(rows.choices.words(), g * c.transfers + j);
        const Block mask =
            task.widths[j] == 16 ? ~Block{0} : (Block{1} << (8 * task.widths[j])) - 1;
        for (size_t e = 0; e < c.entries; ++e) {
          const size_t i = at(g, j, e);
          const Block sum = sent[i] + received[i];
          ASSERT_TRUE(((sum - (choice ? messages[i] : 0)) & mask) == 0) << g << " " << j;
        }
      }
    }
  }
}

TEST(TransfersTest, BitsAddUpToTheConjunction) {
  std::mt19937_64 random(2);
  for (size_t count : {1, 7, 8, 64, 1024, 1025, 3000}) {
    OtTask task;
    task.item = OtTask::Item::kAnd;
    task.groups = count;
    task.transfers = 1;
    Rows rows = MakeRows(random, count);
    crypto::BlockPermutation permutation(Bytes(16, 3));
    Bytes payload(task.PayloadBytes(count) + kSlackBytes);
    std::vector<uint8_t> messages(count), sent(count), received(count);
    for (uint8_t& m : messages) m = random() & 1;
    SendBits(
        {task, permutation, rows.sent, 5}, rows.difference, payload.data(),
        [&](size_t i) { return messages[i]; }, [&](size_t i, uint8_t s) { sent[i] = s; });
    ReceiveBits({task, permutation, rows.received, 5}, rows.choices.words(), 0, payload.data(),
                [&](size_t i, uint8_t s) { received[i] = s; });
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(sent[i] ^ received[i], BitAt(rows.choices.words(), i) ? messages[i] : 0) << i;
    }
  }
}

// Pads of equal rows under other indices or other first blocks have no block in common.
TEST(TransfersTest, PadsDependOnIndexAndBlock) {
  OtTask task;
  task.transfers = 4;
  task.entries = 5;
  task.widths = {16, 16, 9, 1};
  const std::vector<Block> rows(8, 12345);
  crypto::BlockPermutation permutation(Bytes(16, 3));
  std::set<std::pair<uint64_t, uint64_t>> seen;
  size_t blocks = 0;
  for (uint64_t index : {0, 8}) {
    for (uint64_t first_block : {0, 5}) {
      Pads pads;
      pads.Make(permutation, rows, 0, index, first_block, task);
      size_t each = 0;
      for (uint8_t width : task.widths) each += PadBlocks(task.entries, width);
      for (size_t i = 0; i < 2 * each; ++i) {
        const Block pad = LoadEntry(pads.bytes() + i * sizeof(Block));
        seen.emplace(static_cast<uint64_t>(pad >> 64), static_cast<uint64_t>(pad));
        ++blocks;
      }
    }
  }
  EXPECT_EQ(blocks, 4u * 2 * (5 + 5 + 3 + 1));
  EXPECT_EQ(seen.size(), blocks);
}

TEST(TransfersTest, AppendedBitsAreWhereTheyBelong) {
  std::mt19937_64 random(3);
  BitAppender appender;
  std::vector<bool> expected;
  for (size_t count : {1, 64, 128, 3, 0, 127, 63, 65, 128}) {
    const Block bits = static_cast<Block>(random()) << 64 | random();
    appender.Append(bits, count);
    for (size_t i = 0; i < count; ++i) expected.push_back((bits >> i & 1) != 0);
  }
  ASSERT_EQ(appender.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(BitAt(appender.words(), i), expected[i]) << i;
  }
  appender.PadTo(768);
  EXPECT_EQ(appender.words().size(), 12u);
  for (size_t i = expected.size(); i < 768; ++i) EXPECT_FALSE(BitAt(appender.words(), i));
}

}  // namespace
}  // namespace partita::mpc::ot::transfers_test
