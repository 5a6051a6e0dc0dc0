// What a compute node answers over HTTPS, and to whom (round_api.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "net/https_server.h"
#include "sums/file/collection_file.h"
#include "sums/protocol/compute_node.h"
#include "sums/service/admission_list.h"
#include "sums/service/upload_queue.h"

namespace partita::sums {

enum class RoundState : uint8_t { kOpen, kFrozen, kClosed, kPublished, kRefused };
std::string_view StateName(RoundState state);  // "open", ...

// What the run shows to the service. Thread-safe.
class RoundBoard {
 public:
  void Show(RoundState state);
  void ShowSet(Bytes set);
  void ShowClosing(Bytes closing);
  void ShowPublication(Bytes publication);
  void AskToFreeze();

  RoundState state() const;
  std::optional<Bytes> set() const;
  std::optional<Bytes> closing() const;
  std::optional<Bytes> publication() const;
  // Waits until somebody asked to freeze, at most `time`; whether somebody did.
  bool WaitForFreeze(std::chrono::milliseconds time);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  RoundState state_ = RoundState::kOpen;
  bool freeze_ = false;
  std::optional<Bytes> set_, closing_, publication_;
};

// Refusals that ComputeNode does not count.
struct ServiceCounts {
  std::atomic<uint64_t> full{0}, store{0}, no_credential{0}, wrong_credential{0}, expired{0},
      other_round{0}, forbidden{0}, clock_skew{0};
};

class ComputeService {
 public:
  // All must outlive the service, and the service the server that calls it.
  ComputeService(const CollectionFile& collection, uint16_t node, const AdmissionList& list,
                 ComputeNode& compute, UploadQueue& queue, RoundBoard& board)
      : collection_(collection),
        node_(node),
        list_(list),
        compute_(compute),
        queue_(queue),
        board_(board),
        prefix_(Prefix(collection)) {}

  // The screen of the server: uploads for another round, or without the credential that this
  // round's clients show, are refused before they are read.
  std::optional<net::HttpResponse> Screen(const net::HttpRequest& request);
  // The handler of the server.
  void Handle(net::HttpRequest request, const net::HttpReply& reply);

  // JSON: node, study, epoch, state, utc, every verdict and refusal with its count, queue,
  // connections. own: for those who run this node, with what the store said when it last failed
  // (paths, addresses); readers and other nodes get the number of failures only.
  std::string StatusJson(bool own) const;
  // One line for the log, with the counts that are not 0.
  std::string StatusLine() const;
  // For the counts of connections; null: none.
  void Watch(const net::HttpsServer* server) { server_ = server; }

 private:
  enum class Caller : uint8_t { kNobody, kReader, kNode, kSelf };

  static std::string Prefix(const CollectionFile& collection);
  Caller CallerOf(const net::HttpRequest& request) const;
  net::HttpResponse Answer(const net::HttpRequest& request, std::string_view what);
  net::HttpResponse Show(const std::optional<Bytes>& bytes) const;
  void Upload(net::HttpRequest request, const net::HttpReply& reply);
  // Empty if the upload may be judged.
  std::optional<net::HttpResponse> RefuseClock(const net::HttpRequest& request);
  std::optional<net::HttpResponse> RefuseCredential(const net::HttpRequest& request);

  const CollectionFile& collection_;
  const uint16_t node_;
  const AdmissionList& list_;
  ComputeNode& compute_;
  UploadQueue& queue_;
  RoundBoard& board_;
  const std::string prefix_;
  std::atomic<const net::HttpsServer*> server_{nullptr};
  ServiceCounts counts_;
};

}  // namespace partita::sums
