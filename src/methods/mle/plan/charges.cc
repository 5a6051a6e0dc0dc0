// What a private study of method `mle` takes from the budget of one table.
#include "methods/mle/study/study.h"
#include "run/method/noise_charges.h"

namespace partita::methods::mle {

std::vector<privacy::ledger::Charge> MleStudy::Charges(
    const privacy::ledger::Policy& policy) const {
  return run::NoiseCharges(*this, policy,
                           {privacy->release.id, privacy->noise, privacy->promise.adjacency,
                            privacy->sensitivity, privacy->replace_sensitivity});
}

}  // namespace partita::methods::mle
