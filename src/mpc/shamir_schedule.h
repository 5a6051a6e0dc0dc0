// How the engine `shamir` turns a list of operations into dealings, resharings and openings: the
// part that every party and the PlanEngine compute alike, from shapes and bounds alone.
//
// Shamir's sharing over F_p among n parties, of whom t < n / 2 may be corrupted passively: party i
// holds f(i + 1) of a polynomial f of degree at most t with the value at 0 (shamir_code.h). Bits
// are shared in the same way over GF(4) (n = 3) or GF(8) (n <= 7). Sums are local. Pairs of parties
// share tapes (tape.h); so do groups of n - t parties, of which every coalition of t misses one.
// Three kinds of transfer, of one step each, are all that moves:
//
//   Deal by party p of a vector X. The shares of the t parties after p are read from their tapes
//     with p; they and X determine f, so only n - 1 - t shares are sent (pseudo-random sharing,
//     after Cramer, Damgard & Ishai, TCC 2005, section 3).
//   Reshare of a vector of which every party holds a share of degree up to 2 t: party i <= 2 t
//     deals l_i times its share, with l_i Lagrange's coefficients at 0, and everybody adds up what
//     it was dealt (Gennaro, Rabin & Rabin, PODC 1998). (2 t + 1)(n - 1 - t) elements, one step.
//     The result is a fresh random sharing, as at least t + 1 of the dealers are honest.
//   Open to party q, or to everybody: every other party sends q its share, and q decodes all n.
//
// Why not a king (Damgard & Nielsen, CRYPTO 2007): two steps instead of one, and double sharings
// beforehand. In all 5.5 elements instead of 3 among three parties and 11.3 instead of 10 among
// five; only from seven on it would be fewer, 17.3 instead of 21 (docs/decisions/0016).
//
// Input        Deal by the owner. A fixed operand is dealt once and kept by everybody.
// Product      local products of shares, then Reshare: the size of the result, whatever the
//              contracted length. Private operands are dealt one step before; if one party can
//              compute the whole product, it deals the result.
// Reveal       Open. No re-randomisation: a coalition of t knows t values of f and the output,
//              which is a (t + 1)-th.
//
// Mask         r = 2^m r'' + r'. The m low bits are b = b_0 ^ ... ^ b_t: b_0 is read by the first
//   n - t parties from their group's tape and shared without a message, by multiples of the
//   polynomial that vanishes at the others; b_1 ... b_t are dealt by the t other parties. Every
//   coalition of t misses one of them. Exclusive ors in F_p are products, in ceil(log2(t + 1))
//   steps; the last one gives r' = sum 2^j b_j at once: sum 2^j (u_j + v_j) - 2 sum 2^j u_j v_j.
//   r'' is the sum over all groups G of integers rho_G below 2^h from the tape of G, shared without
//   a message in the same way.
// Truncation of x, |x| < 2^(k-1), by m bits (Catrina & Saxena, FC 2010, with a public carry): open
//   c = x + 2^(k-1) + r. Nothing wraps around, so with c' = c mod 2^m
//     y = (x + 2^(k-1) - c' + r') / 2^m - 2^(k-1-m) = floor((x + r') / 2^m),
//   x / 2^m rounded up with probability equal to the dropped fraction: error below one unit, mean
//   zero. As in the other engines, whoever is later opened y may learn the rounding (engine.h).
// Decompose of x modulo 2^v: the same mask with m = v, whose low bits are shared over GF(2^d) too:
//   x = (c - 2^(k-1) + 1) + ~r' modulo 2^v, one addend public.
// To ring of bits b: with a random bit d shared in both ways, open b ^ d over GF(2^d);
//   b = e + d - 2 e d.
//
// Statistical masking. c mod 2^m is uniform. A coalition knows all but one of the rho_G, so the
//   distribution of c for two values of x differs by at most 2^(k-m) / 2^h. h is as large as the
//   field admits: 2^m r'' + r' < 2^kMaskBits with C groups needs h = kMaskBits - m - ceil(log2 C),
//   hence the distance is at most 2^-s per element opened, with
//     s = kMaskBits - ceil(log2 C) - k   and k = m + 1 at least:
//   over 2^127 - 1 and with three parties 124 - k. Used where s is statistical_bits (64) or more:
//   the distances of all openings of a run add up, so 2^24 elements leave 2^-40. All this is for
//   |x| < 2^(k-1). A value beyond its bound is not hidden by a statistical mask: the high bits of c
//   are then about those of x.
//
// Uniform masks, for the values that are wider: up to k = b - 1 bits over p = 2^b - 1. The t + 1
//   contributors i of the low bits choose integers rho_i below 2^(b-m) as well, b_0's group from
//   its tape, the others dealing theirs: r = 2^m (rho_0 + ... + rho_t) + r'. Every coalition of t
//   misses a contributor whose 2^m rho_i + (b_i ^ what it knows) is uniform below 2^b = p + 1, so c
//   is uniform but that one element of p is twice as likely: the distributions for two values of x
//   differ by 2^-b.
//   The sum wraps around: x + 2^(k-1) + r = c + p w as integers, 0 <= w <= t + 1, and
//     c' = (c + p w) mod 2^m.
//   The digits T_i = floor(D rho_i / 2^(b-m)) tell w, since r lies between T 2^b / D and
//   (T + t + 1) 2^b / D + 2^m with T = T_0 + ... + T_t: given c only one w is possible if
//     (t + 1) ceil(2^b / D) + 2^m + 2^k < p.
//   D is the smallest such number: t + 2 or little more. If D = 2^(b-m), r is between 2^m T and
//   2^m (T + 1), and 2^m + 2^k <= p + 1 is enough: so all bits of x can be had, m = k = b - 1.
//   Every T_i is shared as the indicators [T_i = v], v = 1 ... D - 1, and those of sums of digits
//   are sums of products, in the same steps as the exclusive ors; c' is a sum of the indicators of
//   T with public coefficients. Nothing can fail. A decomposition has the indicators over GF(2^d),
//   and with them shares of its addend c', which costs one AND more for each of the v bits, in one
//   more step. Wider values, and 2^b / D too coarse for the tiny fields, are refused before
//   anything is sent.
//
// Faulty parties. Openings are decoded: with t < n / 3 up to t wrong shares are corrected and their
//   senders named, and up to n - 1 - 2 t are noticed; with t >= n / 3 up to n - 1 - t are noticed,
//   and nobody is named, as two liars together could make an honest party look like one. Resharings
//   and dealings are believed: a wrong one changes the result unnoticed. Robust against faulty
//   openings, then, and nothing more.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mpc/cost.h"
#include "mpc/operation.h"
#include "mpc/oracle_schedule.h"
#include "mpc/tape.h"

namespace partita::mpc::shamir {

inline constexpr size_t kMinParties = 3, kMaxParties = 7;

// Tapes hold field elements from 0 on, integers of masks from here on, and bits from kBitTapeBase.
inline constexpr uint64_t kIntegerTapeBase = uint64_t{1} << 61;

// Members of a group as bits.
using Group = uint32_t;
// All groups of n - t parties, in ascending order; the first holds the parties 0 ... n - t - 1.
std::vector<Group> GroupsOf(size_t num_parties, size_t threshold);
constexpr bool IsMember(Group group, PartyIndex party) { return (group >> party & 1) != 0; }

// What the schedule needs to know of the field.
struct Parameters {
  size_t num_parties = 3;
  size_t threshold = 1;       // t
  int mask_bits = 126;        // PrimeField::kMaskBits
  size_t element_bytes = 16;  // on the wire
  size_t tape_bytes = 16;     // of a tape, for one element
  int statistical_bits = 64;  // s, at least
  int mersenne_bits = 127;    // b if p = 2^b - 1, for uniform masks; else 0
  size_t slices() const { return num_parties <= 3 ? 2 : 3; }
};

// One vector that is dealt, reshared or opened.
struct Transfer {
  enum class Kind { kDeal, kReshare, kOpen };
  Kind kind = Kind::kDeal;
  bool bits = false;  // words of planes over GF(2^d), else elements of F_p
  size_t step = 0;
  size_t size = 0;       // elements or words
  PartyIndex party = 0;  // dealer; receiver, or kEverybody
  uint64_t offset = 0;   // on the dealers' tapes; none for openings
};

inline constexpr size_t kNone = static_cast<size_t>(-1);

// Below, members named after transfers are indices into Schedule::transfers.
struct ScheduledInput {
  size_t operation = 0, index = 0;
  size_t deal = 0;
};

struct DealtOperand {
  PrivateMatrix matrix;
  uint64_t fixed_id = 0;  // 0: not a fixed operand
  size_t deal = kNone;    // none: kept from an earlier step
};

enum class Route { kLocal, kOwned, kShared };

struct ScheduledProduct {
  Route route = Route::kLocal;
  size_t operation = 0, index = 0;
  size_t left = kNone, right = kNone;  // private operands, into `dealt`
  PartyIndex owner = 0;                // of kOwned
  size_t transfer = kNone;             // its resharing, or the owner's dealing
  Shape shape;
};

struct ScheduledMask {
  size_t entries = 0, width = 0;  // m bits per entry
  bool sum = true;                // r' in one element per entry; else every bit on its own
  bool as_bits = false;           // over GF(2^d) too
  uint64_t bits_offset = 0;       // of the contributors' bits, on the group's tape and own tapes
  uint64_t integer_offset = 0;    // of the rho_G
  int integer_bits = 0;           // h; of a uniform mask b - m
  size_t digits = 0;              // D of a uniform mask, else 0
  std::vector<size_t> deals;      // by dealer, n - t ... n - 1
  std::vector<size_t> bit_deals;  // the same over GF(2^d)
  std::vector<size_t> reshares;   // by level of exclusive ors
  // Of a uniform mask: the dealers' rho_i, their indicators and by level those of sums of digits;
  // indicators are over GF(2^d) if as_bits.
  std::vector<size_t> integer_deals, indicator_deals, indicator_reshares;
};

// Indicators of several digits or sums of digits: by number of values, the pairs of one level's
// joined; one without a partner stays.
std::vector<size_t> JoinCounts(const std::vector<size_t>& counts);

struct ScheduledRescale {
  size_t operation = 0, index = 0;
  int shift = 0;       // > 0 bits to drop
  int value_bits = 0;  // k
  size_t mask = 0, open = 0;
};

struct ScheduledReveal {
  size_t operation = 0, index = 0;
  size_t open = 0;
};

struct ScheduledAnd {
  size_t operation = 0, index = 0;
  size_t reshare = 0;
};

struct ScheduledDecompose {
  size_t operation = 0, index = 0;
  int value_bits = 0;  // k
  size_t mask = 0, open = 0;
  size_t reshare = kNone;  // of the generate bits, if the mask is uniform
};

struct ScheduledToRing {
  size_t operation = 0, index = 0;
  size_t mask = 0, open = 0;
};

struct Schedule {
  std::vector<Transfer> transfers;
  std::vector<ScheduledMask> masks;
  std::vector<ScheduledInput> inputs, bit_inputs;
  std::vector<DealtOperand> dealt;
  std::vector<ScheduledProduct> products;
  std::vector<ScheduledRescale> rescales;
  std::vector<ScheduledReveal> reveals, bit_reveals;
  std::vector<ScheduledAnd> ands;
  std::vector<ScheduledDecompose> decomposes;
  std::vector<ScheduledToRing> to_rings;
  ExecutionCost cost;
};

struct OracleLayout {
  uint64_t weights_offset = 0;  // on the centre's tapes
  uint64_t zero_offset = 0;     // on the tapes of the others
  OracleCost cost;
};

class Scheduler {
 public:
  explicit Scheduler(const Parameters& parameters);

  // Throws kBadInput for a rescale or decomposition whose bounds leave no room for a mask. Next
  // does so too.
  void CheckMasks(std::span<const Operation> operations) const;
  void Register(const FixedOperand& operand);
  // The operations have passed CheckOperation. Must be called for every Execute, in order.
  Schedule Next(std::span<const Operation> operations);
  // The task has passed CheckOracle.
  OracleLayout NextOracle(Shape values, const OracleTask& task);
  // Room for so many words of bits on every group's tape.
  uint64_t ReserveBits(size_t words);

  const Parameters& parameters() const { return parameters_; }
  size_t threshold() const { return parameters_.threshold; }

 private:
  struct Fixed {
    Shape shape;  // as registered
    PartyIndex owner = 0;
    bool dealt = false;
  };
  uint64_t ReserveElements(size_t size);
  size_t AddTransfer(Schedule& schedule, Transfer transfer);
  size_t Deal(Schedule& schedule, const Operand& operand);
  void AddProduct(Schedule& schedule, const Product& product, ScheduledProduct scheduled);
  // Returns the index of a mask and the step in which it can be used.
  size_t AddMask(Schedule& schedule, ScheduledMask mask);
  // A mask of `width` bits per entry for values of so many bits.
  ScheduledMask MaskFor(size_t entries, int value_bits, int width) const;
  void AddCost(Schedule& schedule) const;

  Parameters parameters_;
  size_t levels_;   // of exclusive ors
  int group_bits_;  // ceil(log2 C)
  uint64_t next_offset_ = 0, next_integer_offset_ = kIntegerTapeBase;
  uint64_t next_bit_offset_ = kBitTapeBase;
  std::map<uint64_t, Fixed> fixed_;
};

const Capabilities& ShamirCapabilities();
// The keys of groups of more than two: each travels once from its first member to the others.
inline constexpr size_t kGroupKeyBytes = 32;
ExecutionCost SetupCost(size_t num_parties, size_t threshold);
// For the PlanEngine. ring_bits: 127 or 61. threshold: ShamirThreshold unless it is given. Throws
// as CheckNumParties and CheckThreshold.
std::unique_ptr<CostModel> MakeShamirCostModel(size_t num_parties, int ring_bits,
                                               std::optional<size_t> threshold = {});
// Throws kBadInput for fewer than three parties or more than seven.
void CheckNumParties(size_t num_parties);
// Throws kBadInput unless 1 <= threshold < num_parties / 2.
void CheckThreshold(size_t num_parties, size_t threshold);

}  // namespace partita::mpc::shamir
