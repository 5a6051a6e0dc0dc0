#include "report/result_json.h"

#include <nlohmann/json.hpp>

#include "report/facts_json.h"
#include "report/json.h"

namespace partita::report {

std::string RunJson(const study::Plan& plan, const RunFacts& facts) {
  Json json = HeadJson("finished", plan, facts);
  AppendFacts(plan, facts, json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace partita::report
