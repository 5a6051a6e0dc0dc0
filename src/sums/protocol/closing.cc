#include "sums/protocol/closing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/signature.h"

namespace partita::sums {
namespace {

constexpr char kClosingDomain[] = "partita dca closing 2";
constexpr char kPublicationDomain[] = "partita dca publication 2";

void Write(ByteWriter& writer, const Closing& closing) {
  writer.Raw(closing.study);
  writer.U64(closing.epoch);
  writer.U16(closing.node);
  writer.U32(closing.count);
  writer.Raw(closing.set_hash);
  writer.Raw(closing.commitment);
}

crypto::Digest ReadDigest(ByteReader& reader) {
  crypto::Digest digest{};
  std::ranges::copy(reader.Raw(digest.size()), digest.begin());
  return digest;
}

Closing Read(ByteReader& reader) {
  Closing closing;
  closing.study = ReadDigest(reader);
  closing.epoch = reader.U64();
  closing.node = reader.U16();
  closing.count = reader.U32();
  closing.set_hash = ReadDigest(reader);
  closing.commitment = ReadDigest(reader);
  return closing;
}

Bytes Signed(ByteWriter message, const crypto::Identity& identity, const char* domain) {
  const Bytes signature = crypto::Sign(identity, domain, message.bytes());
  message.Blob(signature);
  return message.Take();
}

// The signature at the end of `bytes` is that of `closing.node` over all before it.
void RequireSignature(ByteView bytes, ByteReader& reader, const Closing& closing,
                      const NodeCertificates& nodes, const char* domain) {
  const ByteView message = bytes.first(bytes.size() - reader.remaining());
  const Bytes signature = reader.Blob(crypto::kMaxSignatureBytes);
  reader.ExpectEnd();
  if (closing.node >= nodes.size() ||
      !crypto::VerifySignature(*nodes[closing.node], domain, message, signature)) {
    throw Error(ErrorCode::kUntrusted,
                fmt::format("a message of compute node {} is not signed by it", closing.node),
                "Compare the certificates of the compute nodes.");
  }
}

}  // namespace

Bytes SignClosing(const Closing& closing, const crypto::Identity& identity) {
  ByteWriter message;
  Write(message, closing);
  return Signed(std::move(message), identity, kClosingDomain);
}

Bytes SignPublication(const Publication& publication, const crypto::Identity& identity) {
  ByteWriter message;
  Write(message, publication.closing);
  message.Raw(publication.agreement);
  message.Raw(publication.words);
  return Signed(std::move(message), identity, kPublicationDomain);
}

Closing OpenClosing(ByteView bytes, const NodeCertificates& nodes) {
  ByteReader reader(bytes);
  const Closing closing = Read(reader);
  RequireSignature(bytes, reader, closing, nodes, kClosingDomain);
  return closing;
}

Publication OpenPublication(ByteView bytes, const Contract& contract,
                            const NodeCertificates& nodes) {
  ByteReader reader(bytes);
  Publication publication;
  publication.closing = Read(reader);
  publication.agreement = ReadDigest(reader);
  const ByteView words = reader.Raw(contract.dimension * WordBytes(contract));
  publication.words.assign(words.begin(), words.end());
  RequireSignature(bytes, reader, publication.closing, nodes, kPublicationDomain);
  return publication;
}

Agreement RequireAgreement(std::span<const Closing> closings, size_t nodes) {
  std::vector<const Closing*> of_node(nodes);
  for (const Closing& closing : closings) {
    Closing expected = closings.front();
    expected.node = closing.node;
    expected.commitment = closing.commitment;
    if (closing != expected) {
      throw Error(ErrorCode::kRefused,
                  fmt::format("compute nodes {} and {} closed the round with different sets",
                              closings.front().node, closing.node),
                  "Nothing is opened. Find out which clients one of them lacks.");
    }
    if (closing.node >= nodes || of_node[closing.node] != nullptr) {
      throw Error(ErrorCode::kRefused,
                  fmt::format("a second closing of compute node {}, or of no node", closing.node));
    }
    of_node[closing.node] = &closing;
  }
  if (closings.size() != nodes) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} of {} compute nodes have closed the round", closings.size(), nodes),
                "Nothing is opened before all have.");
  }
  ByteWriter all;
  for (const Closing* closing : of_node) Write(all, *closing);
  return {closings.front().count,
          crypto::Sha256().Field("partita dca agreement").Field(all.bytes()).Finish()};
}

}  // namespace partita::sums
