// What every engine computes from public facts alone: shapes, fraction bits and bounds of results,
// and the checks that refuse an operation before anything is sent.
//
// Results come back without a payload. Shape, owner and range mistakes in a method throw kUsage; a
// result that cannot fit the ring throws kBadInput with the numbers and what to change.
#pragma once

#include <optional>
#include <span>

#include "mpc/engine.h"
#include "mpc/operation.h"

namespace partita::mpc {

// The public facts an engine is built with.
struct EngineFacts {
  size_t num_parties = 0;          // computing parties
  std::optional<PartyIndex> self;  // empty at the dealer and on PlanEngine
  int ring_bits = 128;
};

Shape ShapeOf(const Operand& operand);
int FractionBitsOf(const Operand& operand);
// Public values are bounded by their largest magnitude, everything else by what it states.
double BoundOf(const Operand& operand);
// The owner of a private operand, registered or not.
std::optional<PartyIndex> OwnerOf(const Operand& operand);
// The rows chosen of a fixed operand; none for anything else.
RowList RowsOf(const Operand& operand);
// Throws kBadInput if rows are chosen of a matrix of which nobody keeps the opening.
void CheckRowsAreKept(const FixedOperand& operand, bool kept);

// Throws kBadInput unless bound * 2^fraction_bits < 2^(ring_bits - 2).
void CheckFits(const Shared& value, int ring_bits);

Shared InputResult(const PrivateMatrix& matrix, const EngineFacts& facts);
Shared ProductResult(const Product& product, const EngineFacts& facts);
// The bound grows by one unit in the last place, the truncation's error.
Shared RescaleResult(const Shared& value, int fraction_bits, const EngineFacts& facts);

// Checks a communicating operation and fills its shared results in, without payloads (kReveal:
// makes the results empty matrices).
void CheckOperation(Operation& operation, const EngineFacts& facts);
// Checks a linear oracle over `values`; the bound of its results, from the weights as rounded to
// their grid.
double CheckOracle(const Shared& values, const OracleTask& task, const EngineFacts& facts);
void CheckPrivate(const PrivateMatrix& matrix, const EngineFacts& facts);

// Local operations.
Shared PublicResult(const PublicMatrix& value, const EngineFacts& facts);
Shared AddResult(const Shared& a, const Shared& b, const EngineFacts& facts);
Shared ScaleResult(const Shared& a, Int128 factor, const EngineFacts& facts);
Shared MultiplyPublicResult(const Operand& left, const Operand& right, const EngineFacts& facts);
Shared TransposeResult(const Shared& a);
Shared SliceResult(const Shared& a, size_t row, size_t col, Shape shape);
Shared ConcatenateResult(std::span<const Shared> parts, bool by_rows);
Shared SelectRowsResult(const Shared& a, std::span<const size_t> rows);
Shared SumRowsResult(const Shared& a, const EngineFacts& facts);

}  // namespace partita::mpc
