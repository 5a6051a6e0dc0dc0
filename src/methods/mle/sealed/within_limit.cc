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

std::vector<Shared> CountBeyond(Engine& engine, const std::vector<std::vector<Limit>>& lists) {
  std::vector<Shared> differences;
  for (const std::vector<Limit>& list : lists) {
    for (const Limit& limit : list) {
      const Shared value = Bounded(limit.value, 0);
      const Shared most = mpc::ConstantLike(engine, value, limit.most, value.fraction_bits);
      differences.push_back(mpc::OfAnySize(engine, engine.Subtract(most, value)));
    }
  }
  const std::vector<Shared> beyond = engine.ToRing(mpc::IsNegative(engine, differences));
  std::vector<Shared> counts;
  auto next = beyond.begin();
  for (const std::vector<Limit>& list : lists) {
    Shared count = Constant(engine, {1, 1}, 0, 0);
    for (size_t i = 0; i < list.size(); ++i, ++next)
      count = engine.Add(count, SumAll(engine, *next, static_cast<double>(next->shape.size())));
    counts.push_back(count);
  }
  return counts;
}

}  // namespace partita::methods::mle
