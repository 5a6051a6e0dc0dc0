#include "sums/service/submit_upload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "crypto/certificate.h"
#include "net/socket.h"
#include "study/file/text.h"
#include "sums/service/admission_list.h"
#include "sums/service/round_api.h"

namespace partita::sums {
namespace {

constexpr std::string_view kKeptUploadMagic = "PDK1";
constexpr size_t kMaxUploadBytes = size_t{1} << 30;
constexpr size_t kMaxRowBytes = size_t{1} << 30;

template <size_t kSize>
std::array<uint8_t, kSize> TakeArray(ByteReader& reader) {
  std::array<uint8_t, kSize> out{};
  const ByteView raw = reader.Raw(kSize);
  std::copy(raw.begin(), raw.end(), out.begin());
  return out;
}

std::vector<Bytes> Draw(const CollectionFile& collection, const ClientCredential& credential,
                        const ClientId& client, std::span<const double> row,
                        crypto::RandomSource& random) {
  const Contract& contract = collection.contract;
  Splitter splitter(contract);
  Shares shares = splitter.MakeShares();
  splitter.Split(row, random, shares);
  if (!credential.key) {
    NodeKeys keys;
    for (const CollectionNode& node : collection.nodes) keys.push_back(node.box_key);
    return SealedUpload(contract, client, collection.epoch, shares, keys, random);
  }
  std::vector<crypto::Key> keys;
  for (uint16_t node = 0; node < contract.nodes; ++node) {
    keys.push_back(RegisteredKey(*credential.key, collection.nodes[node].box_key, contract.study,
                                 client, node));
  }
  return RegisteredUpload(contract, client, collection.epoch, shares, keys, random);
}

// Held while an upload is looked for and drawn: of two programs at once only one may draw.
net::Socket LockFolderOf(const std::filesystem::path& file) {
  const std::filesystem::path parent = file.parent_path();
  net::Socket folder(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int locked = -1;
  do {
    locked = folder.valid() ? ::flock(folder.fd(), LOCK_EX) : -1;
  } while (folder.valid() && locked != 0 && errno == EINTR);
  if (locked == 0) return folder;
  throw Error(ErrorCode::kUsage,
              fmt::format("cannot lock the folder of {}: {}", file.string(), std::strerror(errno)),
              "keep the upload in a folder of this machine that you may read");
}

KeptUpload ReadKept(const CollectionFile& collection, const ClientId& client,
                    const std::filesystem::path& file) {
  KeptUpload kept;
  try {
    kept = ParseUpload(AsBytes(ReadFile(file, kMaxUploadBytes, "the upload")));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerFault) throw;
    throw Error(ErrorCode::kBadInput, fmt::format("{} is no kept upload", file.string()),
                "name the file that an earlier submit wrote, or a new one");
  }
  if (kept.study != collection.contract.study || kept.epoch != collection.epoch ||
      kept.client != client || kept.envelopes.size() != collection.nodes.size()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} was made for another collection, epoch or client", file.string()),
                "name another file with --upload: each round has its own");
  }
  return kept;
}

// What to tell the client about a node's word; nothing: try again.
std::optional<std::string> Final(const net::HttpResponse& response, const std::string& word) {
  if (response.status == 200) return "";
  if (response.status == 503 || response.status == 429 || response.status == 425) {
    return std::nullopt;
  }
  if (word == "late") return "it takes no more uploads; this row is not in the sum";
  if (word == "duplicate") {
    return "it has another upload of this client; send the one that was kept first";
  }
  if (word == "unknown-client") return "this client is not admitted there";
  if (word == kExpiredToken) return "the token is no longer valid; ask for a new one";
  if (word == kClockSkew) {
    return fmt::format(
        "its clock and the clock of this machine differ by more than {} minutes; set the one that "
        "is wrong, and submit again",
        kClockAllowanceSeconds / 60);
  }
  if (word == kOtherRound) return "it serves another collection or epoch; get the current file";
  return fmt::format("it refuses: {} ({})", study::Quote(word), response.status);
}

struct Sender {
  RoundClient client;
  std::string bearer;
  const Bytes& envelope;
  NodeReceipt receipt;
  bool finished = false;

  void Try(Progress& progress) {
    ++receipt.attempts;
    try {
      const net::HttpResponse response = client.Post("uploads", bearer, envelope, progress);
      receipt.answer = study::Quote(net::BodyText(response));
      receipt.answer = receipt.answer.substr(1, receipt.answer.size() - 2);
      const std::optional<std::string> final = Final(response, receipt.answer);
      finished = final.has_value();
      receipt.acknowledged = response.status == 200;
      receipt.problem = final.value_or("it is busy: " + receipt.answer);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      receipt.problem = error.message();
      // Somebody else answers there; to ask again would not change it soon.
      finished = error.code() == ErrorCode::kUntrusted;
    }
  }
};

}  // namespace

ClientId ClientOf(const ClientCredential& credential, const CollectionFile& collection) {
  const Admission admission = collection.admission;
  if (credential.key && admission == Admission::kRegistered) {
    return ClientOfKey(credential.key->public_key);
  }
  if (credential.token && admission == Admission::kTokens) return credential.token->client;
  if (credential.identity && admission == Admission::kCertificates) {
    const Bytes bytes = FromHex(crypto::Fingerprint(*credential.identity->certificate));
    std::array<uint8_t, 32> fingerprint{};
    std::copy_n(bytes.begin(), fingerprint.size(), fingerprint.begin());
    return ClientOfCertificate(fingerprint);
  }
  throw Error(
      ErrorCode::kUsage,
      fmt::format("collection {} admits clients by {}", collection.name,
                  admission == Admission::kRegistered ? "their key" : AdmissionName(admission)),
      "give --key for a registered client, --token for a token, --certificate and --key for "
      "a certificate");
}

Bytes EncodeUpload(const KeptUpload& upload) {
  ByteWriter writer;
  writer.Raw(AsBytes(kKeptUploadMagic));
  writer.Raw(upload.study);
  writer.U64(upload.epoch);
  writer.Raw(upload.client);
  writer.U16(static_cast<uint16_t>(upload.envelopes.size()));
  for (const Bytes& envelope : upload.envelopes) writer.Blob(envelope);
  return writer.Take();
}

KeptUpload ParseUpload(ByteView bytes) {
  ByteReader reader(bytes);
  if (!std::ranges::equal(reader.Raw(kKeptUploadMagic.size()), AsBytes(kKeptUploadMagic))) {
    throw Error(ErrorCode::kPeerFault, "this is no kept upload");
  }
  KeptUpload upload;
  upload.study = TakeArray<32>(reader);
  upload.epoch = reader.U64();
  upload.client = TakeArray<16>(reader);
  const uint16_t count = reader.U16();
  for (uint16_t i = 0; i < count; ++i) upload.envelopes.push_back(reader.Blob(kMaxUploadBytes));
  reader.ExpectEnd();
  return upload;
}

std::vector<double> ReadRowFile(const std::filesystem::path& file, size_t dimension) {
  const std::string text = ReadFile(file, kMaxRowBytes, "the row");
  const auto blank = [](char c) {
    return std::string_view(" \t\r\n,;").find(c) != std::string::npos;
  };
  std::vector<double> row;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    at = std::find_if_not(at, end, blank);
    if (at == end) break;
    double value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || !std::isfinite(value) || (next != end && !blank(*next))) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("value {} in {} is no number", row.size() + 1, file.string()),
                  "write the numbers of the row between blanks or commas, with a decimal point");
    }
    row.push_back(value);
    at = next;
  }
  if (row.size() != dimension) {
    throw Error(ErrorCode::kBadData,
                fmt::format("{} holds {} numbers, the collection sums {}", file.string(),
                            row.size(), dimension),
                "write as many numbers as [sum] dimension says");
  }
  return row;
}

KeptUpload KeepUpload(const CollectionFile& collection, const ClientCredential& credential,
                      std::span<const double> row, const std::filesystem::path& file,
                      crypto::RandomSource& random) {
  const ClientId client = ClientOf(credential, collection);
  const net::Socket lock = LockFolderOf(file);
  if (std::filesystem::exists(file)) return ReadKept(collection, client, file);
  KeptUpload drawn{collection.contract.study, collection.epoch, client,
                   Draw(collection, credential, client, row, random)};
  const Bytes bytes = EncodeUpload(drawn);
  WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return drawn;
}

std::vector<NodeReceipt> SendUpload(const CollectionFile& collection,
                                    const ClientCredential& credential, const KeptUpload& upload,
                                    std::chrono::milliseconds patience, Progress& progress) {
  std::vector<Sender> senders;
  for (uint16_t node = 0; node < collection.contract.nodes; ++node) {
    const std::string& name = collection.nodes[node].name;
    NodeReceipt receipt;
    receipt.node = name;
    senders.push_back(
        {RoundClient(collection, node, credential.identity.value_or(crypto::Identity())),
         credential.token ? BearerOf(*credential.token, name) : std::string(),
         upload.envelopes[node], std::move(receipt), false});
  }
  const Deadline end = Deadline::After(patience);
  for (Backoff backoff;;) {
    bool all = true;
    for (Sender& sender : senders) {
      if (!sender.finished) sender.Try(progress);
      all = all && sender.finished;
    }
    if (all || end.passed()) break;
    PauseFor(std::min(backoff.Next(), end.remaining()), progress);
  }
  std::vector<NodeReceipt> receipts;
  for (Sender& sender : senders) receipts.push_back(std::move(sender.receipt));
  return receipts;
}

}  // namespace partita::sums
