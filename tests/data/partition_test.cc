// Tilings: kinds, segments, order invariance, and every way not to tile.
#include "data/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/data/expect_error.h"

namespace partita::data::partition_test {
namespace {

using testing::ElementsAre;

const std::vector<std::string> kVariables = {"x1", "x2", "x3", "x4"};
const std::vector<RowBlock> kBlocks = {{"a", 156}, {"b", 145}};

// x1, x2 of block a; x1, x2 of block b; x3 of both; x4 of both.
std::vector<Holder> ComplexHolders() {
  return {{"north", 0, {"x1", "x2"}, {"a"}},
          {"south", 1, {"x2", "x1"}, {"b"}},
          {"east", 2, {"x3"}, {"a", "b"}},
          {"west", 4, {"x4"}, {"b", "a"}}};
}

TEST(PartitionTest, Complex) {
  const Partition partition = MakePartition(kVariables, kBlocks, ComplexHolders());
  EXPECT_EQ(PartitionKindName(partition.kind), "complex");
  ASSERT_EQ(partition.segments.size(), 2u);
  const Segment& b = partition.segments[1];
  EXPECT_EQ(b.block, 1u);
  EXPECT_TRUE(b.shared());
  ASSERT_EQ(b.parts.size(), 3u);
  EXPECT_EQ(b.parts[0].party, 1u);
  EXPECT_THAT(b.parts[0].variables, ElementsAre(0, 1));
  EXPECT_EQ(b.parts[1].party, 2u);
  EXPECT_THAT(b.parts[1].variables, ElementsAre(2));
  EXPECT_EQ(b.parts[2].party, 4u);
  EXPECT_EQ(partition.holders[b.parts[2].holder].name, "west");
  EXPECT_THAT(partition.BlocksOf(4), ElementsAre(0, 1));
  EXPECT_THAT(partition.BlocksOf(0), ElementsAre(0));
  EXPECT_TRUE(partition.BlocksOf(3).empty());
  EXPECT_EQ(partition.HolderOf(3), nullptr);
  EXPECT_EQ(partition.HolderOf(4)->name, "west");
  EXPECT_TRUE(partition.SharesRows(0));
  EXPECT_FALSE(partition.SharesRows(3));
  EXPECT_EQ(partition.TotalRows(), 301u);
}

TEST(PartitionTest, Horizontal) {
  const Partition partition =
      MakePartition(kVariables, {{"a", std::nullopt}, {"b", 7}},
                    {{"north", 0, kVariables, {"a"}}, {"south", 1, kVariables, {"b"}}});
  EXPECT_EQ(PartitionKindName(partition.kind), "horizontal");
  EXPECT_FALSE(partition.segments[0].shared());
  EXPECT_FALSE(partition.SharesRows(0));
  EXPECT_EQ(partition.TotalRows(), std::nullopt);
}

TEST(PartitionTest, Vertical) {
  const std::vector<Holder> holders = {{"north", 0, {"x1", "x3"}, {"a", "b"}},
                                       {"south", 1, {"x2", "x4"}, {"a", "b"}}};
  EXPECT_EQ(PartitionKindName(MakePartition(kVariables, kBlocks, holders).kind), "vertical");
}

TEST(PartitionTest, OneSharedBlockBesideAnUnsharedOneIsComplex) {
  const Partition partition = MakePartition(kVariables, {{"a", 5}, {"b", std::nullopt}},
                                            {{"north", 0, {"x1", "x2"}, {"a"}},
                                             {"south", 1, {"x3", "x4"}, {"a"}},
                                             {"west", 2, kVariables, {"b"}}});
  EXPECT_EQ(PartitionKindName(partition.kind), "complex");
  EXPECT_TRUE(partition.SharesRows(0));
  EXPECT_FALSE(partition.SharesRows(2));
}

TEST(PartitionTest, TheOrderOfHoldersColumnsAndBlocksDoesNotMatter) {
  const Partition expected = MakePartition(kVariables, kBlocks, ComplexHolders());
  std::vector<Holder> holders = ComplexHolders();
  std::sort(holders.begin(), holders.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  do {
    std::vector<Holder> reversed = holders;
    for (Holder& holder : reversed) {
      std::reverse(holder.columns.begin(), holder.columns.end());
      std::reverse(holder.blocks.begin(), holder.blocks.end());
    }
    const Partition partition = MakePartition(kVariables, kBlocks, reversed);
    for (size_t block = 0; block < 2; ++block) {
      const auto& parts = partition.segments[block].parts;
      ASSERT_EQ(parts.size(), expected.segments[block].parts.size());
      for (size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(parts[i].party, expected.segments[block].parts[i].party);
        EXPECT_EQ(parts[i].variables, expected.segments[block].parts[i].variables);
      }
    }
  } while (std::next_permutation(holders.begin(), holders.end(),
                                 [](const auto& a, const auto& b) { return a.name < b.name; }));
}

void ExpectRefused(const std::string& message, const std::string& hint, std::vector<Holder> holders,
                   std::vector<RowBlock> blocks = kBlocks,
                   std::vector<std::string> variables = kVariables) {
  ExpectError(ErrorCode::kBadInput, message, hint,
              [&] { MakePartition(variables, blocks, holders); });
}

TEST(PartitionTest, Overlap) {
  auto holders = ComplexHolders();
  holders[2].columns.push_back("x2");
  ExpectRefused("variable 'x2' of row block 'a' is held by both 'north' and 'east'",
                "exactly one holder", holders);
  holders = ComplexHolders();
  holders[1].blocks.push_back("a");
  ExpectRefused("variable 'x1' of row block 'a' is held by both 'north' and 'south'", "", holders);
}

TEST(PartitionTest, Hole) {
  auto holders = ComplexHolders();
  holders[1].columns = {"x1"};
  ExpectRefused(
      "nobody holds variable 'x2' of row block 'b' (its holders: 'south', 'east', 'west')",
      "add it to the columns", holders);
  holders = ComplexHolders();
  holders[3].blocks = {"a"};
  ExpectRefused("nobody holds variable 'x4' of row block 'b'", "", holders);
  auto blocks = kBlocks;
  blocks.push_back({"c", 1});
  ExpectRefused("nobody holds variable 'x1' of row block 'c' (its holders: none)", "",
                ComplexHolders(), blocks);
}

TEST(PartitionTest, AVariableThatMayLackNeedsNoHolder) {
  const std::vector<Holder> holders = {{"north", 0, kVariables, {"a"}},
                                       {"south", 1, {"x1", "x2", "x3"}, {"b"}}};
  ExpectError(ErrorCode::kBadInput, "nobody holds variable 'x4' of row block 'b'", "",
              [&] { MakePartition(kVariables, kBlocks, holders, {"x3"}); });
  const Partition partition = MakePartition(kVariables, kBlocks, holders, {"x4"});
  EXPECT_TRUE(partition.segments[0].Has(3));
  EXPECT_FALSE(partition.segments[1].Has(3));
  EXPECT_TRUE(partition.segments[1].Has(2));
}

TEST(PartitionTest, NamesAndCounts) {
  auto holders = ComplexHolders();
  holders[0].columns[0] = "x_1";
  ExpectRefused("holder 'north' names the variable 'x_1', which does not exist",
                "did you mean 'x1'?", holders);
  holders = ComplexHolders();
  holders[0].blocks[0] = "A";
  ExpectRefused("holder 'north' names the row block 'A', which does not exist", "did you mean 'a'?",
                holders);
  holders = ComplexHolders();
  holders[0].columns.push_back("x2");
  ExpectRefused("holder 'north' names the variable 'x2' twice", "", holders);
  holders = ComplexHolders();
  holders[0].columns.clear();
  ExpectRefused("holder 'north' has no variable", "not a holder", holders);
  holders = ComplexHolders();
  holders[0].blocks.clear();
  ExpectRefused("holder 'north' has no row block", "", holders);
  holders = ComplexHolders();
  holders[1].party = 0;
  ExpectRefused("holders 'north' and 'south' are the same party", "", holders);
  holders = ComplexHolders();
  holders[1].name = "north";
  ExpectRefused("two holders are named 'north'", "", holders);
  ExpectRefused("nobody holds data", "", {});
  ExpectRefused("two row blocks are named 'a'", "", ComplexHolders(), {{"a", 1}, {"a", 2}});
  ExpectRefused("two variables are named 'x1'", "", ComplexHolders(), kBlocks, {"x1", "x1"});
  ExpectRefused("the study has no variables", "", ComplexHolders(), kBlocks, {});
  ExpectRefused("the study has no row blocks", "", ComplexHolders(), {});
  ExpectRefused("row block 'b' is shared by 'south' and 'east' but declares no count",
                "count = ...", ComplexHolders(), {{"a", 156}, {"b", std::nullopt}});
  ExpectRefused("row block 'a' has a declared count of 0", "", ComplexHolders(),
                {{"a", 0}, {"b", 1}});
}

}  // namespace
}  // namespace partita::data::partition_test
