// Correlated oblivious transfers: many, from 128 base transfers and symmetric operations.
//
// Correlation   The sender has one global difference D and rows q_i, the receiver choices r_i and
//               rows t_i, with t_i = q_i ^ r_i D; all of 128 bits. Pads are hashes of rows
//               (crypto::TweakedHash): the sender knows H(q_i) and H(q_i ^ D), the receiver the one
//               of r_i.
// Protocol      SoftSpokenOT, semi-honest (Roy, CRYPTO 2022, sections 3 and 4) with k = 4 bits per
//               chunk; k = 1 would be IKNP. For each of the 32 chunks of D the receiver has a tree
//               of 16 keys, of which the sender knows all but the one numbered by D's four bits
//               (a punctured tree from four base transfers). Every key s_x is stretched; with
//               u = XOR s_x and v_b = XOR of the s_x with bit b of x set, the sender can compute
//               v_b ^ D_b u. The receiver sends u ^ r. So one row costs 32 bits of traffic.
// Cost          Set-up: 8192 bytes from receiver to sender. Then per 128 transfers 512 bytes from
//               receiver to sender. Computing: 512 bits of AES-256 per transfer at both ends.
// Security      Semi-honest, computational: against the receiver D stays hidden behind the base
//               transfers' choices, against the sender r is hidden by the stream of the key that it
//               does not have. A party that deviates is not detected.
// Timing        constant in D, choices and keys; not in the number of transfers (public). Proved by
//               tests/ctime.
#pragma once

#include <memory>
#include <vector>

#include "crypto/block.h"
#include "crypto/prg.h"
#include "mpc/ot/base_ot.h"

namespace partita::mpc::ot {

inline constexpr size_t kBaseTransfers = 128;
inline constexpr size_t kChunkBits = 4;
inline constexpr size_t kChunks = kBaseTransfers / kChunkBits;
inline constexpr size_t kLeaves = size_t{1} << kChunkBits;
// Transfers are extended in multiples of this.
inline constexpr size_t kTransferUnit = 128;

inline constexpr size_t kExtensionSetupBytes = kBaseTransfers * 2 * 32;
// From the receiver, for so many transfers (a multiple of kTransferUnit).
constexpr size_t ExtensionBytes(size_t transfers) { return kChunks * transfers / 8; }
constexpr size_t PaddedTransfers(size_t transfers) {
  return (transfers + kTransferUnit - 1) / kTransferUnit * kTransferUnit;
}

// Was the sender of the base transfers.
class CotReceiver {
 public:
  CotReceiver(const std::vector<BaseOtKeys>& base, crypto::RandomSource& random);
  // For the sender, once.
  const Bytes& setup() const { return setup_; }
  // choices: bit i % 64 of word i / 64. Writes the message of ExtensionBytes(rows.size()) and t_i.
  void Extend(std::span<const uint64_t> choices, std::span<uint8_t> message,
              std::span<crypto::Block> rows);

 private:
  std::vector<crypto::Prg> streams_;  // leaf x of chunk c at c * kLeaves + x
  Bytes setup_;
};

// Was the receiver of the base transfers, with BaseChoices(difference).
class CotSender {
 public:
  CotSender(crypto::Block difference, const std::vector<crypto::Key>& base, ByteView setup);
  // Takes the receiver's message in and writes q_i.
  void Extend(ByteView message, std::span<crypto::Block> rows);
  crypto::Block difference() const { return difference_.Expose(); }

 private:
  Secret<crypto::Block> difference_;
  // Leaf x of chunk c, whose bits of D are a, at c * kLeaves + (x ^ a); nothing at c * kLeaves.
  std::vector<std::unique_ptr<crypto::Prg>> streams_;
};

// The complement of D, bit by bit: whoever chooses it gets the keys beside the path.
std::vector<bool> BaseChoices(crypto::Block difference);

}  // namespace partita::mpc::ot
