#include "run/ranks/stripes_of_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "mpc/share_sum.h"

namespace partita::run {
namespace {

// What the other ranks have reported so far.
class Reports {
 public:
  explicit Reports(Ranks& ranks) : ranks_(ranks), reports_(ranks.size()) {}

  // Takes in what has come; throws what a rank failed with.
  void Look() {
    for (size_t rank = 1; rank < ranks_.size(); ++rank) {
      if (reports_[rank]) continue;
      const std::optional<Bytes> message = ranks_.TryReceive(rank);
      if (!message) continue;
      reports_[rank] = DecodeReport(*message);
      if (const std::optional<Error>& error = reports_[rank]->error) {
        throw Error(error->code(), fmt::format("rank {} of this party: {}", rank, error->message()),
                    error->hint());
      }
    }
  }

  // One that has come.
  std::optional<RankReport>& Of(size_t rank) { return reports_[rank]; }

 private:
  Ranks& ranks_;
  std::vector<std::optional<RankReport>> reports_;
};

class ReportsProgress : public Progress {
 public:
  ReportsProgress(Reports& reports, Progress& inner) : reports_(reports), inner_(inner) {}
  void Phase(std::string_view name) override { inner_.Phase(name); }
  void Step(uint64_t done, uint64_t total) override { inner_.Step(done, total); }
  void CheckCancelled() override {
    inner_.CheckCancelled();
    reports_.Look();
  }

 private:
  Reports& reports_;
  Progress& inner_;
};

class OfRanks : public Stripes {
 public:
  OfRanks(const Study& study, net::Channel& channel, const MethodRows* rows,
          StripeConnector connect, Progress& progress, Ranks& ranks, RankSetup setup)
      : study_(study),
        channel_(channel),
        rows_(rows),
        connect_(std::move(connect)),
        progress_(progress),
        ranks_(ranks),
        setup_(std::move(setup)) {}

  std::vector<mpc::Shared> Sum() override {
    const net::ChannelFork fork = channel_.Fork();
    HandOut(fork);
    Reports reports(ranks_);
    WatchingProgress watching(channel_, progress_);
    ReportsProgress looking(reports, watching);
    std::vector<mpc::Shared> own = RunOwn(fork, looking);
    progress_.Phase(fmt::format("{}, waiting for the other ranks", fork.phase));
    mpc::ShareWords sum = mpc::WordsOf(own);
    for (size_t rank = 1; rank < ranks_.size() && HasWork(rank); ++rank) {
      while (!reports.Of(rank)) WaitForReport(rank, reports, looking);
      channel_.Join(reports.Of(rank)->traffic);
      mpc::AddWords(sum, reports.Of(rank)->sum);
    }
    return mpc::WithWords(own, sum);
  }

 private:
  size_t count() const { return study_.file.engine.stripes; }
  bool HasWork(size_t rank) const { return rank < count(); }

  void HandOut(const net::ChannelFork& fork) {
    for (size_t rank = 1; rank < ranks_.size() && HasWork(rank); ++rank) {
      RankOrder order{setup_, fork, {}};
      for (const size_t stripe : StripesOfRank(rank, ranks_.size(), count())) {
        order.rows.push_back(rows_ == nullptr ? Bytes()
                                              : study_.EncodeStripe(*study_.StripeRows(
                                                    channel_.self(), *rows_, stripe)));
      }
      ranks_.Send(rank, EncodeOrder(order));
    }
  }

  std::vector<mpc::Shared> RunOwn(const net::ChannelFork& fork, Progress& progress) {
    std::vector<mpc::Shared> sum;
    for (const size_t stripe : StripesOfRank(0, ranks_.size(), count())) {
      progress.Phase(fmt::format("{}, stripe {} of {}", fork.phase, stripe + 1, count()));
      const std::unique_ptr<MethodRows> rows =
          rows_ == nullptr ? nullptr : study_.StripeRows(channel_.self(), *rows_, stripe);
      StripeShares part = RunStripe(study_, fork, stripe, rows.get(), connect_, progress);
      channel_.Join(part.traffic);
      if (stripe == 0) {
        sum = std::move(part.shares);
      } else {
        mpc::AddShares(sum, part.shares);
      }
    }
    return sum;
  }

  // A message from this rank, or what another one failed with.
  void WaitForReport(size_t rank, Reports& reports, Progress& progress) {
    reports.Look();
    if (!reports.Of(rank)) PauseForMessages(progress);
  }

  const Study& study_;
  net::Channel& channel_;
  const MethodRows* rows_;
  StripeConnector connect_;
  Progress& progress_;
  Ranks& ranks_;
  RankSetup setup_;
};

}  // namespace

std::unique_ptr<Stripes> StripesOfRanks(const Study& study, net::Channel& channel,
                                        const MethodRows* rows, StripeConnector connect,
                                        Progress& progress, Ranks& ranks, RankSetup setup) {
  return std::make_unique<OfRanks>(study, channel, rows, std::move(connect), progress, ranks,
                                   std::move(setup));
}

RankReport RunOrder(const Study& study, const RankOrder& order, size_t rank, size_t ranks,
                    const StripeConnector& connect, Progress& progress) {
  RankReport report;
  try {
    const std::vector<size_t> own = StripesOfRank(rank, ranks, study.file.engine.stripes);
    if (own.size() != order.rows.size())
      throw Error(ErrorCode::kInternal, "a rank was sent rows of other stripes");
    for (size_t i = 0; i < own.size(); ++i) {
      std::unique_ptr<MethodRows> rows;
      if (!order.rows[i].empty())
        rows = study.DecodeStripe(order.setup.party, own[i], order.rows[i]);
      const StripeShares part = RunStripe(study, order.fork, own[i], rows.get(), connect, progress);
      const mpc::ShareWords words = mpc::WordsOf(part.shares);
      if (i == 0) {
        report.traffic = part.traffic;
        report.sum = words;
        continue;
      }
      report.traffic.depth = std::max(report.traffic.depth, part.traffic.depth);
      for (size_t peer = 0; peer < part.traffic.links.size(); ++peer)
        report.traffic.links[peer] += part.traffic.links[peer];
      mpc::AddWords(report.sum, words);
    }
  } catch (const Error& error) {
    report.error = error;
  } catch (const std::exception& error) {
    report.error = Error(ErrorCode::kInternal, error.what(), "please report this");
  }
  return report;
}

}  // namespace partita::run
