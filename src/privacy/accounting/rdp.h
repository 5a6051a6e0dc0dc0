// Renyi and zero-concentrated differential privacy: the older rungs. Always upper bounds, never
// tight.
//
// (alpha, rho(alpha))-RDP: log E_Q (P/Q)^alpha <= (alpha - 1) rho(alpha), in both directions
// (Mironov 2017). Composition adds curves. rho-zCDP is rho(alpha) = rho alpha (Bun & Steinke 2016).
#pragma once

#include <functional>

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

// epsilon = min over orders of rho + log((alpha - 1)/alpha) - (log delta + log alpha)/(alpha - 1)
// (Canonne, Kamath & Steinke 2020, Proposition 12), over all orders in (1, 1e6]; at least 0.
double RdpEpsilon(const RdpCurve& curve, double delta);

// rho-zCDP to epsilon at delta.
double ZcdpEpsilon(double rho, double delta);

}  // namespace partita::privacy
