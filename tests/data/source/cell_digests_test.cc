// By how many persons two states of a table differ, column by column.
#include "data/source/cell_digests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "data/csv_writer.h"

namespace partita::data::cell_digests_test {
namespace {

using Line = std::vector<std::string>;

crypto::Key Salt() {
  crypto::SystemRandom random;
  return crypto::RandomKey(random);
}

CellDigests Digests(const std::string& csv, const crypto::Key& salt) {
  return DigestCells(FromText(csv), "t", {}, salt);
}

PersonsApart Compare(const std::string& before, const std::string& now,
                     const std::string& key = "id") {
  const crypto::Key salt = Salt();
  return ComparePersons(Digests(before, salt), Digests(now, salt), key);
}

TEST(CellDigestsTest, WhoCameChangedAndWentIsCountedByColumn) {
  const PersonsApart apart =
      Compare("id,a,b\np,1,x\nq,2,y\nr,3,z\ns,,w\n", "b,id,a\nx,p,1\ny,q,5\nnew,s,7\nv,t,9\n");
  EXPECT_EQ(apart.came, 1u);
  EXPECT_EQ(apart.went, 1u);
  EXPECT_EQ(apart.changed, 2u);
  EXPECT_EQ(apart.regrouped, 0u);
  EXPECT_EQ(apart.columns, (std::map<std::string, uint64_t>{{"a", 2}, {"b", 1}, {"id", 0}}));
  EXPECT_EQ(apart.In("a"), 4u);
  EXPECT_EQ(apart.In("b"), 3u);
  EXPECT_EQ(FewestApart(apart, {"a", "b"}), 2u) << "who is there differs by two";
}

// A date of the last visit that is new for everybody does not hide the one who came.
TEST(CellDigestsTest, AColumnThatChangesForAllHidesNobody) {
  std::string before = "id,seen,a\n", now = before;
  for (int i = 0; i < 50; ++i) {
    before += std::to_string(i) + ",monday,1\n";
    now += std::to_string(i) + ",tuesday,1\n";
  }
  EXPECT_EQ(FewestApart(Compare(before, now), {"a"}), 0u);
  EXPECT_EQ(FewestApart(Compare(before, now), {"a", "seen"}), 50u);
  const PersonsApart grown = Compare(before, now + "50,tuesday,2\n");
  EXPECT_EQ(grown.all(), 51u);
  EXPECT_EQ(FewestApart(grown, {"a", "seen"}), 1u);
  EXPECT_EQ(FewestApart(grown, {"seen"}), 1u);
}

TEST(CellDigestsTest, AColumnThatIsNewShowsWhoCameAlone) {
  const PersonsApart apart = Compare("id,a\np,1\n", "id,a,c\np,1,7\nq,1,8\n");
  EXPECT_EQ(apart.In("c"), 1u);
  EXPECT_EQ(FewestApart(apart, {"c"}), 1u);
  EXPECT_EQ(FewestApart(Compare("id,a\np,1\n", "id,a,c\np,1,7\n"), {"a", "c"}), 0u);
}

// Of a person with two rows the cells of each column may be as before, in other rows.
TEST(CellDigestsTest, RowsOfOnePersonAreComparedTogether) {
  const std::string before = "id,a,b\np,1,x\np,2,y\n";
  EXPECT_EQ(Compare(before, "id,a,b\np,2,y\np,1,x\n").all(), 0u);
  const PersonsApart regrouped = Compare(before, "id,a,b\np,1,y\np,2,x\n");
  EXPECT_EQ(regrouped.changed, 1u);
  EXPECT_EQ(regrouped.regrouped, 1u);
  EXPECT_EQ(FewestApart(regrouped, {"a"}), 1u);
  EXPECT_EQ(Compare(before, "id,a,b\np,1,x\n").columns.at("a"), 1u);
}

TEST(CellDigestsTest, DigestsDependOnSaltColumnAndText) {
  const crypto::Key salt = Salt(), other = Salt();
  EXPECT_EQ(CellDigest(salt, "a", "1"), CellDigest(salt, "a", "1"));
  EXPECT_NE(CellDigest(salt, "a", "1"), CellDigest(other, "a", "1"));
  EXPECT_NE(CellDigest(salt, "a", "1"), CellDigest(salt, "b", "1"));
  EXPECT_NE(CellDigest(salt, "a", "1"), CellDigest(salt, "a", "2"));
  EXPECT_NE(CellDigest(salt, "ab", "c"), CellDigest(salt, "a", "bc"));
  EXPECT_EQ(CellDigest(salt, "a", ""), 0u);
}

TEST(CellDigestsTest, RowsWithoutAKeyAreRefused) {
  EXPECT_THROW(Compare("id,a\np,1\n", "id,a\np,1\n", "patient"), Error);
  EXPECT_THROW(Compare("id,a\np,1\n,2\n", "id,a\np,1\n"), Error);
  EXPECT_THROW(Compare("id,a\np,1\n", "id,a\np,1\n\"\",2\n"), Error);
  EXPECT_THROW(Digests("", Salt()), Error);
  EXPECT_THROW(Digests("a,b\n1\n", Salt()), Error);
}

// The same counts from the texts themselves, persons one after the other.
PersonsApart Twin(const Line& columns, const std::vector<Line>& before,
                  const std::vector<Line>& now) {
  using Person = std::multiset<Line>;
  const auto by_key = [](const std::vector<Line>& rows) {
    std::map<std::string, Person> persons;
    for (const Line& row : rows) persons[row[0]].insert(row);
    return persons;
  };
  std::map<std::string, Person> old_persons = by_key(before), new_persons = by_key(now);
  PersonsApart apart;
  for (const std::string& column : columns) apart.columns[column] = 0;
  for (const auto& [key, person] : old_persons) {
    if (!new_persons.contains(key)) ++apart.went;
  }
  for (const auto& [key, person] : new_persons) {
    if (!old_persons.contains(key)) {
      ++apart.came;
      continue;
    }
    bool in_a_column = false;
    for (size_t c = 0; c < columns.size(); ++c) {
      std::multiset<std::string> a, b;
      for (const Line& row : old_persons[key]) a.insert(row[c]);
      for (const Line& row : person) b.insert(row[c]);
      if (a == b) continue;
      ++apart.columns[columns[c]];
      in_a_column = true;
    }
    if (old_persons[key] == person) continue;
    ++apart.changed;
    if (!in_a_column) ++apart.regrouped;
  }
  return apart;
}

TEST(CellDigestsTest, RandomTablesAreCountedAsTheirTextsAre) {
  std::mt19937 random(20261128);
  const Line columns = {"id", "a", "b,c", "d"};
  const Line texts = {"", "1", "2", "a \"quoted\" one", "x,y", "two\nlines"};
  const auto table = [&](const std::vector<Line>& rows) {
    std::string csv;
    AppendRecord(csv, columns, ',');
    for (const Line& row : rows) AppendRecord(csv, row, ',');
    return csv;
  };
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Line> before, now;
    const int persons = 1 + static_cast<int>(random() % 12);
    for (int i = 0; i < 12; ++i) {
      before.push_back({"p" + std::to_string(random() % persons), texts[random() % 6],
                        texts[random() % 6], texts[random() % 6]});
    }
    for (const Line& row : before) {
      if (random() % 8 == 0) continue;
      now.push_back(row);
      if (random() % 4 == 0) now.back()[1 + random() % 3] = texts[random() % 6];
      if (random() % 16 == 0) now.back()[0] = "q" + std::to_string(random() % 3);
    }
    std::shuffle(now.begin(), now.end(), random);
    EXPECT_EQ(Compare(table(before), table(now)), Twin(columns, before, now));
  }
}

}  // namespace
}  // namespace partita::data::cell_digests_test
