#include "run/party/stripes.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "crypto/hash.h"
#include "mpc/release_gate.h"
#include "mpc/share_sum.h"
#include "run/party/study_engine.h"

namespace partita::run {
namespace {

constexpr char kPurpose[] = "stripe";
constexpr size_t kTagBytes = 8;

class InTurn : public Stripes {
 public:
  InTurn(const Study& study, net::Channel& channel, const MethodRows* rows, StripeConnector connect,
         Progress& progress)
      : study_(study),
        channel_(channel),
        rows_(rows),
        connect_(std::move(connect)),
        progress_(progress) {}

  std::vector<mpc::Shared> Sum() override {
    const net::ChannelFork fork = channel_.Fork();
    const size_t count = study_.file.engine.stripes;
    WatchingProgress watching(channel_, progress_);
    std::vector<mpc::Shared> sum;
    for (size_t stripe = 0; stripe < count; ++stripe) {
      progress_.Phase(fmt::format("{}, stripe {} of {}", fork.phase, stripe + 1, count));
      const std::unique_ptr<MethodRows> own =
          rows_ == nullptr ? nullptr : study_.StripeRows(channel_.self(), *rows_, stripe);
      StripeShares part = RunStripe(study_, fork, stripe, own.get(), connect_, watching);
      channel_.Join(part.traffic);
      if (stripe == 0) {
        sum = std::move(part.shares);
      } else {
        mpc::AddShares(sum, part.shares);
      }
    }
    return sum;
  }

 private:
  const Study& study_;
  net::Channel& channel_;
  const MethodRows* rows_;
  StripeConnector connect_;
  Progress& progress_;
};

class Planned : public Stripes {
 public:
  Planned(const Study& study, mpc::PlanEngine& engine) : study_(study), engine_(engine) {}

  std::vector<mpc::Shared> Sum() override {
    const std::vector<uint64_t> depths = engine_.depths();
    std::vector<mpc::Shared> first;
    for (size_t stripe = 0; stripe < study_.file.engine.stripes; ++stripe) {
      mpc::CountingReleaseGate closed;
      closed.Reserve({});
      mpc::PlanEngine own(CostModelOf(study_), &closed);
      own.StartAt(depths);
      std::vector<mpc::Shared> shares = study_.RunStripe(own, stripe, nullptr);
      engine_.Join(own);
      if (stripe == 0) first = std::move(shares);
    }
    return first;
  }

 private:
  const Study& study_;
  mpc::PlanEngine& engine_;
};

}  // namespace

std::string StripeTag(const net::ChannelFork& fork, size_t stripe) {
  ByteWriter writer;
  writer.String("partita stripe tag");
  writer.Blob(fork.run_id);
  writer.U32(fork.attempt);
  writer.U64(stripe);
  return ToHex(crypto::Sha256Of(writer.bytes())).substr(0, 2 * kTagBytes);
}

StripeShares RunStripe(const Study& study, const net::ChannelFork& fork, size_t stripe,
                       const MethodRows* rows, const StripeConnector& connect, Progress& progress) {
  net::Channel channel(connect(stripe, StripeTag(fork, stripe), progress), fork, kPurpose, stripe);
  channel.SetProgress(&progress);
  try {
    mpc::CountingReleaseGate closed;
    closed.Reserve({});
    const std::unique_ptr<mpc::Engine> engine = MakeStudyEngine(study, channel, closed);
    StripeShares part;
    part.shares = study.RunStripe(*engine, stripe, rows);
    part.traffic = channel.Total();
    return part;
  } catch (const Error& error) {
    channel.Abort(error);
    throw;
  } catch (const std::exception& error) {
    channel.Abort(Error(ErrorCode::kInternal, error.what()));
    throw;
  }
}

std::unique_ptr<Stripes> StripesInTurn(const Study& study, net::Channel& channel,
                                       const MethodRows* rows, StripeConnector connect,
                                       Progress& progress) {
  return std::make_unique<InTurn>(study, channel, rows, std::move(connect), progress);
}

std::unique_ptr<Stripes> PlannedStripes(const Study& study, mpc::PlanEngine& engine) {
  return std::make_unique<Planned>(study, engine);
}

void RequireStripes(const Study& study) {
  const study::EngineSpec& engine = study.file.engine;
  if (engine.stripes == 1) return;
  if (engine.stored_correlations) {
    Refuse(study, engine.stripes_position,
           "'stripes' is for correlations that are made in the run: every stripe has its own",
           "remove correlations = \"stored\", or stripes");
  }
  if (const std::optional<std::string> why = study.WhyNoStripes()) {
    Refuse(study, engine.stripes_position, "'stripes' is not for " + *why, "remove it");
  }
  bool split = false;
  for (const data::Segment& segment : study.partition.segments) {
    if (!segment.shared()) continue;
    split = true;
    const data::RowBlock& block = study.partition.blocks[segment.block];
    const uint64_t rows = block.count.value_or(0);  // a shared block has one
    if (rows / engine.stripes >= kMinRowsOfStripe) continue;
    Refuse(study, engine.stripes_position,
           fmt::format("block '{}' has {} rows, so that {} stripes are shorter than {} rows",
                       block.name, rows, engine.stripes, kMinRowsOfStripe),
           rows < 2 * kMinRowsOfStripe
               ? "remove 'stripes': the block is too small to be cut"
               : fmt::format("stripes = {} at most", rows / kMinRowsOfStripe));
  }
  if (!split) {
    Refuse(study, engine.stripes_position,
           "'stripes' cuts rows whose columns several parties hold, and this study has none",
           "remove it: sums of whole rows are formed by their holders alone");
  }
}

}  // namespace partita::run
