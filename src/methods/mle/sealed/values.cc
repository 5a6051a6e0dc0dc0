#include "methods/mle/sealed/values.h"

namespace partita::methods::mle {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::Shape;
using mpc::Shared;

mpc::PublicMatrix EncodeMatrix(const MatrixXd& values, int bits) {
  mpc::IntMatrix encoded{{static_cast<size_t>(values.rows()), static_cast<size_t>(values.cols())},
                         {}};
  for (Index r = 0; r < values.rows(); ++r) {
    for (Index c = 0; c < values.cols(); ++c) {
      encoded.values.push_back(mpc::EncodeFixed(values(r, c), bits));
    }
  }
  return {std::move(encoded), bits};
}

Shared Constant(Engine& engine, Shape shape, double value, int bits) {
  return engine.Public(EncodeMatrix(
      MatrixXd::Constant(static_cast<Index>(shape.rows), static_cast<Index>(shape.cols), value),
      bits));
}

Shared Bounded(Shared value, double bound) { return mpc::WithBound(std::move(value), bound); }

Shared Plus(Engine& engine, const Shared& a, const Shared& b, double bound) {
  return Bounded(engine.Add(Bounded(a, bound / 2), Bounded(b, bound / 2)), bound);
}

Shared Minus(Engine& engine, const Shared& a, const Shared& b, double bound) {
  return Bounded(engine.Subtract(Bounded(a, bound / 2), Bounded(b, bound / 2)), bound);
}

Shared Diagonal(Engine& engine, const Shared& square) {
  std::vector<Shared> entries;
  for (size_t j = 0; j < square.shape.rows; ++j) {
    entries.push_back(engine.Slice(square, j, j, {1, 1}));
  }
  return engine.Concatenate(entries, true);
}

Shared SelectBoth(Engine& engine, const Shared& square, const std::vector<size_t>& places) {
  const Shared rows = engine.SelectRows(square, places);
  return engine.Transpose(engine.SelectRows(engine.Transpose(rows), places));
}

Shared AsRow(const Shared& value) { return mpc::Reshape(value, {1, value.shape.size()}); }

Shared SumAll(Engine& engine, const Shared& value, double bound) {
  return mpc::SumOfRows(engine, AsRow(value), bound);
}

Shared PlusIdentity(Engine& engine, const Shared& square, double constant, double bound) {
  const auto size = static_cast<Index>(square.shape.rows);
  const MatrixXd identity = constant * MatrixXd::Identity(size, size);
  return Bounded(engine.Add(square, engine.Public(EncodeMatrix(identity, square.fraction_bits))),
                 bound);
}

}  // namespace partita::methods::mle
