// [[node]] and [[reader]].
#include <algorithm>

#include "base/hex.h"
#include "crypto/certificate.h"
#include "crypto/signature.h"
#include "study/file/sections.h"
#include "study/file/text.h"
#include "sums/file/collection_sections.h"

namespace partita::sums {
namespace {

using study::LocatedText;
using study::Quote;
using study::TableReader;

constexpr size_t kMaxAddress = 300;

std::shared_ptr<x509_st> ReadCertificate(const TableReader& reader, const std::string& name) {
  const LocatedText text =
      reader.Text("certificate", "certificate = \"\"\"-----BEGIN CERTIFICATE----- ...\"\"\"");
  std::shared_ptr<x509_st> certificate = crypto::ParseCertificate(text.value);
  if (certificate == nullptr) {
    reader.Fail(text.position, "'certificate' in " + reader.where() + " is no certificate",
                "paste the whole text of its cert.pem between \"\"\" and \"\"\"");
  }
  const crypto::CertificateInfo info = crypto::Describe(*certificate);
  if (info.name != name) {
    reader.Fail(text.position,
                "the certificate of " + Quote(name) + " was made for " + Quote(info.name),
                "make one with partita collection node " + name + ", or change the name");
  }
  try {
    crypto::EncodeCertificate(*certificate);
  } catch (const Error& error) {
    study::FailWith(reader, text.position, error);
  }
  return certificate;
}

crypto::BoxPublicKey ReadBoxKey(const TableReader& reader) {
  const LocatedText text = reader.Text("box_key", "box_key = \"64 hexadecimal digits\"");
  const std::string hint = "copy the key that partita collection node printed";
  crypto::BoxPublicKey key{};
  if (!FromHex(text.value, key)) {
    reader.Fail(text.position, "'box_key' must have 64 small hexadecimal digits", hint);
  }
  try {
    crypto::Seal({}, key);  // refuses keys that hide nothing
  } catch (const Error&) {
    reader.Fail(text.position, "'box_key' is no valid key", hint);
  }
  return key;
}

// host:port; the host is resolved when it is used.
std::string ReadAddress(const TableReader& reader) {
  const LocatedText text = reader.Text("address", "address = \"north.example.org:7500\"");
  const size_t colon = text.value.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.value.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos;
  if (colon == 0 || !digits || std::stoul(port) == 0 || std::stoul(port) > 65535 ||
      text.value.size() > kMaxAddress ||
      std::any_of(text.value.begin(), text.value.end(),
                  [](char c) { return c <= ' ' || c > '~'; })) {
    reader.Fail(text.position, Quote(text.value) + " is no address",
                "write HOST:PORT, for example north.example.org:7500");
  }
  return text.value;
}

std::string ReadNodeName(const TableReader& reader, const char* example) {
  const LocatedText name = reader.Text("name", example);
  study::CheckName(reader, name, study::kPartyName);
  return name.value;
}

}  // namespace

void ReadNodes(const TableReader& root, CollectionFile& collection) {
  for (const TableReader& reader :
       root.Tables("node", {"name", "address", "certificate", "box_key"})) {
    CollectionNode node;
    node.position = reader.position();
    node.name = ReadNodeName(reader, "name = \"north\"");
    node.address = ReadAddress(reader);
    node.certificate = ReadCertificate(reader, node.name);
    node.fingerprint = crypto::Fingerprint(*node.certificate);
    node.box_key = ReadBoxKey(reader);
    for (const CollectionNode& other : collection.nodes) {
      const char* same = other.name == node.name                 ? "name"
                         : other.address == node.address         ? "address"
                         : other.fingerprint == node.fingerprint ? "certificate"
                         : other.box_key == node.box_key         ? "box_key"
                                                                 : nullptr;
      if (same == nullptr) continue;
      reader.Fail(reader.PositionOf(same),
                  "compute nodes " + Quote(other.name) + " and " + Quote(node.name) +
                      " have the same " + same,
                  "each compute node is another institution's, with keys of its own");
    }
    collection.nodes.push_back(std::move(node));
  }
  const size_t count = collection.nodes.size();
  if (count < 2 || count > kMaxNodes) {
    root.Fail(count < 2 ? root.position() : collection.nodes.back().position,
              "a private sum with " + std::to_string(count) + " compute nodes",
              "give 2 to 64 [[node]] tables, of institutions that do not pool what they see");
  }
  collection.contract.nodes = static_cast<uint16_t>(count);
}

void ReadReaders(const TableReader& root, CollectionFile& collection) {
  for (const TableReader& table : root.Tables("reader", {"name", "fingerprint"})) {
    CollectionReader reader;
    reader.position = table.position();
    reader.name = ReadNodeName(table, "name = \"analyst\"");
    const LocatedText text = table.Text("fingerprint", "fingerprint = \"64 hexadecimal digits\"");
    const auto fingerprint = crypto::NormalFingerprint(text.value);
    if (!fingerprint) {
      table.Fail(text.position, Quote(text.value) + " is no fingerprint",
                 "copy what partita cert show prints: 64 hexadecimal digits");
    }
    reader.fingerprint = *fingerprint;
    for (const CollectionReader& other : collection.readers) {
      if (other.name != reader.name && other.fingerprint != reader.fingerprint) continue;
      table.Fail(reader.position, "the reader " + Quote(reader.name) + " is there twice",
                 "remove one of the two [[reader]] tables");
    }
    for (const CollectionNode& node : collection.nodes) {
      if (node.name != reader.name && node.fingerprint != reader.fingerprint) continue;
      table.Fail(reader.position, "the reader " + Quote(reader.name) + " is a compute node",
                 "compute nodes may read without being named again");
    }
    collection.readers.push_back(std::move(reader));
  }
  if (collection.readers.size() > kMaxReaders) {
    root.Fail(collection.readers.back().position, "there are too many readers",
              "name at most 16; they can pass the sum on");
  }
}

}  // namespace partita::sums
