#include "node/job/kept_budgets.h"

#include "base/error.h"
#include "base/files.h"
#include "base/utc_time.h"
#include "node/message/bodies.h"
#include "node/parties/party_list.h"
#include "privacy/ledger/entry.h"

namespace partita::node {
namespace {

constexpr uint32_t kMostKept = 10'000;

Error NoKept() {
  return {ErrorCode::kBadInput, "what a job found of the budgets of a restored node is damaged",
          "Use the same version of Partita for the node and for the signer."};
}

std::string ReadKeptText(ByteReader& reader, size_t most) {
  std::string line = reader.String(most);
  if (!IsPublicLine(line, most)) throw NoKept();
  return line;
}

uint32_t ReadCount(ByteReader& reader) {
  const uint32_t count = reader.U32();
  if (count > kMostKept) throw NoKept();
  return count;
}

Bytes KeptFields(const KeptBudgets& kept) {
  ByteWriter writer;
  writer.String(kept.owner);
  writer.Raw(kept.mark);
  writer.U64(static_cast<uint64_t>(kept.time));
  writer.U32(static_cast<uint32_t>(kept.parties.size()));
  for (const KeptParty& party : kept.parties) {
    writer.String(party.name);
    writer.Raw(party.answer);
    writer.String(party.lacks);
  }
  writer.U32(static_cast<uint32_t>(kept.accounts.size()));
  for (const KeptAccount& account : kept.accounts) {
    writer.String(account.table);
    writer.Raw(privacy::ledger::EncodeHead(account.head));
    writer.U64(account.shown);
    writer.U32(static_cast<uint32_t>(account.charged.size()));
    for (const uint64_t number : account.charged) writer.U64(number);
    writer.String(account.policy);
    writer.String(account.lost);
  }
  return writer.Take();
}

KeptAccount ReadAccount(ByteReader& reader) {
  KeptAccount account;
  account.table = ReadKeptText(reader, privacy::ledger::kMaxText);
  account.head = privacy::ledger::DecodeHead(reader.Raw(privacy::ledger::kHeadBytes), "a job");
  account.shown = reader.U64();
  const uint32_t charged = ReadCount(reader);
  for (uint32_t i = 0; i < charged; ++i) account.charged.push_back(reader.U64());
  account.policy = ReadKeptText(reader, kMaxKeptText);
  account.lost = ReadKeptText(reader, kMaxKeptText);
  return account;
}

KeptBudgets ReadKeptFields(ByteReader& reader) {
  KeptBudgets kept;
  kept.owner = reader.String(crypto::kMaxPartyName);
  kept.mark = ReadDigest(reader);
  kept.time = static_cast<int64_t>(reader.U64());
  if (!crypto::IsPartyName(kept.owner) || kept.time < 0 || kept.time > kMaxUtc) throw NoKept();
  const uint32_t parties = ReadCount(reader);
  for (uint32_t i = 0; i < parties; ++i) {
    KeptParty& party = kept.parties.emplace_back();
    party.name = ReadKeptText(reader, privacy::ledger::kMaxText);
    party.answer = ReadDigest(reader);
    party.lacks = ReadKeptText(reader, kMaxKeptText);
    if (i > 0 && kept.parties[i - 1].name >= party.name) throw NoKept();
  }
  const uint32_t accounts = ReadCount(reader);
  for (uint32_t i = 0; i < accounts; ++i) {
    kept.accounts.push_back(ReadAccount(reader));
    if (i > 0 && kept.accounts[i - 1].table >= kept.accounts[i].table) throw NoKept();
  }
  return kept;
}

}  // namespace

SignedKept SignKept(const KeptBudgets& kept, std::string_view domain,
                    const crypto::Identity& identity) {
  return {kept, SignFields(identity, domain, KeptFields(kept))};
}

Bytes Encode(const SignedKept& document) {
  return WithSignature(KeptFields(document.kept), document.signature);
}

SignedKept DecodeSignedKept(ByteView bytes) {
  SignedKept document;
  try {
    document.signature = ReadSigned(
        bytes, [&](ByteReader& reader) { document.kept = ReadKeptFields(reader); }, NoKept());
  } catch (const Error&) {
    throw NoKept();
  }
  return document;
}

bool IsKeptSignedBy(const SignedKept& document, std::string_view domain,
                    const std::vector<Digest>& keys) {
  return IsSignedBy(document.signature, keys, domain, KeptFields(document.kept));
}

std::optional<KeptBudgets> ReadKept(const std::filesystem::path& file, const Digest& mark,
                                    const std::vector<Digest>& stewards) {
  if (file.empty() || !std::filesystem::exists(file)) return std::nullopt;
  const std::string text = ReadFile(file, kMaxKeptBytes, "the steward's word for kept budgets");
  try {
    const SignedKept document = DecodeSignedKept(AsBytes(text));
    if (document.kept.mark == mark && IsKeptSignedBy(document, kKeptDomain, stewards))
      return document.kept;
  } catch (const Error&) {
    // No word.
  }
  return std::nullopt;
}

std::set<Digest> GivenUpBy(const KeptBudgets& kept, const RestoredMark& mark) {
  std::set<Digest> given_up = mark.spent;
  for (const Digest& account : mark.accounts) {
    if (FindKeptAccount(kept, account) == nullptr) given_up.insert(account);
  }
  return given_up;
}

const KeptAccount* FindKeptAccount(const KeptBudgets& kept, const Digest& pseudonym) {
  for (const KeptAccount& account : kept.accounts) {
    if (account.head.pseudonym == pseudonym && account.lost.empty()) return &account;
  }
  return nullptr;
}

}  // namespace partita::node
