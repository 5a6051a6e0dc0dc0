// Studies of method `mixture` of a registry and its insurers, as all parties run them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/error.h"
#include "methods/mixture/study.h"
#include "methods/prepare_study.h"
#include "tests/run/interrupted_runs.h"
#include "tests/run/results.h"

namespace partita::methods::mixture::mixture_studies {

inline constexpr int kRows = 60;

struct Options {
  std::string engine = "dealer";
  size_t holders = 2;
  std::string analysis =
      "components = 3\niterations = 12\ncheckpoint_every = 4\n"
      "learning_rate = 0.05\nsynthetic_rows = 30\nsynthetic_sets = 2\n";
  std::string batch = "mode = \"poisson\"\nsize = 12\n";
  std::string privacy = "noise_multiplier = 1.5\ndelta = 1e-5\nadjacency = \"replace\"\n";
  std::string utility;  // [analysis.utility]
};

inline std::string StudyText(const Options& options) {
  std::string toml = "partita = 1\nname = \"registry\"\n";
  const auto party = [&](const std::string& name, const std::string& columns) {
    toml += fmt::format("[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [{}]\n", name,
                        name == "north" ? ", \"receiver\"" : "", columns);
  };
  party("north", "\"income\", \"visits\"");
  party("south", options.holders == 2 ? "\"sex\", \"score\"" : "\"sex\"");
  if (options.holders == 3) party("west", "\"score\"");
  if (options.engine == "replicated" && options.holders == 2)
    toml += "[[party]]\nname = \"centre\"\nroles = []\n";
  if (options.engine == "dealer") toml += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  toml += fmt::format("[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n", kRows);
  toml +=
      "[[variable]]\nname = \"income\"\ntype = \"numeric\"\nlower = 0\nupper = 100\n"
      "[[variable]]\nname = \"visits\"\ntype = \"integer\"\nlower = 0\nupper = 5\n"
      "[[variable]]\nname = \"sex\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n"
      "[[variable]]\nname = \"score\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n";
  toml += fmt::format(
      "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = \"{}\"\n"
      "[[analysis]]\nmethod = \"mixture\"\ncolumns = [\"income\", \"visits\", \"sex\", "
      "{{variable = \"score\", family = \"gaussian\"}}]\n{}[analysis.batch]\n{}"
      "[analysis.privacy]\n{}{}",
      options.engine, options.analysis, options.batch, options.privacy, options.utility);
  return toml;
}

inline std::unique_ptr<const run::Study> Prepare(const Options& options) {
  return PrepareStudy(ParseStudyFile(StudyText(options), "study.toml"));
}
inline const MixtureStudy& AsMixture(const run::Study& study) {
  return dynamic_cast<const MixtureStudy&>(study);
}

class MixtureStudyTest : public testing::InterruptedRuns {
 protected:
  void WriteTables(const Options& options) {
    std::mt19937_64 random(7);
    std::map<std::string, std::string> tables;
    tables["north"] = "id,income,visits\n";
    tables["south"] = options.holders == 2 ? "id,sex,score\n" : "id,sex\n";
    tables["west"] = "id,score\n";
    for (int i = 0; i < kRows; ++i) {
      const auto unit = static_cast<double>(random() >> 11) * 0x1p-53;
      const bool man = random() % 2 == 0;
      const std::string score = fmt::format("{:.4f}", 8 * unit - 4);
      tables["north"] += fmt::format("k{},{:.3f},{}\n", i, 100 * unit, random() % 6);
      tables["south"] +=
          fmt::format("k{},{}{}\n", i, man ? "m" : "f", options.holders == 2 ? "," + score : "");
      tables["west"] += fmt::format("k{},{}\n", i, score);
    }
    for (const auto& [party, csv] : tables) std::ofstream(Data(party)) << csv;
  }
};

// Messages and bytes by phase, as planned; rounds at whoever waits longest.
inline void ExpectPlannedTraffic(const std::map<std::string, testing::End>& ends) {
  const study::Plan& plan = ends.begin()->second.outcome->plan;
  struct Cost {
    uint64_t messages = 0, bytes = 0;
    bool operator==(const Cost&) const = default;
  };
  std::map<std::string, Cost> planned, counted;
  uint64_t planned_rounds = 0, counted_rounds = 0;
  for (const study::PlanPhase& phase : plan.phases) {
    planned_rounds += phase.rounds;
    for (const study::PlanLink& link : phase.links) {
      planned[phase.name].messages += link.messages;
      planned[phase.name].bytes += link.bytes;
    }
  }
  for (const auto& [party, end] : ends) {
    uint64_t rounds = 0;
    for (const net::PhaseTraffic& phase : end.outcome->traffic) {
      rounds += phase.rounds;
      for (const net::LinkTraffic& link : phase.links) {
        counted[phase.phase].messages += link.messages_sent;
        counted[phase.phase].bytes += link.bytes_sent;
      }
    }
    counted_rounds = std::max(counted_rounds, rounds);
  }
  for (const auto& [phase, cost] : planned) {
    EXPECT_EQ(counted[phase].messages, cost.messages) << phase;
    EXPECT_EQ(counted[phase].bytes, cost.bytes) << phase;
  }
  EXPECT_EQ(counted_rounds, planned_rounds);
}

inline nlohmann::json ResultOf(const testing::End& end) {
  return nlohmann::json::parse(testing::DocumentOf(*end.outcome).json);
}

inline const study::DocumentFile& FileOf(const testing::End& end, const std::string& name) {
  for (const study::DocumentFile& file : testing::DocumentOf(*end.outcome).files) {
    if (file.name == name) return file;
  }
  throw Error(ErrorCode::kUsage, "no file " + name);
}

inline const study::DocumentSection* SectionOf(const testing::End& end,
                                               const std::string& heading) {
  for (const study::DocumentSection& section : testing::DocumentOf(*end.outcome).sections) {
    if (section.heading == heading) return &section;
  }
  return nullptr;
}

}  // namespace partita::methods::mixture::mixture_studies
