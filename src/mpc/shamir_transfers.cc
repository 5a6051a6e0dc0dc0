#include "mpc/shamir_transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "mpc/bit_kernels.h"
#include "mpc/kernels.h"

namespace partita::mpc {

using shamir::Group;
using shamir::Transfer;

namespace {

// Values at this party of the polynomials that are 1 at 0 and vanish outside of a group.
template <typename F>
std::vector<typename F::Word> GroupShares(size_t n, PartyIndex self,
                                          const std::vector<Group>& groups) {
  using Word = typename F::Word;
  std::vector<Word> shares;
  for (Group group : groups) {
    Word numerator = 1, denominator = 1;
    for (PartyIndex other = 0; other < n; ++other) {
      if (shamir::IsMember(group, other)) continue;
      numerator = F::Mul(numerator, F::Sub(PointOf<F>(self), PointOf<F>(other)));
      denominator = F::Mul(denominator, F::Neg(PointOf<F>(other)));
    }
    shares.push_back(F::Mul(numerator, F::Inverse(denominator)));
  }
  return shares;
}

template <typename F>
std::vector<typename F::Word> ReshareCoefficients(size_t t) {
  std::vector<typename F::Word> points;
  for (PartyIndex party = 0; party <= 2 * t; ++party) points.push_back(PointOf<F>(party));
  return LagrangeAt<F>(points, 0);
}

// out += factor * a.
template <typename F>
void AddScaledElements(ConstWords<F> a, typename F::Word factor, Words<F> out) {
  for (size_t e = 0; e < out.size(); ++e) out[e] = F::Add(out[e], F::Mul(factor, a[e]));
}

}  // namespace

template <typename F, size_t kSlices>
ShamirParty<F, kSlices>::ShamirParty(net::Channel& channel, size_t threshold,
                                     const GroupTapes& tapes)
    : channel_(channel),
      num_parties_(channel.num_parties()),
      threshold_(threshold),
      self_(channel.self()),
      groups_(shamir::GroupsOf(num_parties_, threshold_)),
      reshare_(ReshareCoefficients<F>(threshold_)),
      bit_reshare_(ReshareCoefficients<BitField>(threshold_)),
      decoder_(num_parties_, threshold_, CorrectedErrors(num_parties_, threshold_)),
      bit_decoder_(num_parties_, threshold_, CorrectedErrors(num_parties_, threshold_)),
      group_shares_(GroupShares<F>(num_parties_, self_, groups_)),
      bit_group_shares_(GroupShares<BitField>(num_parties_, self_, groups_)) {
  const Group own = Group{1} << self_;
  std::vector<Group> mine = {own};
  for (PartyIndex peer = 0; peer < num_parties_; ++peer) {
    if (peer != self_) mine.push_back(own | Group{1} << peer);
    dealings_.emplace_back(num_parties_, threshold_, peer);
    bit_dealings_.emplace_back(num_parties_, threshold_, peer);
  }
  mine.insert(mine.end(), groups_.begin(), groups_.end());
  for (Group group : mine) {
    if (shamir::IsMember(group, self_) && !tapes_.contains(group)) tapes_[group] = tapes(group);
  }
}

template <typename F, size_t kSlices>
Tape& ShamirParty<F, kSlices>::Pair(PartyIndex peer) const {
  return TapeOf(Group{1} << self_ | Group{1} << peer);
}

template <typename F, size_t kSlices>
auto ShamirParty<F, kSlices>::ReadElements(Tape& tape, uint64_t offset, size_t size) const
    -> Vector {
  Vector elements(size);
  constexpr size_t kBlock = 2048;
  std::array<uint8_t, kBlock * F::kTapeBytes> bytes{};
  for (size_t first = 0; first < size; first += kBlock) {
    const size_t count = std::min(kBlock, size - first);
    tape.Read(offset + first * F::kTapeBytes, std::span(bytes).first(count * F::kTapeBytes));
    for (size_t i = 0; i < count; ++i) {
      UInt128 random = 0;
      std::memcpy(&random, bytes.data() + i * F::kTapeBytes, F::kTapeBytes);
      elements[first + i] = F::FromTape(random);
    }
  }
  return elements;
}

template <typename F, size_t kSlices>
std::vector<uint64_t> ShamirParty<F, kSlices>::ReadBits(Tape& tape, uint64_t offset,
                                                        size_t words) const {
  std::vector<uint64_t> bits(words);
  if (words > 0) tape.Read(offset, BitBytes(BitWords(bits)));
  return bits;
}

template <typename F, size_t kSlices>
auto ShamirParty<F, kSlices>::ReadIntegers(Tape& tape, uint64_t offset, size_t size, int bits) const
    -> Vector {
  std::vector<uint8_t> bytes(size * F::kTapeBytes);
  if (size > 0) tape.Read(offset, bytes);
  Vector integers(size);
  const UInt128 mask = (static_cast<UInt128>(1) << bits) - 1;
  for (size_t i = 0; i < size; ++i) {
    UInt128 random = 0;
    std::memcpy(&random, bytes.data() + i * F::kTapeBytes, F::kTapeBytes);
    integers[i] = static_cast<Word>(random & mask);
  }
  return integers;
}

template <typename F, size_t kSlices>
void ShamirParty<F, kSlices>::AddCorrected(std::span<const PartyIndex> parties) {
  corrected_.insert(corrected_.end(), parties.begin(), parties.end());
  std::sort(corrected_.begin(), corrected_.end());
  corrected_.erase(std::unique(corrected_.begin(), corrected_.end()), corrected_.end());
}

// ---- transfers

template <typename F, size_t kSlices>
ShamirTransfers<F, kSlices>::ShamirTransfers(Party& party, const shamir::Schedule& schedule)
    : party_(party), schedule_(schedule), states_(schedule.transfers.size()) {}

template <typename F, size_t kSlices>
bool ShamirTransfers<F, kSlices>::Opens(size_t transfer) const {
  const PartyIndex to = schedule_.transfers[transfer].party;
  return to == kEverybody || to == party_.self();
}

// Parts are queued in the order of Scheduler::AddCost.
template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::RunStep(size_t step) {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (schedule_.transfers[i].step == step) Start(i);
  }
  messages_.Exchange(party_.channel(), schedule_.cost, step);
  for (size_t i = 0; i < states_.size(); ++i) {
    if (schedule_.transfers[i].step == step) Finish(i);
  }
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::Start(size_t i) {
  const Transfer& transfer = schedule_.transfers[i];
  State& state = states_[i];
  if (transfer.kind == Transfer::Kind::kOpen) return StartOpen(i);
  state.out.resize(transfer.bits ? 0 : transfer.size);
  if (transfer.bits) state.bits_out = MakeSlices<kSlices>(transfer.size);
  if (transfer.kind == Transfer::Kind::kDeal) {
    transfer.bits ? StartBitDeal(i, transfer.party, state.bits_in)
                  : StartDeal(i, transfer.party, state.in);
    return;
  }
  for (PartyIndex dealer = 0; dealer <= 2 * party_.threshold(); ++dealer) {
    if (transfer.bits) {
      Bits part = MakeSlices<kSlices>(transfer.size);
      if (dealer == party_.self()) {
        AddScaled<kSlices>(state.bits_in, party_.bit_reshare()[dealer], part);
      }
      StartBitDeal(i, dealer, part);
    } else {
      Vector part;
      if (dealer == party_.self()) {
        part.resize(transfer.size);
        Scale<F>(state.in, party_.reshare()[dealer], part);
      }
      StartDeal(i, dealer, part);
    }
  }
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::StartDeal(size_t i, PartyIndex dealer, const Vector& secret) {
  const Transfer& transfer = schedule_.transfers[i];
  State& state = states_[i];
  const Dealing<F>& dealing = party_.dealing(dealer);
  const auto& random = dealing.random();
  if (party_.self() != dealer) {
    if (std::find(random.begin(), random.end(), party_.self()) != random.end()) {
      const Vector share = party_.ReadElements(party_.Pair(dealer), transfer.offset, transfer.size);
      Add<F>(state.out, share, state.out);
    } else {
      Vector& share = state.received[dealer];
      share.resize(transfer.size);
      messages_.Receive(dealer, WireBytes(std::span(share)));
    }
    return;
  }
  std::map<PartyIndex, Vector> shares;
  auto take_in = [&](PartyIndex to, const Vector& term, size_t coefficient) {
    Vector& share = to == dealer ? state.out : shares[to];
    share.resize(transfer.size);
    AddScaledElements<F>(term, dealing.coefficients(to)[coefficient], share);
  };
  std::vector<PartyIndex> computed = dealing.sent();
  computed.push_back(dealer);
  for (PartyIndex to : computed) take_in(to, secret, 0);
  for (size_t r = 0; r < random.size(); ++r) {
    const Vector tape = party_.ReadElements(party_.Pair(random[r]), transfer.offset, transfer.size);
    for (PartyIndex to : computed) take_in(to, tape, r + 1);
  }
  for (PartyIndex to : dealing.sent()) {
    Vector& share = state.sent[to] = std::move(shares[to]);
    messages_.Send(to, WireBytes(std::span<const Word>(share)));
  }
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::StartBitDeal(size_t i, PartyIndex dealer, const Bits& secret) {
  const Transfer& transfer = schedule_.transfers[i];
  State& state = states_[i];
  const auto& dealing = party_.bit_dealing(dealer);
  const auto& random = dealing.random();
  auto from_tape = [&](PartyIndex peer) {
    Bits share;
    for (size_t s = 0; s < kSlices; ++s) {
      share[s] = party_.ReadBits(
          party_.Pair(peer), transfer.offset + s * transfer.size * sizeof(uint64_t), transfer.size);
    }
    return share;
  };
  if (party_.self() != dealer) {
    if (std::find(random.begin(), random.end(), party_.self()) != random.end()) {
      AddScaled<kSlices>(from_tape(dealer), 1, state.bits_out);
    } else {
      Bits& share = state.bits_received[dealer] = MakeSlices<kSlices>(transfer.size);
      for (auto& slice : share) messages_.Receive(dealer, BitBytes(BitWords(slice)));
    }
    return;
  }
  std::vector<Bits> tapes;
  for (PartyIndex peer : random) tapes.push_back(from_tape(peer));
  auto add_share = [&](PartyIndex to, Bits& share) {
    AddScaled<kSlices>(secret, dealing.coefficients(to)[0], share);
    for (size_t r = 0; r < tapes.size(); ++r) {
      AddScaled<kSlices>(tapes[r], dealing.coefficients(to)[r + 1], share);
    }
  };
  add_share(dealer, state.bits_out);
  for (PartyIndex to : dealing.sent()) {
    Bits& share = state.bits_sent[to] = MakeSlices<kSlices>(transfer.size);
    add_share(to, share);
    for (const auto& slice : share) messages_.Send(to, BitBytes(ConstBitWords(slice)));
  }
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::StartOpen(size_t i) {
  const Transfer& transfer = schedule_.transfers[i];
  State& state = states_[i];
  for (PartyIndex to = 0; to < party_.num_parties(); ++to) {
    if (transfer.party != kEverybody && transfer.party != to) continue;
    if (to != party_.self()) {
      if (!transfer.bits) messages_.Send(to, WireBytes(std::span<const Word>(state.in)));
      for (const auto& slice : state.bits_in) messages_.Send(to, BitBytes(ConstBitWords(slice)));
      continue;
    }
    for (PartyIndex from = 0; from < party_.num_parties(); ++from) {
      if (from == to) continue;
      if (transfer.bits) {
        Bits& share = state.bits_received[from] = MakeSlices<kSlices>(transfer.size);
        for (auto& slice : share) messages_.Receive(from, BitBytes(BitWords(slice)));
      } else {
        Vector& share = state.received[from];
        share.resize(transfer.size);
        messages_.Receive(from, WireBytes(std::span(share)));
      }
    }
  }
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::Finish(size_t i) {
  const Transfer& transfer = schedule_.transfers[i];
  State& state = states_[i];
  CheckElements(state);
  if (transfer.kind == Transfer::Kind::kOpen) {
    if (Opens(i)) transfer.bits ? DecodeBits(state) : Decode(state);
  } else {
    for (const auto& [from, share] : state.received) Add<F>(state.out, share, state.out);
    for (const auto& [from, share] : state.bits_received) {
      AddScaled<kSlices>(share, 1, state.bits_out);
    }
  }
  state.sent.clear();
  state.received.clear();
  state.bits_sent.clear();
  state.bits_received.clear();
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::CheckElements(const State& state) const {
  for (const auto& [from, share] : state.received) {
    if (std::all_of(share.begin(), share.end(), F::IsCanonical)) continue;
    const Error fault(ErrorCode::kPeerFault,
                      fmt::format("party {} sent what is not an element of the field",
                                  party_.channel().names()[from]),
                      "compare versions and run the study again");
    party_.channel().Abort(fault);
    throw Error(fault);
  }
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::Disagree() const {
  const Error fault(
      ErrorCode::kPeerFault,
      "the shares of an opening do not agree, and it cannot be told which parties "
      "sent wrong ones",
      "find out with the other parties whose machine or software is at fault, and run "
      "the study again");
  party_.channel().Abort(fault);
  throw Error(fault);
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::AddWrong(std::vector<PartyIndex>& wrong,
                                           std::span<const PartyIndex> more) const {
  for (PartyIndex party : more) {
    if (std::find(wrong.begin(), wrong.end(), party) == wrong.end()) wrong.push_back(party);
  }
  // One liar per entry, but a different one each time, is more than one liar.
  if (wrong.size() > party_.decoder().max_errors()) Disagree();
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::Decode(State& state) {
  const auto& decoder = party_.decoder();
  const size_t n = party_.num_parties(), size = state.in.size();
  auto share = [&](PartyIndex party) -> const Vector& {
    return party == party_.self() ? state.in : state.received.at(party);
  };
  auto combine = [&](const Vector& coefficients) {
    Vector sum(size);
    for (PartyIndex party = 0; party < coefficients.size(); ++party) {
      AddScaledElements<F>(share(party), coefficients[party], sum);
    }
    return sum;
  };
  state.out = combine(decoder.secret());
  std::vector<bool> agree(size, true);
  bool all_agree = true;
  for (size_t i = 0; i < n - decoder.degree() - 1; ++i) {
    const Vector expected = combine(decoder.expected(i));
    const Vector& actual = share(decoder.degree() + 1 + i);
    for (size_t e = 0; e < size; ++e) {
      if (expected[e] == actual[e]) continue;
      agree[e] = all_agree = false;
    }
  }
  if (all_agree) return;
  std::vector<PartyIndex> wrong;
  Vector word(n);
  for (size_t e = 0; e < size; ++e) {
    if (agree[e]) continue;
    for (PartyIndex party = 0; party < n; ++party) word[party] = share(party)[e];
    const auto decoded = decoder.DecodeVarTime(word);
    if (!decoded) Disagree();
    AddWrong(wrong, decoded->wrong);
    state.out[e] = decoded->secret;
  }
  party_.AddCorrected(wrong);
}

template <typename F, size_t kSlices>
void ShamirTransfers<F, kSlices>::DecodeBits(State& state) {
  const auto& decoder = party_.bit_decoder();
  const size_t n = party_.num_parties(), words = state.bits_in[0].size();
  auto share = [&](PartyIndex party) -> const Bits& {
    return party == party_.self() ? state.bits_in : state.bits_received.at(party);
  };
  auto combine = [&](const std::vector<uint8_t>& coefficients) {
    Bits sum = MakeSlices<kSlices>(words);
    for (PartyIndex party = 0; party < coefficients.size(); ++party) {
      AddScaled<kSlices>(share(party), coefficients[party], sum);
    }
    return sum;
  };
  state.bits_out = combine(decoder.secret());
  // Ones where shares disagree, or agree on what is not a bit.
  std::vector<uint64_t> differs(words);
  for (size_t s = 1; s < kSlices; ++s) {
    for (size_t w = 0; w < words; ++w) differs[w] |= state.bits_out[s][w];
  }
  for (size_t i = 0; i < n - decoder.degree() - 1; ++i) {
    const Bits expected = combine(decoder.expected(i));
    const Bits& actual = share(decoder.degree() + 1 + i);
    for (size_t s = 0; s < kSlices; ++s) {
      for (size_t w = 0; w < words; ++w) differs[w] |= expected[s][w] ^ actual[s][w];
    }
  }
  std::vector<PartyIndex> wrong;
  std::vector<uint8_t> word(n);
  for (size_t w = 0; w < words; ++w) {
    for (size_t bit = 0; differs[w] != 0 && bit < 64; ++bit) {
      if ((differs[w] >> bit & 1) == 0) continue;
      for (PartyIndex party = 0; party < n; ++party) {
        word[party] = ElementAt<kSlices>(share(party), w, bit);
      }
      const auto decoded = decoder.DecodeVarTime(word);
      if (!decoded || decoded->secret > 1) Disagree();
      AddWrong(wrong, decoded->wrong);
      const uint64_t mask = uint64_t{1} << bit;
      state.bits_out[0][w] = (state.bits_out[0][w] & ~mask) | (decoded->secret != 0 ? mask : 0);
    }
  }
  party_.AddCorrected(wrong);
}

#define PARTITA_INSTANTIATE(F, kSlices)   \
  template class ShamirParty<F, kSlices>; \
  template class ShamirTransfers<F, kSlices>;
PARTITA_FOR_SHAMIR_FIELDS(PARTITA_INSTANTIATE)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
