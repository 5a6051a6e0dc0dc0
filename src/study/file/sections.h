// The sections of a study file, each read and checked against those read before it. Private to the
// study file. Every function throws kBadInput as study_file.h describes.
#pragma once

#include "study/file/section_reader.h"
#include "study/file/study_file.h"
#include "study/file/toml_reader.h"

namespace partita::study {

// Of a study file, and of a [[variable]].
extern const std::vector<std::string> kStudyKeys, kVariableKeys;

// A [[variable]], whose name was checked; its type alone.
data::ColumnSchema ReadVariable(const TableReader& reader, const std::string& name);
data::ColumnType ReadVariableType(const TableReader& reader);

struct Dictionary {
  data::Schema schema;
  std::vector<Position> positions;  // of each [[variable]]
};
Dictionary ReadDictionary(const TableReader& root);
std::vector<RowBlock> ReadBlocks(const TableReader& root);
TableSpec ReadTable(const TableReader& root, const data::Schema& dictionary,
                    const std::vector<RowBlock>& blocks);
// Also checks that no two columns of an analysis, and no column and a column of the tables, have
// one name.
std::vector<data::DerivedVariable> ReadDerived(const TableReader& root,
                                               const Dictionary& dictionary,
                                               const TableSpec& table);
PopulationSpec ReadPopulation(const TableReader& root, const data::Schema& dictionary,
                              const std::vector<data::DerivedVariable>& derived);
DesignSpec ReadDesign(const TableReader& root, const data::Schema& dictionary);
DisclosureSpec ReadDisclosure(const TableReader& root);
ReleaseRuleSpec ReadReleaseRule(const TableReader& root);
// The key `subset` of a table.
std::vector<data::Condition> ReadSubset(const TableReader& reader, const data::Schema& dictionary,
                                        const std::vector<data::DerivedVariable>& derived);
// The key `release` of a method that releases one thing, to the receiver or to all:
// release = ["table"], or [{what = "table", to = "all"}]. Whether all are told.
struct OneRelease {
  const char* what;    // "table"
  const char* method;  // "method 'describe' releases one table"
  const char* absent;  // the hint where the key is absent
};
bool ReadOneRelease(const TableReader& reader, const StudyFile& study, const OneRelease& one,
                    AnalysisSpec& analysis);
EngineSpec ReadEngine(const TableReader& root);
NetworkSpec ReadNetwork(const TableReader& root);
std::vector<Party> ReadParties(const TableReader& root, const data::Schema& dictionary,
                               const std::vector<RowBlock>& blocks);
// [analysis.privacy] of one analysis.
std::optional<PrivacySpec> ReadPrivacy(const TableReader& analysis, const StudyFile& study);
// study: everything but the analyses is read.
std::vector<AnalysisSpec> ReadAnalyses(const TableReader& root, const StudyFile& study,
                                       std::span<const SectionReader> methods);

// One receiver, two holders at least, and the dealer and number of parties that the engine needs.
void CheckRoles(const TableReader& root, const std::vector<Party>& parties,
                const EngineSpec& engine);
// Shared blocks have a count and a key; holders of several blocks have a block column.
void CheckSharing(const TableReader& root, const std::vector<Party>& parties,
                  const std::vector<RowBlock>& blocks, const TableSpec& table);

// Names of one kind in one file: checks their form, their length and that none comes twice.
struct NameRule {
  const char* kind;   // "party"
  const char* first;  // characters that may stand first; ranges as in "a-z"
  const char* rest;   // characters that may follow
  size_t max_length;
  const char* description;  // "small letters, digits and -"
};
extern const NameRule kStudyName, kPartyName, kBlockName, kVariableName, kAnalysisName;
void CheckName(const TableReader& reader, const LocatedText& name, const NameRule& rule);

// `name` and `title` of a file; the title is the name where it is left out.
struct FileNames {
  std::string name, title;
};
// example: a line with a name.
FileNames ReadNames(const TableReader& root, std::string_view example);

// Throws unless `key`, which says what kind of file it is, has the format that this version of
// Partita reads.
void CheckFormat(const TableReader& root, const std::string& key, int64_t format);

// A text that people or tables hold: not empty, at most max_bytes, no control characters.
void CheckPlainText(const TableReader& reader, const LocatedText& text, std::string_view key,
                    size_t max_bytes);

// Throws for the first text that occurs twice. what: "level".
void CheckDistinct(const TableReader& reader, const std::vector<LocatedText>& texts,
                   std::string_view what);

// A factor's levels or a cut's labels: 2 to 1000 distinct plain texts.
std::vector<std::string> ReadLevelList(const TableReader& reader, std::string_view key,
                                       const std::vector<LocatedText>& levels);

// The variable that is named there. Throws with "did you mean" if there is none.
const data::ColumnSchema& FindVariable(const TableReader& reader, const LocatedText& name,
                                       std::string_view key, const data::Schema& dictionary);

// Throws unless it has levels. what: "outcome", "group".
void RequireLevels(const TableReader& reader, Position position, std::string_view what,
                   const data::ColumnSchema& variable);

// Rethrows a kBadInput that knows no place with one.
[[noreturn]] void FailWith(const TableReader& reader, Position position, const Error& error);

std::vector<std::string> Names(const data::Schema& schema);
std::vector<std::string> Names(const std::vector<RowBlock>& blocks);

}  // namespace partita::study
