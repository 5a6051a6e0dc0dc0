#include "node/daemon/party_keeper.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "net/roster.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxKeptBytes = 4 << 20;
constexpr uint16_t kKeptFormat = 1;
constexpr char kDamaged[] = "Move the file away: parties have to be invited again then.";

Bytes ReadKept(const fs::path& file) {
  if (!fs::exists(file)) return {};
  const std::string text = ReadFile(file, kMaxKeptBytes, "the node's state", kDamaged);
  return {text.begin(), text.end()};
}

void WriteKept(const fs::path& file, const Bytes& bytes) {
  WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

template <size_t kSize>
void ReadArray(ByteReader& reader, std::array<uint8_t, kSize>& array) {
  const ByteView bytes = reader.Raw(kSize);
  std::copy(bytes.begin(), bytes.end(), array.begin());
}

void WritePairing(const KeptPairing& pairing, ByteWriter& writer) {
  writer.Raw(pairing.number);
  writer.String(pairing.name);
  writer.String(pairing.address);
  writer.U64(static_cast<uint64_t>(pairing.expires));
  writer.U8(pairing.pending ? 1 : 0);
  if (pairing.pending) {
    writer.U8(static_cast<uint8_t>(pairing.pending->role));
    writer.Raw(pairing.pending->hash);
    writer.Blob(pairing.pending->peer_certificate);
    writer.U64(static_cast<uint64_t>(pairing.pending->agreed_at));
    writer.Blob(pairing.pending->own_statement);
  }
  writer.U8(pairing.met ? 1 : 0);
  if (pairing.met) {
    writer.String(pairing.met->name);
    writer.Blob(pairing.met->node_certificate);
    writer.Blob(pairing.met->steward_certificate);
    writer.String(pairing.met->address);
    writer.U64(static_cast<uint64_t>(pairing.met->compared_at));
  }
}

KeptPairing ReadPairing(ByteReader& reader) {
  KeptPairing pairing;
  ReadArray(reader, pairing.number);
  pairing.name = reader.String(crypto::kMaxPartyName);
  pairing.address = reader.String(kMaxPairedBytes);
  pairing.expires = static_cast<int64_t>(reader.U64());
  if (reader.U8() == 1) {
    PendingPair& pending = pairing.pending.emplace();
    pending.role = static_cast<PairingRole>(reader.U8());
    ReadArray(reader, pending.hash);
    pending.peer_certificate = reader.Blob(kMaxPairedBytes);
    pending.agreed_at = static_cast<int64_t>(reader.U64());
    pending.own_statement = reader.Blob(kMaxPairedBytes);
  }
  if (reader.U8() == 1) {
    PairedParty& met = pairing.met.emplace();
    met.name = reader.String(crypto::kMaxPartyName);
    met.node_certificate = reader.Blob(kMaxPairedBytes);
    met.steward_certificate = reader.Blob(kMaxPairedBytes);
    met.address = reader.String(kMaxPairedBytes);
    met.compared_at = static_cast<int64_t>(reader.U64());
  }
  return pairing;
}

// Calls `read` with what follows the format and a count, so often.
template <class Read>
void ReadEntries(const fs::path& file, Read read) {
  const Bytes bytes = ReadKept(file);
  if (bytes.empty()) return;
  try {
    ByteReader reader(bytes);
    if (reader.U16() != kKeptFormat) throw Error(ErrorCode::kPeerFault, "of another version");
    const size_t count = reader.U32();
    for (size_t i = 0; i < count; ++i) read(reader);
    reader.ExpectEnd();
  } catch (const Error& error) {
    throw Error(ErrorCode::kBadInput, "the file " + file.string() + " is damaged", kDamaged);
  }
}

template <class Entries, class Write>
void WriteEntries(const fs::path& file, const Entries& entries, Write write) {
  ByteWriter writer;
  writer.U16(kKeptFormat);
  writer.U32(static_cast<uint32_t>(entries.size()));
  for (const auto& entry : entries) write(entry, writer);
  WriteKept(file, writer.Take());
}

}  // namespace

InvitationBook FileInvitations::Load() {
  const Bytes bytes = ReadKept(file_);
  return bytes.empty() ? InvitationBook() : DecodeInvitations(bytes);
}

void FileInvitations::Save(const InvitationBook& book) {
  WriteKept(file_, EncodeInvitations(book));
}

PartyKeeper::PartyKeeper(fs::path folder, std::string owner, std::vector<Digest> stewards)
    : folder_(std::move(folder)), stewards_(std::move(stewards)) {
  list_.owner = std::move(owner);
  if (const Bytes bytes = ReadKept(folder_ / "parties"); !bytes.empty()) {
    const SignedPartyList document = DecodeSignedList(bytes);
    RequireSignedList(document, list_.owner, stewards_, {});
    list_ = document.list;
    mark_ = MarkOf(list_);
    document_ = bytes;
  }
  ReadEntries(folder_ / "addresses", [&](ByteReader& reader) {
    const std::string party = reader.String(crypto::kMaxPartyName);
    addresses_[party] = reader.String(kMaxPairedBytes);
  });
  ReadEntries(folder_ / "pairings",
              [&](ByteReader& reader) { pairings_.push_back(ReadPairing(reader)); });
  ReadEntries(folder_ / "introductions", [&](ByteReader& reader) {
    waiting_.push_back(DecodeIntroduction(reader.Blob(kMaxIntroductionBytes)));
  });
}

PartyList PartyKeeper::List() const {
  const std::lock_guard lock(mutex_);
  return list_;
}

Bytes PartyKeeper::Document() const {
  const std::lock_guard lock(mutex_);
  return document_;
}

void PartyKeeper::Take(const SignedPartyList& document, int64_t now) {
  const std::lock_guard lock(mutex_);
  RequireSignedList(document, list_.owner, stewards_, mark_);
  document_ = EncodeSignedList(document);
  WriteKept(folder_ / "parties", document_);
  list_ = document.list;
  mark_ = MarkOf(list_);
  // The pairing itself stays for a while: the other site may not have heard the last word.
  for (const KeptPairing& pairing : pairings_) {
    const ListedParty* listed = pairing.met ? FindListed(list_, pairing.met->name) : nullptr;
    if (listed != nullptr && listed->node_key == crypto::Sha256Of(pairing.met->node_certificate))
      addresses_[listed->name] = pairing.met->address;
  }
  // What was accepted, and what cannot be any more, waits no longer.
  std::erase_if(waiting_, [&](const SignedIntroduction& entry) {
    const ListedParty* listed = FindListed(list_, entry.introduction.name);
    if (listed != nullptr &&
        std::count(listed->introducers.begin(), listed->introducers.end(), entry.introducer) > 0) {
      addresses_.emplace(listed->name, entry.introduction.address);
      return true;
    }
    try {
      RequireSignedIntroduction(list_, entry, now);
      RequireIntroducible(list_, entry.introducer, entry.introduction);
      return false;
    } catch (const Error&) {
      return true;
    }
  });
  SaveAddresses();
  SaveWaiting();
}

std::optional<std::string> PartyKeeper::AddressOf(const std::string& party) const {
  const std::lock_guard lock(mutex_);
  const auto found = addresses_.find(party);
  if (found == addresses_.end()) return std::nullopt;
  return found->second;
}

void PartyKeeper::SetAddress(const std::string& party, const std::string& address) {
  net::ParseAddress(address);
  const std::lock_guard lock(mutex_);
  addresses_[party] = address;
  SaveAddresses();
}

std::optional<std::string> PartyKeeper::PartyOf(const std::string& fingerprint, int64_t now) const {
  const std::lock_guard lock(mutex_);
  for (const ListedParty& party : list_.parties) {
    if (ToHex(party.node_key) != fingerprint &&
        !(party.next_node_key && ToHex(*party.next_node_key) == fingerprint))
      continue;
    const Digest key = ToHex(party.node_key) == fingerprint ? party.node_key : *party.next_node_key;
    if (NodeKeyCounts(party, key, now)) return party.name;
  }
  return std::nullopt;
}

std::optional<std::string> PartyKeeper::NodeKeyOf(const std::string& party, int64_t now) const {
  const std::lock_guard lock(mutex_);
  const ListedParty* listed = FindListed(list_, party);
  if (listed == nullptr || listed->revoked_at != 0) return std::nullopt;
  const bool next = listed->next_node_key && NodeKeyCounts(*listed, *listed->next_node_key, now);
  return ToHex(next ? *listed->next_node_key : listed->node_key);
}

std::vector<KeptPairing> PartyKeeper::Pairings() const {
  const std::lock_guard lock(mutex_);
  return pairings_;
}

void PartyKeeper::Keep(const KeptPairing& pairing, int64_t now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pairings_, [&](const KeptPairing& other) {
    if (other.number == pairing.number) return true;
    // Invited again: what the other site may have broken off is not waited for.
    if (pairing.pending && other.pending && !other.met &&
        other.pending->peer_certificate == pairing.pending->peer_certificate)
      return true;
    if (other.met) return other.expires + kInvitationSeconds < now;
    return other.pending ? IsForgotten(*other.pending, now) : other.expires < now;
  });
  pairings_.push_back(pairing);
  SavePairings();
}

bool PartyKeeper::Offer(const SignedIntroduction& offered, int64_t now) {
  const std::string& introducer = offered.introducer;
  const Introduction& introduction = offered.introduction;
  const std::lock_guard lock(mutex_);
  RequireSignedIntroduction(list_, offered, now);
  RequireIntroducible(list_, introducer, introduction);
  const ListedParty* listed = FindListed(list_, introduction.name);
  if (listed != nullptr &&
      std::count(listed->introducers.begin(), listed->introducers.end(), introducer) > 0)
    return false;
  const auto is_same = [&](const SignedIntroduction& entry) {
    return entry.introducer == introducer && entry.introduction.name == introduction.name;
  };
  const auto same = std::find_if(waiting_.begin(), waiting_.end(), is_same);
  if (same != waiting_.end() && *same == offered) return false;
  const auto others =
      std::count_if(waiting_.begin(), waiting_.end(), [&](const SignedIntroduction& entry) {
        return entry.introducer == introducer && !is_same(entry);
      });
  if (static_cast<size_t>(others) >= kMaxWaitingOfOne) {
    throw Error(ErrorCode::kPeerFault,
                "as many introductions of one party wait for a steward as may",
                "They come again by themselves when a steward has accepted some.");
  }
  if (same != waiting_.end()) {
    *same = offered;
  } else {
    waiting_.push_back(offered);
  }
  SaveWaiting();
  return true;
}

std::vector<SignedIntroduction> PartyKeeper::Waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

void PartyKeeper::SaveAddresses() const {
  WriteEntries(folder_ / "addresses", addresses_, [](const auto& entry, ByteWriter& writer) {
    writer.String(entry.first);
    writer.String(entry.second);
  });
}

void PartyKeeper::SavePairings() const {
  WriteEntries(folder_ / "pairings", pairings_, WritePairing);
}

void PartyKeeper::SaveWaiting() const {
  WriteEntries(folder_ / "introductions", waiting_,
               [](const SignedIntroduction& entry, ByteWriter& writer) {
                 writer.Blob(EncodeIntroduction(entry));
               });
}

}  // namespace partita::node
