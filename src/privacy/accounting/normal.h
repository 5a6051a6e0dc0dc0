// The normal law, with the precision of small tails kept and the rounding of every result bounded.
#pragma once

#include <limits>

namespace partita::privacy {

inline constexpr double kRounding = std::numeric_limits<double>::epsilon() / 2;  // u = 2^-53

// A positive number known to a relative error.
struct Mass {
  double value = 0;
  double error = 0;
};

double NormalUpperTail(double x);              // P(X > x)
double NormalUpperQuantile(double tail_mass);  // x with P(X > x) = tail_mass, in (0, 1)
double LogNormalUpperTail(double x);           // finite down to x = 1e150

// P(a < X + shift < b), a <= b, +-infinity allowed; the width is taken before the shift, so that
// rounding of a - shift does not enter it. Short intervals by Gauss's 7-point rule, whose remainder
// is below u for half-width * (distance of the middle from 0, plus 4) <= 3/4; long ones from the
// tails on their own side.
Mass NormalMass(double a, double b, double shift = 0);

// The exact delta of telling N(0,1) from N(mu,1): Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu),
// by the logarithms of its terms; the relative error is about 1e-13 (1 + 1/mu). For a bound use the
// accountant.
double GaussianDelta(double mu, double epsilon);
double GaussianEpsilon(double mu, double delta);  // its inverse in epsilon; 0 if delta(0) <= delta
double GaussianMu(double epsilon, double delta);  // its inverse in mu

}  // namespace partita::privacy
