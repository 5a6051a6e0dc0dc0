#include "mpc/shape_engine.h"

namespace partita::mpc {
namespace {

// A value that only has an identity.
Shared WithToken(Shared value) {
  value.payload = std::make_shared<const Shared::Payload>();
  return value;
}

}  // namespace

void ShapeEngine::RunOnShapes(Operation& operation) const {
  CheckOperation(operation, facts_);
  auto add_tokens = [](std::vector<Shared>& values) {
    for (Shared& value : values) value = WithToken(std::move(value));
  };
  if (auto* input = std::get_if<InputOperation>(&operation)) add_tokens(input->results);
  if (auto* multiply = std::get_if<MultiplyOperation>(&operation)) add_tokens(multiply->results);
  if (auto* rescale = std::get_if<RescaleOperation>(&operation)) add_tokens(rescale->results);
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
Shared ShapeEngine::SumRows(const Shared& a) { return WithToken(SumRowsResult(a, facts_)); }

}  // namespace partita::mpc
