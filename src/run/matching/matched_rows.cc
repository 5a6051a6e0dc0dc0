#include "run/matching/matched_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/state_file.h"
#include "run/matching/matching_file.h"
#include "study/file/study_file.h"

namespace partita::run {
namespace {

const crypto::StateKind kMatchedKind = {"partita matched rows 4", "the result of a matching",
                                        "match again, or bring it back from a backup"};
constexpr size_t kMaxMatchedName = 64;
constexpr size_t kShownRecord = 16;

crypto::Digest TakeDigest(ByteReader& in) {
  crypto::Digest digest{};
  const ByteView bytes = in.Raw(digest.size());
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

void ReadMatched(ByteReader& in, MatchedRows& matched) {
  matched.matching = in.String(kMaxMatchedName);
  matched.party = in.String(kMaxMatchedName);
  for (uint64_t left = in.U64(); left > 0; --left)
    matched.partners.push_back(in.String(kMaxMatchedName));
  matched.linker = in.String(kMaxMatchedName);
  matched.file_text = in.String(study::kMaxStudyFileBytes);
  matched.separator = static_cast<char>(in.U8());
  matched.at = static_cast<int64_t>(in.U64());
  matched.unicode = in.String(kMaxMatchedName);
  matched.record = TakeDigest(in);
  matched.common = TakeDigest(in);
  matched.commitment = TakeDigest(in);
  matched.salt.Expose() = TakeDigest(in);
  matched.table_rows = in.U64();
  const uint8_t level = in.U8();
  if (level > static_cast<uint8_t>(match::Level::kHiddenNoisy))
    throw crypto::DamagedState(kMatchedKind);
  matched.level = static_cast<match::Level>(level);
  for (uint64_t left = in.U64(); left > 0; --left) matched.counts.push_back(in.U64());
  for (uint64_t left = in.U64(); left > 0; --left) matched.rows.push_back(in.U32());
}

// Every row of the table at most once; and as many as there are matches, but at level hidden.
bool HasSense(const MatchedRows& matched) {
  if (matched.table_rows > kMostMatchedRows) return false;
  std::vector<bool> seen(matched.table_rows, false);
  for (const uint32_t row : matched.rows) {
    if (matched.hidden() && row == match::kNoRow) continue;
    if (row >= seen.size() || seen[row]) return false;
    seen[row] = true;
  }
  uint64_t count = 0;
  for (const uint64_t of_pass : matched.counts) count += of_pass;
  if (matched.level == match::Level::kHiddenNobody) return matched.counts.empty();
  if (matched.level == match::Level::kHiddenNoisy) return matched.counts.size() == 1;
  if (matched.hidden()) return matched.counts.size() == 1 && count <= matched.table_rows;
  return count == matched.rows.size();
}

match::KeyList ReadAsItWas(const MatchedRows& matched, const MatchingParty& party,
                           const std::filesystem::path& table, Progress& progress) {
  try {
    return ReadKeyList(party, table.string(), matched.separator, &progress);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadData) throw;
    throw Error(
        error.code(), error.message(),
        fmt::format(
            "when it was matched, '{}' separated its fields: bring the table back as it was, "
            "or give the study a source file that says how it is written now (separator = "
            "\"...\"; docs/sources.md)",
            matched.separator));
  }
}

}  // namespace

match::Level LevelOf(const study::RowMatch& match) {
  if (!match.hidden) return match::Level::kMatchedIds;
  return match.count == study::MatchCount::kExact   ? match::Level::kHiddenExact
         : match.count == study::MatchCount::kNoisy ? match::Level::kHiddenNoisy
                                                    : match::Level::kHiddenNobody;
}

study::MatchCount CountOf(match::Level level) {
  return level == match::Level::kHiddenNobody  ? study::MatchCount::kNobody
         : level == match::Level::kHiddenNoisy ? study::MatchCount::kNoisy
                                               : study::MatchCount::kExact;
}

std::filesystem::path MatchedRowsPath(const std::filesystem::path& table,
                                      const std::string& matching) {
  return table.parent_path() / (matching + ".matched");
}

crypto::Digest RecordDigest(const MatchingRecord& record) {
  crypto::Sha256 hash;
  hash.Field("partita matching record v1").Update(record.agreement_hash).Update(record.plan_hash);
  hash.Update(record.run_id).U64(record.commitments.size());
  for (const crypto::Digest& commitment : record.commitments) hash.Update(commitment);
  hash.U64(record.minimum).U64(record.counts.size());
  for (const uint64_t count : record.counts) hash.U64(count);
  if (record.positions > 0) hash.Field("hidden").U64(record.positions);
  return hash.Update(record.common).Finish();
}

Bytes EncodeMatchedRows(const MatchedRows& matched) {
  ByteWriter out;
  out.String(matched.matching);
  out.String(matched.party);
  out.U64(matched.partners.size());
  for (const std::string& partner : matched.partners) out.String(partner);
  out.String(matched.linker);
  out.String(matched.file_text);
  out.U8(static_cast<uint8_t>(matched.separator));
  out.U64(static_cast<uint64_t>(matched.at));
  out.String(matched.unicode);
  out.Raw(matched.record);
  out.Raw(matched.common);
  out.Raw(matched.commitment);
  out.Raw(matched.salt.Expose());
  out.U64(matched.table_rows);
  out.U8(static_cast<uint8_t>(matched.level));
  out.U64(matched.counts.size());
  for (const uint64_t count : matched.counts) out.U64(count);
  out.U64(matched.rows.size());
  for (const uint32_t row : matched.rows) out.U32(row);
  return crypto::EncodeState(kMatchedKind, {}, out.Take());
}

void SaveMatchedRows(const MatchedRows& matched, const std::filesystem::path& file) {
  crypto::WriteState(file, EncodeMatchedRows(matched));
}

std::filesystem::path SaveNewMatchedRows(const MatchedRows& matched,
                                         const std::filesystem::path& file) {
  std::filesystem::path free = file;
  if (std::filesystem::exists(std::filesystem::symlink_status(file)))
    free += "." + ToHex(matched.record).substr(0, kShownRecord);
  SaveMatchedRows(matched, free);
  return free;
}

MatchedRows DecodeMatchedRows(ByteView bytes) {
  MatchedRows matched;
  crypto::DecodeState(kMatchedKind, bytes, {}, [&](ByteReader& in) { ReadMatched(in, matched); });
  if (!HasSense(matched)) throw crypto::DamagedState(kMatchedKind);
  return matched;
}

void RequireOwnersResult(const std::filesystem::path& file) {
  crypto::RequireOwnersOnly(kMatchedKind, file);
}

MatchedRows LoadMatchedRows(const std::filesystem::path& file) {
  const std::optional<SecretBytes> bytes = crypto::ReadState(kMatchedKind, file);
  if (!bytes) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}, the result of a matching, does not exist", file.string()),
                "it lies beside the table that was matched: run partita match run first, or name "
                "that table with --data");
  }
  return DecodeMatchedRows(bytes->Expose());
}

match::KeyList RequireSameKeys(const MatchedRows& matched, const std::filesystem::path& table,
                               Progress& progress) {
  if (matched.unicode != match::UnicodeVersion()) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the result of '{}' was made by Unicode {}, and this program folds "
                            "texts by Unicode {}",
                            matched.matching, matched.unicode, match::UnicodeVersion()),
                "run the study with the version of the library utf8proc that matched, or match "
                "again");
  }
  const MatchingFile file = ParseMatchingFile(matched.file_text, "the matching file of the result");
  const MatchingParty& party = MatchingPartyByName(file, matched.party);
  match::KeyList list = ReadAsItWas(matched, party, table, progress);
  if (list.report.rows == matched.table_rows &&
      match::CommitToKeys(list, matched.salt) == matched.commitment) {
    return list;
  }
  throw Error(ErrorCode::kBadData,
              fmt::format("{} is not the table that was matched by '{}': its keys, or the order of "
                          "its rows, changed since",
                          table.string(), matched.matching),
              "bring the table back as it was, or match again; other columns may change");
}

}  // namespace partita::run
