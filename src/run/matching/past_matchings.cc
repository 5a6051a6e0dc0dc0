#include "run/matching/past_matchings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text_table.h"
#include "base/utc_time.h"
#include "crypto/buffered_hash.h"
#include "crypto/state_file.h"
#include "run/party/locked_file.h"
#include "run/party/rows_apart.h"

namespace partita::run {
namespace {

const crypto::StateKind kPastKind = {
    "partita past matchings 4", "the record of past matchings",
    "bring it back from a backup, or delete it if nothing of this holder was ever matched"};
constexpr size_t kMaxPastName = 64;
constexpr size_t kMaxTableName = 4096;
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
  entry.table = in.String(kMaxTableName);
  for (uint64_t left = in.U64(); left > 0; --left) {
    Partner& partner = entry.partners.emplace_back();
    partner.name = in.String(kMaxPastName);
    partner.fingerprint = in.String(kMaxFingerprint);
    partner.bound = in.U64();
  }
  entry.linker = in.String(kMaxPastName);
  entry.at = static_cast<int64_t>(in.U64());
  entry.own_bound = in.U64();
  entry.counts = ReadNumbers(in);
  const ByteView columns = in.Raw(entry.list.columns.size());
  std::copy(columns.begin(), columns.end(), entry.list.columns.begin());
  const ByteView passes = in.Raw(entry.list.passes.size());
  std::copy(passes.begin(), passes.end(), entry.list.passes.begin());
  entry.list.digests = ReadNumbers(in);
  entry.list.keys = ReadNumbers(in);
  return entry;
}

void WriteEntry(const PastMatching& entry, ByteWriter& out) {
  out.Raw(entry.run_id);
  out.String(entry.matching);
  out.String(entry.table);
  out.U64(entry.partners.size());
  for (const Partner& partner : entry.partners) {
    out.String(partner.name);
    out.String(partner.fingerprint);
    out.U64(partner.bound);
  }
  out.String(entry.linker);
  out.U64(static_cast<uint64_t>(entry.at));
  out.U64(entry.own_bound);
  WriteNumbers(entry.counts, out);
  out.Raw(entry.list.columns);
  out.Raw(entry.list.passes);
  WriteNumbers(entry.list.digests, out);
  WriteNumbers(entry.list.keys, out);
}

bool IsOf(const Partner& partner, const Partner& other) {
  return partner.name == other.name ||
         (!other.fingerprint.empty() && partner.fingerprint == other.fingerprint);
}

bool IsWith(const PastMatching& entry, const Partner& partner) {
  return std::any_of(entry.partners.begin(), entry.partners.end(),
                     [&](const Partner& of_entry) { return IsOf(of_entry, partner); });
}

// Whether nobody can say that they are of different people.
bool MayBeOfOneSource(const ListMark& a, const ListMark& b) {
  if (a.columns != b.columns || a.passes != b.passes || a.keys.empty() || b.keys.empty())
    return true;
  return RowsApart(a.keys, b.keys) < a.keys.size() + b.keys.size();
}

std::string RowsApartText(const ListMark& list, const ListMark& past) {
  if (past.columns != list.columns) return "other keys, not comparable";
  if (past.digests.empty()) return "no longer known";
  return FormatCount(RowsApart(list.digests, past.digests));
}

}  // namespace

std::filesystem::path PastMatchingsPath(const std::filesystem::path& key) {
  std::error_code none;  // a key that is not there is found missing where it is read
  const std::filesystem::path file = std::filesystem::weakly_canonical(key, none);
  return (none ? key : file).string() + ".matchings";
}

PastMatchings::PastMatchings(std::filesystem::path file, crypto::RandomSource& random)
    : file_(std::move(file)), key_(crypto::RandomKey(random)) {
  Read();
}

uint64_t PastMatchings::LimitWith(const Partner& partner) const {
  std::optional<uint64_t> lowest;
  for (const auto& of_partner : limits_) {
    const Partner named{of_partner.first, "", 0};
    const bool its = named.name == partner.name ||
                     std::any_of(all_.begin(), all_.end(), [&](const PastMatching& entry) {
                       return std::any_of(entry.partners.begin(), entry.partners.end(),
                                          [&](const Partner& past) {
                                            return past.name == named.name && IsOf(past, partner);
                                          });
                     });
    if (its) lowest = std::min(lowest.value_or(of_partner.second), of_partner.second);
  }
  return lowest.value_or(limit_);
}

ListMark PastMatchings::MarkOf(const match::KeyList& list, const crypto::Digest& columns,
                               const crypto::Digest& passes) const {
  crypto::BufferedSha256 hash;
  const auto digest_of = [this, &hash](std::string_view what, const crypto::Digest& text) {
    hash.Field(what).Field(key_.Expose()).Update(text);
    const crypto::Digest digest = hash.Finish();
    return ByteReader(ByteView(digest).first(sizeof(uint64_t))).U64();
  };
  std::vector<uint8_t> keyed(list.report.rows, 0);
  ListMark mark{columns, passes, {}, {}};
  size_t num_keys = 0;
  for (const std::vector<match::KeyedRow>& pass : list.passes) num_keys += pass.size();
  mark.keys.reserve(num_keys);
  mark.digests.reserve(std::min<size_t>(num_keys, keyed.size()));
  for (const std::vector<match::KeyedRow>& pass : list.passes) {
    for (const match::KeyedRow& row : pass) {
      keyed[row.row] = 1;
      mark.keys.push_back(digest_of("partita past matching key", row.key));
    }
  }
  for (size_t row = 0; row < keyed.size(); ++row) {
    if (keyed[row] != 0)
      mark.digests.push_back(digest_of("partita past matching row", list.texts[row]));
  }
  std::sort(mark.keys.begin(), mark.keys.end());
  std::sort(mark.digests.begin(), mark.digests.end());
  return mark;
}

uint64_t PastMatchings::NumSince(int64_t now, const ListMark* list,
                                 const std::optional<Partner>& partner) const {
  return static_cast<uint64_t>(
      std::count_if(all_.begin(), all_.end(), [&](const PastMatching& entry) {
        return entry.at > now - kMatchingYear && (!partner || IsWith(entry, *partner)) &&
               (list == nullptr || MayBeOfOneSource(entry.list, *list));
      }));
}

void PastMatchings::Require(const std::vector<Partner>& partners, const ListMark& list,
                            int64_t now) const {
  const auto refuse = [&](const std::string& who, uint64_t number, uint64_t limit) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("people of this list were matched {} times {} in the last 365 days, and the "
                    "limit is {}",
                    number, who, limit),
        fmt::format("every matching tells the other who is in the list: read the record, {}, "
                    "and raise the limit only with a reason (partita match past --limit N)",
                    file_.string()));
  };
  for (const Partner& partner : partners) {
    const uint64_t number = NumSince(now, &list, partner);
    if (number >= LimitWith(partner)) refuse("with " + partner.name, number, LimitWith(partner));
  }
  const uint64_t in_all = NumSince(now, &list);
  if (in_all >= limit_) refuse("with anybody", in_all, limit_);
}

void PastMatchings::Begin(PastMatching entry) {
  const LockedFile locked(file_, kPastKind.name);
  const crypto::Key marked_under = key_;
  Read();
  if (marked_under.Expose() != key_.Expose()) {  // digests under two keys say nothing of each other
    throw Error(ErrorCode::kRefused,
                fmt::format("the record of past matchings, {}, was replaced while this run began",
                            file_.string()),
                "start again");
  }
  Require(entry.partners, entry.list, entry.at);
  for (PastMatching& past : all_) {
    if (past.at > entry.at - kMatchingYear) continue;
    std::vector<uint64_t>().swap(past.list.digests);
    std::vector<uint64_t>().swap(past.list.keys);
  }
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

void PastMatchings::SetLimit(const std::string& partner, uint64_t limit) {
  const LockedFile locked(file_, kPastKind.name);
  Read();
  (partner.empty() ? limit_ : limits_[partner]) = limit;
  Write();
}

void PastMatchings::Read() {
  const std::optional<SecretBytes> bytes = crypto::ReadState(kPastKind, file_);
  if (!bytes) return;
  crypto::RequireOwnersOnly(kPastKind, file_);
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
    // Records of earlier versions end here: of none of their numbers is known whether it has noise.
    for (PastMatching& entry : all_) entry.noisy = in.remaining() > 0 && in.U8() != 0;
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
  for (const PastMatching& entry : all_) out.U8(entry.noisy ? 1 : 0);
  crypto::WriteState(file_, crypto::EncodeState(kPastKind, {}, out.Take()));
}

std::string CountsText(const PastMatching& entry) {
  if (entry.counts.empty()) return "not known";
  uint64_t matches = 0;
  for (const uint64_t count : entry.counts) matches += count;
  return FormatCount(matches) + (entry.noisy ? ", with noise" : "");
}

std::string PartnerNames(const PastMatching& entry) {
  std::string names;
  for (const Partner& partner : entry.partners) names += (names.empty() ? "" : ", ") + partner.name;
  return entry.linker.empty() ? names : names + " (by " + entry.linker + ")";
}

std::string PastMatchingsText(const PastMatchings& past, const std::vector<Partner>& partners,
                              const ListMark& list, int64_t now) {
  std::string text = "Past matchings of people of this list, in the last 365 days\n";
  for (const Partner& partner : partners) {
    text += fmt::format("  {} with {} (limit {})\n", past.NumSince(now, &list, partner),
                        partner.name, past.LimitWith(partner));
  }
  text += fmt::format("  {} in all (limit {})\n", past.NumSince(now, &list), past.limit());
  if (past.all().empty()) return text;
  TextTable table{
      {"when", "with", "matching", "table", "their bounds", "matches", "rows that differ from now"},
      {4, 5, 6},
      {}};
  for (const PastMatching& entry : past.all()) {
    std::string bounds;
    for (const Partner& partner : entry.partners)
      bounds += (bounds.empty() ? "" : " + ") + FormatCount(partner.bound);
    table.rows.push_back({FormatUtc(entry.at), PartnerNames(entry), entry.matching, entry.table,
                          bounds, CountsText(entry), RowsApartText(list, entry.list)});
  }
  return text + RenderTable(table, 2);
}

}  // namespace partita::run
