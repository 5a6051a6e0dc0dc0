#include "privacy/ledger/journal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace partita::privacy::ledger {
namespace {

constexpr uint8_t kBegan = 1, kAccountMade = 2, kWitnessed = 3, kUsed = 4;

[[noreturn]] void ThrowBrokenJournal() {
  throw Error(ErrorCode::kRefused, "the privacy ledger is damaged: its journal is broken",
              "let nobody use it, keep the file, and find the newest intact copy");
}

struct RowWriter {
  ByteWriter& writer;

  void operator()(const Began& began) const {
    writer.U8(kBegan);
    writer.Raw(began.pseudonym);
    writer.U8(began.taken_over ? 1 : 0);
  }
  void operator()(const AccountMade& account) const {
    writer.U8(kAccountMade);
    WriteText(writer, account.table);
    writer.Raw(account.pseudonym);
  }
  void operator()(const Witnessed& witnessed) const {
    writer.U8(kWitnessed);
    writer.Raw(EncodeHead(witnessed.receipt.head));
    writer.Raw(witnessed.receipt.run_id);
    writer.Raw(witnessed.receipt.agreement_hash);
    WriteText(writer, witnessed.owner);
  }
  void operator()(const Used& used) const {
    writer.U8(kUsed);
    writer.Raw(used.approval);
    writer.U64(used.runs);
    writer.Raw(used.run_id);
  }
};

std::array<uint8_t, 32> Read32(ByteReader& reader) {
  std::array<uint8_t, 32> value{};
  const ByteView bytes = reader.Raw(value.size());
  std::copy(bytes.begin(), bytes.end(), value.begin());
  return value;
}

JournalBody ReadJournalBody(ByteReader& reader) {
  switch (reader.U8()) {
    case kBegan: {
      Began began{Read32(reader), false};
      const uint8_t taken_over = reader.U8();
      if (taken_over > 1) ThrowBrokenJournal();
      began.taken_over = taken_over == 1;
      return began;
    }
    case kAccountMade: {
      std::string table = reader.String(kMaxText);
      return AccountMade{std::move(table), Read32(reader)};
    }
    case kWitnessed: {
      Witnessed witnessed;
      witnessed.receipt.head = DecodeHead(reader.Raw(kHeadBytes), "the journal");
      witnessed.receipt.run_id = Read32(reader);
      witnessed.receipt.agreement_hash = Read32(reader);
      witnessed.owner = reader.String(kMaxText);
      return witnessed;
    }
    case kUsed: {
      const Digest approval = Read32(reader);
      const uint64_t runs = reader.U64();
      return Used{approval, runs, Read32(reader)};
    }
    default:
      ThrowBrokenJournal();
  }
}

Digest NextHash(const Digest& previous, ByteView row_bytes) {
  return crypto::Sha256().Field("partita ledger journal").Field(previous).Field(row_bytes).Finish();
}

struct JournalChecker {
  const Journal& journal;

  void operator()(const Began&) const {
    if (journal.head().sequence > 0)
      throw Error(ErrorCode::kUsage, "the journal of the ledger has begun already");
  }
  void operator()(const AccountMade& account) const {
    if (!journal.accounts().contains(account.table)) return;
    throw Error(ErrorCode::kUsage, fmt::format("table {} has an account already", account.table),
                "change its policy instead");
  }
  void operator()(const Witnessed& witnessed) const {
    CheckShownHead(journal.LastReceipt(witnessed.receipt.head.pseudonym), witnessed.receipt,
                   witnessed.owner);
  }
  void operator()(const Used& used) const {
    if (used.runs < 1 || used.runs > kMaxRunsOfApproval)
      throw Error(ErrorCode::kUsage, fmt::format("an approval for {} runs", used.runs));
    const std::vector<Digest>& runs = journal.RunsOf(used.approval);
    if (std::find(runs.begin(), runs.end(), used.run_id) != runs.end())
      throw Error(ErrorCode::kUsage, "the ledger has counted this run of the approval already");
    if (runs.size() < used.runs) return;
    throw Error(ErrorCode::kRefused,
                fmt::format("the approval is used up: by the ledger it was used for {} of {} {}",
                            runs.size(), used.runs, used.runs == 1 ? "run" : "runs"),
                "read the plan again and approve again: partita study approve STUDY --force, "
                "with --runs N for several runs");
  }
};

}  // namespace

Bytes EncodeJournalRow(const JournalRow& row) {
  ByteWriter writer;
  writer.U64(row.number);
  WriteText(writer, row.stamp.by);
  writer.U64(static_cast<uint64_t>(row.stamp.at));
  std::visit(RowWriter{writer}, row.body);
  return writer.Take();
}

JournalRow DecodeJournalRow(ByteView bytes) {
  try {
    ByteReader reader(bytes);
    JournalRow row;
    row.number = reader.U64();
    row.stamp.by = reader.String(kMaxText);
    row.stamp.at = static_cast<int64_t>(reader.U64());
    row.body = ReadJournalBody(reader);
    reader.ExpectEnd();
    return row;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kPeerFault) ThrowBrokenJournal();
    throw;
  }
}

Journal::Journal() { head_.hash = crypto::Sha256().Field("partita ledger journal start").Finish(); }

void Journal::Check(const JournalBody& body) const {
  if (head_.sequence == 0 && !std::holds_alternative<Began>(body))
    throw Error(ErrorCode::kUsage, "the journal of the ledger has not begun");
  std::visit(JournalChecker{*this}, body);
}

JournalRow Journal::Next(const Stamp& stamp, JournalBody body) const {
  Check(body);
  JournalRow row{head_.sequence + 1, stamp, std::move(body), {}};
  row.hash = NextHash(head_.hash, EncodeJournalRow(row));
  return row;
}

void Journal::Replay(ByteView row_bytes, const Digest& hash) {
  if (NextHash(head_.hash, row_bytes) != hash) ThrowBrokenJournal();
  try {
    const JournalRow row = DecodeJournalRow(row_bytes);
    if (row.number != head_.sequence + 1) ThrowBrokenJournal();
    Check(row.body);
    if (since_ == 0) since_ = row.stamp.at;
    if (const auto* began = std::get_if<Began>(&row.body)) {
      head_.pseudonym = began->pseudonym;
      taken_over_ = began->taken_over;
    } else if (const auto* account = std::get_if<AccountMade>(&row.body)) {
      accounts_.emplace(account->table, account->pseudonym);
    } else if (const auto* witnessed = std::get_if<Witnessed>(&row.body)) {
      newest_[witnessed->receipt.head.pseudonym] = witnessed->receipt;
      shown_by_[witnessed->owner][witnessed->receipt.head.pseudonym] = witnessed->receipt.head;
      ++receipts_;
    } else if (const auto* used = std::get_if<Used>(&row.body)) {
      uses_[used->approval].push_back(used->run_id);
    }
  } catch (const Error&) {
    ThrowBrokenJournal();
  }
  head_.sequence += 1;
  head_.hash = hash;
  hashes_.push_back(hash);
}

bool Journal::Holds(const JournalMark& mark) const {
  return mark.number >= 1 && mark.number <= hashes_.size() && hashes_[mark.number - 1] == mark.hash;
}

std::optional<Receipt> Journal::LastReceipt(const Pseudonym& pseudonym) const {
  const auto found = newest_.find(pseudonym);
  if (found == newest_.end()) return std::nullopt;
  return found->second;
}

std::vector<ShownHead> Journal::NewestShownBy(const std::string& owner) const {
  std::vector<ShownHead> heads;
  const auto found = shown_by_.find(owner);
  if (found == shown_by_.end()) return heads;
  for (const auto& [pseudonym, head] : found->second)
    heads.push_back({head, newest_.at(pseudonym).head != head});
  return heads;
}

bool Journal::IsNewestShownBy(const std::string& owner, const Head& head) const {
  const auto found = shown_by_.find(owner);
  if (found == shown_by_.end()) return false;
  const auto newest = found->second.find(head.pseudonym);
  return newest != found->second.end() && newest->second == head;
}

const std::vector<Digest>& Journal::RunsOf(const Digest& approval) const {
  static const std::vector<Digest> kNone;
  const auto found = uses_.find(approval);
  return found == uses_.end() ? kNone : found->second;
}

}  // namespace partita::privacy::ledger
