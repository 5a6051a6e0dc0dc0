// What files of small studies in which something fails share (fault_studies.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/run/fault_studies.h"

namespace partita::testing {

struct FaultEngine {
  std::string label, name;
  size_t holders = 3;
  bool stored = false;
};

inline const FaultEngine kFaultEngines[] = {{"dealer", "dealer", 3},
                                            {"replicated", "replicated", 3},
                                            {"shamir 3", "shamir", 3},
                                            {"shamir 5", "shamir", 5},
                                            {"ot", "ot", 2},
                                            {"dealer stored", "dealer", 2, true},
                                            {"ot stored", "ot", 2, true}};
inline constexpr const char* kHolderNames[] = {"north", "south", "west", "east", "islands"};

// The helper of an engine that has one, and the engine itself, as they stand in a study file.
std::string DealerOf(const FaultEngine& engine);
std::string EngineOf(const FaultEngine& engine);

// The study of a file whose tables lie in the folder, with its stored correlations.
FaultStudy MakeFaultStudy(const std::string& name, const std::string& text,
                          const std::filesystem::path& folder);

// Of fault_registry.cc and fault_hidden.cc.
std::vector<FaultScenario> RegistryFaults();
std::vector<FaultScenario> HiddenFaults();

}  // namespace partita::testing
