// Source files: what they say, and what each mistake in them gets.
#include "data/source/source_file.h"

#include "tests/data/expect_error.h"
#include "tests/data/source/folder.h"

namespace partita::data::source_file_test {
namespace {

using testing::Folder;

TEST(SourceFileTest, NamesADatabaseAndWhatItIsAsked) {
  const Folder folder;
  folder.Write("q.sql", "SELECT 1 AS a");
  std::filesystem::permissions(folder.Write("pass", "secret word\r\n"),
                               std::filesystem::perms::owner_read);
  const SourceFile queried = ReadSourceFile(folder.Write(
      "a.toml",
      "source = \"postgresql://reader@localhost/db\"\nquery = \"q.sql\"\ncredentials = \"pass\"\n"
      "timeout_seconds = 5\n"));
  EXPECT_EQ(queried.kind, SourceKind::kPostgres);
  EXPECT_EQ(queried.where, "postgresql://reader@localhost/db");
  EXPECT_EQ(queried.query, "SELECT 1 AS a");
  EXPECT_EQ(queried.password, "secret word");
  EXPECT_EQ(queried.timeout, std::chrono::seconds(5));
  const SourceFile whole = ReadSourceFile(
      folder.Write("b.toml", "source = \"postgresql://r@h/d\"\ntable = \"c\\\"d.p q\"\n"));
  EXPECT_EQ(whole.query, "SELECT * FROM \"c\"\"d\".\"p q\"");
  const SourceFile embedded =
      ReadSourceFile(folder.Write("c.toml", "source = \"sqlite:r.db\"\ntable = \"t\"\n"));
  EXPECT_EQ(embedded.kind, SourceKind::kSqlite);
  EXPECT_EQ(embedded.where, folder / "r.db");
  EXPECT_EQ(embedded.query, "SELECT * FROM \"t\"");
  EXPECT_EQ(embedded.timeout, std::chrono::hours(1));
  EXPECT_FALSE(embedded.only_sums);
  const SourceFile passing = ReadSourceFile(folder.Write(
      "p.toml", "source = \"postgresql://r@h/d\"\ntable = \"c.p\"\nmode = \"stream\"\n"));
  EXPECT_TRUE(passing.only_sums && passing.passes);
  const SourceFile survey =
      ReadSourceFile(folder.Write("d.toml", "source = \"s.sav\"\nlabels = false\n"));
  EXPECT_EQ(survey.kind, SourceKind::kStatistics);
  EXPECT_FALSE(survey.labels);
  const SourceFile written = ReadSourceFile(
      folder.Write("e.toml", "source = \"r.csv.gz\"\nseparator = \";\"\ndecimal = \",\"\n"));
  EXPECT_EQ(written.kind, SourceKind::kCsv);
  EXPECT_EQ(written.where, folder / "r.csv.gz");
  EXPECT_EQ(written.dialect.separator, ';');
  EXPECT_EQ(written.dialect.decimal, ',');
}

// Read as it is written, whatever the study file says.
TEST(SourceFileTest, AFileIsReadAsItsOwnerWroteIt) {
  const Folder folder;
  folder.Write("r.csv", "x;name\n1,5;\"a, b\"\n-2,25;c\n");
  const std::string file =
      folder.Write("r.toml", "source = \"r.csv\"\nseparator = \";\"\ndecimal = \",\"\n");
  Schema schema;
  schema.columns.resize(1);
  schema.columns[0].name = "x";
  schema.columns[0].lower = -10;
  schema.columns[0].upper = 10;
  const CsvContents contents = ReadCsvFile(file, schema, {});
  EXPECT_EQ(contents.table.columns.at(0).numbers, (std::vector<double>{1.5, -2.25}));
  EXPECT_FALSE(IsDatabase(file));
  // Not by its own name: the study's separator is a comma.
  EXPECT_THROW(ReadCsvFile(folder / "r.csv", schema, {}), Error);
}

TEST(SourceFileTest, MistakesAreNamed) {
  const Folder folder;
  folder.Write("open", "word\n");
  std::filesystem::permissions(folder / "open", std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  struct Mistake {
    const char *text, *message;
    ErrorCode code = ErrorCode::kBadInput;
  };
  for (const Mistake& mistake : std::vector<Mistake>{
           {"", "there is no 'source'"},
           {"source = 3", "'source' is a text in quotes"},
           {"source = \"oracle:x\"\ntable = \"t\"", ":1:10: no source of this kind"},
           {"sauce = \"sqlite:x\"", "unknown key 'sauce'"},
           {"source = \"sqlite:x\"", "one of 'table' and 'query'"},
           {"source = \"sqlite:x\"\ntable = \"t\"\nquery = \"q\"", "one of 'table' and 'query'"},
           {"source = \"sqlite:x\"\nquery = \"nowhere.sql\"", "nowhere.sql"},
           {"source = \"sqlite:x\"\ntable = \"t\"\ncredentials = \"open\"", "is for PostgreSQL"},
           {"source = \"sqlite:x\"\ntable = \"t\"\ntimeout_seconds = 0", "from 1 to 86400"},
           {"source = \"sqlite:x\"\ntable = \"t\"\nlabels = true", "for files of SPSS"},
           {"source = \"sqlite:x\"\ntable = \"t\"\nmode = \"stream\"", "is for PostgreSQL"},
           {"source = \"sqlite:x\"\ntable = \"t\"\nmode = \"rows\"", "\"push-down\" or \"stream\""},
           {"source = \"postgresql://r@h/d\"\ntable = \"s.t\"\nmode = \"stream\"\nedition = "
            "\"steward\"",
            "'edition' is for tables of which rows are read"},
           {"source = \"s.sav\"\ntable = \"t\"", "'table' is for databases"},
           {"source = \"s.sav\"\nlabels = 1", "true or false"},
           {"source = \"s.sav\"\nseparator = \";\"", "'separator' is for CSV files"},
           {"source = \"s.csv\"\nlabels = true", "for files of SPSS"},
           {"source = \"s.csv\"\ntable = \"t\"", "'table' is for databases"},
           {"source = \"s.csv\"\nseparator = \";;\"", "'separator' is one character"},
           {"source = \"s.csv\"\ndecimal = \",\"", "both separator and decimal mark"},
           {"source = \"s.csv\"\nseparator = \"x\"", "cannot separate fields"},
           {"source = \"postgresql://r@h/d\"\ntable = \"t\"", "without its schema"},
           {"source = \"postgresql://r@h/d\"\ntable = \"s.t\"\ncredentials = \"open\"",
            "other users may read the password", ErrorCode::kRefused},
           {"source = sqlite", ":1:"},
           {"s\xc3\xb6urce = \"sqlite:x\"", "not ASCII"}}) {
    SCOPED_TRACE(mistake.text);
    ExpectError(mistake.code, mistake.message, "",
                [&] { ReadSourceFile(folder.Write("s.toml", mistake.text)); });
  }
}

}  // namespace
}  // namespace partita::data::source_file_test
