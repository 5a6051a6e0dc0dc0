// Every question of `partita privacy` over a grid of mechanisms, rates, adjacencies and scales,
// asked as a user does: answered within 2 s of processor time, or with a sentence that says which
// width is reached. (tests/privacy/accounting/grid_test.cc has the small grid, and whether answers
// are true.)
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.h"

namespace partita::testing::privacy_grid_slow_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr double kLimitSeconds = 2;

// Of all children that have ended: what they computed, whoever else used the machine.
double ChildSeconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Grid {
 public:
  void Ask(const std::string& command) {
    SCOPED_TRACE(command);
    std::istringstream in("privacy " + command + " --format json");
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    const double began = ChildSeconds();
    const ProcessResult result = Partita(words);
    const double seconds = ChildSeconds() - began;
    EXPECT_LE(seconds, kLimitSeconds);
    asked_.emplace_back(seconds, command);
    // 6: no noise meets the budget.
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 6) << result.out << result.err;
    if (result.exit_code != 0) return;
    const json data = json::parse(result.out).at("data");
    if (!data.value("reached", true)) {
      EXPECT_THAT(result.err, HasSubstr("--width"));
    }
  }

  ~Grid() {
    std::sort(asked_.rbegin(), asked_.rend());
    double sum = 0;
    for (const auto& [seconds, command] : asked_) sum += seconds;
    std::printf("%zu commands in %.0f s of processor time; the slowest:\n", asked_.size(), sum);
    for (size_t i = 0; i < std::min<size_t>(10, asked_.size()); ++i)
      std::printf("  %.2f s  partita privacy %s\n", asked_[i].first, asked_[i].second.c_str());
  }

 private:
  std::vector<std::pair<double, std::string>> asked_;
};

struct Kind {
  std::string kind;  // with everything but the noise
  std::string key;
  std::vector<std::string> scales;
};

const std::vector<Kind> kKinds = {
    {"gaussian", "sigma", {"0.1", "1", "50"}},
    {"laplace", "scale", {"0.1", "1", "50"}},
    {"discrete-gaussian", "sigma", {"0.3", "1", "50"}},
    {"discrete-gaussian --sensitivity 100", "sigma", {"10", "100", "5000"}},
    {"discrete-laplace", "scale", {"0.1", "1", "50"}},
    {"discrete-laplace --sensitivity 100", "scale", {"10", "100", "5000"}},
    {"discrete-gaussian-sum --shares 3", "sigma", {"0.5", "3", "50"}}};

// Calls use("KIND ... --rate R --adjacency A", key, scales).
template <class Use>
void ForAll(Use use) {
  for (const Kind& kind : kKinds) {
    for (const char* rate : {"0.001", "0.01", "0.1", "0.5", "1"}) {
      for (const char* adjacency : {"add-remove", "replace"}) {
        use(fmt::format("{} --rate {} --adjacency {}", kind.kind, rate, adjacency), kind);
      }
    }
  }
}

TEST(PrivacyGridTest, Eps) {
  Grid grid;
  ForAll([&](const std::string& mechanism, const Kind& kind) {
    for (const std::string& scale : kind.scales) {
      for (const char* delta : {"1e-4", "1e-6", "1e-12"}) {
        for (const char* steps : {"1", "10", "1000"}) {
          grid.Ask(fmt::format("eps {} --{} {} --steps {} --delta {}", mechanism, kind.key, scale,
                               steps, delta));
        }
      }
    }
  });
  for (const char* rate : {"0.001", "0.01", "0.1", "0.5", "1"}) {
    for (const char* each : {"0.01", "1", "10"}) {
      for (const char* steps : {"1", "1000"}) {
        grid.Ask(
            fmt::format("eps randomised-response --each-epsilon {} --rate {} --steps {} --delta "
                        "1e-6",
                        each, rate, steps));
      }
    }
  }
}

TEST(PrivacyGridTest, Sigma) {
  Grid grid;
  ForAll([&](const std::string& mechanism, const Kind&) {
    for (const char* epsilon : {"0.1", "1", "8"}) {
      for (const char* steps : {"1", "1000"}) {
        grid.Ask(fmt::format("sigma {} --steps {} --epsilon {} --delta 1e-6", mechanism, steps,
                             epsilon));
      }
    }
  });
}

TEST(PrivacyGridTest, Steps) {
  Grid grid;
  ForAll([&](const std::string& mechanism, const Kind& kind) {
    for (const std::string& scale : kind.scales) {
      grid.Ask(
          fmt::format("steps {} --{} {} --epsilon 3 --delta 1e-6", mechanism, kind.key, scale));
    }
  });
}

TEST(PrivacyGridTest, CurveAndCompare) {
  Grid grid;
  ForAll([&](const std::string& mechanism, const Kind& kind) {
    for (const std::string& scale : kind.scales) {
      grid.Ask(fmt::format("curve {} --{} {} --steps 10 --delta 1e-6", mechanism, kind.key, scale));
      grid.Ask(
          fmt::format("compare {} --{} {} --steps 10 --delta 1e-6", mechanism, kind.key, scale));
    }
  });
}

}  // namespace
}  // namespace partita::testing::privacy_grid_slow_test
