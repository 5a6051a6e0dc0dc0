#include "data/source/passing_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "data/number_text.h"
#include "data/source/postgres_session.h"
#include "data/source/sum_statement.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

constexpr size_t kRowsPerPiece = 4096, kCellsPerPiece = 1 << 20;  // cells: of all that is asked
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kOutside = std::numeric_limits<double>::infinity();

// ---- what the server sends: PostgreSQL's manual, COPY, "Binary Format"

class BinaryRows {
 public:
  BinaryRows(PostgresSession& session, std::string file)
      : session_(session), file_(std::move(file)) {
    constexpr std::string_view kSignature("PGCOPY\n\377\r\n\0", 11);
    const std::string signature(Take(kSignature.size()));
    const uint32_t flags = U32();
    if (signature != kSignature || flags != 0) Fail();
    Skip(U32());  // of a later format
  }

  // Whether there is another row, of so many fields.
  bool Next(size_t fields) {
    const uint16_t count = static_cast<uint16_t>(Unsigned(2));
    if (count == 0xffff) {
      // So that the server says whether it sent all.
      if (More()) Fail();
      return false;
    }
    if (count != fields) Fail();
    return true;
  }

  // The next field, of at most `longest` bytes; of a longer one that many and one more. Nothing for NULL. Valid
  // until the next call.
  std::string_view Text(size_t longest) {
    const uint32_t size = U32();
    if (size == kNull) return {};
    if (size <= longest) return Take(size);
    Skip(size);
    too_long_.assign(longest + 1, ' ');
    return too_long_;
  }

  // A field of eight bytes; of NULL NaN, and of NaN what is out of all bounds.
  double Number() {
    const uint32_t size = U32();
    if (size == kNull) return kMissing;
    if (size != sizeof(double)) Fail();
    const double x = std::bit_cast<double>(BigEndian(Take(size)));
    return std::isnan(x) ? kOutside : x;
  }

 private:
  static constexpr uint32_t kNull = 0xffffffff;

  [[noreturn]] void Fail() const {
    throw Error(ErrorCode::kBadInput, file_ + ": the database sent rows in another form than asked",
                "please report this, with the server's version");
  }

  static uint64_t BigEndian(std::string_view bytes) {
    uint64_t number = 0;
    for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
    return number;
  }

  uint64_t Unsigned(size_t size) { return BigEndian(Take(size)); }
  uint32_t U32() { return static_cast<uint32_t>(Unsigned(4)); }

  bool More() {
    if (!session_.Next(piece_)) return false;
    bytes_.erase(0, used_);
    used_ = 0;
    bytes_ += piece_;
    return true;
  }

  std::string_view Take(size_t size) {
    while (bytes_.size() - used_ < size) {
      if (!More()) Fail();
    }
    used_ += size;
    return std::string_view(bytes_).substr(used_ - size, size);
  }

  void Skip(size_t size) {
    while (size > 0) {
      const size_t some = std::min(size, std::max<size_t>(1, bytes_.size() - used_));
      Take(some);
      size -= some;
    }
  }

  PostgresSession& session_;
  std::string file_;
  std::string bytes_, piece_, too_long_;
  size_t used_ = 0;
};

// ---- from what is sent to tables

// A column of the database as it is sent, once however many studies ask for it.
struct SentColumn {
  bool is_text = false;
  size_t longest = 0;  // of the levels and codes: a longer text is none of them
  std::vector<double> numbers;
  std::vector<std::string> texts;  // empty: missing
};

std::string CastText(const std::string& name, SqlType type) {
  const std::string cell = QuotedColumn(name);
  switch (type) {
    case SqlType::kText:
      return fmt::format("CAST({} AS text)", cell);
    case SqlType::kBoolean:
      return fmt::format("CASE WHEN {0} THEN 't' WHEN NOT {0} THEN 'f' END", cell);
    case SqlType::kDate:
      return fmt::format(
          "CASE WHEN isfinite({0}) THEN CAST({0} - date '1970-01-01' AS double precision) "
          "WHEN {0} IS NOT NULL THEN double precision 'infinity' END",
          cell);
    default:
      return fmt::format("CAST({} AS double precision)", cell);
  }
}

// A column of a query: what its cells are in the table of a piece.
class AskedColumn {
 public:
  AskedColumn(const ColumnSchema& schema, size_t sent) : sent_(sent) {
    column_.schema = schema;
    for (size_t l = 0; l < schema.levels.size(); ++l)
      codes_.emplace(schema.levels[l], static_cast<int32_t>(l));
    codes_[""] = kMissingCode;
    for (const std::string& code : schema.missing_codes) {
      codes_[code] = kMissingCode;
      if (const std::optional<double> number = NumberOfCode(schema, code))
        missing_.push_back(*number);
    }
  }

  size_t sent() const { return sent_; }
  size_t Longest() const {
    size_t longest = 0;
    for (const auto& code : codes_) longest = std::max(longest, code.first.size());
    return longest;
  }

  Column Cells(const std::vector<SentColumn>& sent) const {
    Column column = column_;
    const SentColumn& from = sent[sent_];
    if (!from.is_text) {
      column.numbers = from.numbers;
      for (const double code : missing_)
        std::replace(column.numbers.begin(), column.numbers.end(), code, kMissing);
      return column;
    }
    for (const std::string& text : from.texts) {
      const auto code = codes_.find(text);
      column.codes.push_back(code == codes_.end() ? kUnknownCode : code->second);
    }
    return column;
  }

 private:
  static constexpr int32_t kMissingCode = -1, kUnknownCode = -2;
  size_t sent_;
  Column column_;
  std::unordered_map<std::string, int32_t> codes_;
  std::vector<double> missing_;
};

class PassingSums final : public SumSource {
 public:
  PassingSums(const SourceFile& source, Progress& progress)
      : source_(source), progress_(progress), session_(source) {
    RefuseWriters(session_, source.file);
    columns_ = RequireTypes(session_, source);
    version_ = ServerVersion(session_);
  }

  std::string engine() const override {
    return "this program, of rows from PostgreSQL " + Printable(version_);
  }

  SumAnswer Ask(const SumQuery& query) override { return AskAll({query}, {}).front(); }

  std::vector<SumAnswer> AskAll(const std::vector<SumQuery>& queries,
                                const CheckAnswer& check_first) override {
    std::vector<std::vector<AskedColumn>> asked(queries.size());
    std::vector<SentColumn> sent;
    std::map<std::pair<std::string, SqlType>, size_t> places;
    std::string list;
    size_t columns = 0;
    for (size_t q = 0; q < queries.size(); ++q) {
      for (const ColumnSchema& schema : queries[q].columns) {
        const SqlType type = PostgresType(schema, columns_, source_.file);
        const auto [place, is_new] = places.emplace(std::pair(schema.name, type), sent.size());
        if (is_new) {
          list += (list.empty() ? "" : ", ") + CastText(schema.name, type);
          sent.push_back({type == SqlType::kText || type == SqlType::kBoolean, 0, {}, {}});
        }
        const AskedColumn& column = asked[q].emplace_back(schema, place->second);
        size_t& longest = sent[place->second].longest;
        longest = std::max(longest, column.Longest());
        ++columns;
      }
    }
    const uint64_t expected = ExpectedRows();
    session_.Execute(fmt::format("COPY (SELECT {} FROM ({}\n) q) TO STDOUT WITH (FORMAT binary)",
                                 list, source_.query),
                     PGRES_COPY_OUT);
    std::vector<std::vector<Int128>> sums;
    for (const SumQuery& query : queries) sums.emplace_back(NumSums(query));
    BinaryRows rows(session_, source_.file);
    const size_t most = std::clamp(kCellsPerPiece / (columns + 1), size_t{64}, kRowsPerPiece);
    uint64_t passed = 0;
    for (bool more = true; more;) {
      const size_t count = ReadPiece(rows, most, sent, more);
      passed += count;
      progress_.CheckCancelled();
      progress_.Step(passed, std::max(passed, expected));
      for (size_t q = 0; q < queries.size(); ++q) {
        Table table;
        table.num_rows = count;
        for (const AskedColumn& column : asked[q]) table.columns.push_back(column.Cells(sent));
        const std::vector<Int128> numbers = NumbersOf(SumsOfTable(queries[q], table));
        for (size_t n = 0; n < numbers.size(); ++n) sums[q][n] += numbers[n];
      }
    }
    std::vector<SumAnswer> answers;
    for (size_t q = 0; q < queries.size(); ++q) answers.push_back(AnswerOf(queries[q], sums[q]));
    if (check_first) check_first(answers.front());
    return answers;
  }

 private:
  static size_t ReadPiece(BinaryRows& rows, size_t most, std::vector<SentColumn>& sent,
                          bool& more) {
    for (SentColumn& column : sent) {
      column.numbers.resize(column.is_text ? 0 : most);
      column.texts.resize(column.is_text ? most : 0);
    }
    size_t count = 0;
    while (count < most && (more = rows.Next(sent.size()))) {
      for (SentColumn& column : sent) {
        if (column.is_text) {
          column.texts[count] = rows.Text(column.longest);
        } else {
          column.numbers[count] = rows.Number();
        }
      }
      ++count;
    }
    for (SentColumn& column : sent) {
      column.numbers.resize(column.is_text ? 0 : count);
      column.texts.resize(column.is_text ? count : 0);
    }
    return count;
  }

  // As the server's planner has it, which may be far off.
  uint64_t ExpectedRows() {
    const std::string plan =
        TextAt(session_.Execute("EXPLAIN (FORMAT JSON) " + source_.query, PGRES_TUPLES_OK), 0);
    constexpr std::string_view kRows = "\"Plan Rows\": ";
    const size_t at = plan.find(kRows);
    uint64_t rows = 0;
    if (at != std::string::npos)
      std::from_chars(plan.data() + at + kRows.size(), plan.data() + plan.size(), rows);
    return rows;
  }

  SourceFile source_;
  Progress& progress_;
  PostgresSession session_;
  std::vector<PostgresColumn> columns_;
  std::string version_;
};

}  // namespace

std::unique_ptr<SumSource> OpenPassingSums(const SourceFile& source, Progress& progress) {
  return std::make_unique<PassingSums>(source, progress);
}

}  // namespace partita::data
