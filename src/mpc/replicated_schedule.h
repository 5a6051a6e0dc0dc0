// How the engine `replicated` turns a list of operations into shares and messages: the part that
// every party and the PlanEngine compute alike, from shapes alone.
//
// Replicated secret sharing over Z_2^k among three parties, one of which may be corrupted passively
// (Araki, Furukawa, Lindell, Nof & Ohara, "High-Throughput Semi-Honest Secure Three-Party
// Computation with an Honest Majority", CCS 2016, in the form with three components):
// x = x_0 + x_1 + x_2, and party i holds x_i ("own") and x_(i-1) ("previous"); indices are modulo
// 3. Component i is thus held by parties i and i + 1, who also share a tape (tape.h), called tape i
// here. Every use below reads an interval of its own.
//
// Input of X by its owner p: x_p = mask from tape p, x_(p+1) = 0, and x_(p-1) = X - mask is sent to
//   party p - 1. One element, one step. Party p + 1 sees a mask, party p - 1 a masked value.
// Product X * Y (elementwise, matrix or cross product; all are bilinear): the parties compute
//   z_0 = (x_0 + x_2) * (y_0 + y_2), z_1 = x_1 * (y_0 + y_1) + x_0 * y_1, z_2 = x_2 * y_1 + x_1 *
//   y_2, whose sum is X * Y, each adds (tape i - tape i-1) to its own, and sends it to party i + 1.
//   The zero shares cancel; party i + 1 does not know tape i - 1, so what it gets is uniform to it.
//   One element per entry of the RESULT and party, whatever the contracted length; one step.
// Products of private operands. The owners first share them as in an input (step 0), then the
//   product is formed (step 1). Because one component is zero and the other known to its owner,
//   each party has one bilinear product to do and needs the operand only row by row, so that large
//   cross products run in bounded memory. With X of party s and Y of party s + 1, masks M and
//   differences D = operand - M: party s computes X * D_Y, s + 1 M_X * M_Y and s + 2 D_X * M_Y.
//   With Y shared and X of party a: a computes X * y_a + M_X * y_(a-1), a + 1 M_X * y_(a+1) and a -
//   1 D_X * (y_(a-1) + y_(a-2)). A fixed operand is shared once and the difference kept by its
//   receiver; one above max_kept_bytes is sent again instead (the same bytes, rule R-c).
//   If one party can compute the whole product (two private operands of its own, or one and a
//   public one), it inputs the result: one step.
// Rescale by f bits (after Escudero, Ghosh, Keller, Rachuri & Scholl, CRYPTO 2020, with one party
//   as the dealer; needs |x| < 2^(k-2) and nothing else) of an x = x_A + x_B + x_D of which the
//   dealer D = party 2, A = 0 and B = 1 know one summand each: x_0 + x_2, x_1 and 0 of a shared
//   value, the z of a product that is truncated as it is formed, which then is not shared before.
//   With e = e_A + e_B from tapes 2 and 1, the dealer knows r = e - x_D, uniform, and c = x +
//   2^(k-2) + r has the summands x_A + e_A and x_B + 2^(k-2) + e_B. With c' = c mod 2^(k-1), C the
//   top bit of c, t = (r mod 2^(k-1)) >> f and m the top bit of r,
//     y = (c' >> f) - 2^(k-2-f) + 2^(k-1-f) (C + m - 2 C m) - t,
//   x / 2^f rounded down, or up with probability equal to the dropped fraction (error below one
//   unit, mean zero). C m counts modulo 2^f only, in packed numbers of f bits.
//   step 0: A and B exchange their summands of c. With q and m_A from tape 2, D sends w - q, where
//           w = 2^(k-1-f) m - t, and m_B = m - m_A to B.
//   step 1: with s_A from tape 2 and s_B from tape 1, A and B exchange -C m_A - s_A and -C m_B -
//   s_B. Component 2 is q + 2^(k-f) s_A, component 1 is w - q + 2^(k-f) s_B, component 0 the rest,
//   all of which A and B know. Three elements and three packed numbers in two steps. A sees c and
//   numbers under e_B and s_B, neither of which it knows; B sees c and numbers under e_A, q, m_A
//   and s_A; D sees nothing. So a truncation tells nobody anything. But its rounding is not secret:
//   y = floor((x + u) / 2^f) with u = r mod 2^f, uniform; the dealer knows u, and A and B know (x +
//   u) mod 2^f. A party that is later opened y (or something that determines it) therefore may
//   learn floor((x + u) / 2^f) and u, or x + u itself: x with noise of one unit of y in the last
//   place, instead of x rounded by a secret coin. Where even that matters, round in public instead
//   (methods.md, R-e).
// Reveal to party p: party p + 1 sends its own component, the only one p lacks. One element per
//   receiver, one step. No re-randomisation is needed: the message equals the output minus the two
//   components that p holds, so p could compute it from its output. What p holds was uniform and
//   independent of the others' inputs when it got it: masks from tapes, differences under masks
//   that p does not know, products under zero shares that p does not know.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "mpc/cost.h"
#include "mpc/operation.h"
#include "mpc/oracle_schedule.h"
#include "mpc/replicated_bit_schedule.h"
#include "mpc/tape.h"

namespace partita::mpc::replicated {

inline constexpr size_t kParties = 3;
constexpr PartyIndex Next(PartyIndex party) { return (party + 1) % kParties; }
constexpr PartyIndex Previous(PartyIndex party) { return (party + 2) % kParties; }

// The roles of a rescale.
inline constexpr PartyIndex kTruncationDealer = 2;
inline constexpr PartyIndex kTruncationFirst = Next(kTruncationDealer);
inline constexpr PartyIndex kTruncationSecond = Previous(kTruncationDealer);

struct Options {
  // Differences of fixed operands up to this size are kept by their receiver; larger ones are sent
  // again at every use.
  uint64_t max_kept_bytes = uint64_t{128} << 20;
};

struct ScheduledInput {
  size_t operation = 0, index = 0;
  PartyIndex owner = 0;
  uint64_t mask_offset = 0;
  Shape shape;
};

// A private operand that its owner shares among the parties for the products that use it.
struct DealtOperand {
  PrivateMatrix matrix;
  uint64_t mask_offset = 0;
  uint64_t fixed_id = 0;  // 0: not a fixed operand
  bool sent = true;       // false: the receiver kept the difference from an earlier step
  bool keep = false;
  bool by_rows = true;  // every product of this step that uses it goes row by row
};

// What the two operands of a product are. kOwned: `owner` computes the product and inputs it.
enum class Route { kLocal, kOwned, kShared, kMixed, kPrivate };

inline constexpr size_t kNone = static_cast<size_t>(-1);

struct ScheduledProduct {
  Route route = Route::kLocal;
  size_t operation = 0, index = 0;
  size_t left = kNone, right = kNone;  // private operands, into `dealt`
  RowList left_rows, right_rows;       // those that are used of them
  PartyIndex owner = 0;                // of kOwned
  size_t step = 0;                     // of the message that carries the result's shares
  uint64_t offset = 0;                 // zero shares on all tapes; kOwned: the mask of the input
  size_t rescale = kNone;              // into `rescales`: truncated as it is formed
  Shape shape;
};

struct ScheduledRescale {
  size_t operation = 0, index = 0;
  int shift = 0;           // > 0 bits to drop
  size_t step = 0;         // the first of two
  size_t product = kNone;  // into `products`, if it is one
  // Intervals on tapes 1 and 2: of elements for e and q, of packed numbers for m_A and s.
  uint64_t mask_offset = 0, result_offset = 0, top_offset = 0, xor_offset = 0;
  Shape shape;
};

struct ScheduledReveal {
  size_t operation = 0, index = 0;
  PartyIndex to = kEverybody;
  Shape shape;
};

struct Schedule {
  // In the order in which their parts travel between two parties.
  std::vector<ScheduledInput> inputs;
  std::vector<DealtOperand> dealt;
  std::vector<ScheduledProduct> products;
  std::vector<ScheduledRescale> rescales;
  std::vector<ScheduledReveal> reveals;
  BitSchedule bits;
  ExecutionCost cost;
};

struct OracleLayout {
  uint64_t split_offset = 0;  // U, row by row, on tape c of the centre c
  uint64_t zero_offset = 0;   // z, row by row, on tape c + 1
  OracleCost cost;
};

class Scheduler {
 public:
  // element_bytes: of a ring element on the wire.
  Scheduler(size_t element_bytes, const Options& options)
      : element_bytes_(element_bytes), options_(options) {}

  void Register(const FixedOperand& operand);
  // The operations have passed CheckOperation. Must be called for every Execute, in order.
  Schedule Next(std::span<const Operation> operations);
  // The task has passed CheckOracle.
  OracleLayout NextOracle(Shape values, const OracleTask& task);
  // Room for so many words of bits on every tape.
  uint64_t ReserveBits(size_t words);

 private:
  struct Fixed {
    Shape shape;  // as registered: its mask covers no other
    PartyIndex owner = 0;
    uint64_t mask_offset = 0;
    bool kept = false;  // the receiver has the difference
  };
  uint64_t Reserve(Shape shape);
  uint64_t ReserveBytes(uint64_t bytes);
  void AddRescale(Schedule& schedule, ScheduledRescale scheduled);
  void AddProduct(Schedule& schedule, const Product& product, ScheduledProduct scheduled);
  size_t Deal(Schedule& schedule, const Operand& operand, Product::Kind kind);
  void AddCost(Schedule& schedule) const;
  // replicated_bit_schedule.cc
  void AddBits(Schedule& schedule, std::span<const Operation> operations);
  void AddBitCost(Schedule& schedule) const;

  size_t element_bytes_;
  Options options_;
  uint64_t next_offset_ = 0;  // one address space for all tapes
  uint64_t next_bit_offset_ = kBitTapeBase;
  std::map<uint64_t, Fixed> fixed_;
};

const Capabilities& ReplicatedCapabilities();
// For the PlanEngine. Throws kBadInput unless there are three parties.
std::unique_ptr<CostModel> MakeReplicatedCostModel(size_t num_parties, int ring_bits,
                                                   const Options& options = {});

}  // namespace partita::mpc::replicated
