// Strict reading of TOML tables: every value is asked for by name and type and comes with its
// position; keys that nobody knows are errors. Private to the study file (heavy include).
#pragma once

#include <toml++/toml.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/file/study_file.h"

namespace partita::study {

template <typename T>
struct Located {
  T value{};
  Position position;
};
using LocatedText = Located<std::string>;

// Throws kBadInput "FILE:LINE:COLUMN: what".
[[noreturn]] void FailAt(const std::string& file_name, Position position, const std::string& what,
                         const std::string& hint);

struct TextOrTable;
// Throws kBadInput with the place if the text is not TOML.
toml::table ParseToml(const std::string& text, const std::string& file_name);

class TableReader {
 public:
  // `where` names the table in messages: "[engine]", "the study file". Throws for the first key of
  // the file that is not in `keys`. The table and file_name must outlive the reader.
  TableReader(const std::string& file_name, const toml::table& table, std::string where,
              std::vector<std::string> keys);

  const std::string& where() const { return where_; }
  Position position() const;
  bool Has(std::string_view key) const { return table_->contains(key); }
  // Of the value if it is there, else of the table.
  Position PositionOf(std::string_view key) const;
  [[noreturn]] void Fail(Position position, const std::string& what, const std::string& hint) const;
  // For a required key that is missing; `example` is a line to write.
  [[noreturn]] void FailMissing(std::string_view key, std::string_view example) const;

  // Required values.
  LocatedText Text(std::string_view key, std::string_view example) const;
  std::vector<LocatedText> Texts(std::string_view key, std::string_view example) const;
  Located<double> Number(std::string_view key, std::string_view example) const;
  // Optional values. A whole number passes for a number.
  std::optional<LocatedText> OptionalText(std::string_view key) const;
  std::optional<std::vector<LocatedText>> OptionalTexts(std::string_view key) const;
  // A list of lists of texts.
  std::optional<std::vector<Located<std::vector<LocatedText>>>> OptionalTextLists(
      std::string_view key, std::string_view example) const;
  std::optional<Located<double>> OptionalNumber(std::string_view key) const;
  std::optional<Located<int64_t>> OptionalInteger(std::string_view key) const;
  std::optional<bool> OptionalBool(std::string_view key) const;
  // A number, or where `date` is set a date of TOML or a text "YYYY-MM-DD" as days since
  // 1970-01-01.
  std::optional<Located<double>> OptionalValue(std::string_view key, bool date) const;
  Located<double> Value(std::string_view key, bool date, std::string_view example) const;
  std::optional<std::vector<Located<double>>> OptionalValues(std::string_view key, bool date) const;
  std::vector<Located<double>> Values(std::string_view key, bool date,
                                      std::string_view example) const;
  // A text, or a list of them.
  std::vector<LocatedText> TextOrTexts(std::string_view key) const;
  bool IsText(std::string_view key) const;
  bool IsList(std::string_view key) const;
  // One of `choices`, else an error that names them.
  std::string Choice(const LocatedText& text, std::string_view key,
                     const std::vector<std::string>& choices) const;

  TableReader Table(std::string_view key, std::vector<std::string> keys,
                    std::string_view example) const;
  // header: what messages call it, if not "[key]".
  std::optional<TableReader> OptionalTable(std::string_view key, std::vector<std::string> keys,
                                           std::string header = {}) const;
  // An array of tables ([[key]]); empty if there is none.
  std::vector<TableReader> Tables(std::string_view key, const std::vector<std::string>& keys) const;
  // As above, of tables whose keys depend on the text of their key `kind`; keys_of gets an empty
  // text where there is none.
  std::vector<TableReader> Tables(
      std::string_view key, std::string_view kind,
      const std::function<std::vector<std::string>(const std::string&)>& keys_of) const;
  // A list of inline tables, [{...}, {...}]; empty if there is none. `example` is an entry.
  std::vector<TableReader> Entries(std::string_view key, const std::vector<std::string>& keys,
                                   std::string_view example) const;
  // A list whose items are texts or inline tables; empty if there is none.
  std::vector<TextOrTable> TextsOrEntries(std::string_view key,
                                          const std::vector<std::string>& keys,
                                          std::string_view example) const;
  // Throws if the key is there, even though this reader would not know it: for keys that have
  // moved. To be called on the table that holds `table`, before that table is read.
  void RefuseMoved(std::string_view table, std::string_view key, const std::string& hint) const;

 private:
  const toml::node* Find(std::string_view key) const { return table_->get(key); }
  [[noreturn]] void FailType(std::string_view key, const toml::node& node,
                             std::string_view wanted) const;
  LocatedText TextOf(std::string_view key, const toml::node& node) const;
  Located<double> NumberOf(std::string_view key, const toml::node& node) const;
  Located<double> DateOf(std::string_view key, const toml::node& node) const;
  TableReader EntryOf(std::string_view key, const toml::table& table,
                      const std::vector<std::string>& keys) const;

  const std::string* file_name_;
  const toml::table* table_;
  std::string where_;
};

// Exactly one of the two.
struct TextOrTable {
  std::optional<LocatedText> text;
  std::optional<TableReader> table;
};

}  // namespace partita::study
