#include "run/party/study_engine.h"

#include "mpc/dealer_engine.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/plan_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"

namespace partita::run {

std::unique_ptr<mpc::Engine> MakeStudyEngine(const Study& study, net::Channel& channel,
                                             mpc::ReleaseGate& gate) {
  const std::string& name = study.file.engine.name;
  if (name == "replicated") return mpc::MakeReplicatedEngine(channel, gate);
  if (name == "shamir") {
    // Four parties or more exchange the keys of their groups first, in what the plan calls so.
    if (channel.num_parties() > 3) channel.BeginPhase("start");
    if (const auto threshold = study.file.engine.threshold)
      return mpc::MakeShamirEngineFor(*threshold, channel, gate);
    return mpc::MakeShamirEngine(channel, gate);
  }
  if (name == "ot") return mpc::MakeOtEngine(channel, gate);
  return mpc::MakeDealerEngine(channel, gate);
}

std::unique_ptr<mpc::CostModel> CostModelOf(const Study& study) {
  if (const auto threshold = study.file.engine.threshold)
    return mpc::shamir::MakeShamirCostModel(study.num_computing, IntegerBits(study), *threshold);
  return mpc::MakeCostModel(study.file.engine.name, study.num_computing);
}

size_t ThresholdOf(const Study& study) {
  return study.file.engine.threshold.value_or(mpc::ShamirThreshold(study.num_computing));
}

}  // namespace partita::run
