// What a rehearsal compares: numbers of the run with the same numbers in the clear.
//
// Numbers that the study file determines agree to digits. Numbers that are random by design (noise,
// coins, imputed values) have a law given the rows, and are compared with it: p_value bounds the
// probability that a run without a fault departs as far or farther.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace partita::run {

// Digits of agreement are -log10(|run - plain| / max(|plain|, scale)), at most kAllDigits; 0 where
// either is no number.
inline constexpr double kAllDigits = 16;
double DigitsOfAgreement(double run, double plain, double scale);

struct ExactNumber {
  std::string analysis, name;  // "main", "visual =~ x2"
  uint64_t count = 1;          // numbers compared; of several, the others are of the worst
  double run = 0, plain = 0;
  double digits = 0;
};

struct RandomNumbers {
  std::string analysis, name;  // "main", "noise of the moments"
  uint64_t count = 0;
  // Of the numbers minus what the clear says, in their own standard deviations: around 0 and 1.
  // Of coins only the mean, in standard deviations of a mean of so many; the others are 0.
  double mean = 0, deviation = 0, largest = 0;
  double p_value = 1;
};

// z: independent and standard normal if nothing is wrong. Mean, sum of squares and largest value are
// tested, each at a third of the level.
RandomNumbers IndependentNormals(std::string analysis, std::string name, std::span<const double> z);
// Standard normal each, and dependent on each other in any way: only the largest is tested.
RandomNumbers DependentNormals(std::string analysis, std::string name, std::span<const double> z);

// The standard normal number whose tail is that of `t` under Student's law.
double NormalOfStudent(double t, double degrees);

// Coins that fell one after the other, each with a chance that is known before it falls. A bet on
// each at these odds multiplies a stake by 1 on average, whatever the coins depend on; the stake
// that several ways of betting reach together is above 1/p with probability p at most (Ville 1939).
// The bets: that some coins were fair instead, and that all odds were larger or smaller.
class Coins {
 public:
  void Add(bool heads, double chance);
  RandomNumbers Result(std::string analysis, std::string name) const;

 private:
  static constexpr size_t kBets = 7;
  std::array<double, kBets> log_stake_{};
  uint64_t count_ = 0;
  double excess_ = 0, variance_ = 0;
};

// All of one rehearsal.
struct Agreement {
  std::vector<ExactNumber> exact;
  std::vector<RandomNumbers> random;
  bool run_converged = true, plain_converged = true;

  // scale: of a number that may be near 0.
  void Add(std::string analysis, std::string name, double run, double plain, double scale = 0);
  // As many numbers as one, of which the worst is kept. Lengths that differ do not agree.
  void AddAll(std::string analysis, std::string name, std::span<const double> run,
              std::span<const double> plain, double scale = 0);
};

}  // namespace partita::run
