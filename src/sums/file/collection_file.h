// The collection file: one TOML text that compute nodes, clients and readers of a private sum
// (sums/protocol) agree on. docs/private-sums.md describes every key.
//
// Reading is strict, as of study files: whatever is wrong is a kBadInput error
// "FILE:LINE:COLUMN: what is wrong" whose hint says what to write instead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crypto/box.h"
#include "privacy/sampling/sensitivity.h"
#include "privacy/statement.h"
#include "study/file/study_file.h"
#include "sums/protocol/closing.h"
#include "sums/protocol/contract.h"
#include "sums/regression/spec.h"

namespace partita::sums {

inline constexpr size_t kMaxReaders = 16;

// One [[node]]: a compute node.
struct CollectionNode {
  std::string name;     // also in its certificate
  std::string address;  // "host:port"
  std::shared_ptr<x509_st> certificate;
  std::string fingerprint;         // of the certificate
  crypto::BoxPublicKey box_key{};  // what clients encrypt to
  study::Position position;
};

// One [[reader]]: who may collect the publications, beside the compute nodes.
struct CollectionReader {
  std::string name;
  std::string fingerprint;  // of its certificate
  study::Position position;
};

// How clients are known. Registered: an X25519 key each, uploads authenticate themselves. The
// others send sealed uploads over connections that authenticate them.
enum class Admission : uint8_t { kRegistered, kTokens, kCertificates };

struct CollectionFile {
  std::string file_name;  // as given, for messages
  std::string text;
  std::string name;  // [a-z0-9-], at most 64 characters
  std::string title;
  uint64_t epoch = 1;
  int64_t deadline = 0;  // UTC, seconds since 1970
  Admission admission = Admission::kRegistered;
  // With its study hash: CollectionHash.
  Contract contract;
  // What the sum is for; without it, vectors are what clients give.
  std::optional<sums::regression::Spec> regression;
  std::optional<double> epsilon;        // if the noise is calibrated to it
  std::optional<privacy::Delta> delta;  // Laplace noise: none, its epsilon is pure
  std::vector<CollectionNode> nodes;    // their order is their numbering
  std::vector<CollectionReader> readers;
};

// Throws kBadInput as described above. With a contract that CheckContract accepts.
CollectionFile ParseCollectionFile(std::string text, std::string file_name);
// Throws kBadInput also if the file cannot be read or is larger than kMaxStudyFileBytes.
CollectionFile LoadCollectionFile(const std::string& path);

// What clients and nodes compare with every upload: SHA-256 of all that decides what is computed,
// what protects it and who learns it. Epoch, deadline, title and addresses are not in it: rounds of
// one collection are of one study, told apart by their epoch.
StudyHash CollectionHash(const CollectionFile& collection);

// Throws kBadInput with "did you mean" if there is none.
uint16_t NodeIndexByName(const CollectionFile& collection, std::string_view name);
NodeCertificates CertificatesOf(const CollectionFile& collection);

std::string AdmissionName(Admission admission);  // "registered", "tokens", "certificates"

// --- what a collection costs and promises, before anything is done ------------------------------

struct CollectionPlan {
  std::vector<size_t> upload_bytes;  // of one client, to each node
  size_t client_bytes = 0;           // their sum, with HTTP and TLS
  double client_seconds = 0;         // of one client, 20 ms and 10 Mbit/s away
  size_t node_bytes = 0;             // the largest store of a node
  double ingest_seconds = 0;     // of all clients at one node: handshakes and uploads, two cores
  double sum_seconds = 0;        // of one node, after the deadline
  double noise_stddev = 0;       // of each value of the sum, if all arrive
  privacy::Statement statement;  // for N - T_drop uploads: what is promised
};
CollectionPlan PlanCollection(const CollectionFile& collection);
// For people: parameters, promise, costs.
std::string CollectionText(const CollectionFile& collection);
std::string CollectionPlanText(const CollectionFile& collection, const CollectionPlan& plan);

}  // namespace partita::sums
