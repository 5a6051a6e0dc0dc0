// A client of a private sum: draws its upload once, keeps it, and sends it until every compute node
// has it.
//
// The upload file is written, synced and renamed before the first byte is sent; whatever happens
// then, the same bytes are sent again. Two uploads of one row would carry it under different noise,
// and one that reached only some nodes would count at none.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sums/protocol/client.h"
#include "sums/service/box_key_file.h"
#include "sums/service/round_client.h"

namespace partita::sums {

// What a client was admitted with; exactly one of the three.
struct ClientCredential {
  std::optional<crypto::BoxKeyPair> key;  // registered
  std::optional<ClientToken> token;
  std::optional<crypto::Identity> identity;  // a certificate
};
// Throws kUsage if it does not suit the collection's admission.
ClientId ClientOf(const ClientCredential& credential, const CollectionFile& collection);

// What a client keeps of one epoch.
struct KeptUpload {
  StudyHash study{};
  uint64_t epoch = 0;
  ClientId client{};
  std::vector<Bytes> envelopes;  // one per node
};
Bytes EncodeUpload(const KeptUpload& upload);
// Throws kPeerFault unless `bytes` is exactly one.
KeptUpload ParseUpload(ByteView bytes);

// A row as text: d numbers between blanks, commas, semicolons or line breaks. Throws kBadData,
// naming the file and which number, never a value.
std::vector<double> ReadRowFile(const std::filesystem::path& file, size_t dimension);

// The upload kept in `file`, if it is there (kBadInput if it is of another collection, epoch or
// client); else one of `row`, kept there first.
KeptUpload KeepUpload(const CollectionFile& collection, const ClientCredential& credential,
                      std::span<const double> row, const std::filesystem::path& file,
                      crypto::RandomSource& random);

struct NodeReceipt {
  std::string node;
  bool acknowledged = false;  // accepted, or the same bytes were before
  std::string answer;         // the node's word; empty: it did not answer
  std::string problem;        // why not, for people
  uint32_t attempts = 0;
};

// Sends to every node until it acknowledges, refuses for good, or `patience` is over; attempts
// follow Backoff. One receipt per node, in order. Throws kCancelled only.
std::vector<NodeReceipt> SendUpload(const CollectionFile& collection,
                                    const ClientCredential& credential, const KeptUpload& upload,
                                    std::chrono::milliseconds patience, Progress& progress);

}  // namespace partita::sums
