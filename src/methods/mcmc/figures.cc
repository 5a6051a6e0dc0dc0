#include "methods/mcmc/figures.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/error.h"
#include "methods/mcmc/trade_offs.h"

namespace partita::methods::mcmc {
namespace {

using privacy::CurveSide;
using privacy::TradeOff;

constexpr size_t kProfilePoints = 25;
constexpr double kAccountantWidth = 3e-2;

TradeOff Named(TradeOff curve, std::string name) {
  curve.name = std::move(name);
  return curve;
}

// What a certain test reaches bounds what any promise can be.
TradeOff Attack(TradeOff curve, std::string name) {
  curve.side = CurveSide::kUpper;
  return Named(std::move(curve), std::move(name));
}

struct Observer {
  std::string name;
  uint32_t known = 0;  // of the parts of a noise that all parties add
};

std::vector<Observer> Observers(const FigureSettings& settings) {
  std::vector<Observer> observers = {{"outside", 0}, {"one party", 1}};
  if (settings.coalition > 1) {
    observers.push_back({fmt::format("{} parties", settings.coalition), settings.coalition});
  }
  return observers;
}

std::vector<TradeOff> OneDecision(const FigureSettings& settings, const Observer& observer) {
  const double delta = settings.sensitivity;
  const double shape = RemainingShape(settings.parties, observer.known);
  const std::string down = fmt::format("at log r = 0 against {:.4g}", -delta);
  const std::string up = fmt::format("at log r = {:.4g} against 0", -delta);
  std::vector<TradeOff> curves = {
      Named(SumTradeOff(shape, delta), "Version 1 " + down),
      Named(SumTradeOff(shape, -delta), "Version 1 " + up),
      Named(SumGuarantee(shape, delta), "Versions 1 and 2, guarantee"),
  };
  if (observer.known == 0) {
    curves.push_back(Named(ProductTradeOff(0, -delta), "Version 2 " + down));
    curves.push_back(Named(ProductTradeOff(-delta, 0), "Version 2 " + up));
  }
  curves.push_back(Named(LosingChain(-std::expm1(-delta), 1), "Version 3, Metropolis, guarantee"));
  curves.push_back(Named(BarkerGuarantee(delta), "Version 3, Barker, guarantee"));
  return curves;
}

TradeOff BarkerChain(double delta, uint64_t decisions) {
  const std::vector<privacy::Event> events = {{BarkerMechanism(delta), decisions}};
  privacy::PldOptions coarse;
  coarse.relative_width = kAccountantWidth;
  const std::vector<double> epsilons = privacy::ShowingEpsilons(events, kProfilePoints, coarse);
  return privacy::LowerTradeOff(privacy::Profile(events, epsilons, coarse));
}

// Version 3's lines, the same for everybody.
std::vector<TradeOff> BitChains(double delta, uint64_t decisions) {
  const double likelier = 1 / (1 + std::exp(-delta / 2));
  return {Named(LosingChain(-std::expm1(-delta), decisions), "Version 3, Metropolis, guarantee"),
          Attack(MetropolisChain(delta, decisions), "Version 3, Metropolis, attack"),
          Named(BarkerChain(delta, decisions), "Version 3, Barker, guarantee"),
          Attack(BitsTradeOff(1 - likelier, likelier, decisions), "Version 3, Barker, attack")};
}

void CheckSettings(const FigureSettings& settings) {
  const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
  if (settings.coalition < 1 || settings.coalition >= settings.parties ||
      !positive(settings.sensitivity) || !positive(settings.chain_sensitivity)) {
    throw Error(
        ErrorCode::kUsage,
        "a figure needs a coalition of some but not all parties, and sensitivities above 0");
  }
}

}  // namespace

std::vector<FigureLine> TradeOffFigures(const FigureSettings& settings, Progress& progress) {
  CheckSettings(settings);
  const std::vector<Observer> observers = Observers(settings);
  std::vector<FigureLine> lines;
  for (const Observer& observer : observers) {
    for (TradeOff& curve : OneDecision(settings, observer)) {
      lines.push_back({1, settings.sensitivity, observer.name, std::move(curve)});
    }
  }
  const double delta = settings.chain_sensitivity;
  for (size_t k = 0; k < settings.chains.size(); ++k) {
    progress.Step(k, settings.chains.size());
    progress.CheckCancelled();
    const uint64_t decisions = settings.chains[k];
    const std::vector<TradeOff> bits = BitChains(delta, decisions);
    for (const Observer& observer : observers) {
      const double lost = SumDelta(RemainingShape(settings.parties, observer.known), delta);
      lines.push_back({decisions, delta, observer.name,
                       Named(LosingChain(lost, decisions), "Versions 1 and 2, guarantee")});
      for (const TradeOff& curve : bits) lines.push_back({decisions, delta, observer.name, curve});
    }
  }
  return lines;
}

}  // namespace partita::methods::mcmc
