#include "node/job/closed.h"

#include "base/error.h"
#include "base/files.h"
#include "base/utc_time.h"
#include "node/job/documents.h"
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
  writer.String(kMarkDomain);
  writer.String(mark.owner);
  writer.U64(static_cast<uint64_t>(mark.time));
  writer.Raw(mark.nonce);
  writer.U32(static_cast<uint32_t>(mark.accounts.size()));
  for (const Digest& account : mark.accounts) writer.Raw(account);
  return writer.Take();
}

RestoredMark DecodeRestoredMark(ByteView bytes) {
  RestoredMark mark;
  try {
    ByteReader reader(bytes);
    if (reader.String(sizeof(kMarkDomain)) != kMarkDomain) throw NoMark();
    mark.owner = reader.String(crypto::kMaxPartyName);
    mark.time = static_cast<int64_t>(reader.U64());
    mark.nonce = ReadDigest(reader);
    const uint32_t accounts = reader.U32();
    if (accounts > kMaxClosedAccounts || mark.time < 0 || mark.time > kMaxUtc) throw NoMark();
    for (uint32_t i = 0; i < accounts; ++i) mark.accounts.insert(ReadDigest(reader));
    reader.ExpectEnd();
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

void RequireOpenTable(const JobSettings& settings, const JobTable& table) {
  const std::optional<RestoredMark> mark = ReadRestoredMark(settings.restored);
  if (!mark) return;
  if (!IsReopened(settings.reopened, *mark, OwnStewards(settings.stewards))) {
    throw Error(ErrorCode::kRefused,
                "the tables are closed since this node was restored from a backup",
                "The steward opens them: partita node reopen.");
  }
  if (settings.ledger.empty()) return;
  privacy::ledger::SqliteLedger book = run::OpenLedger(settings.ledger);
  const std::string account = run::ChosenTable(book, {settings.ledger, table.account});
  if (!mark->accounts.contains(book.StandingOf(account).head.pseudonym)) return;
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
