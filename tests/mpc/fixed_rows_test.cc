// Products with some rows of a fixed operand: right, at exact cost, and opened once.
#include <gtest/gtest.h>

#include "base/error.h"
#include "mpc/ring.h"
#include "tests/mpc/evaluate.h"
#include "tests/mpc/sanitized.h"
#include "tests/mpc/views.h"

namespace partita::mpc::testing::fixed_rows_test {
namespace {

using Kind = Product::Kind;

constexpr uint64_t kElement = 16;

IntMatrix Chosen(const IntMatrix& matrix, const std::vector<size_t>& rows) {
  IntMatrix chosen{{rows.size(), matrix.shape.cols}, {}};
  for (size_t row : rows) {
    for (size_t col = 0; col < matrix.shape.cols; ++col) {
      chosen.values.push_back(matrix.values[row * matrix.shape.cols + col]);
    }
  }
  return chosen;
}

// Every kind of product of these rows with a shared matrix, with another party's fixed operand of
// other rows, with a private matrix and with the rows of one's own, on either side.
void CheckRows(const Setting& setting, const std::vector<size_t>& rows,
               const std::vector<size_t>& other_rows) {
  SCOPED_TRACE(setting.kind);
  const size_t count = rows.size();
  std::mt19937_64 random(count + 5);
  const IntMatrix x = RandomMatrix(random, {9, 3}, int64_t{1} << 40);
  const IntMatrix y = RandomMatrix(random, {7, 3}, int64_t{1} << 40);
  const IntMatrix t = RandomMatrix(random, {count, 3}, int64_t{1} << 40);
  const IntMatrix x_rows = Chosen(x, rows), y_rows = Chosen(y, other_rows);
  const IntMatrix reversed = Chosen(x, {8, 7, 6, 5, 4, 3, 2, 1, 0});
  const double bound = std::ldexp(1.0, 40);
  std::vector<std::vector<IntMatrix>> opened(setting.num_parties + 2);
  RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t self) {
    const PrivateMatrix private_t = Private(engine, 1, t, bound);
    const Shared shared = engine.Input({&private_t, 1})[0];
    const FixedOperand fixed_x = engine.Register(Private(engine, 0, x, bound));
    const FixedOperand fixed_y = engine.Register(Private(engine, 1, y, bound));
    const Operand of_x = OnlyRows(fixed_x, rows), of_y = OnlyRows(fixed_y, other_rows);
    for (Kind kind : {Kind::kGram, Kind::kElementwise}) {
      const std::vector<Product> products = {
          {kind, shared, of_x},
          {kind, of_x, shared},
          {kind, of_x, of_y},
          {kind, of_y, of_x},
          {kind, private_t, of_x},
          {kind, of_y, private_t},
          // The same matrix as a whole, beside its rows.
          {Kind::kGram, fixed_x, Private(engine, 1, reversed, bound)}};
      for (const IntMatrix& product : engine.Reveal("out", engine.Multiply(products), kEverybody)) {
        opened[self].push_back(product);
      }
    }
  });
  std::vector<IntMatrix> truth;
  for (Kind kind : {Kind::kGram, Kind::kElementwise}) {
    truth.push_back(PlainProduct(kind, t, x_rows));
    truth.push_back(PlainProduct(kind, x_rows, t));
    truth.push_back(PlainProduct(kind, x_rows, y_rows));
    truth.push_back(PlainProduct(kind, y_rows, x_rows));
    truth.push_back(PlainProduct(kind, t, x_rows));
    truth.push_back(PlainProduct(kind, y_rows, t));
    truth.push_back(PlainProduct(Kind::kGram, x, reversed));
  }
  for (size_t party = 0; party < setting.num_parties; ++party) {
    ASSERT_EQ(opened[party].size(), truth.size());
    for (size_t i = 0; i < truth.size(); ++i) {
      EXPECT_TRUE(opened[party][i] == truth[i]) << "product " << i << " at party " << party;
    }
  }
}

TEST(FixedRowsTest, AnyRowsInAnyOrder) {
  for (const Setting& setting : kSettings) {
    if (setting.kind == "shamir") continue;  // RowsAreRefusedByShamir
    CheckRows(setting, {3, 4, 5, 0, 8, 8}, {6, 0, 1, 2, 2, 5});
    CheckRows(setting, {7}, {0});
    CheckRows(setting, {}, {});
    CheckRows(setting, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {6, 5, 4, 3, 2, 1, 0, 6, 6});
  }
}

TEST(FixedRowsTest, ManyBlocks) {
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    std::vector<size_t> rows, other_rows;
    for (size_t i = 0; i < 2000; ++i) {
      rows.push_back(i * 5 % 9);
      other_rows.push_back(i * i % 7);
    }
    CheckRows(setting, rows, other_rows);
  }
}

uint64_t BytesOf(const PhaseCost& phase) { return phase.Total().bytes; }

// The whole matrix travels once; after that a product of some rows costs what a product of the
// changing operand costs, however many rows the matrix has.
TEST(FixedRowsTest, TheMatrixTravelsOnce) {
  constexpr uint64_t kRows = 1000, kCols = 8, kBatch = 10, kLeft = 3;
  for (const Setting& setting : kSettings) {
    if (setting.kind == "shamir") continue;  // RowsAreRefusedByShamir
    if (setting.kind == "ot") continue;      // transfers: see ot_engine_test
    PlanEngine plan(setting.kind, setting.num_parties);
    const FixedOperand fixed = plan.Register(PrivateMatrix{0, {kRows, kCols}, 0, 1.0, nullptr});
    const Product product = {Kind::kGram, Planned({kBatch, kLeft}, 40, 1),
                             OnlyRows(fixed, std::vector<size_t>(kBatch, 7))};
    for (const char* phase : {"first", "second"}) {
      plan.BeginPhase(phase);
      plan.Multiply({&product, 1});
    }
    const std::vector<PhaseCost> phases = plan.phases();
    const uint64_t others = setting.num_parties - 1;
    // Dealer: every other party's share of the shared operand under its mask, and the correction.
    const uint64_t again =
        setting.kind == "dealer" ? others * kBatch * kLeft + kLeft * kCols : 3 * kLeft * kCols;
    const uint64_t receivers = setting.kind == "dealer" ? others : 1;
    EXPECT_EQ(BytesOf(phases[0]), (again + receivers * kRows * kCols) * kElement);
    EXPECT_EQ(BytesOf(phases[1]), again * kElement);
  }
}

TEST(FixedRowsTest, RowsAreRefusedByShamir) {
  PlanEngine plan("shamir", 3);
  const FixedOperand fixed = plan.Register(PrivateMatrix{0, {4, 1}, 0, 1.0, nullptr});
  const Product product = {Kind::kGram, Planned({2, 1}, 0, 1), OnlyRows(fixed, {0, 3})};
  EXPECT_THROW(plan.Multiply({&product, 1}), Error);
}

TEST(FixedRowsTest, RowsThatAreNotThere) {
  PlanEngine plan("dealer", 2);
  const FixedOperand fixed = plan.Register(PrivateMatrix{0, {4, 1}, 0, 1.0, nullptr});
  const Product product = {Kind::kGram, Planned({2, 1}, 0, 1), OnlyRows(fixed, {0, 4})};
  try {
    plan.Multiply({&product, 1});
    FAIL() << "row 4 of 4 rows was used";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
  }
}

// Adult with every column at one party is kept; what is not kept cannot be used by rows.
TEST(FixedRowsTest, MatricesThatAreNotKept) {
  for (const char* kind : {"dealer", "replicated"}) {
    PlanEngine plan(kind, kind == std::string("dealer") ? 2 : 3);
    const FixedOperand adult = plan.Register(PrivateMatrix{0, {30162, 160}, 0, 1.0, nullptr});
    const FixedOperand large =
        plan.Register(PrivateMatrix{0, {size_t{1} << 20, 9}, 0, 1.0, nullptr});
    const Product fits = {Kind::kGram, Planned({1, 1}, 0, 1), OnlyRows(adult, {5})};
    plan.Multiply({&fits, 1});
    const Product does_not = {Kind::kGram, Planned({1, 1}, 0, 1), OnlyRows(large, {5})};
    // Nor beside all of its rows, which pass by.
    const std::vector<Product> beside = {{Kind::kGram, Planned({size_t{1} << 20, 1}, 0, 1), large},
                                         does_not};
    for (const std::vector<Product>& products : {std::vector{does_not}, beside}) {
      try {
        plan.Multiply(products);
        FAIL() << kind << ", " << products.size();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      }
    }
  }
}

// Two shared operands meet the same rows of one fixed operand: its mask is used again, theirs are
// not. Every view over Z_4 is as likely whatever the others hold.
ViewCase TwoProducts(const std::string& kind, size_t num_parties) {
  ViewCase c;
  c.engine = kind;
  c.num_parties = num_parties;
  c.owners = {0, 1, 1};
  c.body = [](Engine& engine, const InstanceInputs& in) {
    std::vector<size_t> rows(in.size());
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    const Operand x = OnlyRows(engine.Register(in.Column(0)), rows);
    const std::vector<PrivateMatrix> own = {in.Column(1), in.Column(2)};
    for (const Shared& y : engine.Input(own)) {
      const Product product = {Kind::kElementwise, x, y};
      engine.Multiply({&product, 1});
    }
    return std::vector<IntMatrix>{};
  };
  return c;
}

TEST(FixedRowsViewTest, DealerMasksTheChangingOperandAfresh) {
  if (kSanitized) GTEST_SKIP() << "many instances";
  ViewCase c = TwoProducts("dealer", 2);
  c.domain = {0, 1};
  const Views honest = EnumerateViews<Ring4>(c);
  for (size_t party : {0, 1, 2}) EXPECT_EQ(NumLeaks(honest, {party}), 0u) << party;
  // A mask of the second operand that is the first one's gives party 0 their difference.
  std::vector<Digit> of_party_1;
  for (const Digit& digit : honest.digits) {
    if (digit.low == 1 && digit.high == 2) of_party_1.push_back(digit);
  }
  bool noticed = false;
  for (const Digit& first : of_party_1) {
    for (const Digit& second : of_party_1) {
      if (!(first.slot < second.slot)) continue;
      c.fault = [&](const Digit& digit, const auto& tape) -> uint8_t {
        return tape(digit == second ? first : digit);
      };
      noticed = noticed || NumLeaks(EnumerateViews<Ring4>(c), {0}) > 0;
    }
  }
  EXPECT_TRUE(noticed);
}

TEST(FixedRowsViewTest, ReplicatedSharesTheFixedOperandOnce) {
  if (kSanitized) GTEST_SKIP() << "many instances";
  ViewCase c = TwoProducts("replicated", 3);
  c.domain = {0, 1};
  const Views honest = EnumerateViews<Ring4>(c);
  for (size_t party : {0, 1, 2}) EXPECT_EQ(NumLeaks(honest, {party}), 0u) << party;
}

}  // namespace
}  // namespace partita::mpc::testing::fixed_rows_test
