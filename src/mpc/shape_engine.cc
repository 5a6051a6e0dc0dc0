#include "mpc/shape_engine.h"

#include "mpc/bit_rules.h"

namespace partita::mpc {
namespace {

// A value that only has an identity.
Shared WithToken(Shared value) {
  value.payload = std::make_shared<const Shared::Payload>();
  return value;
}

SharedBits WithToken(SharedBits value) {
  value.payload = std::make_shared<const SharedBits::Payload>();
  return value;
}

CarryBits WithToken(CarryBits value) {
  return {WithToken(std::move(value.propagate)), WithToken(std::move(value.generate))};
}

WindowCarries WithToken(WindowCarries value) {
  return {WithToken(std::move(value.propagate)), WithToken(std::move(value.block_generate)),
          WithToken(std::move(value.block_propagate)), WithToken(std::move(value.block_ones)),
          WithToken(std::move(value.block_agree))};
}

// Openings have no payload.
IntMatrix WithToken(IntMatrix value) { return value; }
BitMatrix WithToken(BitMatrix value) { return value; }

}  // namespace

void ShapeEngine::RunOnShapes(Operation& operation) const {
  CheckOperation(operation, facts_);
  std::visit(
      [](auto& checked) {
        for (auto& value : checked.results) value = WithToken(std::move(value));
      },
      static_cast<Operation::variant&>(operation));
}

Shared ShapeEngine::Public(const PublicMatrix& value) {
  return WithToken(PublicResult(value, facts_));
}
Shared ShapeEngine::Add(const Shared& a, const Shared& b) {
  return WithToken(AddResult(a, b, facts_));
}
Shared ShapeEngine::Subtract(const Shared& a, const Shared& b) {
  return WithToken(AddResult(a, b, facts_));
}
Shared ShapeEngine::Scale(const Shared& a, Int128 factor) {
  return WithToken(ScaleResult(a, factor, facts_));
}
Shared ShapeEngine::MultiplyPublic(const PublicMatrix& left, const Shared& right) {
  return WithToken(MultiplyPublicResult(left, right, facts_));
}
Shared ShapeEngine::MultiplyPublic(const Shared& left, const PublicMatrix& right) {
  return WithToken(MultiplyPublicResult(left, right, facts_));
}
Shared ShapeEngine::Transpose(const Shared& a) { return WithToken(TransposeResult(a)); }
Shared ShapeEngine::Slice(const Shared& a, size_t row, size_t col, Shape shape) {
  return WithToken(SliceResult(a, row, col, shape));
}
Shared ShapeEngine::Concatenate(std::span<const Shared> parts, bool by_rows) {
  return WithToken(ConcatenateResult(parts, by_rows));
}
Shared ShapeEngine::SelectRows(const Shared& a, std::span<const size_t> rows) {
  return WithToken(SelectRowsResult(a, rows));
}
Shared ShapeEngine::SumRows(const Shared& a) { return WithToken(SumRowsResult(a, facts_)); }

SharedBits ShapeEngine::PublicBits(const BitMatrix& value) {
  CheckBits(value);
  return WithToken(SharedBits{value.shape, value.width, nullptr});
}
SharedBits ShapeEngine::Xor(const SharedBits& a, const SharedBits& b) {
  return WithToken(XorResult(a, b));
}
SharedBits ShapeEngine::Not(const SharedBits& a) {
  return WithToken(SharedBits{a.shape, a.width, nullptr});
}
SharedBits ShapeEngine::AndPublic(const SharedBits& a, const BitMatrix& b) {
  return WithToken(AndPublicResult(a, b));
}
SharedBits ShapeEngine::SelectPlanes(const SharedBits& a, std::span<const size_t> planes) {
  return WithToken(SelectPlanesResult(a, planes));
}
SharedBits ShapeEngine::JoinPlanes(std::span<const SharedBits> parts) {
  return WithToken(JoinPlanesResult(parts));
}
SharedBits ShapeEngine::RandomBits(Shape shape, size_t width, crypto::RandomSource&) {
  return WithToken(SharedBits{shape, width, nullptr});
}

}  // namespace partita::mpc
