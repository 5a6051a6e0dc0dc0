#include "study/file/declaration.h"

#include "study/file/sections.h"
#include "study/file/toml_text.h"

namespace partita::study {
namespace {

constexpr const char* kPurpose = "purpose";
constexpr const char* kEthics = "ethics";
constexpr const char* kLegalBasis = "legal_basis";
constexpr const char* kContact = "contact";

std::string DeclaredText(const TableReader& reader, const char* key, size_t max_bytes) {
  const auto text = reader.OptionalText(key);
  if (!text) return "";
  CheckPlainText(reader, *text, key, max_bytes);
  return text->value;
}

}  // namespace

std::vector<Declared> AllOf(const Declaration& declaration) {
  return {{kPurpose, "Purpose", &declaration.purpose},
          {kEthics, "Ethics reference", &declaration.ethics},
          {kLegalBasis, "Legal basis", &declaration.legal_basis},
          {kContact, "Contact", &declaration.contact}};
}

std::vector<std::string> DeclaredLines(const Declaration& declaration) {
  std::vector<std::string> lines;
  for (const Declared& declared : AllOf(declaration)) {
    if (!declared.text->empty())
      lines.push_back(std::string(declared.label) + ": " + *declared.text);
  }
  return lines;
}

Declaration ReadDeclaration(const TableReader& root) {
  const auto reader = root.OptionalTable("study", {kPurpose, kEthics, kLegalBasis, kContact});
  if (!reader) return {};
  return {DeclaredText(*reader, kPurpose, kMaxPurposeBytes),
          DeclaredText(*reader, kEthics, kMaxDeclaredBytes),
          DeclaredText(*reader, kLegalBasis, kMaxDeclaredBytes),
          DeclaredText(*reader, kContact, kMaxDeclaredBytes)};
}

std::string DeclarationText(const Declaration& declaration) {
  if (!IsSaid(declaration)) return "";
  std::string text = "\n[study]\n";
  for (const Declared& declared : AllOf(declaration)) {
    if (!declared.text->empty())
      text += std::string(declared.key) + " = " + TomlText(*declared.text) + "\n";
  }
  return text;
}

}  // namespace partita::study
