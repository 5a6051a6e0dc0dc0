// One compute node of a private sum, from its start to the publication of its sum.
//
//   open       takes uploads over HTTPS until the deadline, or until it is told to freeze
//   frozen     shows its set to the other nodes, asks for theirs: the intersection is agreed
//   closed     adds up, shows its signed closing, asks for the others'
//   published  charged to the ledger, then shows its signed sum, until it is stopped
// The last two: finish_round.h.
// Everything a node has told others is in its store before: killed at any point and started again
// it goes on, to the same bytes. Peers are asked again and again, over TLS pinned both ways.
// Revealed: sums/protocol/README.md, "Who learns what".
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "net/socket.h"
#include "run/ledger/open_ledger.h"
#include "sums/service/compute_service.h"
#include "sums/service/round_client.h"

namespace partita::sums {

struct ComputeFiles {
  std::filesystem::path key, certificate, box_key;
};
// key.pem, cert.pem and box.key.
ComputeFiles FilesIn(const std::filesystem::path& folder);

struct ComputeOptions {
  std::string node;
  ComputeFiles files;
  std::filesystem::path clients;  // admission_list.h
  std::string spool;              // open_spool.h
  // Where to listen, "host:port"; empty: its address in the collection.
  std::string listen;
  // Uploads collected elsewhere, taken in before any other: a file or a pipe of envelopes, each
  // after its length (u32, little-endian). Empty: none.
  std::filesystem::path import;
  std::optional<run::LedgerOptions> ledger;
  // How long to go on serving after the publication; nothing: until stopped.
  std::optional<std::chrono::milliseconds> linger;
  std::chrono::milliseconds log_every{30'000};
  unsigned threads = 2;
  size_t connections = 1000;
  QueueLimits queue;
};

struct ComputeOutcome {
  std::string node;
  RoundState state = RoundState::kOpen;
  uint32_t agreed = 0;  // clients in the sum
  std::string status;   // JSON, as the service shows it
};

// Throws kCancelled if it was stopped before it published (nothing is lost), kRefused if fewer than
// N - T_drop uploads were agreed, or the ledger's errors; kBadInput if its files are not those of
// the collection. Stopped after its publication: returns.
ComputeOutcome RunComputeNode(const CollectionFile& collection, const ComputeOptions& options,
                              const RoundLog& log, Progress& progress);

// Helps the processes of a compute node, which share a database, to add up: waits until the round
// is closed, takes chunks of the agreed set under leases until every one is summed, and returns how
// many were summed here (sums/protocol/sum_worker.h). Any number at once, also after one died. name:
// of this process, in the database. Throws kUsage for a store that one process has alone,
// kCancelled if stopped, kBadInput as RunComputeNode.
struct ComputeWorkerOptions {
  std::string node;
  ComputeFiles files;
  std::string spool;
  std::string name;
  unsigned threads = 2;
};
uint32_t RunComputeWorker(const CollectionFile& collection, const ComputeWorkerOptions& options,
                          const RoundLog& log, Progress& progress);

// Talks to a running node of one's own. Throw as RoundClient.
std::string AskStatus(const CollectionFile& collection, uint16_t node,
                      const crypto::Identity& identity, Progress& progress);  // JSON
void AskToFreeze(const CollectionFile& collection, uint16_t node, const crypto::Identity& identity,
                 Progress& progress);

}  // namespace partita::sums
