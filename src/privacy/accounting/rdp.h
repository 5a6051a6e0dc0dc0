// Renyi and zero-concentrated differential privacy: the older rungs. Always upper bounds, never
// tight.
//
// (alpha, rho(alpha))-RDP: log E_Q (P/Q)^alpha <= (alpha - 1) rho(alpha), in both directions
// (Mironov 2017). Composition adds curves. rho-zCDP is rho(alpha) = rho alpha (Bun & Steinke 2016).
#pragma once

#include <functional>
#include <vector>

namespace partita::privacy {

using RdpCurve = std::function<double(double order)>;  // order > 1, any real number

// alpha / (2 noise_multiplier^2); also of the discrete Gaussian (Canonne, Kamath & Steinke 2020,
// Theorem 4), with sigma / sensitivity.
RdpCurve GaussianRdp(double noise_multiplier);
// Poisson sampling, add/remove: log E_{x ~ N(0,1)} (1 - q + q e^(m x - m^2/2))^alpha / (alpha - 1),
// m = 1 / noise_multiplier; "remove" is the worse direction (Mironov, Talwar & Zhang 2019, Theorem
// 5). By the trapezoid rule, whose error falls exponentially for this integrand: relative accuracy
// 1e-10.
RdpCurve SampledGaussianRdp(double noise_multiplier, double sampling_rate);
RdpCurve LaplaceRdp(double noise_multiplier);    // Mironov 2017, Proposition 6
RdpCurve RandomisedResponseRdp(double epsilon);  // Mironov 2017, Proposition 5
// Any epsilon-DP mechanism is (epsilon^2/2)-zCDP, and its losses stay within epsilon.
RdpCurve PureDpRdp(double epsilon);

// The orders that common libraries try: 1.1 to 10.9 by 0.1, 11 to 63, 128, 256, 512, 1024.
std::vector<double> DefaultOrders();

// epsilon = min over orders of rho + log((alpha - 1)/alpha) - (log delta + log alpha)/(alpha - 1)
// (Canonne, Kamath & Steinke 2020, Proposition 12); at least 0.
double RdpEpsilonAt(const RdpCurve& curve, double delta, const std::vector<double>& orders);
// The same over all orders in (1, 1e6].
double RdpEpsilon(const RdpCurve& curve, double delta);
// delta = min over orders of exp((alpha - 1)(rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1); at
// most 1.
double RdpDelta(const RdpCurve& curve, double epsilon);

// rho-zCDP to epsilon at delta: the best order above; and Bun & Steinke's rho + 2 sqrt(rho
// log(1/delta)).
double ZcdpEpsilon(double rho, double delta);
double ZcdpEpsilonClassical(double rho, double delta);

}  // namespace partita::privacy
