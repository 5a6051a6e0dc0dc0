// Asking the compute nodes of a round (round_api.h).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/https_client.h"
#include "sums/file/collection_file.h"

namespace partita::sums {

// A line for people: what is waited for, what went wrong.
using RoundLog = std::function<void(const std::string&)>;

// One node, over one kept connection.
class RoundClient {
 public:
  // identity: what to show; may be empty.
  RoundClient(const CollectionFile& collection, uint16_t node, const crypto::Identity& identity);

  const std::string& name() const { return name_; }
  // Nothing: not yet. Throws as HttpsClient, kRefused if the node refuses to say it, or serves
  // another round.
  std::optional<Bytes> Get(std::string_view what, size_t max_bytes, Progress& progress);
  // Any answer. Says when it is sent.
  net::HttpResponse Post(std::string_view what, const std::string& bearer, const Bytes& body,
                         Progress& progress);

 private:
  std::string name_, path_;
  net::HttpsClient client_;
};

// How long a request may take of which this many bytes are sent or, at most, received: 60 s, and 1
// s more per 64 KiB.
std::chrono::milliseconds RequestTime(size_t bytes);

// Waits `time`, and looks at `progress` meanwhile.
void PauseFor(std::chrono::milliseconds time, Progress& progress);

// How long to wait before the next attempt: doubles from 100 ms to 5 s, each with up to a half
// taken off by chance, so that many who failed together do not come back together.
class Backoff {
 public:
  std::chrono::milliseconds Next();

 private:
  std::chrono::milliseconds next_{100};
};

// `what` of every node in `nodes`, by node: asks again and again until all have answered or
// `deadline` passed (kTimeout, naming who is missing; no deadline: for ever). What a node could not
// be asked for is logged once per reason.
std::map<uint16_t, Bytes> GatherFrom(std::map<uint16_t, RoundClient>& nodes, std::string_view what,
                                     size_t max_bytes, std::optional<Deadline> deadline,
                                     const RoundLog& log, Progress& progress);

}  // namespace partita::sums
