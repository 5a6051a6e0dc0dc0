// What the ledger's tests share: policies, requests and folders.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.h"
#include "privacy/ledger/sqlite_ledger.h"

namespace partita::privacy::ledger {

inline void ExpectError(ErrorCode code, const std::function<void()>& call,
                        const std::string& part = "") {
  try {
    call();
    ADD_FAILURE() << "no error instead of " << ErrorCodeName(code) << " with " << part;
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCodeName(error.code()), ErrorCodeName(code)) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << "'" << error.what() << "' does not contain '" << part << "'";
  }
}

// A folder that goes away; in memory where the system has such a place: a thousand ledgers sync a
// disk for minutes. What syncs are good for is tested on a disk that fails (crash_vfs.h).
class Folder {
 public:
  Folder() {
    const bool memory = access("/dev/shm", W_OK) == 0;
    const std::filesystem::path parent =
        memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "partita-ledger-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error(ErrorCode::kInternal, "no temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Fills with a running number: pseudonyms that a test can name.
class CountingRandom : public crypto::RandomSource {
 public:
  void Fill(std::span<uint8_t> out) override {
    for (uint8_t& byte : out) byte = ++next_;
  }

 private:
  uint8_t next_ = 0;
};

inline Policy PolicyOf(const std::string& table, const std::string& epsilon = "1") {
  Policy policy;
  policy.table = table;
  policy.outside = {Adjacency::kReplace, epsilon, "1e-6", "0"};
  policy.insider = Budget{Adjacency::kReplace, epsilon, "1e-6", "0"};
  policy.exact = ExactRule::kCounted;
  policy.max_exact = 3;
  return policy;
}

inline Digest DigestOf(uint64_t number) {
  ByteWriter writer;
  writer.U64(number);
  return crypto::Sha256Of(writer.bytes());
}

inline Stamp Now() { return {"operator", 1'790'000'000}; }

// rho-zCDP against the outside analyst and against one party.
inline std::vector<Charge> Charges(double rho) {
  const Adversary outsider;
  Adversary north;
  north.kind = AdversaryKind::kParty;
  north.party = "north";
  return {{"moments", outsider, Adjacency::kReplace, ZeroConcentrated{rho}, 1},
          {"moments", north, Adjacency::kReplace, ZeroConcentrated{rho}, 1}};
}

inline ReservationRequest RequestOf(const std::string& table, uint64_t run, double rho) {
  ReservationRequest request;
  request.table = table;
  request.run_id = DigestOf(run);
  request.agreement_hash = DigestOf(run + 1'000'000);
  request.study = "growth";
  request.charges = Charges(rho);
  return request;
}

}  // namespace partita::privacy::ledger
