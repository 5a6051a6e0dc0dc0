// Every opening of a secret passes here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita::mpc {

// One thing that a plan says will be opened.
struct Release {
  std::string id;          // "moments"
  std::string what;        // "n, sums and cross products of x1..x9, over all rows"
  std::string to;          // party name, or "all"
  std::string mechanism;   // "exact", later "discrete-gaussian ..."
  uint64_t max_count = 1;  // how often it may be opened
};

class ReleaseGate {
 public:
  virtual ~ReleaseGate() = default;
  // Before the first message leaves. Throws kRefused if the releases are not allowed.
  virtual void Reserve(const std::vector<Release>& releases) = 0;
  // Before each opening. Throws kRefused for an undeclared id or a surplus opening.
  virtual void Opening(std::string_view release_id) = 0;
  // After the last opening.
  virtual void Finish() = 0;
};

// Counts openings against the reservation; nothing durable. The privacy ledger plugs in behind the
// same calls.
class CountingReleaseGate : public ReleaseGate {
 public:
  void Reserve(const std::vector<Release>& releases) override;
  void Opening(std::string_view release_id) override;
  void Finish() override;

  // (release, times opened), in declaration order.
  struct Count {
    Release release;
    uint64_t opened = 0;
  };
  const std::vector<Count>& counts() const { return counts_; }

 private:
  std::vector<Count> counts_;
  bool reserved_ = false, finished_ = false;
};

}  // namespace partita::mpc
