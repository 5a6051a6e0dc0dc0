#include "data/csv_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "data/utf8.h"

namespace partita::data {

namespace {

bool IsEmptyLine(std::span<const CsvField> fields) {
  return fields.size() == 1 && fields[0].raw.empty() && !fields[0].quoted;
}

}  // namespace

CsvTokenizer::CsvTokenizer(const ByteSource& source, std::string source_name,
                           const CsvOptions& options, const ByteObserver& observer)
    : source_(source),
      observer_(observer),
      options_(options),
      source_name_(std::move(source_name)),
      buffer_(1) {
  for (char c : {options.separator, '"', '\n', '\r', '\0'})
    special_[static_cast<uint8_t>(c)] = true;
  Refill();
  SkipByteOrderMark();
}

void CsvTokenizer::SkipByteOrderMark() {
  std::string_view head(buffer_.data(), end_);
  if (head.starts_with("\xEF\xBB\xBF")) next_ = 3;
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) {
    Fail(buffer_.data(), "the file is UTF-16", "save it as UTF-8");
  }
}

bool CsvTokenizer::Next() {
  while (NextLine()) {
    if (!IsEmptyLine(fields_)) {
      if (first_empty_line_ == 0) return true;
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}:1: the line is empty", source_name_, first_empty_line_),
                  "remove it; write a missing value of a one-column table as \"\"");
    }
    if (first_empty_line_ == 0) first_empty_line_ = line_;
  }
  return false;
}

bool CsvTokenizer::NextLine() {
  begin_ = next_;
  line_ = next_line_;
  while (true) {
    switch (Scan()) {
      case Outcome::kRecord:
        return true;
      case Outcome::kEnd:
        return false;
      case Outcome::kNeedMore:
        Refill();
    }
  }
}

// Scans one record from begin_. It starts over when bytes are missing: a record crosses the end of
// a block rarely, and long records double the buffer.
CsvTokenizer::Outcome CsvTokenizer::Scan() {
  fields_.clear();
  const char* const end = buffer_.data() + end_;
  const char* p = buffer_.data() + begin_;
  if (p == end) return at_eof_ ? Outcome::kEnd : Outcome::kNeedMore;
  while (true) {
    CsvField field;
    if (*p == '"') {
      p = ScanQuoted(p, field);
      if (p == nullptr) return Outcome::kNeedMore;
    } else {
      const char* const start = p;
      while (!special_[static_cast<uint8_t>(*p)]) ++p;
      field.raw = {start, static_cast<size_t>(p - start)};
    }
    if (p == end && !at_eof_) return Outcome::kNeedMore;
    if (field.raw.size() > options_.max_field_bytes || fields_.size() == options_.max_columns)
      FailAtLimit(field);
    fields_.push_back(field);
    if (p == end) return FinishRecord(p);
    if (*p == options_.separator) {
      ++p;
    } else if (*p == '\n') {
      return FinishRecord(p + 1);
    } else if (*p == '\r') {
      if (p + 1 == end && !at_eof_) return Outcome::kNeedMore;
      if (p[1] != '\n') FailAtStrayByte(p);
      return FinishRecord(p + 2);
    } else {
      FailAtStrayByte(p);
    }
  }
}

const char* CsvTokenizer::ScanQuoted(const char* open, CsvField& field) const {
  const char* const end = buffer_.data() + end_;
  const char* close = open + 1;
  while (true) {
    close = static_cast<const char*>(std::memchr(close, '"', static_cast<size_t>(end - close)));
    if (close == nullptr) {
      if (!at_eof_) return nullptr;
      Fail(open, "a quoted field begins here and is not closed before the end of the file");
    }
    // At the end of the bytes close[1] is the final NUL; Scan then asks for more.
    if (close[1] != '"') break;
    field.doubled_quotes = true;
    close += 2;
  }
  field.quoted = true;
  field.raw = {open + 1, static_cast<size_t>(close - open - 1)};
  size_t nul = field.raw.find('\0');
  if (nul != std::string_view::npos) FailAtStrayByte(field.raw.data() + nul);
  return close + 1;
}

void CsvTokenizer::FailAtLimit(const CsvField& field) const {
  if (field.raw.size() > options_.max_field_bytes) {
    Fail(field.raw.data(), fmt::format("a field is longer than {} bytes", options_.max_field_bytes),
         "check that every quote is closed and that the separator is right");
  }
  Fail(field.raw.data(), fmt::format("a record has more than {} fields", options_.max_columns));
}

CsvTokenizer::Outcome CsvTokenizer::FinishRecord(const char* after) {
  const char* const start = buffer_.data() + begin_;
  if (static_cast<size_t>(after - start) > options_.max_record_bytes) {
    Fail(start, fmt::format("a record is longer than {} bytes", options_.max_record_bytes),
         "check that every quote is closed");
  }
  next_ = begin_ + static_cast<size_t>(after - start);
  next_line_ = line_ + 1;
  for (const CsvField& field : fields_) {
    if (!field.quoted) continue;
    next_line_ += static_cast<uint64_t>(std::count(field.raw.begin(), field.raw.end(), '\n'));
  }
  return Outcome::kRecord;
}

// Moves the record that has been begun to the front and reads on behind it.
void CsvTokenizer::Refill() {
  size_t begun = end_ - begin_;
  if (begun > options_.max_record_bytes) {
    Fail(buffer_.data() + begin_,
         fmt::format("a record is longer than {} bytes", options_.max_record_bytes),
         "check that every quote is closed");
  }
  std::memmove(buffer_.data(), buffer_.data() + begin_, begun);
  begin_ = 0;
  end_ = begun;
  if (buffer_.size() < 2 * begun + kCsvBlockBytes) buffer_.resize(2 * begun + kCsvBlockBytes + 1);
  size_t room = buffer_.size() - 1 - end_;
  std::span<uint8_t> out(reinterpret_cast<uint8_t*>(buffer_.data()) + end_, room);
  size_t count = source_(out);
  if (observer_ && count > 0) observer_(out.first(count));
  end_ += count;
  at_eof_ = count < room;
  buffer_[end_] = '\0';
}

std::string_view CsvTokenizer::Text(const CsvField& field, std::string& scratch) {
  if (!field.doubled_quotes) return field.raw;
  scratch.clear();
  for (size_t i = 0; i < field.raw.size(); ++i) {
    scratch.push_back(field.raw[i]);
    if (field.raw[i] == '"') ++i;
  }
  return scratch;
}

CellPosition CsvTokenizer::PositionOf(const CsvField& field) const {
  return PositionAt(field.raw.data() - (field.quoted ? 1 : 0));
}

CellPosition CsvTokenizer::PositionAt(const char* at) const {
  const char* start = buffer_.data() + begin_;
  std::string_view before(start, static_cast<size_t>(at - start));
  auto breaks = static_cast<uint64_t>(std::count(before.begin(), before.end(), '\n'));
  if (breaks > 0) before.remove_prefix(before.rfind('\n') + 1);
  return {line_ + breaks, CountCodePoints(before) + 1};
}

void CsvTokenizer::Fail(const char* at, const std::string& message, std::string hint) const {
  CellPosition position = PositionAt(at);
  throw Error(ErrorCode::kBadData,
              fmt::format("{}:{}:{}: {}", source_name_, position.line, position.character, message),
              std::move(hint));
}

void CsvTokenizer::FailAtStrayByte(const char* at) const {
  if (*at == '\0') Fail(at, "a NUL byte", "the file is not text: export the table as UTF-8 CSV");
  if (*at == '\r')
    Fail(at, "a carriage return that no line feed follows", "end lines with LF or CRLF");
  if (*at == '"') {
    Fail(at, "a quote inside a field that does not begin with one",
         "put the whole field in quotes and write the quotes inside it twice");
  }
  Fail(at, "text after the closing quote of a field",
       "separate fields with the separator, and write quotes inside a field twice");
}

}  // namespace partita::data
