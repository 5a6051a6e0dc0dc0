// What the tasks of an execution are, that batches hold every group once, and the costs that
// tasks.h states.
#include "mpc/ot/tasks.h"

#include <gtest/gtest.h>

#include <numeric>

#include "mpc/ot/link.h"

namespace partita::mpc::ot::tasks_test {
namespace {

constexpr size_t kRingBits = 128;
constexpr uint64_t kMaxTransfers = uint64_t{1} << 18, kMaxPayload = uint64_t{1} << 23;

Shared Value(Shape shape, int fraction_bits = 0) {
  return {shape, fraction_bits, 1, std::make_shared<Shared::Payload>()};
}

std::vector<OtTask> TasksOfProduct(Product::Kind kind, Operand left, Operand right, Shape result) {
  DealerOptions options;
  options.dealt_ahead = true;
  DealerSchedule schedule(2, 16, options);
  MultiplyOperation multiply;
  multiply.products = {{kind, std::move(left), std::move(right)}};
  multiply.results = {Value(result)};
  const Operation operation = multiply;
  return TasksOf(schedule.Next({&operation, 1}), kRingBits);
}

PrivateMatrix PrivateOf(PartyIndex owner, Shape shape) { return {owner, shape, 0, 1, nullptr}; }

uint64_t SumOfWidths(const OtTask& task) {
  return std::accumulate(task.widths.begin(), task.widths.end(), uint64_t{0});
}

TEST(TasksTest, ProductsOfEveryRoute) {
  using Kind = Product::Kind;
  const Shape a = {5, 3}, b = {3, 7};
  // Shared times shared: each party receives once. The smaller factor selects.
  auto tasks = TasksOfProduct(Kind::kMatrix, Value(a), Value(b), {5, 7});
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_NE(tasks[0].receiver, tasks[1].receiver);
  for (const OtTask& task : tasks) {
    EXPECT_EQ(task.groups, 15u);
    EXPECT_EQ(task.entries, 7u);
    EXPECT_EQ(task.transfers, kRingBits);
    EXPECT_EQ(SumOfWidths(task), 1088u);
  }
  // Private times private: the owner of the smaller one receives, once.
  tasks = TasksOfProduct(Kind::kGram, PrivateOf(0, {100, 9}), PrivateOf(1, {100, 2}), {9, 2});
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].receiver, 1u);
  EXPECT_EQ(tasks[0].groups, 200u);
  EXPECT_EQ(tasks[0].entries, 9u);
  // Shared times private: one, and the owner holds the private side.
  tasks = TasksOfProduct(Kind::kGram, Value({100, 9}), PrivateOf(1, {100, 2}), {9, 2});
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].receiver, 1u);
  // A square that is symmetric: one. A matrix times itself is not.
  const Shared square = Value({4, 4});
  for (Kind kind : {Kind::kElementwise, Kind::kGram, Kind::kMatrix}) {
    tasks = TasksOfProduct(kind, square, square, {4, 4});
    EXPECT_EQ(tasks.size(), kind == Kind::kMatrix ? 2u : 1u);
  }
  // Local products and empty ones need none.
  EXPECT_TRUE(TasksOfProduct(Kind::kMatrix, PrivateOf(0, a), PrivateOf(0, b), {5, 7}).empty());
  EXPECT_TRUE(TasksOfProduct(Kind::kMatrix, Value({0, 3}), Value(b), {0, 7}).empty());
  EXPECT_TRUE(TasksOfProduct(Kind::kMatrix, Value({5, 0}), Value({0, 7}), {5, 7}).empty());
}

// Two rows of every kind of operation; the numbers are those of the headers.
TEST(TasksTest, BytesAreAsStated) {
  DealerOptions options;
  options.dealt_ahead = true;
  DealerSchedule schedule(2, 16, options);
  RescaleOperation rescale;
  rescale.values = {Value({1000, 1}, 80)};
  rescale.fraction_bits = 40;
  rescale.results = {Value({1000, 1}, 40)};
  SharedBits bits{{1000, 1}, 3, std::make_shared<SharedBits::Payload>()}, others = bits;
  others.payload = std::make_shared<SharedBits::Payload>();
  AndOperation conjunction;
  conjunction.products = {{bits, others}};
  ToRingOperation to_ring;
  to_ring.bits = {bits};
  DecomposeOperation decompose;
  decompose.values = {Value({1000, 1})};
  decompose.widths = {64};
  const std::vector<Operation> operations = {rescale, conjunction, decompose, to_ring};
  const auto tasks = TasksOf(schedule.Next(operations), kRingBits);
  ASSERT_EQ(tasks.size(), 5u);
  auto bytes = [](const OtTask& task) {
    return task.groups * task.transfers * kChunks / 8 + task.PayloadBytes(task.groups);
  };
  // 128 transfers; messages of what matters of each bit.
  uint64_t rescaled = 4 * 128 + 16;
  for (uint64_t j = 0; j < 127; ++j) rescaled += (127 - (j < 40 ? j : j - 40) + 7) / 8;
  EXPECT_EQ(rescaled, 2035u);
  EXPECT_EQ(bytes(tasks[0]), 1000 * rescaled);
  EXPECT_EQ(bytes(tasks[1]) + bytes(tasks[2]), 3000 * 33u / 4);  // 8.25 per conjunction
  uint64_t decomposed = 0;
  for (uint64_t j = 0; j < 63; ++j) decomposed += 4 + (63 - j + 7) / 8;
  EXPECT_EQ(decomposed, 532u);
  EXPECT_EQ(bytes(tasks[3]), 1000 * decomposed);
  EXPECT_EQ(bytes(tasks[4]), 3000 * 20u);
  // Conjunctions receive at both; the rest takes turns.
  EXPECT_NE(tasks[1].receiver, tasks[2].receiver);
  EXPECT_NE(tasks[3].receiver, tasks[4].receiver);
}

// Tasks of all kinds and sizes, some larger than a batch.
TEST(TasksTest, BatchesHoldEveryGroupOnceWithinTheirLimits) {
  std::vector<OtTask> tasks;
  auto add = [&](PartyIndex receiver, uint64_t groups, size_t transfers, size_t entries,
                 std::vector<uint8_t> widths) {
    OtTask task;
    task.receiver = receiver;
    task.groups = groups;
    task.transfers = transfers;
    task.entries = entries;
    task.widths = std::move(widths);
    tasks.push_back(task);
  };
  const auto product = ProductWidths(128);
  add(0, 5000, 128, 1, product);
  add(1, 3, 128, 1, product);
  add(0, 1'000'003, 1, 1, {});
  add(0, 70, 63, 1, std::vector<uint8_t>(63, 5));
  add(1, 20, 128, 3000, product);   // three groups exceed the payload's limit
  add(1, 2, 128, 20'000, product);  // each alone exceeds it
  add(0, 77, 1, 1, {16});
  const auto batches = BatchesOf(tasks);
  std::vector<uint64_t> next(tasks.size());
  for (const OtBatch& batch : batches) {
    for (PartyIndex receiver : {0, 1}) {
      uint64_t transfers = 0, payload = 0;
      for (const OtPiece& piece : batch.pieces[receiver]) {
        const OtTask& task = tasks[piece.task];
        EXPECT_EQ(task.receiver, receiver);
        EXPECT_EQ(piece.first, next[piece.task]);
        ASSERT_GT(piece.count, 0u);
        next[piece.task] += piece.count;
        // Bits of two pieces do not share a byte of the message.
        if (task.widths.empty() && next[piece.task] < task.groups) {
          EXPECT_EQ(piece.count % 64, 0u);
        }
        transfers += piece.count * task.transfers;
        payload += task.PayloadBytes(piece.count);
      }
      EXPECT_LE(transfers, kMaxTransfers);
      if (batch.pieces[receiver].size() > 1 ||
          (!batch.pieces[receiver].empty() && batch.pieces[receiver][0].count > 1)) {
        EXPECT_LE(payload, kMaxPayload);
      }
      EXPECT_EQ(batch.transfers[receiver], (transfers + 127) / 128 * 128);
      EXPECT_EQ(batch.payload[receiver], payload);
    }
  }
  for (size_t i = 0; i < tasks.size(); ++i) EXPECT_EQ(next[i], tasks[i].groups) << i;
  const ExecutionCost cost = CostOfBatches(batches);
  EXPECT_EQ(cost.steps, 2 * batches.size());
  EXPECT_TRUE(BatchesOf({}).empty());
}

TEST(TasksTest, CostOfALinkAndOfSequences) {
  const ExecutionCost link = CostOfLink();
  EXPECT_EQ(link.steps, 2u);
  uint64_t bytes = 0;
  for (const MessagePart& part : link.parts) bytes += part.bytes;
  EXPECT_EQ(bytes, 2u * (8224 + 8192));
  const ExecutionCost both = InSequence(link, link);
  EXPECT_EQ(both.steps, 4u);
  ASSERT_EQ(both.parts.size(), 8u);
  for (size_t i = 4; i < 8; ++i) EXPECT_GE(both.parts[i].step, 2u);
}

}  // namespace
}  // namespace partita::mpc::ot::tasks_test
