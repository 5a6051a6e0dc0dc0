#include "node/parties/pairing.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "crypto/signature.h"

namespace partita::node {
namespace {

constexpr char kPairingLabel[] = "partita invitation 1";
constexpr uint8_t kPairingVersion = 1;
constexpr char kInviteAgain[] =
    "This invitation is used up. Invite again, and compare over a number that you knew before.";

template <size_t kSize>
std::array<uint8_t, kSize> ExactArray(ByteView bytes) {
  if (bytes.size() != kSize) {
    throw Error(ErrorCode::kPeerFault, "a message of an invitation has another size", kInviteAgain);
  }
  std::array<uint8_t, kSize> array{};
  std::copy(bytes.begin(), bytes.end(), array.begin());
  return array;
}

void AddEnds(crypto::Sha256& hash, const InviteNumber& number, const PairingEnds& ends) {
  hash.Field(number).Field(ends.inviter_certificate).Field(ends.joiner_certificate);
}

uint64_t LittleEndian(ByteView bytes) {
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

std::shared_ptr<x509_st> NodeCertificate(const Bytes& der) {
  std::shared_ptr<x509_st> certificate = crypto::DecodeCertificate(der);
  if (certificate != nullptr && crypto::IsPartyName(crypto::Describe(*certificate).name)) {
    return certificate;
  }
  throw Error(ErrorCode::kPeerFault, "what was shown is not the certificate of a party",
              "Check that the address of the invitation is that of a Partita node.");
}

[[noreturn]] void OutOfTurn() {
  throw Error(ErrorCode::kPeerFault, "a message of an invitation came out of turn", kInviteAgain);
}

}  // namespace

Digest PairingCommitment(const InviteNumber& number, const PairingEnds& ends,
                         const PairingNonce& joiner_nonce) {
  crypto::Sha256 hash;
  hash.Field(kPairingLabel).Field("joiner");
  AddEnds(hash, number, ends);
  return hash.Field(ends.exporter).Field(joiner_nonce).Finish();
}

Digest PairingHash(const InviteNumber& number, const PairingEnds& ends,
                   const PairingNonce& joiner_nonce, const PairingNonce& inviter_nonce) {
  crypto::Sha256 hash;
  hash.Field(kPairingLabel).Field("both");
  AddEnds(hash, number, ends);
  return hash.Field(joiner_nonce).Field(inviter_nonce).Field(ends.exporter).Finish();
}

SpokenNumbers NumbersOf(const Digest& hash, uint64_t values) {
  const ByteView bytes(hash);
  return {LittleEndian(bytes.first(8)) % values, LittleEndian(bytes.subspan(8, 8)) % values};
}

std::string SpokenText(uint64_t number) { return fmt::format("{:06}", number); }

void CheckPairingEnds(const PairingEnds& ends) {
  const auto inviter = NodeCertificate(ends.inviter_certificate);
  const auto joiner = NodeCertificate(ends.joiner_certificate);
  const bool same_key =
      EVP_PKEY_eq(X509_get0_pubkey(inviter.get()), X509_get0_pubkey(joiner.get())) == 1;
  if (same_key || ends.inviter_certificate == ends.joiner_certificate) {
    throw Error(ErrorCode::kUntrusted, "the other end shows our own certificate",
                "An invitation is for another site: paste it there.");
  }
  const std::string name = crypto::Describe(*inviter).name;
  if (name == crypto::Describe(*joiner).name) {
    throw Error(ErrorCode::kUntrusted, fmt::format("the other end calls itself {}, as we do", name),
                "One of the two sites has to choose another name.");
  }
}

std::string Comparison::Shown() const {
  const SpokenNumbers numbers = NumbersOf(hash_);
  return SpokenText(role_ == PairingRole::kInviter ? numbers.first : numbers.second);
}

bool Comparison::IsOver(int64_t now) const {
  return now < began_ || now > began_ + (agreed() ? kPairedSeconds : kComparisonSeconds);
}

void Comparison::Enter(std::string_view digits, int64_t now) {
  if (state_ != State::kWaiting) {
    throw Error(ErrorCode::kRefused, "the digits were compared already", kInviteAgain);
  }
  if (now < began_ || now > began_ + kComparisonSeconds) {
    state_ = State::kFailed;
    throw Error(ErrorCode::kTimeout, "the digits were not compared within ten minutes",
                kInviteAgain);
  }
  std::string heard;
  for (const char c : digits) {
    if (c != ' ' && c != '-') heard.push_back(c);
  }
  const bool are_digits =
      std::all_of(heard.begin(), heard.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (heard.size() != kSpokenDigits || !are_digits) {
    throw Error(ErrorCode::kUsage, "six digits are needed",
                "Type the six digits that the other site reads out.");
  }
  const SpokenNumbers numbers = NumbersOf(hash_);
  const uint64_t wanted = role_ == PairingRole::kInviter ? numbers.second : numbers.first;
  state_ = heard == SpokenText(wanted) ? State::kAgreed : State::kFailed;
  if (state_ == State::kAgreed) return;
  throw Error(ErrorCode::kUntrusted,
              "the digits are not those of the other site: a slip, or somebody in between",
              kInviteAgain);
}

Inviter::Inviter(PairingEnds ends, InvitationStore& store, crypto::RandomSource& random)
    : ends_(std::move(ends)), store_(store), random_(random) {
  CheckPairingEnds(ends_);
}

Bytes Inviter::TakeHello(ByteView hello, int64_t now) {
  if (state_ != State::kHello) OutOfTurn();
  state_ = State::kDone;
  if (hello.size() != kPairingHelloBytes || hello[0] != kPairingVersion) {
    throw Error(ErrorCode::kPeerFault, "the answer to an invitation is of another version",
                "Bring both sites to the same version of Partita.");
  }
  number_ = ExactArray<sizeof(InviteNumber)>(hello.subspan(1, sizeof(InviteNumber)));
  commitment_ = ExactArray<sizeof(Digest)>(hello.subspan(1 + sizeof(InviteNumber)));
  UseUp(store_, number_, now);  // durable before the nonce leaves
  random_.Fill(own_nonce_);
  began_ = now;
  state_ = State::kNonce;
  return {own_nonce_.begin(), own_nonce_.end()};
}

bool Inviter::IsOver(int64_t now) const {
  return now < began_ || now > began_ + kComparisonSeconds;
}

Comparison Inviter::TakeNonce(ByteView opening, int64_t now) {
  if (state_ != State::kNonce) OutOfTurn();
  state_ = State::kDone;
  const auto nonce = ExactArray<kPairingNonceBytes>(opening);
  if (PairingCommitment(number_, ends_, nonce) != commitment_) {
    throw Error(ErrorCode::kUntrusted, "the joining site opened another number than it had fixed",
                kInviteAgain);
  }
  // The ten minutes run from the nonce, not from when it suits the other end.
  Comparison comparison(PairingRole::kInviter, number_, ends_,
                        PairingHash(number_, ends_, nonce, own_nonce_), began_);
  if (now < began_ || now > began_ + kComparisonSeconds) {
    throw Error(ErrorCode::kTimeout, "the joining site did not answer within ten minutes",
                kInviteAgain);
  }
  return comparison;
}

Joiner::Joiner(const Invitation& invitation, PairingEnds ends, InvitationStore& store,
               crypto::RandomSource& random)
    : invitation_(invitation), ends_(std::move(ends)), store_(store) {
  CheckPairingEnds(ends_);
  if (crypto::Sha256Of(ends_.inviter_certificate) != invitation_.fingerprint) {
    throw Error(
        ErrorCode::kUntrusted,
        fmt::format("at {} somebody else answers than the invitation names", invitation_.address),
        "Ask the inviting site for a new invitation, over another way than the last.");
  }
  random.Fill(own_nonce_);
}

Bytes Joiner::Hello(int64_t now) {
  if (state_ != State::kStart) OutOfTurn();
  state_ = State::kDone;
  RequireOpen(store_, invitation_.number, now);
  ByteWriter writer;
  writer.U8(kPairingVersion);
  writer.Raw(invitation_.number);
  writer.Raw(PairingCommitment(invitation_.number, ends_, own_nonce_));
  state_ = State::kNonce;
  return writer.Take();
}

Bytes Joiner::TakeNonce(ByteView nonce, int64_t now) {
  if (state_ != State::kNonce) OutOfTurn();
  state_ = State::kDone;
  inviter_nonce_ = ExactArray<kPairingNonceBytes>(nonce);
  UseUp(store_, invitation_.number, now);  // durable before the own nonce leaves
  began_ = now;
  state_ = State::kOpened;
  return {own_nonce_.begin(), own_nonce_.end()};
}

Comparison Joiner::Compare() {
  if (state_ != State::kOpened) OutOfTurn();
  state_ = State::kDone;  // there is one comparison
  return Comparison(PairingRole::kJoiner, invitation_.number, ends_,
                    PairingHash(invitation_.number, ends_, own_nonce_, inviter_nonce_), began_);
}

}  // namespace partita::node
