// Moves the transfers of one schedule of the engine `shamir` at one party: dealings, resharings and
// openings of elements and of bits. Formulas: shamir_schedule.h.
//
// Timing  constant in shares and tapes; not in the schedule, in whether shares are elements and in
//         whether those of an opening agree (public). Proved by tests/ctime.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "mpc/binary_field.h"
#include "mpc/prime_field.h"
#include "mpc/shamir_code.h"
#include "mpc/shamir_schedule.h"
#include "mpc/step_messages.h"
#include "mpc/tape.h"
#include "net/channel.h"

namespace partita::mpc {

// Opens the tape of a group of which this party is a member: alone, a pair, or n - t parties.
using GroupTapes = std::function<std::unique_ptr<Tape>(shamir::Group group)>;

// What one party keeps through all operations.
template <typename F, size_t kSlices>
class ShamirParty {
 public:
  using Word = typename F::Word;
  using Vector = std::vector<Word>;
  using Bits = BitSlices<kSlices>;
  using BitField = BinaryField<kSlices>;

  ShamirParty(net::Channel& channel, size_t threshold, const GroupTapes& tapes);

  net::Channel& channel() const { return channel_; }
  size_t num_parties() const { return num_parties_; }
  size_t threshold() const { return threshold_; }
  PartyIndex self() const { return self_; }
  const std::vector<shamir::Group>& groups() const { return groups_; }
  // Of this party alone, of a pair or of a group, with this party.
  Tape& TapeOf(shamir::Group group) const { return *tapes_.at(group); }
  Tape& Pair(PartyIndex peer) const;

  Vector ReadElements(Tape& tape, uint64_t offset, size_t size) const;
  std::vector<uint64_t> ReadBits(Tape& tape, uint64_t offset, size_t words) const;
  // Integers below 2^bits.
  Vector ReadIntegers(Tape& tape, uint64_t offset, size_t size, int bits) const;

  const Dealing<F>& dealing(PartyIndex dealer) const { return dealings_[dealer]; }
  const Dealing<BitField>& bit_dealing(PartyIndex dealer) const { return bit_dealings_[dealer]; }
  // Coefficients of the shares of parties 0 ... 2 t at 0.
  const Vector& reshare() const { return reshare_; }
  const std::vector<uint8_t>& bit_reshare() const { return bit_reshare_; }
  const ShareDecoder<F>& decoder() const { return decoder_; }
  const ShareDecoder<BitField>& bit_decoder() const { return bit_decoder_; }
  // This party's value of the polynomial that is 1 at 0 and vanishes outside of a group.
  Word group_share(size_t group) const { return group_shares_[group]; }
  uint8_t bit_group_share(size_t group) const { return bit_group_shares_[group]; }

  // Parties whose shares were wrong and corrected, ascending.
  const std::vector<PartyIndex>& corrected() const { return corrected_; }
  void AddCorrected(std::span<const PartyIndex> parties);

 private:
  net::Channel& channel_;
  size_t num_parties_, threshold_;
  PartyIndex self_;
  std::vector<shamir::Group> groups_;
  std::map<shamir::Group, std::unique_ptr<Tape>> tapes_;
  std::vector<Dealing<F>> dealings_;
  std::vector<Dealing<BitField>> bit_dealings_;
  Vector reshare_;
  std::vector<uint8_t> bit_reshare_;
  ShareDecoder<F> decoder_;
  ShareDecoder<BitField> bit_decoder_;
  Vector group_shares_;
  std::vector<uint8_t> bit_group_shares_;
  std::vector<PartyIndex> corrected_;
};

template <typename F, size_t kSlices>
class ShamirTransfers {
 public:
  using Party = ShamirParty<F, kSlices>;
  using Word = typename F::Word;
  using Vector = std::vector<Word>;
  using Bits = BitSlices<kSlices>;

  // Everything is borrowed.
  ShamirTransfers(Party& party, const shamir::Schedule& schedule);

  // What goes in, before the step of the transfer: the dealer's secret; every resharing party's
  // share of degree 2 t (parties 0 ... 2 t); every party's share of what is opened.
  Vector& In(size_t transfer) { return states_[transfer].in; }
  Bits& BitsIn(size_t transfer) { return states_[transfer].bits_in; }
  // What comes out, after it: this party's share, or at receivers what was opened (bits: in slice
  // 0).
  Vector& Out(size_t transfer) { return states_[transfer].out; }
  const Vector& Out(size_t transfer) const { return states_[transfer].out; }
  Bits& BitsOut(size_t transfer) { return states_[transfer].bits_out; }
  bool Opens(size_t transfer) const;

  // Throws kPeerFault if a peer sent what is no element, naming it, or if more shares of an opening
  // are wrong than can be corrected; then all peers are told and the channel is poisoned.
  void RunStep(size_t step);

 private:
  struct State {
    Vector in, out;
    Bits bits_in, bits_out;
    // By party: shares that travel, in either direction.
    std::map<PartyIndex, Vector> sent, received;
    std::map<PartyIndex, Bits> bits_sent, bits_received;
  };

  void Start(size_t i);
  void Finish(size_t i);
  void StartDeal(size_t i, PartyIndex dealer, const Vector& secret);
  void StartBitDeal(size_t i, PartyIndex dealer, const Bits& secret);
  void StartOpen(size_t i);
  void CheckElements(const State& state) const;
  void Decode(State& state);
  void DecodeBits(State& state);
  void AddWrong(std::vector<PartyIndex>& wrong, std::span<const PartyIndex> more) const;
  [[noreturn]] void Disagree() const;

  Party& party_;
  const shamir::Schedule& schedule_;
  std::vector<State> states_;
  StepMessages messages_;
};

// The fields and slices that the engine is compiled for, as INSTANTIATE(F, kSlices).
#define PARTITA_FOR_SHAMIR_FIELDS(INSTANTIATE) \
  INSTANTIATE(Field127, 2)                     \
  INSTANTIATE(Field127, 3)                     \
  INSTANTIATE(Field5, 2)                       \
  INSTANTIATE(FieldOf5Bits, 2)                 \
  INSTANTIATE(FieldOf5Bits, 3)                 \
  INSTANTIATE(FieldOf7Bits, 2)                 \
  INSTANTIATE(Field7, 3)

}  // namespace partita::mpc
