#include "privacy/ledger/receipts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/signature.h"

namespace partita::privacy::ledger {
namespace {

constexpr std::array<uint8_t, 8> kHeadTag = {'p', 'a', 'r', 't', 'h', 'e', 'd', '1'};
constexpr std::array<uint8_t, 4> kSignatureTag = {'p', 'r', 'c', '1'};
constexpr uint64_t kMaxSequence = uint64_t{1} << 62;

[[noreturn]] void ThrowPeerFault(const std::string& peer, const char* what) {
  throw Error(ErrorCode::kPeerFault, fmt::format("{} sent something that is no {}", peer, what),
              "let all parties use the same version of Partita");
}

void Copy(ByteView from, std::array<uint8_t, 32>& to) {
  std::copy(from.begin(), from.end(), to.begin());
}

Bytes ReceiptMessage(const Receipt& receipt) {
  ByteWriter writer;
  writer.Blob(EncodeHead(receipt.head));
  writer.Blob(receipt.run_id);
  writer.Blob(receipt.agreement_hash);
  return writer.Take();
}

}  // namespace

Bytes EncodeHead(const Head& head) {
  ByteWriter writer;
  writer.Raw(kHeadTag);
  writer.Raw(head.pseudonym);
  writer.U64(head.sequence);
  writer.Raw(head.hash);
  return writer.Take();
}

Head DecodeHead(ByteView bytes, const std::string& peer) {
  if (bytes.size() != kHeadBytes || !std::equal(kHeadTag.begin(), kHeadTag.end(), bytes.begin()))
    ThrowPeerFault(peer, "head of a ledger");
  ByteReader reader(bytes.subspan(kHeadTag.size()));
  Head head;
  Copy(reader.Raw(head.pseudonym.size()), head.pseudonym);
  head.sequence = reader.U64();
  Copy(reader.Raw(head.hash.size()), head.hash);
  if (head.sequence < 1 || head.sequence > kMaxSequence) ThrowPeerFault(peer, "head of a ledger");
  return head;
}

Bytes SignReceipt(const crypto::Identity& identity, const Receipt& receipt) {
  return crypto::Sign(identity, kReceiptDomain, ReceiptMessage(receipt));
}

bool VerifyReceipt(const x509_st& certificate, const Receipt& receipt, ByteView signature) {
  return crypto::VerifySignature(certificate, kReceiptDomain, ReceiptMessage(receipt), signature);
}

Bytes EncodeSignature(ByteView signature) {
  if (signature.empty() || signature.size() > crypto::kMaxSignatureBytes)
    throw Error(ErrorCode::kInternal, "a signature of an impossible length");
  ByteWriter writer;
  writer.Raw(kSignatureTag);
  writer.U32(static_cast<uint32_t>(signature.size()));
  writer.Raw(signature);
  Bytes bytes = writer.Take();
  bytes.resize(kReceiptBytes);
  return bytes;
}

Bytes DecodeSignature(ByteView bytes, const std::string& peer) {
  if (bytes.size() != kReceiptBytes ||
      !std::equal(kSignatureTag.begin(), kSignatureTag.end(), bytes.begin()))
    ThrowPeerFault(peer, "receipt");
  ByteReader reader(bytes.subspan(kSignatureTag.size()));
  const uint32_t size = reader.U32();
  if (size < 1 || size > crypto::kMaxSignatureBytes) ThrowPeerFault(peer, "receipt");
  const ByteView signature = reader.Raw(size);
  for (const uint8_t padding : reader.Raw(reader.remaining()))
    if (padding != 0) ThrowPeerFault(peer, "receipt");
  return Bytes(signature.begin(), signature.end());
}

void CheckShownHead(const std::optional<Receipt>& last, const Receipt& shown,
                    const std::string& owner) {
  if (!last.has_value()) return;
  const uint64_t known = last->head.sequence, now = shown.head.sequence;
  if (now > known || shown.head == last->head) return;
  const std::string what =
      now < known ? fmt::format(
                        "shows a privacy ledger that ends at entry {}, after it had shown "
                        "one that ends at entry {}",
                        now, known)
                  : fmt::format(
                        "shows a privacy ledger whose entry {} is not the one that it had "
                        "shown before",
                        now);
  throw Error(ErrorCode::kRefused, owner + " " + what,
              "its ledger was restored from an old copy: charges are missing from it. Find the "
              "newest copy; if it is lost, start a new account and count what was spent");
}

}  // namespace partita::privacy::ledger
