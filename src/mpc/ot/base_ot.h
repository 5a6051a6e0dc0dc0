// Base oblivious transfers: few, from public-key operations, to begin an extension with.
//
// Endemic OT of Masny & Rindal (ACM CCS 2019, the construction from a key agreement, here
// Diffie-Hellman in ristretto255): per transfer i the receiver with choice c draws r_(1-c) at
// random and t_i, and sets r_c = t_i G - H_c(r_(1-c)). It sends r_0 and r_1, the sender sends one
// S = s G; the messages do not depend on each other. With m_j = r_j + H_j(r_(1-j)), the sender's
// two keys are KDF(s m_0) and KDF(s m_1), the receiver's is KDF(t_i S), which is the c-th. Proved
// secure, also against active parties, for random oracles H_j and KDF under the gap
// Diffie-Hellman assumption; the roles here are semi-honest all the same (extension.h). H_j and KDF
// are bound to a session, to i and, the KDF, to both messages.
//
// Cost: one round. 64 bytes per transfer from the receiver, 32 bytes from the sender; about four
// multiplications in the group per transfer, for both together.
// Revealed: nothing but the keys; the receiver's message is uniform whatever it chooses.
//
// Timing  constant in choices, scalars and keys; not in the number of transfers and in whether a
//         peer sent elements (public). Proved by tests/ctime around libsodium.
#pragma once

#include <string>
#include <vector>

#include "crypto/random.h"
#include "crypto/ristretto.h"

namespace partita::mpc::ot {

inline constexpr size_t kBaseReceiverBytes = 2 * crypto::kRistrettoBytes;  // per transfer
inline constexpr size_t kBaseSenderBytes = crypto::kRistrettoBytes;        // for all of them

class BaseOtReceiver {
 public:
  // session: the same at both parties, and no other use of this protocol has it. peer: for errors.
  BaseOtReceiver(ByteView session, std::string peer, const std::vector<bool>& choices,
                 crypto::RandomSource& random);
  const Bytes& message() const { return message_; }
  // The chosen keys. Throws kPeerFault for a message that is no element of the group.
  std::vector<crypto::Key> Finish(ByteView sender_message) const;

 private:
  Bytes session_;
  std::string peer_;
  std::vector<crypto::RistrettoScalar> scalars_;
  Bytes message_;
};

struct BaseOtKeys {
  crypto::Key zero, one;
};

class BaseOtSender {
 public:
  BaseOtSender(ByteView session, std::string peer, crypto::RandomSource& random);
  const Bytes& message() const { return message_; }
  // Both keys of every transfer. Throws kPeerFault for a message of another length, or with
  // anything that is no element of the group.
  std::vector<BaseOtKeys> Finish(ByteView receiver_message, size_t transfers) const;

 private:
  Bytes session_;
  std::string peer_;
  crypto::RistrettoScalar scalar_;
  Bytes message_;
};

}  // namespace partita::mpc::ot
