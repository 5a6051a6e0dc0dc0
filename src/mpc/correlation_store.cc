#include "mpc/correlation_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace partita::mpc {
namespace {

constexpr std::string_view kMagic = "partita correlations 2";
constexpr uint64_t kPackageMagic = 0x6b6361706974726b;  // begins a package's head
// Lies before a package's bytes until those were overwritten.
constexpr uint64_t kThere = 0x6572656874736920;
constexpr uint64_t kThereBytes = 8;
// Blocks that a disk writes whole or not at all are at most this large.
constexpr uint64_t kSector = 4096;
constexpr uint64_t kMarkOffset = kSector, kPackagesOffset = 3 * kSector;
constexpr uint64_t kHeadBytes = kSector;
constexpr uint64_t kMarkBytes = 8 + 8 + 32;
constexpr uint64_t kPackageHeadBytes = 8 + 8 + 8 + 32 + 32 + 32;
constexpr uint64_t kMaxNumber = uint64_t{1} << 62;  // of a package
constexpr uint64_t kMaxFingerprint = 128, kMaxParties = 1000, kMaxStudyName = 256;

[[noreturn]] void ThrowNoStore() {
  throw Error(ErrorCode::kUsage, "a file of correlations is damaged or is none",
              "make new correlations in a new file; never go back to an older copy of this one");
}

Bytes Sealed(Bytes bytes) {
  const crypto::Digest digest = crypto::Sha256Of(bytes);
  bytes.insert(bytes.end(), digest.begin(), digest.end());
  return bytes;
}

// The bytes without their digest; empty if it is not theirs.
ByteView Unsealed(ByteView bytes) {
  if (bytes.size() < sizeof(crypto::Digest)) return {};
  const ByteView body = bytes.first(bytes.size() - sizeof(crypto::Digest));
  const crypto::Digest digest = crypto::Sha256Of(body);
  return std::equal(digest.begin(), digest.end(), bytes.end() - sizeof(crypto::Digest))
             ? body
             : ByteView{};
}

crypto::Digest ReadDigest(ByteReader& reader) {
  crypto::Digest digest;
  const ByteView raw = reader.Raw(digest.size());
  std::copy(raw.begin(), raw.end(), digest.begin());
  return digest;
}

Bytes EncodeIdentity(const StoreIdentity& identity) {
  ByteWriter writer;
  writer.String(kMagic);
  writer.Raw(identity.generation);
  writer.U64(identity.self);
  writer.U64(identity.fingerprints.size());
  for (const std::string& fingerprint : identity.fingerprints) writer.String(fingerprint);
  writer.String(identity.study);
  writer.Raw(identity.study_hash);
  return writer.Take();
}

StoreIdentity DecodeIdentity(ByteView bytes) {
  try {
    ByteReader reader(bytes);
    StoreIdentity identity;
    if (reader.String(kMagic.size()) != kMagic) ThrowNoStore();
    identity.generation = ReadDigest(reader);
    identity.self = reader.U64();
    const uint64_t count = reader.U64();
    if (count > kMaxParties) ThrowNoStore();
    for (uint64_t i = 0; i < count; ++i) {
      identity.fingerprints.push_back(reader.String(kMaxFingerprint));
    }
    identity.study = reader.String(kMaxStudyName);
    identity.study_hash = ReadDigest(reader);
    reader.ExpectEnd();
    return identity;
  } catch (const Error&) {
    ThrowNoStore();
  }
}

}  // namespace

CorrelationStore::CorrelationStore(std::unique_ptr<StoreStorage> storage, StoreIdentity identity)
    : storage_(std::move(storage)), identity_(std::move(identity)), end_(kPackagesOffset) {}

CorrelationStore CorrelationStore::Create(std::unique_ptr<StoreStorage> storage,
                                          StoreIdentity identity) {
  if (storage->Size() != 0) {
    throw Error(ErrorCode::kUsage, "a new store of correlations needs a new file",
                "give another file name");
  }
  CorrelationStore store(std::move(storage), std::move(identity));
  ByteWriter head;
  head.Blob(Sealed(EncodeIdentity(store.identity_)));
  Bytes block = head.Take();
  if (block.size() > kHeadBytes) {
    throw Error(ErrorCode::kBadInput, "too many parties for a store of correlations");
  }
  block.resize(kPackagesOffset);
  store.storage_->Write(0, block);
  store.WriteMark(0);
  return store;
}

CorrelationStore CorrelationStore::Open(std::unique_ptr<StoreStorage> storage) {
  if (storage->Size() < kPackagesOffset) ThrowNoStore();
  Bytes block(kHeadBytes);
  storage->Read(0, block);
  const uint64_t size = ByteReader(block).U64();
  if (size > block.size() - 8) ThrowNoStore();
  const ByteView head = Unsealed(ByteView(block).subspan(8, size));
  if (head.empty()) ThrowNoStore();
  CorrelationStore store(std::move(storage), DecodeIdentity(head));
  store.ReadMark();
  store.ReadPlaces();
  store.EraseSpent();
  return store;
}

CorrelationStore CorrelationStore::Open(std::unique_ptr<StoreStorage> storage,
                                        const StoreIdentity& expected) {
  CorrelationStore store = Open(std::move(storage));
  const StoreIdentity& identity = store.identity_;
  if (identity.study != expected.study || identity.study_hash != expected.study_hash) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("a file of correlations was made for {} '{}', not for this one",
                            identity.study == expected.study ? "another version of study" : "study",
                            identity.study),
                "name the file that was made for this study, or prepare correlations for it: "
                "partita correlations prepare");
  }
  if (identity.fingerprints != expected.fingerprints || identity.self != expected.self) {
    throw Error(ErrorCode::kBadInput,
                "a file of correlations was made for other parties or other certificates",
                "prepare correlations with the parties of this study's roster: partita "
                "correlations prepare");
  }
  return store;
}

// The slot that is not the last one is overwritten, so one of the two is always whole.
void CorrelationStore::WriteMark(uint64_t mark) {
  CheckWhole();
  // After a failure nobody knows what is on the disk, and a second Sync might not tell.
  broken_ = true;
  ByteWriter writer;
  writer.U64(++sequence_);
  writer.U64(mark);
  storage_->Write(kMarkOffset + sequence_ % 2 * kSector, Sealed(writer.Take()));
  storage_->Sync();
  mark_ = mark;
  broken_ = false;
}

void CorrelationStore::CheckWhole() const {
  if (!broken_) return;
  throw Error(ErrorCode::kUsage, "the correlations could not be written before",
              "check the disk and start again");
}

void CorrelationStore::ReadMark() {
  bool found = false;
  for (uint64_t slot : {0, 1}) {
    Bytes bytes(kMarkBytes);
    storage_->Read(kMarkOffset + slot * kSector, bytes);
    const ByteView body = Unsealed(bytes);
    if (body.empty()) continue;
    ByteReader reader(body);
    const uint64_t sequence = reader.U64(), mark = reader.U64();
    if (found && sequence < sequence_) continue;
    sequence_ = sequence;
    mark_ = mark;
    found = true;
  }
  if (!found) ThrowNoStore();
}

void CorrelationStore::ReadPlaces() {
  const uint64_t size = storage_->Size();
  next_number_ = mark_;
  // The heads lie behind each other; behind the first that is not whole there is nothing.
  while (size - end_ >= kPackageHeadBytes) {
    Bytes bytes(kPackageHeadBytes);
    storage_->Read(end_, bytes);
    const ByteView body = Unsealed(bytes);
    if (body.empty()) break;
    ByteReader reader(body);
    if (reader.U64() != kPackageMagic) break;
    const uint64_t number = reader.U64();
    if (number >= kMaxNumber) break;
    Place place;
    place.offset = end_ + kPackageHeadBytes + kThereBytes;
    place.size = reader.U64();
    place.label = ReadDigest(reader);
    place.checksum = ReadDigest(reader);
    if (place.offset > size || place.size > size - place.offset) break;
    end_ = place.offset + place.size;
    places_[number] = place;
    next_number_ = std::max(next_number_, number + 1);
  }
  // A package that was not written to its end, or was spent, is none.
  std::erase_if(places_, [&](const auto& entry) {
    const auto& [number, place] = entry;
    Bytes there(kThereBytes);
    storage_->Read(place.offset - kThereBytes, there);
    if (ByteReader(there).U64() != kThere) return true;
    if (number < mark_) return false;
    Bytes package(place.size);
    storage_->Read(place.offset, package);
    const bool whole = crypto::Sha256Of(package) == place.checksum;
    if (!package.empty()) Wipe(package.data(), package.size());
    return !whole;
  });
}

void CorrelationStore::EraseSpent() {
  CheckWhole();
  const auto end = places_.lower_bound(mark_);
  if (places_.begin() == end) return;
  for (auto place = places_.begin(); place != end; ++place) {
    storage_->Write(place->second.offset, Bytes(place->second.size));
  }
  storage_->Sync();
  for (auto place = places_.begin(); place != end; ++place) {
    storage_->Write(place->second.offset - kThereBytes, Bytes(kThereBytes));
  }
  storage_->Sync();
  places_.erase(places_.begin(), end);
}

std::vector<uint64_t> CorrelationStore::Numbers() const {
  std::vector<uint64_t> numbers;
  for (const auto& [number, place] : places_) {
    if (number >= mark_) numbers.push_back(number);
  }
  return numbers;
}

std::vector<PackageFacts> CorrelationStore::Packages() const {
  std::vector<PackageFacts> packages;
  for (const auto& [number, place] : places_) {
    if (number >= mark_) packages.push_back({number, place.size, place.label});
  }
  return packages;
}

uint64_t CorrelationStore::NextNumber() const { return std::max(next_number_, mark_); }

void CorrelationStore::Append(uint64_t number, const crypto::Digest& label, ByteView package) {
  if (number < NextNumber()) {
    throw Error(ErrorCode::kUsage, "a number of a package of correlations is used already");
  }
  CheckWhole();
  broken_ = true;
  Place place{end_ + kPackageHeadBytes + kThereBytes, package.size(), label,
              crypto::Sha256Of(package)};
  ByteWriter head;
  head.U64(kPackageMagic);
  head.U64(number);
  head.U64(place.size);
  head.Raw(place.label);
  head.Raw(place.checksum);
  ByteWriter there;
  there.U64(kThere);
  storage_->Write(place.offset, package);
  storage_->Write(place.offset - kThereBytes, there.bytes());
  storage_->Write(end_, Sealed(head.Take()));
  storage_->Sync();
  end_ = place.offset + place.size;
  places_[number] = place;
  next_number_ = number + 1;
  broken_ = false;
}

void CorrelationStore::Spend(uint64_t mark) {
  if (mark <= mark_) return;
  WriteMark(mark);
  EraseSpent();
}

Bytes CorrelationStore::Take(uint64_t number, const crypto::Digest& label) {
  const auto found = places_.find(number);
  if (number < mark_ || found == places_.end()) {
    throw Error(ErrorCode::kRefused,
                fmt::format("package {} of the stored correlations is spent or not there", number),
                "make new correlations");
  }
  const Place place = found->second;
  if (place.label != label) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("package {} of the stored correlations was made for another plan", number),
        "make correlations for this study as it is now");
  }
  // Durable before anybody sees a byte of it.
  WriteMark(number + 1);
  Bytes package(place.size);
  storage_->Read(place.offset, package);
  EraseSpent();
  if (crypto::Sha256Of(package) != place.checksum) ThrowNoStore();
  return package;
}

namespace {

// One message of the same size to and from every other party; the own one is empty.
std::vector<Bytes> ExchangeWithAll(net::Channel& channel, size_t num_parties, ByteView out) {
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  std::vector<Bytes> into(num_parties);
  for (net::PartyIndex peer = 0; peer < num_parties; ++peer) {
    if (peer == channel.self()) continue;
    sends.push_back({peer, out, 0, nullptr});
    into[peer].resize(out.size());
    net::Receive& receive = receives.emplace_back();
    receive.from = peer;
    receive.into = into[peer];
  }
  channel.Exchange(sends, receives);
  return into;
}

// A bit for every number from the mark on.
Bytes PackageMap(const CorrelationStore& store, const std::optional<crypto::Digest>& label) {
  Bytes map(kPackageMapBytes);
  for (const PackageFacts& package : store.Packages()) {
    const uint64_t place = package.number - store.mark();
    if (label && package.label != *label) continue;
    if (place < 8 * map.size()) map[place / 8] |= static_cast<uint8_t>(1u << (place % 8));
  }
  return map;
}

}  // namespace

AgreedPackages AgreeOnPackages(net::Channel& channel, size_t num_parties, CorrelationStore& store,
                               const std::optional<crypto::Digest>& label) {
  AgreedPackages agreed{{}, store.NextNumber()};
  ByteWriter statement;
  statement.Raw(store.identity().generation);
  statement.U64(store.mark());
  statement.U64(agreed.next_number);
  const std::vector<Bytes> statements = ExchangeWithAll(channel, num_parties, statement.bytes());
  uint64_t mark = store.mark();
  for (net::PartyIndex peer = 0; peer < num_parties; ++peer) {
    if (peer == channel.self()) continue;
    ByteReader reader(statements[peer]);
    if (ReadDigest(reader) != store.identity().generation) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("party {} has stored correlations of another generation",
                              channel.names()[peer]),
                  "use the files that were made together, or make new ones together: partita "
                  "correlations discard FILE --remove, then prepare");
    }
    const uint64_t their_mark = reader.U64(), their_next = reader.U64();
    if (their_mark > their_next || their_next > kMaxNumber) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("party {} says of its stored correlations what cannot be",
                              channel.names()[peer]),
                  "compare versions and run the study again");
    }
    mark = std::max(mark, their_mark);
    agreed.next_number = std::max(agreed.next_number, their_next);
  }
  store.Spend(mark);
  agreed.next_number = std::max(agreed.next_number, mark);
  // Who gets this one knows that the sender's mark is durable.
  Bytes common = PackageMap(store, label);
  for (const Bytes& map : ExchangeWithAll(channel, num_parties, common)) {
    for (size_t i = 0; i < map.size(); ++i) common[i] &= map[i];
  }
  for (uint64_t place = 0; place < 8 * common.size(); ++place) {
    if ((common[place / 8] >> (place % 8) & 1) != 0) agreed.usable.push_back(mark + place);
  }
  return agreed;
}

Bytes TakeTogether(net::Channel& channel, size_t num_parties, CorrelationStore& store,
                   uint64_t number, const crypto::Digest& label) {
  Bytes package = store.Take(number, label);
  try {
    ExchangeWithAll(channel, num_parties, Bytes(kTakenBytes));
  } catch (...) {
    if (!package.empty()) Wipe(package.data(), package.size());
    throw;
  }
  return package;
}

}  // namespace partita::mpc
