// The correlation of extended transfers, exactly, and that what is planted against it is noticed.
#include "mpc/ot/extension.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <set>

namespace partita::mpc::ot::extension_test {
namespace {

using crypto::Block;

struct Ends {
  std::unique_ptr<CotReceiver> receiver;
  std::unique_ptr<CotSender> sender;
};

Ends MakeEnds(Block difference, crypto::RandomSource& random) {
  const BaseOtReceiver base_receiver(AsBytes("s"), "r", BaseChoices(difference), random);
  const BaseOtSender base_sender(AsBytes("s"), "s", random);
  Ends ends;
  ends.receiver = std::make_unique<CotReceiver>(
      base_sender.Finish(base_receiver.message(), kBaseTransfers), random);
  ends.sender = std::make_unique<CotSender>(difference, base_receiver.Finish(base_sender.message()),
                                            ends.receiver->setup());
  return ends;
}

struct Extended {
  std::vector<uint64_t> choices;
  Bytes message;
  std::vector<Block> t, q;
};

Extended Extend(Ends& ends, std::vector<uint64_t> choices) {
  Extended e;
  e.choices = std::move(choices);
  const size_t count = e.choices.size() * 64;
  e.message.resize(ExtensionBytes(count));
  e.t.resize(count);
  e.q.resize(count);
  ends.receiver->Extend(e.choices, e.message, e.t);
  ends.sender->Extend(e.message, e.q);
  return e;
}

size_t NumWrong(const Extended& e, Block difference) {
  size_t wrong = 0;
  for (size_t i = 0; i < e.t.size(); ++i) {
    const bool choice = (e.choices[i / 64] >> (i % 64) & 1) != 0;
    wrong += e.t[i] == (e.q[i] ^ (choice ? difference : 0)) ? 0 : 1;
  }
  return wrong;
}

std::vector<uint64_t> RandomWords(std::mt19937_64& random, size_t count) {
  std::vector<uint64_t> words(count);
  for (uint64_t& word : words) word = random();
  return words;
}

Block RandomBlock(std::mt19937_64& random) { return static_cast<Block>(random()) << 64 | random(); }

TEST(ExtensionTest, CorrelationHoldsExactly) {
  std::mt19937_64 seed(1);
  crypto::SystemRandom random;
  for (Block difference : {Block{0}, ~Block{0}, Block{1}, Block{1} << 127, RandomBlock(seed)}) {
    Ends ends = MakeEnds(difference, random);
    // One unit, around a slice, and several extensions of one set-up.
    for (size_t words : {2, 128, 130, 2, 0, 400}) {
      const Extended e = Extend(ends, RandomWords(seed, words));
      EXPECT_EQ(NumWrong(e, difference), 0u) << words;
    }
    EXPECT_EQ(NumWrong(Extend(ends, std::vector<uint64_t>(130, 0)), difference), 0u);
    EXPECT_EQ(NumWrong(Extend(ends, std::vector<uint64_t>(130, ~uint64_t{0})), difference), 0u);
  }
}

// Rows are new in every extension and within one: nothing is used twice.
TEST(ExtensionTest, RowsAreNeverRepeated) {
  std::mt19937_64 seed(2);
  crypto::SystemRandom random;
  Ends ends = MakeEnds(RandomBlock(seed), random);
  std::set<std::pair<uint64_t, uint64_t>> seen;
  size_t rows = 0;
  for (size_t words : {2, 2, 140, 2}) {
    for (Block row : Extend(ends, RandomWords(seed, words)).t) {
      seen.emplace(static_cast<uint64_t>(row >> 64), static_cast<uint64_t>(row));
      ++rows;
    }
  }
  EXPECT_EQ(seen.size(), rows);
}

// With the same set-up, the messages for two lists of choices differ in exactly the bits in which
// the choices do, chunk by chunk: the stream that hides them is another for every chunk and every
// extension. The hiding stream's bits are balanced: |ones - n/2| stays within 5.5 standard
// deviations (false alarm 4e-8).
TEST(ExtensionTest, ChoicesAreHiddenByFreshStreams) {
  std::mt19937_64 seed(3);
  auto message_of = [](const std::vector<uint64_t>& choices, int extensions) {
    crypto::Prg random(crypto::Key(std::array<uint8_t, 32>{9}));
    Ends ends = MakeEnds(77, random);
    Extended last;
    for (int i = 0; i < extensions; ++i) last = Extend(ends, choices);
    return last.message;
  };
  const std::vector<uint64_t> zeros(128), some = RandomWords(seed, 128);
  const Bytes stream = message_of(zeros, 1), masked = message_of(some, 1);
  const size_t column = stream.size() / kChunks;
  const auto* choice_bytes = reinterpret_cast<const uint8_t*>(some.data());
  std::set<Bytes> columns;
  int64_t ones = 0;
  for (size_t chunk = 0; chunk < kChunks; ++chunk) {
    for (size_t i = 0; i < column; ++i) {
      const size_t at = chunk * column + i;
      ASSERT_EQ(stream[at] ^ masked[at], choice_bytes[i]) << chunk << " " << i;
      ones += std::popcount(stream[at]);
    }
    columns.emplace(stream.begin() + static_cast<ptrdiff_t>(chunk * column),
                    stream.begin() + static_cast<ptrdiff_t>((chunk + 1) * column));
  }
  EXPECT_EQ(columns.size(), kChunks);
  EXPECT_NE(message_of(zeros, 2), stream);
  const double bits = 8.0 * static_cast<double>(stream.size());
  EXPECT_LT(std::abs(static_cast<double>(ones) - bits / 2), 5.5 * std::sqrt(bits) / 2);
}

// Defects: a choice that changes under way, another difference, a tree of another set-up, a message
// that is used for two extensions.
TEST(ExtensionTest, DefectsAreNoticed) {
  std::mt19937_64 seed(4);
  crypto::SystemRandom random;
  const Block difference = RandomBlock(seed);
  Ends ends = MakeEnds(difference, random), other = MakeEnds(difference, random);
  Extended e = Extend(ends, RandomWords(seed, 4));
  EXPECT_EQ(NumWrong(e, difference ^ 1),
            static_cast<size_t>(std::popcount(e.choices[0]) + std::popcount(e.choices[1]) +
                                std::popcount(e.choices[2]) + std::popcount(e.choices[3])));
  e.choices[1] ^= 4;
  EXPECT_EQ(NumWrong(e, difference), 1u);
  ends.sender->Extend(e.message, e.q);  // the stream went on
  EXPECT_GT(NumWrong(e, difference), 200u);
  Ends mixed{std::move(ends.receiver), std::move(other.sender)};
  EXPECT_GT(NumWrong(Extend(mixed, RandomWords(seed, 4)), difference), 200u);
}

}  // namespace
}  // namespace partita::mpc::ot::extension_test
