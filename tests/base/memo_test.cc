#include "base/memo.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace partita::memo_test {
namespace {

TEST(MemoTest, AsksOnceForEachKey) {
  Memo<std::pair<int, double>, int> memo;
  int asked = 0;
  const auto get = [&](int a, double b) { return memo.Get({a, b}, [&] { return ++asked; }); };
  EXPECT_EQ(get(1, 0.5), 1);
  EXPECT_EQ(get(1, 0.5), 1);
  EXPECT_EQ(get(1, 0.25), 2);
  EXPECT_EQ(get(2, 0.5), 3);
  EXPECT_EQ(get(1, 0.25), 2);
}

TEST(MemoTest, RemembersNoFailure) {
  Memo<int, int> memo;
  EXPECT_THROW(memo.Get(1, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(memo.Get(1, [] { return 7; }), 7);
}

TEST(MemoTest, ManyThreadsGetTheSame) {
  Memo<int, int> memo;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i)
        wrong[t] += memo.Get(i % 1500, [&] { return 2 * (i % 1500); }) == 2 * (i % 1500) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace partita::memo_test
