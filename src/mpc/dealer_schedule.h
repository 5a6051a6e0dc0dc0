// How the engine `dealer` turns a list of operations into masked openings and dealt shares: the
// part that every party, the dealer and the PlanEngine compute alike, from shapes and chosen rows.
//
// Sharing is additive over Z_2^k among n parties; the dealer is one more process, with index n. It
// sees these only and receives nothing. With each party it shares a tape (tape.h) from which both
// take masks; what cannot come from a tape, the dealer sends as a correction to the last party that
// is involved. Everything takes one step.
//
// Operand kinds of a product X * Y (elementwise, matrix or cross product; all are bilinear, and the
// formulas below hold for each with `*` read accordingly):
//
//   shared x shared. The dealer shares masks U, V and W = U * V. Every party sends its shares of
//     E = X - U and F = Y - V to all others. Share of the product: E * y_i + u_i * F + w_i.
//     If both operands are one handle, U = V is opened once.
//   shared X x private Y of party b. Every other party sends its share of E = X - U to b only; b,
//     who knows V, sends F = Y - V to all others. Share: x_i * F + w_i; at b
//     x_b * Y + (E - x_b) * V + w_b. Sum: X * F + E * V + U * V = X * Y.
//   private X of a x private Y of b. a sends E = X - U to b, b sends F = Y - V to a. a's share:
//     U * F + w_a; b's: E * Y + w_b; zero elsewhere. Traffic is that of the operands, not of the
//     product.
//   private x private of one owner, and anything x public: local, no messages.
//
// Privacy, against any n-1 parties without the dealer: every message is an operand, or a share of
// one, minus a mask that is uniform, used for one operand and known (beside the dealer) to its
// sender only; w_i is uniform and fresh for every product, so the corrections, which are sums
// minus such w_i, are uniform too. A share of an opened E that an honest party sends is hidden by
// its own u_i. The mask and the opening of a fixed operand are reused (rule R-c): the same bytes
// are seen again, and the products' sharings w stay fresh.
//
// Input: the owner's share is the value, the others' zero, no message. That is private because
// shares never travel bare: an opening sends x_i + z_i, where the z_i come from pairwise tapes and
// add up to zero, so that only the sum of all shares is learned.
//
// Rescale by f bits (Escudero, Ghosh, Keller, Rachuri & Scholl, CRYPTO 2020, with a dealer): the
// dealer shares r uniform in Z_2^k, t = (r mod 2^(k-1)) >> f and r's top bit m. All open
// c = x + 2^(k-2) + r, where |x| < 2^(k-2). With c' = c mod 2^(k-1) and top bit C,
//   (x + 2^(k-2)) / 2^f  ~  (c' >> f) - t + 2^(k-1-f) (C xor m),
// which is linear in the shares of t and m. The result is x / 2^f rounded down or up, up with
// probability equal to the dropped fraction: error below one unit, mean zero. One step, opened
// all-to-all: n (n-1) elements; a king would halve the traffic for n > 2 but double the rounds.
// The opening of c tells nobody anything by itself, but the rounding is not secret: everybody knows
// c, so whoever is later opened the result y learns x + u for u = r mod 2^f, that is, x with noise
// of one unit of y in the last place (DealerViewTest.OpenedTruncationTellsTheRounding).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "mpc/cost.h"
#include "mpc/dealer_bit_schedule.h"
#include "mpc/oracle_schedule.h"
#include "mpc/rules.h"
#include "mpc/tape.h"

namespace partita::mpc {

// An operand with its mask, opened to `receivers`.
struct MaskedOperand {
  Operand operand;
  Shape shape;
  std::optional<PartyIndex> owner;  // of a private operand; a shared one has none
  uint64_t mask_offset = 0;         // on the owner's tape, or the shares' on every party's tape
  std::vector<bool> receivers;      // who gets the opening (shares of it) in this step
  uint64_t fixed_id = 0;            // 0: not a fixed operand
  bool keep = false;                // receivers keep the opening for later products
  bool by_rows = true;  // every product of this step that uses it is a kGram or kElementwise
};

struct ScheduledProduct {
  enum class Route { kLocal, kShared, kMixed, kPrivate };
  Route route = Route::kLocal;
  Product::Kind kind = Product::Kind::kElementwise;
  size_t operation = 0, index = 0;  // where it stands in the list of operations
  size_t left = 0, right = 0;       // into ScheduledExecution::masked; equal for a square
  RowList left_rows, right_rows;    // those that are used of the masked operands
  std::vector<bool> sharers;        // who gets a share of the masks' product
  PartyIndex last = 0;              // the sharer that gets the correction
  uint64_t dealt_offset = 0;        // on the tapes of the other sharers
  Shape shape;
};

struct ScheduledRescale {
  size_t operation = 0, index = 0;
  int shift = 0;              // > 0 bits to drop
  uint64_t mask_offset = 0;   // shares of r, on every party's tape
  uint64_t dealt_offset = 0;  // shares of t, then of m, on all tapes but the last party's
  Shape shape;
};

struct ScheduledReveal {
  size_t operation = 0, index = 0;
  PartyIndex to = kEverybody;
  uint64_t zero_offset = 0;  // on the tapes between the parties
  Shape shape;
};

struct ScheduledExecution {
  // Shape of an operand of a product: the rows that are used.
  Shape LeftShape(const ScheduledProduct& product) const;
  Shape RightShape(const ScheduledProduct& product) const;

  // In the order in which they travel between two processes.
  std::vector<MaskedOperand> masked;
  std::vector<ScheduledProduct> products;
  std::vector<ScheduledRescale> rescales;
  std::vector<ScheduledReveal> reveals;
  DealerBitPlan bits;
  ExecutionCost cost;
};

struct DealerOracleLayout {
  uint64_t mask_offset = 0;   // b_i, on the tape of every party but the centre
  uint64_t row_offset = 0;    // A, row by row, on the centre's tape
  uint64_t dealt_offset = 0;  // C_i, row by row, on the tape of every party but the centre
  PartyIndex centre = 0;
  Shape values;
  uint64_t dealt_rows = 0;  // of A and of every C_i
  OracleCost cost;
};

// Public, and the same at every process.
struct DealerOptions {
  // Openings of fixed operands up to this size stay in their receivers' memory; larger ones are
  // sent again at every use.
  uint64_t max_kept_bytes = uint64_t{128} << 20;
  // Shares of openings up to this size are held whole until they are added up; larger ones are made
  // and added in blocks of rows, for the price of making their mask once more for each receiver.
  uint64_t max_whole_bytes = uint64_t{1} << 20;
  // No dealer takes part in the run: what is dealt, the parties have already, or make themselves
  // (engine `ot`), so there are neither processes nor messages for it.
  bool dealt_ahead = false;
  // The dealer is there, but leaves: it sends all rows of an oracle without being asked.
  bool oracles_at_once = false;
};

class DealerSchedule {
 public:
  // element_bytes: of a ring element on the wire.
  DealerSchedule(size_t num_parties, size_t element_bytes, const DealerOptions& options);

  void Register(const FixedOperand& operand);
  // The operations have passed CheckOperation. Must be called for every Execute, in order.
  ScheduledExecution Next(std::span<const Operation> operations);
  // The task has passed CheckOracle.
  DealerOracleLayout NextOracle(Shape values, const OracleTask& task);
  // Parties that hold the opening of a fixed operand from an earlier step.
  bool Holds(uint64_t fixed_id, PartyIndex party) const;

 private:
  struct Fixed {
    Shape shape;  // as registered: its mask covers no other
    PartyIndex owner = 0;
    uint64_t mask_offset = 0;
    std::set<PartyIndex> holders;
  };
  uint64_t Reserve(uint64_t elements);
  uint64_t ReserveBytes(uint64_t bytes);
  uint64_t ReserveBits(size_t words);
  size_t MaskBits(DealerBitPlan& plan, const SharedBits& operand);
  // dealer_bit_schedule.cc
  void AddBits(ScheduledExecution& execution, std::span<const Operation> operations);
  void AddBitCost(ScheduledExecution& execution) const;
  size_t Mask(ScheduledExecution& execution, const Operand& operand, Product::Kind kind);
  void AddProduct(ScheduledExecution& execution, const Product& product,
                  ScheduledProduct scheduled);
  void AddCost(ScheduledExecution& execution) const;

  size_t num_parties_;
  size_t element_bytes_;
  DealerOptions options_;
  // One address space for all tapes: an interval belongs to one use, whichever tapes carry it.
  uint64_t next_offset_ = 0;
  uint64_t next_bit_offset_ = kBitTapeBase;
  std::map<uint64_t, Fixed> fixed_;
};

const Capabilities& DealerCapabilities();
// For the PlanEngine. Throws kBadInput for fewer than two parties.
std::unique_ptr<CostModel> MakeDealerCostModel(size_t num_parties, int ring_bits,
                                               const DealerOptions& options = {});

}  // namespace partita::mpc
