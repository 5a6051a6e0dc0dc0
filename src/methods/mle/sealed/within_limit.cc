#include "methods/mle/sealed/within_limit.h"

#include <algorithm>

#include "methods/mle/sealed/values.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::mle {

using mpc::Engine;
using mpc::Shared;

std::vector<Shared> KeepWithin(Engine& engine, const std::vector<Shared*>& matrices, double limit) {
  std::vector<mpc::Comparison> comparisons;
  for (const Shared* matrix : matrices) {
    const Shared value = Bounded(*matrix, std::max(matrix->bound, kLargestEntry));
    const Shared most = Bounded(Constant(engine, matrix->shape, limit), value.bound);
    comparisons.push_back({most, value});
    comparisons.push_back({value, Bounded(engine.Scale(most, -1))});
  }
  const std::vector<mpc::SharedBits> beyond = mpc::LessThan(engine, comparisons);
  std::vector<mpc::SharedBits> either;
  for (size_t i = 0; i < beyond.size(); i += 2)
    either.push_back(engine.Xor(beyond[i], beyond[i + 1]));  // never both
  std::vector<Shared> counts;
  for (const Shared& bits : engine.ToRing(either))
    counts.push_back(SumAll(engine, bits, static_cast<double>(bits.shape.size())));
  const std::vector<Shared> usable = engine.ToRing(mpc::IsZero(engine, counts));
  mpc::ProductRound round(engine);
  std::vector<Shared> kept(matrices.size()), identities;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const auto size = static_cast<Eigen::Index>(matrices[i]->shape.rows);
    identities.push_back(
        engine.Public(EncodeMatrix(Eigen::MatrixXd::Identity(size, size), kSealedBits)));
    round.Add(usable[i], AsRow(Minus(engine, *matrices[i], identities[i])), 2 * limit, kept[i]);
  }
  round.Run();
  for (size_t i = 0; i < matrices.size(); ++i) {
    *matrices[i] = Plus(engine, mpc::Reshape(kept[i], matrices[i]->shape), identities[i], limit);
  }
  return counts;
}

}  // namespace partita::methods::mle
