#include "run/matching/past_matchings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text_table.h"
#include "base/utc_time.h"
#include "crypto/state_file.h"
#include "run/party/locked_file.h"
#include "run/party/row_sets.h"

namespace partita::run {
namespace {

const crypto::StateKind kPastKind = {
    "partita past matchings 2", "the record of past matchings",
    "bring it back from a backup, or delete it if this table was never matched"};
constexpr size_t kMaxPastName = 64;
constexpr size_t kMaxFingerprint = 128;

std::vector<uint64_t> ReadNumbers(ByteReader& in) {
  std::vector<uint64_t> numbers;
  for (uint64_t left = in.U64(); left > 0; --left) numbers.push_back(in.U64());
  return numbers;
}

void WriteNumbers(const std::vector<uint64_t>& numbers, ByteWriter& out) {
  out.U64(numbers.size());
  for (const uint64_t number : numbers) out.U64(number);
}

PastMatching ReadEntry(ByteReader& in) {
  PastMatching entry;
  const ByteView id = in.Raw(entry.run_id.size());
  std::copy(id.begin(), id.end(), entry.run_id.begin());
  entry.matching = in.String(kMaxPastName);
  entry.peer = in.String(kMaxPastName);
  entry.fingerprint = in.String(kMaxFingerprint);
  entry.at = static_cast<int64_t>(in.U64());
  entry.own_bound = in.U64();
  entry.peer_bound = in.U64();
  entry.counts = ReadNumbers(in);
  const ByteView columns = in.Raw(entry.columns.size());
  std::copy(columns.begin(), columns.end(), entry.columns.begin());
  entry.digests = ReadNumbers(in);
  return entry;
}

void WriteEntry(const PastMatching& entry, ByteWriter& out) {
  out.Raw(entry.run_id);
  out.String(entry.matching);
  out.String(entry.peer);
  out.String(entry.fingerprint);
  out.U64(static_cast<uint64_t>(entry.at));
  out.U64(entry.own_bound);
  out.U64(entry.peer_bound);
  WriteNumbers(entry.counts, out);
  out.Raw(entry.columns);
  WriteNumbers(entry.digests, out);
}

std::string CountsText(const PastMatching& entry) {
  if (entry.counts.empty()) return "not known";
  uint64_t matches = 0;
  for (const uint64_t count : entry.counts) matches += count;
  return FormatCount(matches);
}

bool IsWith(const PastMatching& entry, const Partner& peer) {
  return entry.peer == peer.name ||
         (!peer.fingerprint.empty() && entry.fingerprint == peer.fingerprint);
}

void RequireOwners(const std::filesystem::path& file) {
  using std::filesystem::perms;
  const perms others = perms::group_all | perms::others_all;
  if ((std::filesystem::status(file).permissions() & others) == perms::none) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("cannot use {}: it can be read by other users", file.string()),
              "Run: chmod 600 " + file.string());
}

}  // namespace

std::filesystem::path PastMatchingsPath(const std::filesystem::path& table) {
  std::error_code none;  // a table that is not there is found missing where it is read
  const std::filesystem::path file = std::filesystem::weakly_canonical(table, none);
  return (none ? table : file).string() + ".matchings";
}

PastMatchings::PastMatchings(std::filesystem::path file, crypto::RandomSource& random)
    : file_(std::move(file)), key_(crypto::RandomKey(random)) {
  Read();
}

uint64_t PastMatchings::LimitWith(const Partner& peer) const {
  std::optional<uint64_t> lowest;
  for (const auto& of_partner : limits_) {
    const std::string& name = of_partner.first;
    const auto limit = of_partner.second;
    const bool its =
        name == peer.name || std::any_of(all_.begin(), all_.end(), [&](const PastMatching& entry) {
          return entry.peer == name && IsWith(entry, peer);
        });
    if (its) lowest = std::min(lowest.value_or(limit), limit);
  }
  return lowest.value_or(limit_);
}

uint64_t PastMatchings::NumSince(const Partner& peer, int64_t now) const {
  return static_cast<uint64_t>(
      std::count_if(all_.begin(), all_.end(), [&](const PastMatching& entry) {
        return entry.at > now - kMatchingYear && IsWith(entry, peer);
      }));
}

uint64_t PastMatchings::NumSince(int64_t now) const {
  return static_cast<uint64_t>(
      std::count_if(all_.begin(), all_.end(),
                    [&](const PastMatching& entry) { return entry.at > now - kMatchingYear; }));
}

std::vector<uint64_t> PastMatchings::DigestsOf(const match::KeyList& list) const {
  std::vector<bool> keyed(list.report.rows, false);
  for (const std::vector<match::KeyedRow>& pass : list.passes) {
    for (const match::KeyedRow& row : pass) keyed[row.row] = true;
  }
  std::vector<uint64_t> digests;
  for (size_t row = 0; row < keyed.size(); ++row) {
    if (!keyed[row]) continue;
    crypto::Sha256 hash;
    hash.Field("partita past matching row").Field(key_.Expose()).Update(list.texts[row]);
    const crypto::Digest digest = hash.Finish();
    digests.push_back(ByteReader(ByteView(digest).first(sizeof(uint64_t))).U64());
  }
  std::sort(digests.begin(), digests.end());
  return digests;
}

void PastMatchings::Require(const Partner& peer, int64_t now) const {
  const auto refuse = [&](const std::string& who, uint64_t number, uint64_t limit) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("this table was matched {} times {} in the last 365 days, and the limit "
                    "is {}",
                    number, who, limit),
        fmt::format("every matching tells the other who is in the list: read the record, {}, "
                    "and raise the limit only with a reason (partita match past TABLE "
                    "--limit N)",
                    file_.string()));
  };
  const uint64_t with_peer = NumSince(peer, now), in_all = NumSince(now);
  if (with_peer >= LimitWith(peer)) refuse("with " + peer.name, with_peer, LimitWith(peer));
  if (in_all >= limit_) refuse("with anybody", in_all, limit_);
}

void PastMatchings::Begin(PastMatching entry, const match::KeyList& list,
                          const crypto::Digest& columns) {
  const LockedFile locked(file_, kPastKind.name);
  Read();
  Require({entry.peer, entry.fingerprint}, entry.at);
  entry.columns = columns;
  entry.digests = DigestsOf(list);
  entered_ = entry.run_id;
  all_.push_back(std::move(entry));
  Write();
}

void PastMatchings::AddCount(uint64_t count) {
  const LockedFile locked(file_, kPastKind.name);
  Read();
  for (PastMatching& entry : all_) {
    if (entry.run_id == entered_) entry.counts.push_back(count);
  }
  Write();
}

void PastMatchings::SetLimit(const std::string& peer, uint64_t limit) {
  const LockedFile locked(file_, kPastKind.name);
  Read();
  (peer.empty() ? limit_ : limits_[peer]) = limit;
  Write();
}

void PastMatchings::Read() {
  const std::optional<SecretBytes> bytes = crypto::ReadState(kPastKind, file_);
  if (!bytes) return;
  RequireOwners(file_);
  all_.clear();
  limits_.clear();
  crypto::DecodeState(kPastKind, bytes->Expose(), {}, [this](ByteReader& in) {
    const ByteView key = in.Raw(key_.Expose().size());
    std::copy(key.begin(), key.end(), key_.Expose().begin());
    limit_ = in.U64();
    for (uint64_t left = in.U64(); left > 0; --left) {
      const std::string peer = in.String(kMaxPastName);
      limits_[peer] = in.U64();
    }
    for (uint64_t left = in.U64(); left > 0; --left) all_.push_back(ReadEntry(in));
  });
}

void PastMatchings::Write() const {
  ByteWriter out;
  out.Raw(key_.Expose());
  out.U64(limit_);
  out.U64(limits_.size());
  for (const auto& [peer, limit] : limits_) {
    out.String(peer);
    out.U64(limit);
  }
  out.U64(all_.size());
  for (const PastMatching& entry : all_) WriteEntry(entry, out);
  crypto::WriteState(file_, crypto::EncodeState(kPastKind, {}, out.Take()));
}

std::string PastMatchingsText(const PastMatchings& past, const Partner& peer,
                              const match::KeyList& list, const crypto::Digest& columns,
                              int64_t now) {
  std::string text = fmt::format(
      "Past matchings of this table\n  in the last 365 days {} with {} (limit {}), {} in all "
      "(limit "
      "{})\n",
      past.NumSince(peer, now), peer.name, past.LimitWith(peer), past.NumSince(now), past.limit());
  if (past.all().empty()) return text;
  const std::vector<uint64_t> own = past.DigestsOf(list);
  TextTable table{{"when", "with", "matching", "its bound", "matches", "rows that differ from now"},
                  {3, 4, 5},
                  {}};
  for (const PastMatching& entry : past.all()) {
    table.rows.push_back({FormatUtc(entry.at), entry.peer, entry.matching,
                          FormatCount(entry.peer_bound), CountsText(entry),
                          entry.columns == columns ? FormatCount(RowsApart(own, entry.digests))
                                                   : "other keys, not comparable"});
  }
  return text + RenderTable(table, 2);
}

}  // namespace partita::run
