#include "privacy/ledger/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"

namespace partita::privacy::ledger {
namespace {

constexpr uint8_t kOpened = 1, kReserved = 2, kSpent = 3, kRefunded = 4, kCountersigned = 5,
                  kPolicyChanged = 6;
// Beside the kind: a mark of the journal follows the body.
constexpr uint8_t kMarked = 0x80;
constexpr size_t kMaxBlob = 4096;

[[noreturn]] void ThrowDamagedEntry() {
  throw Error(ErrorCode::kRefused, "an entry of the privacy ledger is damaged",
              "restore nothing: keep the file and find out what changed it");
}

// --- writing
// --------------------------------------------------------------------------------------

uint32_t CountOf(size_t items) {
  if (items > kMaxItems) {
    throw Error(ErrorCode::kUsage, fmt::format("a list of {} for one ledger entry", items),
                fmt::format("an entry holds at most {}", kMaxItems));
  }
  return static_cast<uint32_t>(items);
}

void WriteCost(ByteWriter& writer, const Cost& cost) {
  writer.U64(cost.rdp);
  writer.U64(cost.delta);
}

void WriteFilter(ByteWriter& writer, const Filter& filter) {
  writer.U64(filter.order);
  WriteCost(writer, filter.budget);
}

void WriteFilter(ByteWriter& writer, const std::optional<Filter>& filter) {
  writer.U8(filter.has_value() ? 1 : 0);
  if (filter.has_value()) WriteFilter(writer, *filter);
}

void WriteBudget(ByteWriter& writer, const Budget& budget) {
  writer.U8(static_cast<uint8_t>(budget.adjacency));
  WriteText(writer, budget.epsilon);
  WriteText(writer, budget.delta);
  WriteText(writer, budget.approximate_delta);
}

void WritePolicy(ByteWriter& writer, const Policy& policy) {
  WriteText(writer, policy.table);
  WriteBudget(writer, policy.outside);
  writer.U8(policy.insider.has_value() ? 1 : 0);
  if (policy.insider.has_value()) WriteBudget(writer, *policy.insider);
  writer.U32(policy.coalition);
  writer.U8(static_cast<uint8_t>(policy.exact));
  writer.U64(policy.max_exact);
}

void WriteInt128(ByteWriter& writer, UInt128 value) {
  writer.U64(static_cast<uint64_t>(value));
  writer.U64(static_cast<uint64_t>(value >> 64));
}

struct MechanismWriter {
  ByteWriter& writer;

  void operator()(const GridGaussian& gaussian) const {
    const DiscreteGaussianNoise& noise = gaussian.remaining;
    writer.U8(0);
    WriteInt128(writer, noise.share_variance.numerator);
    WriteInt128(writer, noise.share_variance.denominator);
    writer.U32(static_cast<uint32_t>(noise.share_variance.exponent));
    writer.U32(noise.shares);
    writer.U64(noise.dimension);
    writer.F64(gaussian.sensitivity);
  }
  void operator()(const ZeroConcentrated& mechanism) const {
    writer.U8(1);
    writer.F64(mechanism.rho);
  }
  void operator()(const PureDp& mechanism) const {
    writer.U8(2);
    writer.F64(mechanism.epsilon);
  }
  void operator()(const ApproximateDp& mechanism) const {
    writer.U8(3);
    writer.F64(mechanism.epsilon);
    writer.F64(mechanism.delta);
  }
};

void WriteCharge(ByteWriter& writer, const Charge& charge) {
  WriteText(writer, charge.release);
  writer.U8(static_cast<uint8_t>(charge.adversary.kind));
  WriteText(writer, charge.adversary.party);
  writer.U32(charge.adversary.size);
  writer.U8(charge.adversary.with_dealer ? 1 : 0);
  writer.U8(static_cast<uint8_t>(charge.adjacency));
  std::visit(MechanismWriter{writer}, charge.mechanism);
  writer.U64(charge.count);
}

void WriteExact(ByteWriter& writer, const ExactRelease& exact) {
  WriteText(writer, exact.release);
  WriteText(writer, exact.what);
  WriteText(writer, exact.to);
  writer.U64(exact.values);
  writer.U64(exact.sufficient_statistics);
  writer.U32(CountOf(exact.variables.size()));
  for (const std::string& variable : exact.variables) WriteText(writer, variable);
}

struct BodyWriter {
  ByteWriter& writer;
  uint8_t marked;  // kMarked or 0

  void operator()(const Opened& opened) const {
    Kind(kOpened);
    WritePolicy(writer, opened.policy);
    WriteFilter(writer, opened.outside);
    WriteFilter(writer, opened.insider);
  }
  void operator()(const Reserved& reserved) const {
    Kind(kReserved);
    writer.Raw(reserved.run_id);
    writer.Raw(reserved.agreement_hash);
    WriteText(writer, reserved.study);
    writer.U32(CountOf(reserved.charges.size()));
    for (const Charge& charge : reserved.charges) WriteCharge(writer, charge);
    writer.U32(CountOf(reserved.exact.size()));
    for (const ExactRelease& exact : reserved.exact) WriteExact(writer, exact);
    WriteCost(writer, reserved.outside);
    WriteCost(writer, reserved.insider);
  }
  void operator()(const Spent& spent) const {
    Kind(kSpent);
    writer.U64(spent.reservation);
  }
  void operator()(const Refunded& refunded) const {
    Kind(kRefunded);
    writer.U64(refunded.reservation);
    WriteText(writer, refunded.why);
  }
  void operator()(const Countersigned& signed_by) const {
    Kind(kCountersigned);
    writer.U64(signed_by.reservation);
    WriteText(writer, signed_by.peer);
    writer.U64(signed_by.head);
    for (const Bytes* blob : {&signed_by.certificate, &signed_by.signature}) {
      if (blob->size() > kMaxBlob)
        throw Error(ErrorCode::kUsage, "a certificate or signature is too long for the ledger");
      writer.Blob(*blob);
    }
  }
  void operator()(const PolicyChanged& changed) const {
    Kind(kPolicyChanged);
    WritePolicy(writer, changed.policy);
    WriteFilter(writer, changed.outside_filter);
    WriteFilter(writer, changed.insider_filter);
    WriteCost(writer, changed.outside);
    WriteCost(writer, changed.insider);
    WriteText(writer, changed.why);
  }

  void Kind(uint8_t kind) const { writer.U8(static_cast<uint8_t>(kind | marked)); }
};

// --- reading: exactly what is written above, so that an entry has one encoding
// --------------------

std::string ReadText(ByteReader& reader) { return reader.String(kMaxText); }

uint8_t ReadChoice(ByteReader& reader, uint8_t last) {
  const uint8_t value = reader.U8();
  if (value > last) ThrowDamagedEntry();
  return value;
}

bool ReadBool(ByteReader& reader) { return ReadChoice(reader, 1) == 1; }

uint32_t ReadCount(ByteReader& reader) {
  const uint32_t count = reader.U32();
  if (count > kMaxItems) ThrowDamagedEntry();
  return count;
}

Digest ReadDigest(ByteReader& reader) {
  Digest digest{};
  const ByteView bytes = reader.Raw(digest.size());
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

Cost ReadCost(ByteReader& reader) {
  Cost cost;
  cost.rdp = reader.U64();
  cost.delta = reader.U64();
  if (cost.rdp > kMaxUnits || cost.delta > kMaxUnits) ThrowDamagedEntry();
  return cost;
}

Filter ReadFilter(ByteReader& reader) {
  Filter filter;
  filter.order = reader.U64();
  filter.budget = ReadCost(reader);
  return filter;
}

std::optional<Filter> ReadOptionalFilter(ByteReader& reader) {
  if (!ReadBool(reader)) return std::nullopt;
  return ReadFilter(reader);
}

Adjacency ReadAdjacency(ByteReader& reader) {
  return static_cast<Adjacency>(ReadChoice(reader, static_cast<uint8_t>(Adjacency::kReplace)));
}

Budget ReadBudget(ByteReader& reader) {
  Budget budget;
  budget.adjacency = ReadAdjacency(reader);
  budget.epsilon = ReadText(reader);
  budget.delta = ReadText(reader);
  budget.approximate_delta = ReadText(reader);
  return budget;
}

Policy ReadPolicy(ByteReader& reader) {
  Policy policy;
  policy.table = ReadText(reader);
  policy.outside = ReadBudget(reader);
  if (ReadBool(reader)) policy.insider = ReadBudget(reader);
  policy.coalition = reader.U32();
  policy.exact =
      static_cast<ExactRule>(ReadChoice(reader, static_cast<uint8_t>(ExactRule::kCounted)));
  policy.max_exact = reader.U64();
  return policy;
}

UInt128 ReadInt128(ByteReader& reader) {
  const UInt128 low = reader.U64();
  return low | UInt128{reader.U64()} << 64;
}

ChargedMechanism ReadMechanism(ByteReader& reader) {
  switch (ReadChoice(reader, 3)) {
    case 0: {
      GridGaussian gaussian;
      DiscreteGaussianNoise& noise = gaussian.remaining;
      noise.share_variance.numerator = ReadInt128(reader);
      noise.share_variance.denominator = ReadInt128(reader);
      noise.share_variance.exponent = static_cast<int>(reader.U32());
      noise.shares = reader.U32();
      noise.dimension = reader.U64();
      gaussian.sensitivity = reader.F64();
      return gaussian;
    }
    case 1:
      return ZeroConcentrated{reader.F64()};
    case 2:
      return PureDp{reader.F64()};
    default: {
      const double epsilon = reader.F64();
      return ApproximateDp{epsilon, reader.F64()};
    }
  }
}

Charge ReadCharge(ByteReader& reader) {
  Charge charge;
  charge.release = ReadText(reader);
  charge.adversary.kind =
      static_cast<AdversaryKind>(ReadChoice(reader, static_cast<uint8_t>(AdversaryKind::kDealer)));
  charge.adversary.party = ReadText(reader);
  charge.adversary.size = reader.U32();
  charge.adversary.with_dealer = ReadBool(reader);
  charge.adjacency = ReadAdjacency(reader);
  charge.mechanism = ReadMechanism(reader);
  charge.count = reader.U64();
  return charge;
}

ExactRelease ReadExact(ByteReader& reader) {
  ExactRelease exact;
  exact.release = ReadText(reader);
  exact.what = ReadText(reader);
  exact.to = ReadText(reader);
  exact.values = reader.U64();
  exact.sufficient_statistics = reader.U64();
  const uint32_t count = ReadCount(reader);
  for (uint32_t i = 0; i < count; ++i) exact.variables.push_back(ReadText(reader));
  return exact;
}

Reserved ReadReserved(ByteReader& reader) {
  Reserved reserved;
  reserved.run_id = ReadDigest(reader);
  reserved.agreement_hash = ReadDigest(reader);
  reserved.study = ReadText(reader);
  const uint32_t charges = ReadCount(reader);
  for (uint32_t i = 0; i < charges; ++i) reserved.charges.push_back(ReadCharge(reader));
  const uint32_t exact = ReadCount(reader);
  for (uint32_t i = 0; i < exact; ++i) reserved.exact.push_back(ReadExact(reader));
  reserved.outside = ReadCost(reader);
  reserved.insider = ReadCost(reader);
  return reserved;
}

PolicyChanged ReadPolicyChanged(ByteReader& reader) {
  PolicyChanged changed;
  changed.policy = ReadPolicy(reader);
  changed.outside_filter = ReadFilter(reader);
  changed.insider_filter = ReadOptionalFilter(reader);
  changed.outside = ReadCost(reader);
  changed.insider = ReadCost(reader);
  changed.why = ReadText(reader);
  return changed;
}

EntryBody ReadBody(uint8_t kind, ByteReader& reader) {
  switch (kind) {
    case kOpened: {
      Opened opened;
      opened.policy = ReadPolicy(reader);
      opened.outside = ReadFilter(reader);
      opened.insider = ReadOptionalFilter(reader);
      return opened;
    }
    case kReserved:
      return ReadReserved(reader);
    case kSpent:
      return Spent{reader.U64()};
    case kRefunded: {
      const uint64_t reservation = reader.U64();
      return Refunded{reservation, ReadText(reader)};
    }
    case kCountersigned: {
      Countersigned signed_by;
      signed_by.reservation = reader.U64();
      signed_by.peer = ReadText(reader);
      signed_by.head = reader.U64();
      signed_by.certificate = reader.Blob(kMaxBlob);
      signed_by.signature = reader.Blob(kMaxBlob);
      return signed_by;
    }
    case kPolicyChanged:
      return ReadPolicyChanged(reader);
    default:
      ThrowDamagedEntry();
  }
}

JournalMark ReadMark(ByteReader& reader) {
  const uint64_t number = reader.U64();
  if (number < 1) ThrowDamagedEntry();
  return {number, ReadDigest(reader)};
}

}  // namespace

AdversaryClass ClassOf(const Adversary& adversary) {
  const bool outside =
      adversary.kind == AdversaryKind::kOutsideAnalyst || adversary.kind == AdversaryKind::kDealer;
  return outside ? AdversaryClass::kOutside : AdversaryClass::kInsider;
}

bool IsPrivateSum(const Reserved& reserved) {
  return std::any_of(reserved.charges.begin(), reserved.charges.end(), [](const Charge& charge) {
    return charge.release.starts_with(kPrivateSumRelease);
  });
}

Cost CostAgainst(const std::vector<Charge>& charges, AdversaryClass adversary_class,
                 uint64_t order) {
  using Key = std::tuple<AdversaryKind, std::string, uint32_t>;
  std::map<Key, Cost> by_adversary;
  for (const Charge& charge : charges) {
    const Adversary& adversary = charge.adversary;
    if (ClassOf(adversary) != adversary_class) continue;
    Cost& sum = by_adversary[{adversary.kind, adversary.party, adversary.size}];
    sum = sum + CostOf(charge.mechanism, charge.count, order);
  }
  Cost largest;
  for (const auto& [adversary, cost] : by_adversary) largest = Larger(largest, cost);
  return largest;
}

void WriteText(ByteWriter& writer, const std::string& text) {
  const bool printable = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (text.size() > kMaxText || !printable) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a text of {} bytes cannot be kept in the ledger", text.size()),
                fmt::format("use one line of at most {} bytes", kMaxText));
  }
  writer.String(text);
}

Bytes EncodeEntry(const Entry& entry) {
  ByteWriter writer;
  writer.U64(entry.sequence);
  WriteText(writer, entry.stamp.by);
  writer.U64(static_cast<uint64_t>(entry.stamp.at));
  std::visit(BodyWriter{writer, entry.mark ? kMarked : uint8_t{0}}, entry.body);
  if (entry.mark) {
    writer.U64(entry.mark->number);
    writer.Raw(entry.mark->hash);
  }
  if (writer.bytes().size() > kMaxEntryBytes) {
    throw Error(ErrorCode::kUsage, fmt::format("a ledger entry of {} bytes", writer.bytes().size()),
                fmt::format("an entry has at most {} bytes: charge several releases as one",
                            kMaxEntryBytes));
  }
  return writer.Take();
}

Entry DecodeEntry(ByteView bytes) {
  try {
    ByteReader reader(bytes);
    Entry entry;
    entry.sequence = reader.U64();
    entry.stamp.by = ReadText(reader);
    entry.stamp.at = static_cast<int64_t>(reader.U64());
    const uint8_t kind = reader.U8();
    entry.body = ReadBody(static_cast<uint8_t>(kind & ~kMarked), reader);
    if ((kind & kMarked) != 0) entry.mark = ReadMark(reader);
    reader.ExpectEnd();
    return entry;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kPeerFault) ThrowDamagedEntry();
    throw;
  }
}

Digest ChainStart(const Pseudonym& pseudonym) {
  return crypto::Sha256().Field("partita ledger account").Field(pseudonym).Finish();
}

Digest ChainNext(const Digest& previous, ByteView entry_bytes) {
  return crypto::Sha256().Field("partita ledger entry").Field(previous).Field(entry_bytes).Finish();
}

std::string_view EntryKind(const EntryBody& body) {
  constexpr std::string_view kNames[] = {"opened",   "reserved",      "spent",
                                         "refunded", "countersigned", "policy-changed"};
  return kNames[body.index()];
}

}  // namespace partita::privacy::ledger
