#include "match/key_list.h"

#include <fmt/format.h>

#include <algorithm>
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

// Nothing where a cell is missing or faulty.
using Texts = std::vector<std::optional<std::string>>;

Texts CanonicalTexts(const KeySpec& spec, const KeyCells& cells, size_t column, KeyReport& report) {
  const KeyColumn& described = spec.columns[column];
  Texts texts;
  texts.reserve(cells.rows());
  for (size_t row = 0; row < cells.rows(); ++row) {
    const std::string& cell = cells.columns[column][row];
    CanonicalKey key = Canonical(described.rule, cell);
    if (!key.problem.empty())
      report.faulty.push_back({cells.lines[row], described.name, std::move(key.problem)});
    else if (!key.text)
      ++report.missing[column];
    else if (*key.text != cell)
      ++report.changed[column];
    texts.push_back(std::move(key.text));
  }
  return texts;
}

std::vector<KeyedRow> MakePass(const KeySpec& spec, size_t pass, const std::vector<Texts>& texts,
                               const KeyCells& cells, PassReport& report) {
  const crypto::Digest rules = RulesDigest(spec, pass);
  std::vector<KeyedRow> rows;
  std::vector<std::string> parts;
  for (size_t row = 0; row < cells.rows(); ++row) {
    parts.clear();
    for (const size_t column : spec.passes[pass]) {
      if (texts[column][row]) parts.push_back(*texts[column][row]);
    }
    if (parts.size() < spec.passes[pass].size()) {
      ++report.without_key;
      continue;
    }
    rows.push_back({static_cast<uint32_t>(row), KeyOf(rules, parts)});
  }
  const auto by_key = [](const KeyedRow& a, const KeyedRow& b) {
    return a.key != b.key ? a.key < b.key : a.row < b.row;
  };
  std::sort(rows.begin(), rows.end(), by_key);
  std::vector<KeyedRow> unique;
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin + 1;
    while (end < rows.size() && rows[end].key == rows[begin].key) ++end;
    if (end == begin + 1) {
      unique.push_back(std::move(rows[begin]));
    } else {
      DuplicateKey duplicate;
      for (size_t i = begin; i < end; ++i) duplicate.lines.push_back(cells.lines[rows[i].row]);
      report.duplicates.push_back(std::move(duplicate));
    }
    begin = end;
  }
  std::sort(unique.begin(), unique.end(),
            [](const KeyedRow& a, const KeyedRow& b) { return a.row < b.row; });
  std::sort(report.duplicates.begin(), report.duplicates.end(),
            [](const auto& a, const auto& b) { return a.lines < b.lines; });
  report.usable = unique.size();
  return unique;
}

// Which columns there are, in an order that does not depend on how a file lists them.
std::vector<size_t> ByName(const KeySpec& spec) {
  std::vector<size_t> order(spec.columns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return spec.columns[a].name < spec.columns[b].name; });
  return order;
}

std::vector<crypto::Digest> TextDigests(const KeySpec& spec, const std::vector<Texts>& texts,
                                        size_t rows) {
  const std::vector<size_t> order = ByName(spec);
  std::vector<crypto::Digest> digests;
  digests.reserve(rows);
  for (size_t row = 0; row < rows; ++row) {
    crypto::Sha256 hash;
    hash.Field("partita match texts v1");
    for (const size_t column : order) {
      const std::optional<std::string>& text = texts[column][row];
      hash.Field(spec.columns[column].name).U64(text ? 1 : 0).Field(text.value_or(""));
    }
    digests.push_back(hash.Finish());
  }
  return digests;
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
  crypto::Sha256 hash;
  hash.Field("partita match key v1").Update(rules);
  for (const std::string& text : texts) hash.Field(text);
  return hash.Finish();
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

KeyList MakeKeyList(const KeySpec& spec, KeyCells cells) {
  KeyList list;
  list.report.rows = cells.rows();
  list.report.missing.assign(spec.columns.size(), 0);
  list.report.changed.assign(spec.columns.size(), 0);
  std::vector<Texts> texts;
  for (size_t column = 0; column < spec.columns.size(); ++column) {
    texts.push_back(CanonicalTexts(spec, cells, column, list.report));
    std::vector<std::string>().swap(cells.columns[column]);
  }
  list.report.passes.resize(spec.passes.size());
  for (size_t pass = 0; pass < spec.passes.size(); ++pass)
    list.passes.push_back(MakePass(spec, pass, texts, cells, list.report.passes[pass]));
  list.texts = TextDigests(spec, texts, cells.rows());
  return list;
}

crypto::Digest CommitToKeys(const KeyList& list, const crypto::Key& salt) {
  crypto::Sha256 hash;
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
