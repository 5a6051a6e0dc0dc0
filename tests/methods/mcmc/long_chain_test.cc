// 1e5 decisions, each compared with the plaintext chain's at the same state and threshold.
#include <gtest/gtest.h>

#include "tests/methods/mcmc/chain_parties.h"

namespace partita::methods::mcmc::long_chain_test {
namespace {

TEST(LongChain, IsThePlaintextChainDecisionForDecision) {
  for (const EngineCase& engine_case : {EngineCase{"dealer", 3}, EngineCase{"replicated", 3}}) {
    ExpectPlaintextChain(engine_case, BirthwtPlan(1000, 100, stats::mcmc::Acceptance::kBarker));
  }
}

}  // namespace
}  // namespace partita::methods::mcmc::long_chain_test
