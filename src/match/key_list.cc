#include "match/key_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "data/utf8.h"

namespace partita::match {
namespace {

constexpr size_t kNamedLines = 10;

void AddRule(const KeyRule& rule, crypto::Sha256& hash) {
  hash.U64(static_cast<uint64_t>(rule.kind)).U64(rule.drop_marks).U64(rule.drop_punctuation);
  hash.U64(rule.length).U64(static_cast<uint64_t>(rule.check)).Field(rule.country);
  hash.Field(rule.trunk);
}

// Where a key stands in a pass, by its first bytes. Keys are digests, so that others with these
// bytes are the same key but once in 2^64 pairs; the rest is compared where they are alike.
struct Placed {
  uint64_t first = 0;
  uint32_t place = 0;
};

std::vector<Placed> SortedPlaces(const std::vector<KeyedRow>& rows) {
  std::vector<Placed> places(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(&places[i].first, rows[i].key.data(), sizeof(places[i].first));
    places[i].place = static_cast<uint32_t>(i);
  }
  std::sort(places.begin(), places.end(), [&](const Placed& a, const Placed& b) {
    if (a.first != b.first) return a.first < b.first;
    const crypto::Digest &key_a = rows[a.place].key, &key_b = rows[b.place].key;
    return key_a != key_b ? key_a < key_b : a.place < b.place;
  });
  return places;
}

// Which columns there are, in an order that does not depend on how a file lists them.
std::vector<size_t> ByName(const KeySpec& spec) {
  std::vector<size_t> order(spec.columns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return spec.columns[a].name < spec.columns[b].name; });
  return order;
}

crypto::Digest HashKey(const crypto::Digest& rules, std::span<const std::string_view> texts,
                       crypto::BufferedSha256& hash) {
  hash.Field("partita match key v1").Update(rules);
  for (const std::string_view text : texts) hash.Field(text);
  return hash.Finish();
}

std::string LineList(const std::vector<uint64_t>& lines) {
  std::string text;
  for (size_t i = 0; i < std::min(lines.size(), kNamedLines); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(lines[i]);
  return lines.size() > kNamedLines ? text + ", ..." : text;
}

}  // namespace

crypto::Digest RulesDigest(const KeySpec& spec, size_t pass) {
  crypto::Sha256 hash;
  hash.Field("partita match rules v1").Field(UnicodeVersion()).U64(pass);
  for (const size_t column : spec.passes[pass]) AddRule(spec.columns[column].rule, hash);
  return hash.Finish();
}

crypto::Digest KeyOf(const crypto::Digest& rules, const std::vector<std::string>& texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  crypto::BufferedSha256 hash;
  return HashKey(rules, views, hash);
}

crypto::Digest ColumnsDigest(const KeySpec& spec, std::span<const std::string> headers) {
  crypto::Sha256 hash;
  hash.Field("partita match columns v2").U64(spec.columns.size());
  for (const size_t column : ByName(spec)) {
    const KeyRule& rule = spec.columns[column].rule;
    hash.Field(spec.columns[column].name).Field(headers[column]);
    AddRule(rule, hash);
    hash.Field(rule.format).U64(rule.missing_codes.size());
    for (const std::string& code : rule.missing_codes) hash.Field(code);
  }
  return hash.Finish();
}

crypto::Digest PassesDigest(const KeySpec& spec) {
  crypto::Sha256 hash;
  hash.Field("partita match passes v1").U64(spec.passes.size());
  for (size_t pass = 0; pass < spec.passes.size(); ++pass) {
    hash.Update(RulesDigest(spec, pass)).U64(spec.passes[pass].size());
    for (const size_t column : spec.passes[pass]) hash.Field(spec.columns[column].name);
  }
  return hash.Finish();
}

KeyListMaker::KeyListMaker(const KeySpec& spec, uint64_t most_rows)
    : spec_(spec), by_name_(ByName(spec)), texts_(spec.columns.size()) {
  list_.report.missing.assign(spec.columns.size(), 0);
  list_.report.changed.assign(spec.columns.size(), 0);
  list_.report.passes.resize(spec.passes.size());
  list_.passes.resize(spec.passes.size());
  for (size_t pass = 0; pass < spec.passes.size(); ++pass) {
    rules_.push_back(RulesDigest(spec, pass));
    list_.passes[pass].reserve(most_rows);
  }
  list_.texts.reserve(most_rows);
  lines_.reserve(most_rows);
}

void KeyListMaker::Add(uint64_t line, std::span<const std::string> cells) {
  const auto row = static_cast<uint32_t>(lines_.size());
  lines_.push_back(line);
  ++list_.report.rows;
  for (size_t column = 0; column < texts_.size(); ++column) {
    CanonicalKey key = Canonical(spec_.columns[column].rule, cells[column]);
    if (!key.problem.empty())
      list_.report.faulty.push_back({line, spec_.columns[column].name, std::move(key.problem)});
    else if (!key.text)
      ++list_.report.missing[column];
    else if (*key.text != cells[column])
      ++list_.report.changed[column];
    texts_[column] = std::move(key.text);  // nothing where a cell is missing or faulty
  }
  for (size_t pass = 0; pass < spec_.passes.size(); ++pass) AddKey(pass, row);
  AddTexts();
}

void KeyListMaker::AddKey(size_t pass, uint32_t row) {
  parts_.clear();
  for (const size_t column : spec_.passes[pass]) {
    if (texts_[column]) parts_.push_back(*texts_[column]);
  }
  if (parts_.size() < spec_.passes[pass].size())
    ++list_.report.passes[pass].without_key;
  else
    list_.passes[pass].push_back({row, HashKey(rules_[pass], parts_, hash_)});
}

void KeyListMaker::AddTexts() {
  hash_.Field("partita match texts v1");
  for (const size_t column : by_name_) {
    const std::optional<std::string>& text = texts_[column];
    hash_.Field(spec_.columns[column].name).U64(text ? 1 : 0);
    hash_.Field(text ? std::string_view(*text) : std::string_view());
  }
  list_.texts.push_back(hash_.Finish());
}

void TakeOutDuplicates(const std::vector<uint64_t>& lines, std::vector<KeyedRow>& rows,
                       PassReport& report) {
  const std::vector<Placed> places = SortedPlaces(rows);
  const auto key = [&](size_t i) -> const crypto::Digest& { return rows[places[i].place].key; };
  const auto same = [&](size_t i, size_t j) {
    return places[i].first == places[j].first && key(i) == key(j);
  };
  std::vector<bool> duplicate(rows.size(), false);
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin + 1;
    while (end < rows.size() && same(begin, end)) ++end;
    if (end > begin + 1) {
      DuplicateKey found;
      for (size_t i = begin; i < end; ++i) {
        duplicate[places[i].place] = true;
        found.lines.push_back(lines[rows[places[i].place].row]);
      }
      report.duplicates.push_back(std::move(found));
    }
    begin = end;
  }
  if (!report.duplicates.empty()) {
    size_t unique = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!duplicate[i]) rows[unique++] = rows[i];
    }
    rows.resize(unique);
  }
  std::sort(report.duplicates.begin(), report.duplicates.end(),
            [](const auto& a, const auto& b) { return a.lines < b.lines; });
  report.usable = rows.size();
}

KeyList KeyListMaker::Finish() {
  for (size_t pass = 0; pass < list_.passes.size(); ++pass)
    TakeOutDuplicates(lines_, list_.passes[pass], list_.report.passes[pass]);
  std::vector<uint64_t>().swap(lines_);
  return std::move(list_);
}

KeyList MakeKeyList(const KeySpec& spec, const KeyCells& cells) {
  KeyListMaker maker(spec);
  std::vector<std::string> row(spec.columns.size());
  for (size_t i = 0; i < cells.rows(); ++i) {
    for (size_t column = 0; column < row.size(); ++column) row[column] = cells.columns[column][i];
    maker.Add(cells.lines[i], row);
  }
  return maker.Finish();
}

crypto::Digest CommitToKeys(const KeyList& list, const crypto::Key& salt) {
  crypto::BufferedSha256 hash;
  hash.Field("partita match keys v1").Field(salt.Expose()).U64(list.report.rows);
  for (const std::vector<KeyedRow>& pass : list.passes) {
    hash.U64(pass.size());
    for (const KeyedRow& row : pass) hash.U64(row.row).Update(row.key);
  }
  return hash.Finish();
}

void RequireUsable(const KeySpec& spec, const KeyReport& report, const std::string& source_name) {
  if (spec.faulty == Unusable::kRefuse && !report.faulty.empty()) {
    const FaultyCell& first = report.faulty.front();
    throw Error(
        ErrorCode::kBadData,
        fmt::format("{}:{}: column '{}' {}, and {} cells in all do not fit their rule", source_name,
                    first.line, data::Printable(first.column), first.problem, report.faulty.size()),
        "partita match check lists them; correct the table, or agree on faulty = "
        "\"leave-out\"");
  }
  if (spec.duplicates != Unusable::kRefuse) return;
  for (size_t pass = 0; pass < report.passes.size(); ++pass) {
    const std::vector<DuplicateKey>& duplicates = report.passes[pass].duplicates;
    if (duplicates.empty()) continue;
    throw Error(
        ErrorCode::kBadData,
        fmt::format("{}: lines {} have the same key in pass {}, and {} keys in all occur "
                    "more than once",
                    source_name, LineList(duplicates.front().lines), pass + 1, duplicates.size()),
        "partita match check lists them; correct the table, or agree on duplicates = "
        "\"leave-out\"");
  }
}

}  // namespace partita::match
