// A privacy statement as the plan shows it.
#pragma once

#include <string>
#include <vector>

#include "privacy/statement.h"
#include "run/method/study.h"
#include "study/file/study_file.h"
#include "study/plan/plan.h"

namespace partita::run {

// Level of exposures that are protected by noise.
inline constexpr char kNoisedStatistics[] = "noised-statistics";

// Who may pool what under the engine of a study file.
privacy::EngineStructure StructureOf(const study::EngineSpec& engine);

// Adds the caveats of every private study, whatever its method: what rests on the holders' own
// work, what becomes of cells that the dictionary does not allow, and what no bound covers.
void AddStudyCaveats(const Study& study, privacy::Statement& statement);
// `repaired`: what the method says of such cells, where faulty rows do not vanish among the others.
void AddStudyCaveats(const Study& study, std::string repaired, privacy::Statement& statement);

// Of exact releases: what the engine lets parties find who pool what they have.
void AddEngineBounds(const Study& study, std::vector<study::PlanPrivacy>& rows);

// Of exact releases that everybody who computes learns, and what AddEngineBounds adds.
void AddNoBounds(const Study& study, std::vector<study::PlanPrivacy>& rows);

// One row per adversary; epsilons to four digits, never below the value.
std::vector<study::PlanPrivacy> PlanPrivacyRows(const privacy::Statement& statement);

// The mechanism, the plain sentence of the first row, and the caveats.
std::vector<std::string> PlanPrivacySentences(const privacy::Statement& statement);

}  // namespace partita::run
