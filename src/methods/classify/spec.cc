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
  }
  throw Error(ErrorCode::kInternal, "unknown protocol");
}

std::vector<std::string> ProtocolNames() {
  std::vector<std::string> names;
  for (const Protocol protocol :
       {Protocol::kDescent, Protocol::kAggregation, Protocol::kPsgd, Protocol::kMinimum}) {
    names.emplace_back(ProtocolName(protocol));
  }
  return names;
}

}  // namespace partita::methods::classify
