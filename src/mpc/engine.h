// The interface between methods and secure computation: opaque shared matrices, lists of
// operations, declared costs.
//
// A method is straight-line code over an Engine and runs unchanged at every party, at the dealer
// (which sees shapes only and ships corrections), and on the PlanEngine (which adds up costs). Code
// therefore never branches on a value, only on public shapes; private data is handed in through
// PrivateMatrix, which is empty where the data is not.
//
// Timing  engines are constant in shares, tapes and private values; not in shapes, bounds and in
//         whether a party deviates (public). Proved by tests/ctime, which runs every operation on
//         every engine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/int128.h"
#include "crypto/random.h"
#include "mpc/bits.h"
#include "mpc/linear_oracle.h"
#include "mpc/release_gate.h"
#include "mpc/shape.h"

namespace partita::mpc {

// A plaintext matrix of ring integers, row-major: value = integer / 2^fraction_bits of whatever it
// is used with.
struct IntMatrix {
  Shape shape;
  std::vector<Int128> values;
};

// Rounds half away from zero to the grid 2^-fraction_bits; exact for |x| 2^fraction_bits < 2^126,
// else throws kBadInput.
Int128 EncodeFixed(double x, int fraction_bits);
// Nearest double.
double DecodeFixed(Int128 value, int fraction_bits);

// What an engine knows about a shared matrix beside its payload. bound: every |real value| is at
// most this (public).
struct Shared {
  struct Payload {
    virtual ~Payload() = default;
  };
  Shape shape;
  int fraction_bits = 0;
  double bound = 0;
  // Engine-specific; an empty token on PlanEngine and at the dealer. Two handles with the same
  // payload are the same value, which engines use (a square is masked and opened once), so every
  // operation that makes a new value makes a new payload.
  std::shared_ptr<const Payload> payload;
};

// Rows [first_row, first_row + num_rows) of a private matrix, row-major, as ring integers.
using RowReader = std::function<void(size_t first_row, size_t num_rows, Int128* out)>;

// A matrix that one party knows. `read` is set at the owner only. Large matrices are read in blocks
// and never copied whole.
struct PrivateMatrix {
  PartyIndex owner = 0;
  Shape shape;
  int fraction_bits = 0;
  double bound = 0;
  RowReader read;
};

// Numbers of rows, public, in any order and as often as one likes; none: all rows as they are.
using RowList = std::shared_ptr<const std::vector<size_t>>;

// A private matrix that does not change during the run, registered once: its mask and masked
// opening are reused (R-c). A product may use some of its rows, as if it were the matrix of these
// (OnlyRows): they need nothing further, because a mask belongs to a row wherever that is used.
struct FixedOperand {
  PrivateMatrix matrix;
  uint64_t id = 0;  // given by Engine::Register
  RowList rows = nullptr;
};

// The same operand with these rows only. kUsage in the product for a row that there is not;
// kBadInput for a matrix so large that its opening is not kept (the engine's max_kept_bytes).
FixedOperand OnlyRows(FixedOperand operand, std::vector<size_t> rows);

struct PublicMatrix {
  IntMatrix values;
  int fraction_bits = 0;
};

using Operand = std::variant<Shared, PublicMatrix, PrivateMatrix, FixedOperand>;

// One product. kElementwise: shapes equal, or one side has a single column (broadcast over
// columns). kMatrix: left * right. kGram: left^T * right, both with the same number of rows
// (streamed over row blocks). The result is not truncated: fraction bits add up, bounds multiply
// (times the contracted length). If the result cannot fit (bound * 2^fraction_bits >= 2^126 in the
// ring of 128 bits) the call throws kBadInput before anything is sent.
struct Product {
  enum class Kind { kElementwise, kMatrix, kGram };
  Kind kind = Kind::kElementwise;
  Operand left, right;
};

inline constexpr PartyIndex kEverybody = static_cast<PartyIndex>(-1);

// What an engine supports and assumes.
struct Capabilities {
  std::string name;                         // "dealer"
  std::string trust;                        // one sentence: adversary, who may collude
  size_t min_parties = 2, max_parties = 0;  // computing parties; 0: no limit
  bool needs_dealer = false;
  // MultiplyAndRescale costs less than Multiply and Rescale.
  bool truncates_products = false;
};

class Batch;
class TaskEngine;
struct Operation;  // defined in mpc/operation.h

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const Capabilities& capabilities() const = 0;
  virtual size_t num_parties() const = 0;              // computing parties, without a dealer
  virtual std::optional<PartyIndex> self() const = 0;  // empty at the dealer and on PlanEngine
  virtual int ring_bits() const = 0;

  // Names the phase for counters (channel phases follow).
  virtual void BeginPhase(std::string_view name) = 0;

  // Before the first opening of a run, once, between two phases: a phase of its own in which all
  // computing parties make their charges durable and say so to each other (release_ok.h). The gate
  // of a run refuses every opening before it.
  virtual void AgreeToOpen() = 0;

  // Secret-shares private matrices.
  std::vector<Shared> Input(std::span<const PrivateMatrix> inputs);
  // No communication; the matrix gets an id, its masked opening travels with the first product that
  // needs it.
  virtual FixedOperand Register(PrivateMatrix matrix) = 0;

  // Products and rescaling take a list of independent operands and cost one set of rounds for all
  // of them.
  std::vector<Shared> Multiply(std::span<const Product> products);
  // Truncates each to `fraction_bits` (error below one unit in the last place, unbiased); never a
  // local shift. Whoever is later opened the result may learn its rounding as well, that is, the
  // value with noise below one such unit instead of the rounded value: privacy noise must not count
  // on the truncation to hide anything (R-e).
  std::vector<Shared> Rescale(std::span<const Shared> inputs, int fraction_bits);
  // As Multiply and then Rescale, product i to fraction_bits[i]; none: it is not truncated.
  std::vector<Shared> MultiplyAndRescale(std::span<const Product> products,
                                         std::span<const std::optional<int>> fraction_bits);
  // Opens to one party or kEverybody, through the gate: ReleaseGate::Opening is called
  // once, before anything is sent. Empty matrices are returned where the value is not learned.
  std::vector<IntMatrix> Reveal(std::string_view release_id, std::span<const Shared> values,
                                PartyIndex to);

  // Bits (bits.h). AND and the ways between ring and bits communicate; comparisons, equality and
  // selection are put together from them in compare.h. As above, a list is one set of rounds.
  std::vector<SharedBits> InputBits(std::span<const PrivateBits> inputs);
  std::vector<SharedBits> And(std::span<const BitProduct> products);
  // The lowest widths[i] bits of values[i] (at least one, at most the ring's), two's complement.
  std::vector<CarryBits> Decompose(std::span<const Shared> values, std::span<const size_t> widths);
  // Every bit as a ring element 0 or 1 without fraction bits. Plane j of a matrix of r rows becomes
  // the rows [j r, (j + 1) r) of the result.
  std::vector<Shared> ToRing(std::span<const SharedBits> bits);
  // As Reveal; an opening counts entries times width.
  std::vector<BitMatrix> RevealBits(std::string_view release_id, std::span<const SharedBits> values,
                                    PartyIndex to);
  // Local.
  virtual SharedBits PublicBits(const BitMatrix& value) = 0;
  virtual SharedBits Xor(const SharedBits& a, const SharedBits& b) = 0;
  virtual SharedBits Not(const SharedBits& a) = 0;
  virtual SharedBits AndPublic(const SharedBits& a, const BitMatrix& b) = 0;
  // The planes with these numbers, in this order; a number may occur more than once.
  virtual SharedBits SelectPlanes(const SharedBits& a, std::span<const size_t> planes) = 0;
  // The planes of all parts, one part after the other.
  virtual SharedBits JoinPlanes(std::span<const SharedBits> parts) = 0;
  // Uniform bits that neither the dealer nor any coalition that the engine tolerates knows (R-b).
  // own: this party's randomness, not used by every engine.
  virtual SharedBits RandomBits(Shape shape, size_t width, crypto::RandomSource& own) = 0;

  // Lets task.centre ask for products of private weights with `values` until it has enough
  // (linear_oracle.h). Every process calls this; `queries` is called at the centre only. On the
  // PlanEngine every kind is evaluated as often as it may be, one kind after the other.
  virtual OracleUse RunOracle(const Shared& values, const OracleTask& task,
                              const OracleQueries& queries) = 0;

  // Local linear algebra: no communication.
  virtual Shared Public(const PublicMatrix& value) = 0;
  virtual Shared Add(const Shared& a, const Shared& b) = 0;
  virtual Shared Subtract(const Shared& a, const Shared& b) = 0;
  virtual Shared Scale(const Shared& a, Int128 factor) = 0;  // by a public integer
  virtual Shared MultiplyPublic(const PublicMatrix& left,
                                const Shared& right) = 0;  // matrix product, not truncated
  virtual Shared MultiplyPublic(const Shared& left, const PublicMatrix& right) = 0;
  virtual Shared Transpose(const Shared& a) = 0;
  virtual Shared Slice(const Shared& a, size_t row, size_t col, Shape shape) = 0;
  virtual Shared Concatenate(std::span<const Shared> parts, bool by_rows) = 0;
  // Row i of the result is row rows[i]; a row may be named more than once or not at all. kUsage for
  // a row that there is not.
  virtual Shared SelectRows(const Shared& a, std::span<const size_t> rows) = 0;
  virtual Shared SumRows(const Shared& a) = 0;  // 1 x cols

 protected:
  friend class Batch;       // mpc/batch.h: unlike operations in one set of rounds
  friend class TaskEngine;  // mpc/together.h: those of several tasks
  // Runs all operations in lock step: one message per directed link and round for all of them. The
  // operations are independent of each other. Order of events: all are checked (kUsage, kBadInput);
  // the gate is asked for every reveal, in order (kRefused); only then is anything sent.
  virtual void Execute(std::span<Operation> operations) = 0;
};

// Throws kUsage for a mistake in the code of a method.
[[noreturn]] void Misuse(const std::string& message);

}  // namespace partita::mpc
