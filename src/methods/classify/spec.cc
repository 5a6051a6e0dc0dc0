#include "methods/classify/spec.h"

#include "base/error.h"

namespace partita::methods::classify {

std::string_view ProtocolName(Protocol protocol) {
  switch (protocol) {
    case Protocol::kDescent:
      return "dp-sgd";
    case Protocol::kAggregation:
      return "local-aggregation";
    case Protocol::kPsgd:
      return "psgd";
    case Protocol::kMinimum:
      return "approximate-minima";
    case Protocol::kObjective:
      return "objective-perturbation";
    case Protocol::kAverage:
      return "model-average";
    case Protocol::kFederated:
      return "federated";
    case Protocol::kOwn:
      return "single-party";
  }
  throw Error(ErrorCode::kInternal, "unknown protocol");
}

std::vector<std::string> ProtocolNames() {
  std::vector<std::string> names;
  for (const Protocol protocol :
       {Protocol::kDescent, Protocol::kAggregation, Protocol::kPsgd, Protocol::kMinimum,
        Protocol::kObjective, Protocol::kAverage, Protocol::kFederated, Protocol::kOwn}) {
    names.emplace_back(ProtocolName(protocol));
  }
  return names;
}

bool IsPrivate(Protocol protocol) {
  return protocol == Protocol::kDescent || protocol == Protocol::kAggregation ||
         protocol == Protocol::kPsgd || protocol == Protocol::kMinimum;
}

bool DrawsNoise(Protocol protocol) {
  return IsPrivate(protocol) || protocol == Protocol::kObjective;
}

std::string_view UncoveredRelease(Protocol protocol) {
  switch (protocol) {
    case Protocol::kObjective:
      return "perturbed-minimum";
    case Protocol::kAverage:
      return "exact-average";
    case Protocol::kFederated:
      return "exact-gradients";
    default:
      return "";
  }
}

}  // namespace partita::methods::classify
