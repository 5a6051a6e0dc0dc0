#include "runtime/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "net/memory_transport.h"

namespace partita::runtime {
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

PartyEnd RunThread(const MleStudy& study, size_t party, const std::filesystem::path& data,
                   std::unique_ptr<net::Transport> transport, const net::LinkModel& link,
                   Progress& progress) {
  PartyEnd end;
  end.party = study.parties[party].name;
  try {
    crypto::SystemRandom random;
    const Connector connect = [&](bool) { return DelayIfAsked(std::move(transport), link); };
    const std::unique_ptr<Approvals> approvals = UnsignedApprovals(random);
    end.outcome = RunParty(study, {party, data, {}, approvals.get()}, connect, random, progress);
  } catch (const Error& error) {
    end.error = error;
  } catch (const std::exception& error) {
    end.error = Error(ErrorCode::kInternal, error.what(), "please report this");
  }
  return end;
}

}  // namespace

std::filesystem::path DefaultDataPath(const std::filesystem::path& study_file,
                                      const std::string& party) {
  return study_file.parent_path() / party / "data.csv";
}

std::vector<PartyEnd> SimulateInProcess(const MleStudy& study,
                                        const std::vector<std::filesystem::path>& data,
                                        const net::LinkModel& link, Progress& progress) {
  crypto::SystemRandom random;
  std::vector<std::unique_ptr<net::Transport>> transports =
      net::MakeMemoryTransports(PartyNames(study), random);
  std::vector<PartyEnd> ends(study.parties.size());
  std::atomic<bool> stop = false;
  ThreadProgress silent(stop);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < study.parties.size(); ++i) {
    if (i == study.receiver) continue;
    threads.emplace_back([&, i, transport = std::move(transports[i])]() mutable {
      ends[i] = RunThread(study, i, data[i], std::move(transport), link, silent);
    });
  }
  ends[study.receiver] = RunThread(study, study.receiver, data[study.receiver],
                                   std::move(transports[study.receiver]), link, progress);
  if (ends[study.receiver].error && ends[study.receiver].error->code() == ErrorCode::kCancelled)
    stop = true;
  for (std::thread& thread : threads) thread.join();
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

}  // namespace partita::runtime
