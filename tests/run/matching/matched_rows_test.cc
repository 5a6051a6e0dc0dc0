#include "run/matching/matched_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/error.h"
#include "run/matching/matching_file.h"
#include "tests/run/matching/matching_group.h"
#include "tests/run/reference_study.h"

namespace partita::run::matched_rows_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTable =
    "nid,name,born,x\n0001,ada,2001-01-01,1\n0002,bo,2001-01-02,2\n0003,cy,2001-01-03,3\n";

class MatchedRowsTest : public ::testing::Test {
 protected:
  ~MatchedRowsTest() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    Write(kTable);
    matched_.matching = "cohort";
    matched_.party = "clinic";
    matched_.partners = {"registry", "office"};
    matched_.linker = "trust";
    matched_.file_text = testing::kPairFile;
    matched_.at = 5;
    matched_.unicode = match::UnicodeVersion();
    matched_.record = crypto::Sha256Of(AsBytes("record"));
    matched_.common = crypto::Sha256Of(AsBytes("common"));
    matched_.salt.Expose()[3] = 9;
    matched_.table_rows = 3;
    matched_.counts = {1, 1};
    matched_.rows = {2, 0};
    const MatchingFile file = ParseMatchingFile(matched_.file_text, "m");
    matched_.commitment = match::CommitToKeys(
        ReadKeyList(MatchingPartyByName(file, "clinic"), table_.string(), ','), matched_.salt);
  }
  void Write(const std::string& csv) { std::ofstream(table_) << csv; }
  std::string Changed(const std::string& csv) {
    Write(csv);
    SilentProgress progress;
    try {
      RequireSameKeys(matched_, table_, progress);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }

  const std::string folder_ = testing::MakeTemporaryFolder("matched");
  const std::filesystem::path table_ = folder_ + "/data.csv";
  MatchedRows matched_;
};

TEST_F(MatchedRowsTest, IsReadAsItWasWrittenAndIsItsOwners) {
  const std::filesystem::path file = MatchedRowsPath(table_, "cohort");
  EXPECT_EQ(file, folder_ + "/cohort.matched");
  SaveMatchedRows(matched_, file);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const MatchedRows read = LoadMatchedRows(file);
  EXPECT_EQ(EncodeMatchedRows(read), EncodeMatchedRows(matched_));
  EXPECT_EQ(read.rows, matched_.rows);
  EXPECT_EQ(read.record, matched_.record);
  EXPECT_EQ(read.partners, matched_.partners);
  EXPECT_EQ(read.linker, "trust");
}

TEST_F(MatchedRowsTest, EveryOtherByteIsRefused) {
  const Bytes good = EncodeMatchedRows(matched_);
  for (size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= 0x10;
    EXPECT_THROW(DecodeMatchedRows(bad), Error) << i;
    EXPECT_THROW(DecodeMatchedRows(ByteView(good).first(i)), Error) << i;
  }
}

TEST_F(MatchedRowsTest, RowsThatMakeNoSenseAreRefused) {
  const auto refused = [](const MatchedRows& matched) {
    EXPECT_THROW(DecodeMatchedRows(EncodeMatchedRows(matched)), Error);
  };
  MatchedRows twice = matched_, beyond = matched_, more = matched_;
  twice.rows = {1, 1};
  refused(twice);
  beyond.rows = {1, 3};
  refused(beyond);
  more.counts = {1, 2};
  refused(more);
}

TEST_F(MatchedRowsTest, KeysAndOrderMustBeThoseThatWereMatched) {
  EXPECT_EQ(Changed(kTable), "");
  const std::string other = "is not the table that was matched";
  // Columns that nobody matches by may change, and how a key is written.
  EXPECT_EQ(Changed("x,nid,name,born\n7,0001,ADA,2001-01-01\n,0002,bo,2001-01-02\n9,0003,cy,2001-"
                    "01-03\n"),
            "");
  EXPECT_THAT(
      Changed("nid,name,born\n0001,ada,2001-01-01\n0003,cy,2001-01-03\n0002,bo,2001-01-02\n"),
      HasSubstr(other));
  EXPECT_THAT(
      Changed("nid,name,born\n0001,ada,2001-01-01\n0002,bo,2001-01-02\n0004,cy,2001-01-03\n"),
      HasSubstr(other));
  EXPECT_THAT(Changed(std::string(kTable) + "0004,di,2001-01-04,1\n"), HasSubstr(other));
  EXPECT_THAT(Changed("nid,name,born\n0001,ada,2001-01-01\n0002,bo,2001-01-02\n"),
              HasSubstr(other));
  // A row without any key at the end counts, too.
  EXPECT_THAT(Changed(std::string(kTable) + ",,,1\n"), HasSubstr(other));
}

TEST_F(MatchedRowsTest, AnotherVersionOfUnicodeIsNamed) {
  matched_.unicode = "3.1.0";
  EXPECT_THAT(Changed(kTable),
              HasSubstr("was made by Unicode 3.1.0, and this program folds texts by "
                        "Unicode " +
                        match::UnicodeVersion()));
}

TEST_F(MatchedRowsTest, AResultIsNeverWrittenOverAnother) {
  const std::filesystem::path file = MatchedRowsPath(table_, "cohort");
  EXPECT_EQ(SaveNewMatchedRows(matched_, file), file);
  MatchedRows later = matched_;
  later.record[0] ^= 1;
  const std::filesystem::path beside = SaveNewMatchedRows(later, file);
  EXPECT_NE(beside, file);
  EXPECT_EQ(LoadMatchedRows(file).record, matched_.record);
  EXPECT_EQ(LoadMatchedRows(beside).record, later.record);
}

TEST(MatchingRecordTest, EveryFieldIsInTheDigest) {
  MatchingRecord record;
  record.commitments.resize(2);
  record.counts = {3};
  std::vector<MatchingRecord> others(8, record);
  others[0].agreement_hash[0] = 1;
  others[1].plan_hash[0] = 1;
  others[2].run_id[0] = 1;
  others[3].common[0] = 1;
  others[4].commitments[1][5] = 1;
  others[5].minimum = 1;
  others[6].counts = {3, 0};
  std::vector<crypto::Digest> digests;
  for (const MatchingRecord& other : others) digests.push_back(RecordDigest(other));
  EXPECT_EQ(digests.back(), RecordDigest(record));
  std::sort(digests.begin(), digests.end());
  EXPECT_EQ(std::adjacent_find(digests.begin(), digests.end()), digests.end());
}

}  // namespace
}  // namespace partita::run::matched_rows_test
