// [study]: why the rows are used, as a record of processing activities asks (GDPR, Article 30), in the words of
// whoever proposes. Public: all parties, their nodes and readers of the result see it; nothing here is checked.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace partita::study {

class TableReader;

inline constexpr size_t kMaxPurposeBytes = 1000;
inline constexpr size_t kMaxDeclaredBytes = 200;  // of each of the others

// Plain texts of one line; empty: not said.
struct Declaration {
  std::string purpose;      // the question that is asked
  std::string ethics;       // reference of the ethics committee's decision
  std::string legal_basis;  // "Article 6(1)(e) and 9(2)(j) GDPR"
  std::string contact;      // whom to ask about the study

  bool operator==(const Declaration&) const = default;
};

struct Declared {
  const char* key;    // of the study file and of JSON: "legal_basis"
  const char* label;  // for people: "Legal basis"
  const std::string* text;
};
// All four, in the order above, whether said or not; they point into it.
std::vector<Declared> AllOf(const Declaration& declaration);
// "Purpose: ...", of those that are said.
std::vector<std::string> DeclaredLines(const Declaration& declaration);
inline bool IsSaid(const Declaration& declaration) { return declaration != Declaration(); }

// Throws kBadInput as study_file.h describes.
Declaration ReadDeclaration(const TableReader& root);
// [study] with the keys that are said; empty without any.
std::string DeclarationText(const Declaration& declaration);

}  // namespace partita::study
