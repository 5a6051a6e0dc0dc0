// Every opening of a secret passes here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace partita::mpc {

// One thing that a plan says will be opened.
struct Release {
  std::string id;          // "moments"
  std::string what;        // "n, sums and cross products of x1..x9, over all rows"
  std::string to;          // party name, or "all"
  std::string mechanism;   // "exact", later "discrete-gaussian ..."
  uint64_t max_count = 1;  // how often it may be opened
  // The recipient's index among the computing parties (or kEverybody, engine.h) and the ring
  // elements of one opening. The gate refuses any other; a plan always states both.
  std::optional<size_t> to_party = std::nullopt;
  std::optional<uint64_t> num_values = std::nullopt;
};

class ReleaseGate {
 public:
  virtual ~ReleaseGate() = default;
  // Before the first message leaves. Throws kRefused if the releases are not allowed.
  virtual void Reserve(const std::vector<Release>& releases) = 0;
  // Before the first opening, once, by Engine::AgreeToOpen: this party's last step back. On return
  // all is durable here that must be so before anybody can open a release. What the party then says
  // to the other computing parties, who must say the same; empty: this gate wants no agreement, and
  // nothing is said.
  virtual Bytes Commit() { return {}; }
  // All computing parties said it.
  virtual void Agreed() {}
  // Before each opening: to whom, and how many ring elements. Throws kRefused for an undeclared id,
  // a surplus opening, another recipient or another number of values. What the values mean is the
  // method's promise.
  virtual void Opening(std::string_view release_id, size_t to_party, uint64_t num_values) = 0;
  // After the last opening.
  virtual void Finish() = 0;
};

// Counts openings against the reservation; nothing durable. The privacy ledger plugs in behind the
// same calls.
class CountingReleaseGate : public ReleaseGate {
 public:
  void Reserve(const std::vector<Release>& releases) override;
  void Opening(std::string_view release_id, size_t to_party, uint64_t num_values) override;
  void Finish() override;

  // (release, times opened), in declaration order.
  struct Count {
    Release release;
    uint64_t opened = 0;
  };
  const std::vector<Count>& counts() const { return counts_; }

 protected:
  bool reserved() const { return reserved_; }

 private:
  std::vector<Count> counts_;
  bool reserved_ = false, finished_ = false;
};

// The gate of a run, and of its plan: nothing is opened before all computing parties agreed to it.
class AgreedReleaseGate : public CountingReleaseGate {
 public:
  static constexpr size_t kOkBytes = 32;

  // run_id: of the run; a plan has none.
  explicit AgreedReleaseGate(ByteView run_id) : run_id_(run_id.begin(), run_id.end()) {}

  // A digest of the run and of all that was reserved. Throws kRefused before Reserve and the second
  // time.
  Bytes Commit() override;
  void Agreed() override { agreed_ = true; }
  // Also refuses before Agreed.
  void Opening(std::string_view release_id, size_t to_party, uint64_t num_values) override;

 private:
  Bytes run_id_;
  bool committed_ = false, agreed_ = false;
};

}  // namespace partita::mpc
