#include "data/source/sum_file.h"

#include <algorithm>

#include "base/error.h"

namespace partita::data {
namespace {

constexpr char kHead[] = "partita sums 1\n";
constexpr size_t kMostDigits = 37;  // below 2^127

[[noreturn]] void FailFormat(const std::string& source) {
  throw Error(ErrorCode::kBadInput, source + " is no file of sums, or a damaged one",
              "write it again: partita data freeze SOURCE --study STUDY --party PARTY --output "
              "NAME.sums");
}

// Takes one line off.
std::string Line(const std::string& text, size_t& at, const std::string& source) {
  const size_t end = text.find('\n', at);
  if (end == std::string::npos) FailFormat(source);
  std::string line = text.substr(at, end - at);
  at = end + 1;
  return line;
}

Int128 NumberOf(const std::string& line, const std::string& source) {
  const bool negative = line.starts_with('-');
  const std::string digits = line.substr(negative ? 1 : 0);
  const bool good =
      !digits.empty() && digits.size() <= kMostDigits &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!good) FailFormat(source);
  Int128 number = 0;
  for (const char digit : digits) number = 10 * number + (digit - '0');
  return negative ? -number : number;
}

// Of rows whose values are in [-1, 1]: else what is shared would pass its bounds.
void RequirePossible(const SumQuery& query, const SumAnswer& answer, const std::string& source) {
  const Int128 one = Int128{1} << query.bits;
  const auto within = [](const std::vector<Int128>& numbers, Int128 most) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](Int128 x) { return x <= most && x >= -most; });
  };
  bool possible = answer.rows >= 0 && answer.weight >= 0;
  for (const SumCell& cell : answer.cells) {
    possible = possible && cell.n >= 0 && cell.n <= answer.weight && cell.n <= kMostSummedWeight &&
               within(cell.sums, cell.n * one) && within(cell.products, cell.n * one * one);
  }
  for (const Int128 rows : answer.sets) possible = possible && rows >= 0 && rows <= answer.rows;
  for (const Int128 rows : answer.counts)
    possible = possible && rows >= 0 && rows <= answer.weight && rows <= kMostSummedWeight;
  if (possible) return;
  throw Error(ErrorCode::kBadData, source + ": no rows add up to these sums",
              "write the file again with partita data freeze");
}

}  // namespace

bool IsSumFile(const std::filesystem::path& path) { return path.extension() == ".sums"; }

std::string SumFileText(const SumQuery& query, const SumFile& file) {
  std::string text = kHead;
  text += "of " + ToHex(DigestOf(query)) + "\nwith " + file.engine + "\n";
  for (const Int128 number : NumbersOf(file.answer)) text += ToString(number) + "\n";
  return text;
}

SumFile ReadSumFile(const std::string& text, const SumQuery& query, const std::string& source) {
  if (!text.starts_with(kHead)) FailFormat(source);
  size_t at = sizeof kHead - 1;
  const std::string of = Line(text, at, source), with = Line(text, at, source);
  if (!of.starts_with("of ") || !with.starts_with("with ")) FailFormat(source);
  if (of != "of " + ToHex(DigestOf(query))) {
    throw Error(ErrorCode::kRefused, source + ": these sums were formed for another study",
                "form those of this one: partita data freeze");
  }
  std::vector<Int128> numbers;
  for (size_t i = NumSums(query); i > 0; --i)
    numbers.push_back(NumberOf(Line(text, at, source), source));
  SumFile file{with.substr(5), AnswerOf(query, numbers)};
  RequirePossible(query, file.answer, source);
  // Nothing else, and nothing written otherwise.
  if (SumFileText(query, file) != text) FailFormat(source);
  return file;
}

}  // namespace partita::data
