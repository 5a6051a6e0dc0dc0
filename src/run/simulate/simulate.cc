#include "run/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/out_of_memory.h"
#include "net/memory_transport.h"
#include "run/party/stripe_port.h"
#include "run/simulate/temporary_folder.h"

namespace partita::run {
namespace {

// A thread's progress: silent, but it stops when the user or another party's failure says so.
class ThreadProgress : public Progress {
 public:
  explicit ThreadProgress(const std::atomic<bool>& stop) : stop_(stop) {}
  void Phase(std::string_view) override {}
  void Step(uint64_t, uint64_t) override {}
  void CheckCancelled() override {
    if (stop_) throw Error(ErrorCode::kCancelled, "interrupted");
  }

 private:
  const std::atomic<bool>& stop_;
};

// One party's part, with its errors as data.
PartyEnd End(const std::string& party, const std::function<PartyOutcome()>& run) {
  PartyEnd end;
  end.party = party;
  try {
    end.outcome = run();
  } catch (const Error& error) {
    end.error = error;
  } catch (const std::bad_alloc&) {
    end.error = OutOfMemory("run all parties");
  } catch (const std::exception& error) {
    end.error = Error(ErrorCode::kInternal, error.what(), "please report this");
  }
  return end;
}

// run(i, progress) for every party, the receiver's in this thread; its cancellation stops all.
std::vector<PartyEnd> AllParties(const Study& study, size_t count,
                                 const std::function<PartyOutcome(size_t, Progress&)>& run,
                                 Progress& progress) {
  std::vector<PartyEnd> ends(count);
  std::atomic<bool> stop = false;
  ThreadProgress silent(stop);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    if (i == study.receiver) continue;
    threads.emplace_back(
        [&, i] { ends[i] = End(study.parties[i].name, [&] { return run(i, silent); }); });
  }
  PartyEnd& receiver = ends[study.receiver];
  receiver = End(study.parties[study.receiver].name, [&] { return run(study.receiver, progress); });
  if (receiver.error && receiver.error->code() == ErrorCode::kCancelled) stop = true;
  for (std::thread& thread : threads) thread.join();
  return ends;
}

std::filesystem::path StoreIn(const std::filesystem::path& folder, const Study& study,
                              size_t party) {
  return folder / study.parties[party].name;
}

// Packages for one run, in stores in `folder`.
std::vector<PartyEnd> PrepareInProcess(const Study& study, const std::filesystem::path& folder,
                                       const net::LinkModel& link, Progress& progress) {
  crypto::SystemRandom random;
  std::vector<std::unique_ptr<net::Transport>> transports =
      net::MakeMemoryTransports(PartyNames(study), random);
  const auto prepare = [&](size_t i, Progress& own) {
    crypto::SystemRandom own_random;
    PrepareInput input;
    input.party = i;
    input.store = StoreIn(folder, study, i);
    PrepareCorrelations(
        study, input, [&] { return DelayIfAsked(std::move(transports[i]), link); }, own_random,
        own);
    PartyOutcome outcome;
    outcome.party = study.parties[i].name;
    return outcome;
  };
  return AllParties(study, study.parties.size(), prepare, progress);
}

}  // namespace

std::filesystem::path DefaultDataPath(const std::filesystem::path& study_file,
                                      const std::string& party) {
  return study_file.parent_path() / party / "data.csv";
}

std::vector<PartyEnd> SimulateInProcess(const Study& study,
                                        const std::vector<std::filesystem::path>& data,
                                        const net::LinkModel& link, Progress& progress, Keep keep) {
  std::optional<TemporaryFolder> folder;
  std::vector<PartyEnd> prepared;
  if (study.file.engine.stored_correlations) {
    folder.emplace();
    prepared = PrepareInProcess(study, folder->path(), link, progress);
    if (RootCause(prepared) != nullptr) return prepared;
  }
  crypto::SystemRandom random;
  std::vector<std::unique_ptr<net::Transport>> transports =
      net::MakeMemoryTransports(OnlineNames(study), random);
  StripesInMemory stripes(OnlineNames(study), random);
  const auto run = [&](size_t i, Progress& own) {
    crypto::SystemRandom own_random;
    const Connector connect = [&](bool) { return DelayIfAsked(std::move(transports[i]), link); };
    const std::unique_ptr<Approvals> approvals = UnsignedApprovals(own_random);
    PartyInput input;
    input.party = i;
    input.data = data[i];
    input.approvals = approvals.get();
    input.keep = keep;
    if (folder) input.correlations = StoreIn(folder->path(), study, i);
    input.stripes = stripes.Connector(i, link);
    return RunParty(study, input, connect, own_random, own);
  };
  std::vector<PartyEnd> ends = AllParties(study, transports.size(), run, progress);
  // A dealer that was there before the run only.
  for (size_t i = ends.size(); i < prepared.size(); ++i) ends.push_back(std::move(prepared[i]));
  return ends;
}

const PartyEnd* RootCause(const std::vector<PartyEnd>& ends) {
  const PartyEnd* any = nullptr;
  for (const PartyEnd& end : ends) {
    if (!end.error) continue;
    if (end.error->code() != ErrorCode::kPeerLost) return &end;
    if (any == nullptr) any = &end;
  }
  return any;
}

}  // namespace partita::run
