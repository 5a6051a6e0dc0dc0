#include "methods/mle/study/stripes.h"

#include "base/error.h"
#include "methods/mle/moments/stripes.h"
#include "methods/mle/study/protocol.h"
#include "run/method/stripes.h"

namespace partita::methods::mle {
namespace {

// By computation.
struct StripeOfRows : run::MethodRows {
  size_t party = 0;
  std::vector<StripeLocal> local;
};

}  // namespace

std::optional<std::string> MleStudy::WhyNoStripes() const {
  for (const study::AnalysisSpec& analysis : file.analyses) {
    if (analysis.protocol != kPooledMoments)
      return "method 'mle' with protocol = \"" + analysis.protocol + "\"";
    if (MleOf(analysis).robust) return "robust standard errors";
  }
  if (IsImputed(*this)) return "missing = \"mi\"";
  if (pattern_table) return "accept = \"checked cells\"";
  return std::nullopt;
}

std::unique_ptr<run::MethodRows> MleStudy::StripeRows(size_t party, const run::MethodRows& rows,
                                                      size_t stripe) const {
  const auto& whole = static_cast<const LocalRows&>(rows);
  auto cut = std::make_unique<StripeOfRows>();
  cut->party = party;
  for (size_t c = 0; c < computations.size(); ++c) {
    cut->local.push_back(StripeLocalOf(computations[c].task, party, whole.blocks.at(c), stripe,
                                       file.engine.stripes));
  }
  return cut;
}

std::vector<mpc::Shared> MleStudy::RunStripe(mpc::Engine& engine, size_t stripe,
                                             const run::MethodRows* rows) const {
  const auto* cut = static_cast<const StripeOfRows*>(rows);
  if (engine.self() && cut == nullptr)
    throw Error(ErrorCode::kInternal, "a computing party brings no rows to its stripe");
  std::vector<mpc::Shared> shares;
  for (size_t c = 0; c < computations.size(); ++c) {
    AppendMoments(ComputeStripe(engine, computations[c].task, stripe, file.engine.stripes,
                                engine.self() ? &cut->local[c] : nullptr),
                  shares);
  }
  return shares;
}

Bytes MleStudy::EncodeStripe(const run::MethodRows& stripe) const {
  const auto& cut = static_cast<const StripeOfRows&>(stripe);
  ByteWriter writer;
  writer.U64(computations.size());
  for (size_t c = 0; c < computations.size(); ++c)
    EncodeStripeLocal(computations[c].task, cut.party, cut.local[c], writer);
  return writer.Take();
}

std::unique_ptr<run::MethodRows> MleStudy::DecodeStripe(size_t party, size_t stripe,
                                                        ByteView bytes) const {
  auto cut = std::make_unique<StripeOfRows>();
  cut->party = party;
  ByteReader reader(bytes);
  if (reader.U64() != computations.size())
    throw Error(ErrorCode::kInternal, "a stripe is of another study");
  for (const Computation& computation : computations) {
    cut->local.push_back(DecodeStripeLocal(
        StripeTask(computation.task, stripe, file.engine.stripes), party, reader));
  }
  reader.ExpectEnd();
  return cut;
}

std::vector<std::vector<SharedMoments>> MomentsOfStripes(const MleStudy& study,
                                                         const std::vector<mpc::Shared>& sums) {
  std::vector<std::vector<SharedMoments>> moments;
  auto at = sums.cbegin();
  for (const Computation& computation : study.computations)
    moments.push_back(TakeMoments(computation.task.cells.size(), at));
  return moments;
}

}  // namespace partita::methods::mle
