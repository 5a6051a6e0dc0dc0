// What oblivious transfers have to make for one Execute: the part that both parties and the
// PlanEngine compute alike, from shapes alone.
//
// Everything that the engine `dealer` deals is a sum of local terms and of products in which one
// factor is known to either party. A task is such a product: the receiver's factor selects, bit by
// bit, among multiples of the sender's (Gilboa, CRYPTO 1999). Both parties' terms below are over
// Z_2^k; H_0 and H_1 are the pads of a transfer (extension.h).
//
// Product of a number x of the receiver with numbers y_c of the sender, k transfers: for bit j the
//   sender sends d_c = H_0 + y_c - H_1, of which only k - j bits matter, and subtracts 2^j H_0 from
//   its share; the receiver adds 2^j (H_0 or H_1 + d_c). Sum: x y_c. A product of matrices uses one
//   number x for a whole row of y (the transfers are paid once, the d once for every scalar
//   product); the factor with fewer entries selects.
//     Shared times shared: two tasks, u_0 v_1 and u_1 v_0, each party once the receiver. A square
//     (elementwise or cross product): one. Shared times private, private times private: one.
// Bit b = b_0 ^ b_1 as a number, one transfer: b_0 + b_1 - 2 b_0 b_1 (daBit, Rotaru & Wood 2019,
//   here passive). To ring: one for every bit. Decompose: the bits of the mask are drawn, and the
//   mask is their sum with weights 2^j; bit j needs v - j - 1 bits of message. Rescale: the same
//   with all k bits of r, whose sums with other weights are t and m of dealer_schedule.h.
// And of words of bits, two tasks of one transfer and one bit of message each.
//
// Messages. A transfer costs 4 bytes from the receiver (extension.h) and, from the sender, its
//   entries of ceil(width / 8) bytes. Per product over Z_2^128: 128 transfers, 512 bytes and 1088
//   bytes; per triple twice that, 3.2 kB. Tasks are cut into batches of bounded memory; a batch is
//   two rounds, with both directions at once.
#pragma once

#include <cstdint>
#include <vector>

#include "mpc/dealer_schedule.h"
#include "mpc/ot/extension.h"

namespace partita::mpc::ot {

// A product of matrices as a sum, or a list, of outer products: row t of A (p numbers) with row t
// of B (q numbers), for `terms` rows. Cross products are sums; a matrix product is one of the left
// matrix' transpose; elementwise products are lists.
struct OuterLayout {
  size_t terms = 0, p = 0, q = 0;
  bool sum = false;
  bool left_is_transposed = false;  // A is the transpose of the left operand
  bool a_selects = true;            // numbers of A are the receiver's
  bool mirrored = false;            // of a square: the result is added with its transpose

  size_t NumResults() const { return sum ? p * q : terms * p * q; }
};

struct OtTask {
  enum class Item { kProduct, kRescale, kAnd, kDecompose, kToRing };
  Item item = Item::kProduct;
  size_t index = 0;  // into the execution's list of such items
  PartyIndex receiver = 0;
  OuterLayout outer;  // kProduct

  // A group is what is never cut in two: a number that selects, the bits of an entry, a bit.
  uint64_t groups = 0;
  size_t transfers = 0;         // of a group
  size_t entries = 1;           // of the message of a transfer
  std::vector<uint8_t> widths;  // bytes of an entry, by transfer of the group; empty: one bit
  uint64_t PayloadBytes(uint64_t num_groups) const;
};

// Bytes that hold the k - j bits that matter of bit j's messages.
constexpr size_t WidthBytes(size_t bits) { return (bits + 7) / 8; }
// Widths of the messages of a product's transfers.
std::vector<uint8_t> ProductWidths(size_t ring_bits);

// How matrices of these shapes are multiplied; empty results give no groups.
OuterLayout LayoutOf(Product::Kind kind, Shape left, Shape right);

// All tasks of an execution of two parties, in order.
std::vector<OtTask> TasksOf(const ScheduledExecution& execution, size_t ring_bits);

// Some groups of a task.
struct OtPiece {
  size_t task = 0;
  uint64_t first = 0, count = 0;
};

// What moves together in two rounds.
struct OtBatch {
  std::vector<OtPiece> pieces[2];  // by receiver
  // From the receiver, with transfers padded to kTransferUnit, and to it.
  uint64_t transfers[2] = {0, 0}, payload[2] = {0, 0};
};

std::vector<OtBatch> BatchesOf(const std::vector<OtTask>& tasks);

// Two steps for each batch.
ExecutionCost CostOfBatches(const std::vector<OtBatch>& batches);
// Two steps: of making a Link.
ExecutionCost CostOfLink();
// `first`, then `second`.
ExecutionCost InSequence(ExecutionCost first, const ExecutionCost& second);

}  // namespace partita::mpc::ot
