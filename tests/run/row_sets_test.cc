// Sets of rows that a holder serves: what is refused, over studies, and what is kept.
#include "run/party/row_sets.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "base/files.h"
#include "crypto/hash.h"
#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "tests/methods/mle/design_study.h"

namespace partita::run::row_sets_test {
namespace {

namespace fs = std::filesystem;
using methods::mle::testing::Design;
using methods::mle::testing::MakeRows;
using methods::mle::testing::Row;
using methods::mle::testing::Split;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Party q's table in one of the splits.
class RowSetsTest : public ::testing::Test {
 protected:
  ~RowSetsTest() override { fs::remove_all(folder_); }

  fs::path Table() const { return folder_ + "/q/data.csv"; }

  // Asks for what the study would serve, and records it; "" or the refusal.
  std::string Serve(const Split& split, const Design& design, const std::vector<Row>& rows,
                    bool record = true) {
    methods::mle::testing::WriteTables(split, rows, folder_);
    const methods::mle::MleStudy study = methods::mle::PrepareMleStudy(methods::ParseStudyFile(
        methods::mle::testing::StudyText(split, design, "dealer", rows), "study.toml"));
    const size_t party = PartyByName(study, "q");
    crypto::SystemRandom random;
    SilentProgress progress;
    try {
      const LocalData local =
          LoadLocalData(study, party, Table(), crypto::RandomKey(random), progress);
      RowSets sets(RowSetsPath(Table()), random);
      sets.Require(study, party, local, Table());
      if (record) sets.Record();
      RequireServable(study, party, Table(), RowSetsPath(Table()), random, progress);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kRefused) << error.message();
      return error.message() + "; " + error.hint();
    }
    return "";
  }

  const std::string folder_ = testing::MakeTemporaryFolder("row_sets");
};

Design Regression(const std::string& subset = "") {
  Design design;
  design.analyses = {"model = \"y ~ x1 + x2\"\n" + subset};
  return design;
}

// All but the last ones, which are of the second block: q's.
std::vector<Row> Without(std::vector<Row> rows, size_t left_out) {
  rows.resize(rows.size() - left_out);
  return rows;
}

// In one piece, and in pieces of one.
uint64_t Apart(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  BesideServed pieces(a);
  for (const uint64_t digest : b) pieces.Add({&digest, 1});
  EXPECT_EQ(RowsApart(a, b), pieces.Count());
  return pieces.Count();
}

TEST_F(RowSetsTest, CountsRowsOfOneSetAlone) {
  const std::vector<uint64_t> a = {1, 3, 5, 7}, b = {1, 4, 7, 9, 11}, none;
  EXPECT_EQ(Apart(a, a), 0u);
  EXPECT_EQ(Apart(a, b), 5u);
  EXPECT_EQ(Apart(b, a), 5u);
  EXPECT_EQ(Apart(a, none), 4u);
  EXPECT_EQ(Apart(none, a), 4u);
  EXPECT_EQ(Apart(none, none), 0u);
}

// Three columns: fewer than 30 rows more or less are refused, in any study.
TEST_F(RowSetsTest, RefusesATableThatDiffersByFewRows) {
  const auto rows = MakeRows(200, 4, false);
  const Split whole = methods::mle::testing::Splits()[0];
  EXPECT_EQ(Serve(whole, Regression(), rows), "");
  EXPECT_EQ(Serve(whole, Regression(), rows), "") << "the same rows again";
  EXPECT_THAT(Serve(whole, Regression(), Without(rows, 1)), HasSubstr("by 1, fewer than 30"));
  EXPECT_THAT(Serve(whole, Regression(), Without(rows, 29)),
              AllOf(HasSubstr("by 29, fewer than 30"), HasSubstr("present = true")));
  EXPECT_EQ(Serve(whole, Regression(), Without(rows, 30)), "");
  // Near the second now, though not near the first.
  EXPECT_THAT(Serve(whole, Regression(), Without(rows, 31)), HasSubstr("by 1, fewer than 30"));
  // Another model of the same table, with one person more.
  Design other;
  other.analyses = {"model = \"x1 ~ x2\"\n"};
  EXPECT_THAT(Serve(whole, other, Without(rows, 1)), HasSubstr("by 1, fewer than 20"));
}

// By conditions instead of by another table.
TEST_F(RowSetsTest, RefusesSubsetsThatDifferByFewRows) {
  auto rows = MakeRows(200, 5, false);
  for (Row& row : rows) row.age = 50;
  for (size_t i = 0; i < 3; ++i) rows[150 + i].age = 90;
  const Split whole = methods::mle::testing::Splits()[0];
  EXPECT_EQ(Serve(whole, Regression(), rows), "");
  EXPECT_THAT(Serve(whole, Regression("subset = [{variable = \"age\", at_most = 80}]\n"), rows),
              HasSubstr("by 3, fewer than 30"));
}

// Where columns are split rows are keys: another value is the same row.
TEST_F(RowSetsTest, KeysNameRows) {
  auto rows = MakeRows(200, 6, false);
  const Split split = methods::mle::testing::Splits()[1];
  EXPECT_EQ(Serve(split, Regression(), rows), "");
  rows[120].x1 += 1;
  EXPECT_EQ(Serve(split, Regression(), rows), "");
  rows.pop_back();
  EXPECT_THAT(Serve(split, Regression(), rows), HasSubstr("by 1, fewer than 30"));
}

TEST_F(RowSetsTest, WhatWasNotServedBindsNobody) {
  const auto rows = MakeRows(200, 7, false);
  const Split whole = methods::mle::testing::Splits()[0];
  EXPECT_EQ(Serve(whole, Regression(), rows, false), "");
  EXPECT_EQ(Serve(whole, Regression(), Without(rows, 1)), "");
}

// Two runs that begin before either has recorded anything, of tables that differ by one row.
TEST_F(RowSetsTest, OfTwoRunsAtOnceTheSecondIsHeldToTheFirst) {
  const auto all = MakeRows(200, 10, false);
  auto rows = all;
  const Split whole = methods::mle::testing::Splits()[0];
  crypto::SystemRandom random;
  SilentProgress progress;
  const auto asks = [&](RowSets& sets) {
    methods::mle::testing::WriteTables(whole, rows, folder_);
    const methods::mle::MleStudy study = methods::mle::PrepareMleStudy(methods::ParseStudyFile(
        methods::mle::testing::StudyText(whole, Regression(), "dealer", rows), "a.toml"));
    const size_t party = PartyByName(study, "q");
    sets.Require(study, party,
                 LoadLocalData(study, party, Table(), crypto::RandomKey(random), progress),
                 Table());
  };
  RowSets first(RowSetsPath(Table()), random);
  RowSets second(RowSetsPath(Table()), random);
  RowSets same(RowSetsPath(Table()), random);
  asks(first);
  asks(same);
  rows.pop_back();
  asks(second);
  first.Record();
  same.Record();
  try {
    second.Record();
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_THAT(error.message(), HasSubstr("by 1, fewer than 30"));
  }
  // A record that its owner deletes meanwhile is begun anew under another key.
  rows = all;
  RowSets early(RowSetsPath(Table()), random);
  asks(early);
  fs::remove(RowSetsPath(Table()));
  rows.pop_back();
  RowSets late(RowSetsPath(Table()), random);
  asks(late);
  late.Record();
  try {
    early.Record();
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_THAT(error.message(), HasSubstr("was replaced while this run began"));
  }
  // One that is gone is not one of nothing.
  RowSets gone(RowSetsPath(Table()), random);
  asks(gone);
  fs::remove(RowSetsPath(Table()));
  try {
    gone.Record();
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_THAT(error.message(), HasSubstr("was replaced while this run began"));
  }
}

// The record is the owner's alone, has no cell in it, and is refused when it is damaged.
TEST_F(RowSetsTest, RecordIsPrivateAndWhole) {
  const auto rows = MakeRows(200, 8, false);
  const Split whole = methods::mle::testing::Splits()[0];
  ASSERT_EQ(Serve(whole, Regression(), rows), "");
  const fs::path file = RowSetsPath(Table());
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::resize_file(file, fs::file_size(file) - 1);
  crypto::SystemRandom random;
  try {
    RowSets sets(file, random);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
  }
}

// Rows of the table at `path`, split at commas.
std::vector<std::vector<std::string>> Cells(const fs::path& path) {
  std::istringstream lines(ReadFile(path, 1 << 20, "the table"));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  rows.erase(rows.begin());
  return rows;
}

uint64_t FirstBytes(const crypto::Digest& digest) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= uint64_t{digest[i]} << (8 * i);
  return value;
}

// Records of earlier versions name rows by these digests, field by field: by all cells, and by the key.
TEST_F(RowSetsTest, RowsAreNamedAsInEarlierRecords) {
  const auto rows = MakeRows(200, 11, false);
  for (const bool by_key : {false, true}) {
    fs::remove_all(folder_ + "/q");
    crypto::Key key;
    for (size_t i = 0; i < key.Expose().size(); ++i) key.Expose()[i] = static_cast<uint8_t>(3 * i);
    fs::create_directories(folder_ + "/q");
    WriteRowSets(RowSetsPath(Table()), {.key = key}, {});
    ASSERT_EQ(Serve(methods::mle::testing::Splits()[by_key ? 1 : 0], Regression(), rows), "");
    RowDigests expected, served;
    for (const std::vector<std::string>& cells : Cells(Table())) {
      crypto::Sha256 hash;
      hash.Field(key.Expose()).Field(by_key ? "key" : "cells");
      if (by_key) {
        hash.Field(cells.front());
      } else {
        for (const std::string& cell : cells) hash.Field(cell);
      }
      expected.push_back(FirstBytes(hash.Finish()));
    }
    std::sort(expected.begin(), expected.end());
    ReadRowSets(RowSetsPath(Table()), [&](uint64_t set, std::span<const uint64_t> digests) {
      EXPECT_EQ(set, 0u);
      served.insert(served.end(), digests.begin(), digests.end());
    });
    EXPECT_EQ(served, expected);
  }
}

// Noise covers the difference; nothing is kept.
TEST_F(RowSetsTest, PrivateStudiesServeNoExactRows) {
  const auto rows = MakeRows(200, 9, false);
  Design design =
      Regression("[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = \"replace\"\n");
  EXPECT_EQ(Serve(methods::mle::testing::Splits()[1], design, rows), "");
  EXPECT_FALSE(fs::exists(RowSetsPath(Table())));
}

// Under two names a table would be served twice.
TEST_F(RowSetsTest, ASourceFileHasTheRecordOfTheFileThatItNames) {
  fs::create_directories(folder_ + "/q");
  const auto write = [&](const char* name, const char* text) {
    const fs::path path = fs::path(folder_) / "q" / name;
    WriteFileAtomically(path.string(), text);
    return path;
  };
  EXPECT_EQ(RowSetsPath(write("written.toml", "source = \"data.csv\"\nseparator = \";\"\n")),
            RowSetsPath(Table()));
  const fs::path database = write("base.toml", "source = \"sqlite:t.db\"\ntable = \"t\"\n");
  EXPECT_EQ(RowSetsPath(database), database.string() + ".row-sets");
}

}  // namespace
}  // namespace partita::run::row_sets_test
