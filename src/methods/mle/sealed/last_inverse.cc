#include "methods/mle/sealed/last_inverse.h"

#include "methods/mle/sealed/values.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Product;
using mpc::Shared;

constexpr double kMostOfEighth = 0x1p-20;                        // |E^8|^2
constexpr double kLargestEvenPowers[] = {0x1p4, 0x1p8, 0x1p16};  // of an E with |E|^2 < 16

// One inverse on its way.
struct LastWork {
  Shared inverse, residual, power;
  Shared next_inverse, next_power;
};

void AddEntries(Engine& engine, const Shared& matrix, double most, std::vector<Limit>& proof) {
  proof.push_back({matrix, most});
  proof.push_back({engine.Scale(matrix, -1), most});
}

void AddSquares(Engine& engine, const Shared& squares, double most, std::vector<Limit>& proof) {
  proof.push_back({SumAll(engine, squares, squares.bound), most});
}

}  // namespace

std::vector<Limit> InvertLast(const SealedProblem& problem, SealedPoint& at) {
  Engine& engine = problem.engine;
  constexpr auto kMatrix = Product::Kind::kMatrix;
  std::vector<Limit> proof;
  std::vector<LastWork> all(at.samples.size());
  mpc::ProductRound round(engine);
  for (size_t s = 0; s < all.size(); ++s) {
    const SampleAt& sample = at.samples[s];
    AddEntries(engine, sample.inverse, kLargestInverse, proof);
    AddEntries(engine, sample.r, kLargestCorrelation, proof);
    all[s].inverse = Bounded(sample.inverse);
    round.AddCut(kMatrix, all[s].inverse, Bounded(sample.r), kLargestResidual, kSealedBits,
                 all[s].power);
  }
  round.Run();
  const auto add_factor = [&](LastWork& last, int bits) {
    round.AddCut(kMatrix, PlusIdentity(engine, last.power, 1, 2 * last.power.bound), last.inverse,
                 kLargestEntry, bits, last.next_inverse);
  };
  for (LastWork& last : all) {
    last.power = PlusIdentity(engine, engine.Scale(last.power, -1), 1, 2 * kLargestResidual);
    round.AddCut(last.power, 2 * kLargestResidual, kCoarseBits, last.residual);
  }
  for (const double bound : kLargestEvenPowers) {
    for (LastWork& last : all) {
      add_factor(last, kSealedBits);
      round.AddCut(kMatrix, last.power, last.power, bound, kSealedBits, last.next_power);
    }
    round.Run();
    for (LastWork& last : all) {
      last.inverse = last.next_inverse;
      last.power = last.next_power;
    }
  }
  for (LastWork& last : all) {
    add_factor(last, kSealedBits - 1);
    round.Add(last.residual, last.residual, last.residual.bound * last.residual.bound,
              last.residual);
    round.Add(last.power, last.power, last.power.bound * last.power.bound, last.power);
  }
  round.Run();
  for (size_t s = 0; s < all.size(); ++s) {
    const Shared sum = engine.Add(all[s].next_inverse, engine.Transpose(all[s].next_inverse));
    at.samples[s].inverse = Bounded(mpc::TimesPowerOfTwo(sum, -1));
    AddSquares(engine, all[s].residual, kMostResidualSquares, proof);
    AddSquares(engine, all[s].power, kMostOfEighth, proof);
    proof.push_back({Diagonal(engine, at.samples[s].inverse), kLargestInverse});
  }
  return proof;
}

}  // namespace partita::methods::mle
