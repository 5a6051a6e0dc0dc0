// What the pages show of the text of a study file. Peers write such files, so whoever holds sessions or takes
// passphrases has it read in a child (study_reader.h), never by itself.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "study/file/declaration.h"

namespace partita::node {

enum class FileDepth : uint8_t {
  kNames = 0,      // parsed
  kPlan = 1,       // and its plan made
  kVariables = 2,  // parsed, with its dictionary and what else a record of processing asks for
};

// A variable of a study's dictionary, in its words.
struct FileVariable {
  std::string name, type, unit, bounds;  // bounds: "[0, 120]"; empty: none
  std::vector<std::string> levels;
  std::vector<std::string> holders;  // the parties that contribute it

  bool operator==(const FileVariable&) const = default;
};

struct FileParty {
  std::string name;
  std::vector<std::string> roles;  // "holder", "receiver", "dealer"

  bool operator==(const FileParty&) const = default;
};

// What a record of processing asks of a study's file.
struct FileUse {
  study::Declaration declared;
  std::vector<FileParty> parties;
  std::vector<std::string> recipients;  // of whatever is released: parties
  std::vector<std::string> methods;     // of its analyses, each once
  std::string unit;                     // what a row is: "person"
  std::string rows;                     // which rows take part; empty: all

  bool operator==(const FileUse&) const = default;
};

struct FileRead {
  std::string name, title;           // empty: it cannot be parsed
  std::string plan_text, plan_json;  // empty without a plan
  std::vector<std::string> warnings;
  std::vector<FileVariable> variables;  // with kVariables
  FileUse use;                          // the same
  std::optional<Error> problem;         // why there is not what was asked for
};

// Of a text. Throws kInternal and kTimeout where no reader could read it; what is wrong with the text is the
// problem of the answer.
using FileReader = std::function<FileRead(const std::string& text, FileDepth depth)>;

// Of many texts at once, for lists: empty where a text cannot be parsed. Throws as a FileReader does, if only
// one of them is too much for the reader: then each is read by itself.
struct FileNames {
  std::string name, title;
};
using NamesReader = std::function<std::vector<FileNames>(const std::vector<std::string>& texts)>;

// In this process.
FileRead ReadStudyFile(const std::string& text, FileDepth depth);

// What a child is asked and answers. Throw kPeerFault.
Bytes EncodeFileOrder(const std::string& text, FileDepth depth);
Bytes AnswerFileOrder(ByteView order);
FileRead DecodeFileAnswer(ByteView answer);
Bytes EncodeNamesOrder(const std::vector<std::string>& texts);
Bytes AnswerNamesOrder(ByteView order);
// count: of the texts.
std::vector<FileNames> DecodeNamesAnswer(ByteView answer, size_t count);

}  // namespace partita::node
