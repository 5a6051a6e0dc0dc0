// Files of SPSS, Stata and SAS: those of other programs (PSPP, R's foreign), and written by ReadStat.
#include "data/source/statistics_file.h"

#include <readstat.h>

#include <tuple>
#include <utility>

#include "base/files.h"
#include "tests/data/expect_error.h"
#include "tests/data/source/folder.h"
#include "tests/paths.h"

namespace partita::data::statistics_file_test {
namespace {

using testing::AllOf;
using testing::Folder;

// tests/tables/statistics/survey.sps: 99 is declared missing, and three does not say a label.
TEST(StatisticsFileTest, OfPspp) {
  for (const char* name : {"survey.sav", "survey.zsav"}) {
    SCOPED_TRACE(name);
    const std::string file = FixturePath(std::string("tables/statistics/") + name);
    const OpenedTable table = OpenTableFile(file);
    EXPECT_TRUE(table.dialect);
    EXPECT_EQ(AllOf(table),
              "id,group,likert,visit,weight\na001,\"control, plain\",well,2020-02-28,71.25\n"
              "a002,treated,badly,2020-03-01,60\na003,\"control, plain\",,2020-02-29,0.1\n"
              "a004,,3,,1000\n");
    const Folder folder;
    EXPECT_EQ(AllOf(OpenTableFile(
                  folder.Write("codes.toml", "source = \"" + file + "\"\nlabels = false\n"))),
              "id,group,likert,visit,weight\na001,1,5,2020-02-28,71.25\na002,2,1,2020-03-01,60\n"
              "a003,1,,2020-02-29,0.1\na004,,3,,1000\n");
  }
}

TEST(StatisticsFileTest, OfR) {
  EXPECT_EQ(AllOf(OpenTable(FixturePath("tables/statistics/survey.dta"))),
            "id,grp,x,s\n1,a,1.5,u\n2,b,,v\n3,a,3.25,w\n4,b,0.3333333333333333,x\n"
            "5,a,10000000000,y\n6,,-2,z z\n");
}

using BeginWriting = readstat_error_t (*)(readstat_writer_t*, void*, long);

ssize_t Append(const void* data, size_t size, void* text) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(data), size);
  return static_cast<ssize_t>(size);
}

// A text, a date and a number, with what counts for the first day and the first moment after it.
std::string Written(BeginWriting begin, const char* date_format, double day, double next) {
  std::string text;
  readstat_writer_t* writer = readstat_writer_init();
  readstat_set_data_writer(writer, Append);
  readstat_variable_t* word = readstat_add_variable(writer, "WORD", READSTAT_TYPE_STRING, 8);
  readstat_variable_t* date = readstat_add_variable(writer, "DAY", READSTAT_TYPE_DOUBLE, 0);
  readstat_variable_set_format(date, date_format);
  readstat_variable_t* number = readstat_add_variable(writer, "X", READSTAT_TYPE_DOUBLE, 0);
  EXPECT_EQ(begin(writer, &text, 3), READSTAT_OK);
  for (int row = 0; row < 3; ++row) {
    readstat_begin_row(writer);
    readstat_insert_string_value(writer, word, row == 0 ? "caf\xc3\xa9" : "b");
    if (row == 2) {
      readstat_insert_missing_value(writer, date);
      readstat_insert_missing_value(writer, number);
    } else {
      readstat_insert_double_value(writer, date, row == 0 ? day : next);
      readstat_insert_double_value(writer, number, row == 0 ? -0.5 : 12345678.75);
    }
    readstat_end_row(writer);
  }
  EXPECT_EQ(readstat_end_writing(writer), READSTAT_OK);
  readstat_writer_free(writer);
  return text;
}

TEST(StatisticsFileTest, DatesOfEachProgram) {
  const Folder folder;
  struct Case {
    const char* name;
    BeginWriting begin;
    const char* format;
    double day, next;
    const char* after;
  };
  // 2020-02-29 is day 21974 from 1960, and 13802313600 s after 1582-10-14.
  for (const Case& tried : std::vector<Case>{
           {"a.dta", readstat_begin_writing_dta, "%td", 21974, 21975, "2020-03-01"},
           {"b.dta", readstat_begin_writing_dta, "%tc", 21974 * 86'400'000.0,
            21974 * 86'400'000.0 + 61'000, "2020-02-29T00:01:01"},
           {"c.sav", readstat_begin_writing_sav, "ADATE10", 13802313600.0, 13802313600.0 + 86'400,
            "2020-03-01"},
           {"d.sav", readstat_begin_writing_sav, "DATETIME20", 13802313600.0, 13802313600.0 + 3'600,
            "2020-02-29T01:00:00"},
           {"e.xpt", readstat_begin_writing_xport, "DATE9", 21974, 21975, "2020-03-01"},
           {"f.sas7bdat", readstat_begin_writing_sas7bdat, "YYMMDD10", 21974, 21975,
            "2020-03-01"}}) {
    SCOPED_TRACE(tried.name);
    const std::string file =
        folder.Write(tried.name, Written(tried.begin, tried.format, tried.day, tried.next));
    const bool timed = std::string(tried.after).find('T') != std::string::npos;
    EXPECT_EQ(AllOf(OpenTable(file)), std::string("WORD,DAY,X\ncaf\xc3\xa9,2020-02-29") +
                                          (timed ? "T00:00:00" : "") + ",-0.5\nb," + tried.after +
                                          ",12345678.75\nb,,\n");
  }
}

// Two rows of one number. version: 5 or 8.
std::string Transport(uint8_t version) {
  std::string text;
  readstat_writer_t* writer = readstat_writer_init();
  readstat_set_data_writer(writer, Append);
  readstat_writer_set_file_format_version(writer, version);
  readstat_variable_t* x = readstat_add_variable(writer, "X", READSTAT_TYPE_DOUBLE, 0);
  EXPECT_EQ(readstat_begin_writing_xport(writer, &text, 2), READSTAT_OK);
  for (const double value : {1.0, 2.0}) {
    readstat_begin_row(writer);
    readstat_insert_double_value(writer, x, value);
    readstat_end_row(writer);
  }
  EXPECT_EQ(readstat_end_writing(writer), READSTAT_OK);
  readstat_writer_free(writer);
  return text;
}

// Labels that would make two values one, or another number of one.
TEST(StatisticsFileTest, LabelsThatAreNotDistinctStandBesideTheirValues) {
  const Folder folder;
  for (const auto& [first, second, cells] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"low", "high", "low\nhigh\n"},
           {"low", "low", "1 (low)\n2 (low)\n"},
           {"2", "1", "1 (2)\n2 (1)\n"},
           {"", "high", "1 ()\n2 (high)\n"}}) {
    std::string text;
    readstat_writer_t* writer = readstat_writer_init();
    readstat_set_data_writer(writer, Append);
    readstat_label_set_t* labels = readstat_add_label_set(writer, READSTAT_TYPE_DOUBLE, "l");
    readstat_label_double_value(labels, 1, first);
    readstat_label_double_value(labels, 2, second);
    readstat_variable_t* x = readstat_add_variable(writer, "X", READSTAT_TYPE_DOUBLE, 0);
    readstat_variable_set_label_set(x, labels);
    ASSERT_EQ(readstat_begin_writing_sav(writer, &text, 2), READSTAT_OK);
    for (const double value : {1.0, 2.0}) {
      readstat_begin_row(writer);
      readstat_insert_double_value(writer, x, value);
      readstat_end_row(writer);
    }
    readstat_end_writing(writer);
    readstat_writer_free(writer);
    EXPECT_EQ(AllOf(OpenTable(folder.Write("l.sav", text))), std::string("X\n") + cells);
  }
}

// What the library takes for fewer rows.
TEST(StatisticsFileTest, ShortFilesAreNoShorterTables) {
  const Folder folder;
  const std::string transport = Written(readstat_begin_writing_xport, "DATE9", 1, 2);
  ExpectError(ErrorCode::kBadInput, "it ends within a record", "",
              [&] { OpenTable(folder.Write("t.xpt", transport.substr(0, transport.size() - 1))); });
  std::string unknown = Written(readstat_begin_writing_sav, "F8.2", 1, 2);
  unknown.replace(80, 4, "\xff\xff\xff\xff");
  ExpectError(ErrorCode::kBadInput, "how many rows", "",
              [&] { OpenTable(folder.Write("u.sav", unknown)); });
}

// As `libname xport` writes a library: everything from the second set's header on would be rows of the first.
TEST(StatisticsFileTest, SeveralDataSetsAreRefused) {
  const Folder folder;
  for (const auto& [version, header] : std::vector<std::pair<uint8_t, const char*>>{
           {5, "HEADER RECORD*******MEMBER  "}, {8, "HEADER RECORD*******MEMBV8  "}}) {
    SCOPED_TRACE(header);
    const std::string one = Transport(version);
    const size_t member = one.find(header);
    ASSERT_EQ(member % 80, 0u);
    EXPECT_EQ(AllOf(OpenTable(folder.Write("one.xpt", one))), "X\n1\n2\n");
    ExpectError(ErrorCode::kBadInput, "has 2 data sets", "a file for each",
                [&] { OpenTable(folder.Write("two.xpt", one + one.substr(member))); });
  }
}

// Cut at every byte, and with bytes changed: an error or a table, nothing else.
TEST(StatisticsFileTest, DamagedFiles) {
  const Folder folder;
  size_t errors = 0;
  for (const char* name : {"survey.sav", "survey.zsav", "survey.dta"}) {
    const std::string whole =
        ReadFile(FixturePath(std::string("tables/statistics/") + name), 1 << 20, "the file");
    const std::string ending = std::string(name).substr(std::string(name).find('.'));
    for (size_t size = 0; size < whole.size(); size += 11) {
      const std::string file = folder.Write("cut" + ending, whole.substr(0, size));
      if (const auto error = ThrownBy([&] { AllOf(OpenTable(file)); })) {
        ++errors;
        EXPECT_TRUE(error->code() == ErrorCode::kBadInput || error->code() == ErrorCode::kBadData);
      }
    }
  }
  EXPECT_GT(errors, 100u);
  ExpectError(ErrorCode::kBadInput, "cannot read the file", "",
              [&] { OpenTable(folder / "not_there.sav"); });
}

}  // namespace
}  // namespace partita::data::statistics_file_test
