// What opened is written before anything is made of it: a party that fails while a generator is
// fitted or rows are drawn, after the run is confirmed, has the file from which both are made again,
// without another charge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "methods/marginals/study.h"
#include "net/memory_transport.h"
#include "run/party/party.h"
#include "tests/methods/marginals/marginals_text.h"
#include "tests/run/study_in_process.h"

namespace partita::methods::marginals::kept_test {
namespace {

using partita::testing::MakeTemporaryFolder;
using partita::testing::Prepare;
using testing::MarginalsText;
using testing::Options;
using testing::RegistryTables;

// Fails where Conclude begins.
class FailsAfterTheOpening : public SilentProgress {
 public:
  explicit FailsAfterTheOpening(bool fails) : fails_(fails) {}
  void Phase(std::string_view name) override {
    if (fails_ && name == "synthetic data") throw std::runtime_error("killed");
  }

 private:
  bool fails_;
};

struct Ended {
  bool failed = false;
  std::map<std::string, std::string> written;
};

std::vector<Ended> RunAndFail(const run::Study& study, const std::vector<std::string>& tables,
                              size_t failing) {
  const std::filesystem::path folder = MakeTemporaryFolder("kept");
  crypto::SystemRandom random;
  auto transports = net::MakeMemoryTransports(run::OnlineNames(study), random);
  std::vector<Ended> ends(transports.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < transports.size(); ++i) {
    threads.emplace_back([&, i] {
      crypto::SystemRandom own_random;
      FailsAfterTheOpening progress(i == failing);
      const auto approvals = run::UnsignedApprovals(own_random);
      run::PartyInput input;
      input.party = i;
      if (i < tables.size()) {
        input.data = folder / fmt::format("{}.csv", i);
        std::ofstream(input.data) << tables[i];
      }
      input.approvals = approvals.get();
      input.write = [&ends, i](const study::DocumentFile& file) {
        ends[i].written[file.name] = file.contents;
      };
      try {
        run::RunParty(
            study, input, [&](bool) { return std::move(transports[i]); }, own_random, progress);
      } catch (const std::runtime_error&) {
        ends[i].failed = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::filesystem::remove_all(folder);
  return ends;
}

TEST(MarginalsKeptTest, WhatOpenedOutlivesAFailureAfterIt) {
  const Options options;
  const auto study = Prepare(MarginalsText(options));
  const std::vector<Ended> ends = RunAndFail(*study, RegistryTables(options), 0);
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_TRUE(ends[0].failed);
  EXPECT_FALSE(ends[1].failed);
  ASSERT_EQ(ends[0].written.size(), 1u);
  EXPECT_EQ(ends[0].written, ends[1].written);
  EXPECT_TRUE(ends[2].written.empty());  // the dealer learns nothing
  const OpenedTables opened = ParseTablesJson(ends[0].written.at("model.json"));
  crypto::SystemRandom random;
  EXPECT_EQ(DrawTables(opened, ChooseFor(opened), 20, 1, random).front().num_rows, 20u);
}

}  // namespace
}  // namespace partita::methods::marginals::kept_test
