// Splits a byte stream into CSV records (RFC 4180; the exact dialect is described in csv_reader.h).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/check_report.h"
#include "data/csv_reader.h"

namespace partita::data {

// Bytes asked of the source at once, more for long records. Small enough to stay in the cache.
inline constexpr size_t kCsvBlockBytes = size_t{1} << 18;

// A field as it stands in the buffer; valid until the next call of Next.
struct CsvField {
  std::string_view raw;  // without the outer quotes
  bool quoted = false;
  bool doubled_quotes = false;  // raw still has quotes written twice
};

class CsvTokenizer {
 public:
  // References are kept; options must have been checked.
  CsvTokenizer(const ByteSource& source, std::string source_name, const CsvOptions& options,
               const ByteObserver& observer);

  // Moves to the next record that is not an empty line; false at the end. Throws kBadData for
  // malformed records and for an empty line that another record follows.
  bool Next();

  std::span<const CsvField> fields() const { return fields_; }
  // The field's text, quotes undone; uses `scratch` if it has to be built.
  static std::string_view Text(const CsvField& field, std::string& scratch);

  uint64_t line() const { return line_; }
  CellPosition PositionOf(const CsvField& field) const;
  const std::string& source_name() const { return source_name_; }

 private:
  enum class Outcome { kRecord, kEnd, kNeedMore };

  bool NextLine();
  Outcome Scan();
  // Returns the position after the closing quote, or null if more bytes are needed.
  const char* ScanQuoted(const char* open, CsvField& field) const;
  Outcome FinishRecord(const char* after);
  void Refill();
  void SkipByteOrderMark();
  CellPosition PositionAt(const char* at) const;
  [[noreturn]] void Fail(const char* at, const std::string& message, std::string hint = {}) const;
  [[noreturn]] void FailAtStrayByte(const char* at) const;
  // Of a field that is too long, or one too many.
  [[noreturn]] void FailAtLimit(const CsvField& field) const;

  const ByteSource& source_;
  const ByteObserver& observer_;
  const CsvOptions& options_;
  std::string source_name_;

  std::array<bool, 256> special_{};  // ends an unquoted field
  std::vector<char> buffer_;         // one byte longer than its contents: a NUL stops every scan
  size_t begin_ = 0;                 // of the current record
  size_t next_ = 0;                  // of the record after it
  size_t end_ = 0;                   // of the bytes read so far
  bool at_eof_ = false;

  std::vector<CsvField> fields_;
  uint64_t line_ = 1, next_line_ = 1;
  uint64_t first_empty_line_ = 0;
};

}  // namespace partita::data
