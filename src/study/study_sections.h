// The sections of a study file, each read and checked against those read before it. Private to the
// study file. Every function throws kBadInput as study_file.h describes.
#pragma once

#include "study/study_file.h"
#include "study/toml_reader.h"

namespace partita::study {

data::Schema ReadDictionary(const TableReader& root);
std::vector<RowBlock> ReadBlocks(const TableReader& root);
TableSpec ReadTable(const TableReader& root, const data::Schema& dictionary,
                    const std::vector<RowBlock>& blocks);
EngineSpec ReadEngine(const TableReader& root);
NetworkSpec ReadNetwork(const TableReader& root);
std::vector<Party> ReadParties(const TableReader& root, const data::Schema& dictionary,
                               const std::vector<RowBlock>& blocks);
// text: of the whole file, to find where the model starts.
AnalysisSpec ReadAnalysis(const TableReader& root, const std::string& text,
                          const data::Schema& dictionary);

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
extern const NameRule kStudyName, kPartyName, kBlockName, kVariableName;
void CheckName(const TableReader& reader, const LocatedText& name, const NameRule& rule);

// A text that people or tables hold: not empty, at most max_bytes, no control characters.
void CheckPlainText(const TableReader& reader, const LocatedText& text, std::string_view key,
                    size_t max_bytes);

// Throws for the first text that occurs twice. what: "level".
void CheckDistinct(const TableReader& reader, const std::vector<LocatedText>& texts,
                   std::string_view what);

std::vector<std::string> Names(const data::Schema& schema);
std::vector<std::string> Names(const std::vector<RowBlock>& blocks);

}  // namespace partita::study
