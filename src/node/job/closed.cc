#include "node/job/closed.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/utc_time.h"
#include "node/job/documents.h"
#include "node/job/kept_budgets.h"
#include "node/job/settle_kept.h"
#include "run/ledger/open_ledger.h"

namespace partita::node {
namespace {

constexpr uint32_t kMaxClosedAccounts = 10'000;

Error NoMark() {
  return {
      ErrorCode::kBadInput, "the mark of a restore cannot be read",
      "Restore the node again, into a new folder: nothing of its tables is used without the mark."};
}

Bytes BytesIn(const std::filesystem::path& file, const char* what) {
  const std::string text = ReadFile(file, kMaxMarkBytes, what);
  return {text.begin(), text.end()};
}

}  // namespace

Bytes Encode(const RestoredMark& mark) {
  ByteWriter writer;
  writer.String(mark.is_first_version ? kFirstMarkDomain : kMarkDomain);
  writer.String(mark.owner);
  writer.U64(static_cast<uint64_t>(mark.time));
  writer.Raw(mark.nonce);
  writer.U32(static_cast<uint32_t>(mark.accounts.size()));
  for (const Digest& account : mark.accounts) writer.Raw(account);
  if (!mark.is_first_version) {
    writer.U32(static_cast<uint32_t>(mark.spent.size()));
    for (const Digest& account : mark.spent) writer.Raw(account);
  }
  return writer.Take();
}

RestoredMark DecodeRestoredMark(ByteView bytes) {
  RestoredMark mark;
  try {
    ByteReader reader(bytes);
    const std::string domain = reader.String(sizeof(kMarkDomain));
    mark.is_first_version = domain == kFirstMarkDomain;
    if (domain != kMarkDomain && !mark.is_first_version) throw NoMark();
    mark.owner = reader.String(crypto::kMaxPartyName);
    mark.time = static_cast<int64_t>(reader.U64());
    mark.nonce = ReadDigest(reader);
    const uint32_t accounts = reader.U32();
    if (accounts > kMaxClosedAccounts || mark.time < 0 || mark.time > kMaxUtc) throw NoMark();
    for (uint32_t i = 0; i < accounts; ++i) mark.accounts.insert(ReadDigest(reader));
    if (mark.is_first_version) {
      mark.spent = mark.accounts;
    } else {
      const uint32_t spent = reader.U32();
      if (spent > accounts) throw NoMark();
      for (uint32_t i = 0; i < spent; ++i) mark.spent.insert(ReadDigest(reader));
    }
    reader.ExpectEnd();
    if (!std::includes(mark.accounts.begin(), mark.accounts.end(), mark.spent.begin(),
                       mark.spent.end()))
      throw NoMark();
  } catch (const Error&) {
    throw NoMark();
  }
  if (Encode(mark) != Bytes(bytes.begin(), bytes.end())) throw NoMark();
  return mark;
}

Digest DigestOf(const RestoredMark& mark) { return crypto::Sha256Of(Encode(mark)); }

Bytes EncodeReopened(const Digest& mark, const Signature& signature) {
  return WithSignature(Bytes(mark.begin(), mark.end()), signature);
}

bool IsReopenedBy(ByteView bytes, const Digest& mark, const std::vector<Digest>& stewards) {
  try {
    Digest signed_for{};
    const Signature signature = ReadSigned(
        bytes, [&](ByteReader& reader) { signed_for = ReadDigest(reader); }, NoMark());
    return signed_for == mark &&
           IsSignedBy(signature, stewards, kReopenDomain, Bytes(mark.begin(), mark.end()));
  } catch (const Error&) {
    return false;
  }
}

std::optional<RestoredMark> ReadRestoredMark(const std::filesystem::path& file) {
  if (file.empty() || !std::filesystem::exists(file)) return std::nullopt;
  return DecodeRestoredMark(BytesIn(file, "the mark of a restore"));
}

bool IsReopened(const std::filesystem::path& file, const RestoredMark& mark,
                const std::vector<Digest>& stewards) {
  if (file.empty() || !std::filesystem::exists(file)) return false;
  return IsReopenedBy(BytesIn(file, "the steward's word for a restored node"), DigestOf(mark),
                      stewards);
}

RestoreWord WordFor(const RestoredMark& mark, const RestoreFiles& files,
                    const std::vector<Digest>& stewards) {
  if (IsReopened(files.reopened, mark, stewards)) return RestoreWord::kAllSpent;
  if (ReadKept(files.kept, DigestOf(mark), stewards)) return RestoreWord::kSomeKept;
  return RestoreWord::kNone;
}

std::set<Digest> SpentBy(const RestoredMark& mark, const RestoreFiles& files,
                         const std::vector<Digest>& stewards) {
  if (WordFor(mark, files, stewards) != RestoreWord::kSomeKept) return mark.accounts;
  return GivenUpBy(ReadKept(files.kept, DigestOf(mark), stewards).value(), mark);
}

void RequireOpenTable(const JobSettings& settings, const JobTable& table) {
  const std::optional<RestoredMark> mark = ReadRestoredMark(settings.restored);
  if (!mark) return;
  const std::vector<Digest> stewards = OwnStewards(settings.stewards);
  const RestoreWord word =
      WordFor(*mark, {settings.restored, settings.reopened, settings.kept}, stewards);
  if (word == RestoreWord::kNone) {
    throw Error(ErrorCode::kRefused,
                "the tables are closed since this node was restored from a backup",
                "The steward opens them: partita node reopen.");
  }
  if (settings.ledger.empty()) return;
  privacy::ledger::SqliteLedger book = run::OpenLedger(settings.ledger);
  const std::string account = run::ChosenTable(book, {settings.ledger, table.account});
  const Digest pseudonym = book.StandingOf(account).head.pseudonym;
  if (!mark->accounts.contains(pseudonym)) {
    // One of before the restore that was in no ledger then: nobody was asked for it.
    if (book.Entries(account).front().stamp.at >= mark->time) return;
    throw Error(ErrorCode::kRefused,
                "the account " + account +
                    " is older than the restore of this node, and was not in its ledger then",
                "Restore the node again with this ledger in its place, or open a new account: "
                "partita ledger open --table NAME, and account = \"NAME\" in node.toml.");
  }
  if (word == RestoreWord::kSomeKept && !mark->spent.contains(pseudonym)) {
    const auto kept = ReadKept(settings.kept, DigestOf(*mark), stewards);
    const KeptAccount* same = kept ? FindKeptAccount(*kept, pseudonym) : nullptr;
    if (same != nullptr) return SettleKept(book, *same);
  }
  throw Error(ErrorCode::kRefused,
              "the budget of the account " + account +
                  " counts as spent since this node was restored from a backup",
              "What the table may still tell is for its steward to decide: partita ledger open "
              "--table NAME, and account = \"NAME\" in node.toml.");
}

bool IsPolicyOfNow(const JobSettings& settings, int64_t from) {
  const std::optional<RestoredMark> mark = ReadRestoredMark(settings.restored);
  return !mark || from > mark->time;
}

}  // namespace partita::node
