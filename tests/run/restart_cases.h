// Small studies of every method that charges a ledger, and what must hold after parties were killed
// and all started again (restarts.h).
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "methods/prepare_study.h"
#include "tests/run/restarts.h"
#include "tests/run/results.h"

namespace partita::testing {

struct RestartCase {
  std::string name;  // method and engine
  std::unique_ptr<const run::Study> study;
  std::map<std::string, std::string> tables;  // CSV by holder
  bool goes_on = false;  // the method keeps what it needs to go on, so that one charge is enough
  // Of a finished party: all that must be the same at every party and after every restart.
  std::string (*result)(const run::PartyOutcome& outcome) = nullptr;
  uint64_t lost_at_most = 0;  // openings, by one kill of one party; of a method that says so
  uint64_t lost_if_all = 0;   // likewise, of all parties at once
};

// What the restarts of a case came to, over all kill points.
struct RestartCounts {
  uint64_t points = 0, restarts = 0, resumed = 0, not_trained = 0, lost = 0;
};

inline std::string RestartText(const std::string& name, const RestartCounts& counts) {
  return fmt::format(
      "{}: {} kill points, {} restarts, {} results that were there before the kill and are the "
      "same after it, {} openings lost, {} results marked not trained\n",
      name, counts.points, counts.restarts, counts.resumed, counts.lost, counts.not_trained);
}

namespace restarts_detail {

inline std::string Party(const std::string& name, const std::string& roles,
                         const std::string& more) {
  return fmt::format("[[party]]\nname = \"{}\"\nroles = [{}]\n{}", name, roles, more);
}

// Parties north and south, and whoever else the engine needs; whoever computes holds something.
inline std::string Parties(const std::string& engine, const std::string& of_north,
                           const std::string& of_south, const std::string& of_centre) {
  std::string text =
      Party("north", "\"holder\", \"receiver\"", of_north) + Party("south", "\"holder\"", of_south);
  if (engine == "replicated") text += Party("centre", "\"holder\"", of_centre);
  if (engine == "dealer") text += Party("helper", "\"dealer\"", "");
  return text;
}

inline std::string MixtureResultOf(const run::PartyOutcome& outcome) {
  for (const study::DocumentFile& file : testing::DocumentOf(outcome).files) {
    if (file.name == "model.json") return file.contents;
  }
  return "";
}
inline std::string McmcResultOf(const run::PartyOutcome& outcome) {
  return testing::DocumentOf(outcome).files.at(0).contents;  // draws.csv
}

}  // namespace restarts_detail

inline RestartCase MixtureRestarts(const std::string& engine, int iterations, int checkpoint_every,
                                   int reserve) {
  RestartCase made;
  made.name = fmt::format("mixture, {}", engine);
  if (reserve > 0) made.name += fmt::format(", {} in reserve", reserve);
  const int rows = 24;
  std::string north = "id,visits\n", south = "id,sex\n", centre = "id,falls\n";
  for (int i = 0; i < rows; ++i) {
    north += fmt::format("k{},{}\n", i, (i * 7) % 3);
    south += fmt::format("k{},{}\n", i, i * 5 % 11 < 5 ? "f" : "m");
    centre += fmt::format("k{},{}\n", i, (i * 4) % 3);
  }
  made.tables = {{"north", north}, {"south", south}};
  std::string falls;
  if (engine == "replicated") {
    made.tables["centre"] = centre;
    falls = "[[variable]]\nname = \"falls\"\ntype = \"integer\"\nlower = 0\nupper = 2\n";
  }
  made.study = methods::PrepareStudy(methods::ParseStudyFile(
      "partita = 1\nname = \"restarts\"\n" +
          restarts_detail::Parties(engine, "columns = [\"visits\"]\n", "columns = [\"sex\"]\n",
                                   "columns = [\"falls\"]\n") +
          falls +
          fmt::format(
              "[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n"
              "[[variable]]\nname = \"visits\"\ntype = \"integer\"\nlower = 0\nupper = 2\n"
              "[[variable]]\nname = \"sex\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n"
              "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = \"{}\"\n"
              "[[analysis]]\nmethod = \"mixture\"\ncomponents = 2\niterations = {}\n"
              "checkpoint_every = {}\nreserve = {}\nsynthetic_rows = 10\n"
              "[analysis.batch]\nmode = \"poisson\"\nsize = 8\n"
              "[analysis.privacy]\nnoise_multiplier = 2\ndelta = 1e-5\nadjacency = \"replace\"\n",
              rows, engine, iterations, checkpoint_every, reserve),
      "study.toml"));
  made.goes_on = true;
  made.result = restarts_detail::MixtureResultOf;
  made.lost_at_most = 1;
  made.lost_if_all = static_cast<uint64_t>(checkpoint_every) + 1;
  return made;
}

inline RestartCase McmcRestarts(const std::string& engine, int decisions) {
  RestartCase made;
  made.name = fmt::format("mcmc, {}", engine);
  const bool three = engine == "replicated";
  for (int i = 0; i < (three ? 60 : 40); ++i) {
    std::string& csv = made.tables[i < 20 ? "north" : i < 40 ? "south" : "centre"];
    if (csv.empty()) csv = "low,z\n";
    csv += fmt::format("{},{:.2f}\n", i * 3 % 7 < 3 ? 1 : 0, (i * 13 % 17) / 8.0 - 1);
  }
  std::string text =
      "partita = 1\nname = \"restarts\"\n" +
      restarts_detail::Parties(engine, "rows = [\"n\"]\n", "rows = [\"s\"]\n", "rows = [\"c\"]\n") +
      "[[rows]]\nname = \"n\"\n[[rows]]\nname = \"s\"\n" +
      (three ? "[[rows]]\nname = \"c\"\n" : "") +
      "[[variable]]\nname = \"low\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
      "[[variable]]\nname = \"z\"\ntype = \"numeric\"\nlower = -2\nupper = 2\n"
      "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n";
  text += fmt::format(
      "[engine]\nname = \"{}\"\n[[analysis]]\nmethod = \"mcmc\"\nprotocol = \"decisions\"\n"
      "model = \"logistic\"\noutcome = \"low\"\nrelease = [\"decisions\"]\npredictors = [\"z\"]\n"
      "chains = 2\nwarmup = {}\ndraws = {}\n"
      "[analysis.privacy]\nepsilon = 6\ndelta = 1e-5\nadjacency = \"replace\"\nclip = 0.005\n",
      engine, decisions / 2, decisions - decisions / 2);
  made.study = methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
  made.goes_on = true;
  made.result = restarts_detail::McmcResultOf;
  made.lost_at_most = 1;
  made.lost_if_all = static_cast<uint64_t>(decisions);
  return made;
}

inline RestartCase MomentsRestarts(const std::string& engine) {
  RestartCase made;
  made.name = fmt::format("mle, private moments, {}", engine);
  std::string north = "id,x\n", south = "id,y\n", centre = "id,z\n";
  for (int i = 0; i < 40; ++i) {
    north += fmt::format("k{},{:.2f}\n", i, (i * 13 % 17) / 8.0 - 1);
    south += fmt::format("k{},{:.2f}\n", i, (i * 7 % 23) / 11.0 - 1);
    centre += fmt::format("k{},{:.2f}\n", i, (i * 5 % 19) / 9.0 - 1);
  }
  made.tables = {{"north", north}, {"south", south}};
  const bool three = engine == "replicated";
  if (three) made.tables["centre"] = centre;
  made.study = methods::PrepareStudy(methods::ParseStudyFile(
      "partita = 1\nname = \"restarts\"\n" +
          restarts_detail::Parties(engine, "columns = [\"x\"]\n", "columns = [\"y\"]\n",
                                   "columns = [\"z\"]\n") +
          "[[rows]]\nname = \"all\"\ncount = 40\n[table]\nkey = \"id\"\n"
          "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = -2\nupper = 2\n"
          "[[variable]]\nname = \"y\"\ntype = \"numeric\"\nlower = -2\nupper = 2\n" +
          (three ? "[[variable]]\nname = \"z\"\ntype = \"numeric\"\nlower = -2\nupper = 2\n" : "") +
          "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n" +
          fmt::format("[engine]\nname = \"{}\"\n", engine) +
          "[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\nrelease = [\"moments\"]\n"
          "function = \"sem\"\nmodel = \"y ~ x" +
          (three ? " + z" : "") +
          "\"\n"
          "[analysis.privacy]\nepsilon = 100\ndelta = 1e-6\nadjacency = \"replace\"\n",
      "study.toml"));
  return made;
}

inline RestartCase ClassifyRestarts(const std::string& engine) {
  RestartCase made;
  made.name = fmt::format("classify, dp-sgd, {}", engine);
  std::vector<std::string> holders = {"north", "south"};
  std::string parties = restarts_detail::Parties("", "rows = [\"n\"]\n", "rows = [\"s\"]\n", "");
  std::string blocks = "[[rows]]\nname = \"n\"\ncount = 20\n[[rows]]\nname = \"s\"\ncount = 20\n";
  if (engine == "dealer") parties += restarts_detail::Party("helper", "\"dealer\"", "");
  if (engine == "replicated") {
    parties += restarts_detail::Party("west", "\"holder\"", "rows = [\"w\"]\n");
    blocks += "[[rows]]\nname = \"w\"\ncount = 20\n";
    holders.emplace_back("west");
  }
  for (size_t h = 0; h < holders.size(); ++h) {
    std::string& csv = made.tables[holders[h]] = "relapse,z\n";
    for (int i = 0; i < 20; ++i) {
      csv += fmt::format("{},{:.2f}\n", i * 3 % 7 < 3 ? "yes" : "no",
                         ((i + 5 * static_cast<int>(h)) * 13 % 17) / 8.0 - 1);
    }
  }
  made.study = methods::PrepareStudy(methods::ParseStudyFile(
      "partita = 1\nname = \"restarts\"\n" + parties + blocks +
          "[[variable]]\nname = \"relapse\"\ntype = \"factor\"\nlevels = [\"no\", \"yes\"]\n"
          "[[variable]]\nname = \"z\"\ntype = \"numeric\"\nlower = -2\nupper = 2\n"
          "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n" +
          fmt::format("[engine]\nname = \"{}\"\n", engine) +
          "[[analysis]]\nmethod = \"classify\"\nprotocol = \"dp-sgd\"\noutcome = \"relapse\"\n"
          "positive = \"yes\"\npredictors = [\"z\"]\niterations = 3\n"
          "[analysis.privacy]\nepsilon = 4\ndelta = 1e-4\nadjacency = \"replace\"\n",
      "study.toml"));
  return made;
}

inline RestartCase MarginalsRestarts() {
  RestartCase made;
  made.name = "marginals, dealer";
  std::string north = "id,visits\n", south = "id,sex\n";
  for (int i = 0; i < 40; ++i) {
    north += fmt::format("k{},{}\n", i, (i * 7) % 3);
    south += fmt::format("k{},{}\n", i, i * 5 % 11 < 5 ? "f" : "m");
  }
  made.tables = {{"north", north}, {"south", south}};
  made.study = methods::PrepareStudy(methods::ParseStudyFile(
      "partita = 1\nname = \"restarts\"\n" +
          restarts_detail::Parties("dealer", "columns = [\"visits\"]\n", "columns = [\"sex\"]\n",
                                   "") +
          "[[rows]]\nname = \"all\"\ncount = 40\n[table]\nkey = \"id\"\n"
          "[[variable]]\nname = \"visits\"\ntype = \"integer\"\nlower = 0\nupper = 2\n"
          "[[variable]]\nname = \"sex\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n"
          "[design]\nsite = \"ignore\"\nmissing = \"complete\"\n[engine]\nname = \"dealer\"\n"
          "[[analysis]]\nmethod = \"marginals\"\nsynthetic_rows = 10\n"
          "[analysis.privacy]\nepsilon = 5\ndelta = 1e-5\nadjacency = \"replace\"\n",
      "study.toml"));
  return made;
}

namespace restarts_detail {

// A study that may go on: one charge, every result the same, nothing lost without being said.
inline void CheckResumed(const RestartCase& of, const std::vector<Attempt>& attempts, uint64_t lost,
                         RestartCounts& counts) {
  const Attempt& last = attempts.back();
  const std::string result = of.result(*last.ends.at("north").outcome);
  ASSERT_FALSE(result.empty());
  for (const Attempt& attempt : attempts) {
    for (const auto& [party, end] : attempt.ends) {
      if (!end.outcome || end.outcome->result == nullptr) continue;
      EXPECT_EQ(of.result(*end.outcome), result) << party;
      counts.resumed += &attempt == &last ? 0 : 1;
    }
  }
  const run::PartyOutcome& north = *last.ends.at("north").outcome;
  const nlohmann::json json = nlohmann::json::parse(testing::DocumentOf(north).json);
  const bool marked = testing::DocumentOf(north).ending == study::Ending::kNotTrained;
  const uint64_t gone = json.at("lost_openings");
  EXPECT_LE(gone, lost);
  counts.lost += gone;
  counts.not_trained += marked ? 1 : 0;
  if (!json.contains("planned_iterations")) return;
  // A mixture model: what was opened in all attempts is counted, and no more than was charged.
  const uint64_t made = json.at("iterations"), planned = json.at("planned_iterations");
  const uint64_t openings = json.at("openings"), reserve = json.at("reserve");
  uint64_t learned = 0;
  for (const Attempt& attempt : attempts) {
    // Of the parties that compute: a dealer runs ahead of what opens.
    uint64_t most = 0;
    for (size_t party = 0; party < of.study->num_computing; ++party) {
      const auto& steps = attempt.steps.at(of.study->parties[party].name);
      const auto found = steps.find("iterations");
      if (found != steps.end()) most = std::max(most, found->second);
    }
    learned += most;
  }
  EXPECT_LE(learned, openings);
  EXPECT_EQ(openings, made + gone);
  EXPECT_LE(openings, planned + reserve);
  EXPECT_EQ(made, std::min(planned, planned + reserve - gone));
  EXPECT_EQ(marked, made < planned);
  EXPECT_EQ(json.at("synthetic").empty(), marked);
  for (const auto& [party, end] : last.ends) EXPECT_EQ(end.outcome->not_trained, marked) << party;
}

}  // namespace restarts_detail

// Kills as told, one attempt after the other, then lets all parties run to their end.
inline void ExpectRestart(const RestartCase& of, const std::vector<Kill>& kills,
                          RestartCounts& counts) {
  std::string trace = of.name;
  for (const Kill& kill : kills)
    trace += fmt::format(", {}{} at event {}", kill.all ? "all with " : "", kill.party, kill.event);
  SCOPED_TRACE(trace);
  Restarts restarts(*of.study, of.tables, "10000");
  std::vector<Attempt> attempts;
  uint64_t lost = 0, finished = 0;
  for (const Kill& kill : kills) {
    attempts.push_back(restarts.Run(kill));
    finished += attempts.back().AnyOutcome() ? 1 : 0;
    lost += kill.all ? of.lost_if_all : of.lost_at_most;
  }
  attempts.push_back(restarts.Run());
  counts.points += kills.size();
  ++counts.restarts;
  ASSERT_EQ(attempts.back().Failures(), "");
  for (const std::string& holder : restarts.holders()) {
    const privacy::ledger::Standing standing = restarts.StandingOf(holder);
    EXPECT_TRUE(standing.reservations.empty()) << holder;
    EXPECT_EQ(standing.reserved, privacy::ledger::Totals{}) << holder;
    if (of.goes_on) {
      EXPECT_EQ(standing.studies_spent, 1u) << holder;
    } else {
      // A release for every attempt that gave anybody a result, the last among them.
      EXPECT_GE(standing.studies_spent, finished + 1) << holder;
      EXPECT_LE(standing.studies_spent, attempts.size()) << holder;
    }
  }
  if (of.goes_on) restarts_detail::CheckResumed(of, attempts, lost, counts);
}

// One kill at `per_party` events of every process, spread over all it does; 0: at every event.
// Likewise of all processes at once.
inline RestartCounts ExpectRestarts(const RestartCase& of, uint64_t per_party) {
  RestartCounts counts;
  const Attempt whole = Restarts(*of.study, of.tables, "10000").Run();
  EXPECT_EQ(whole.Failures(), "") << of.name;
  for (const bool all : {false, true}) {
    for (const auto& [party, events] : whole.events) {
      const uint64_t stride = per_party == 0 ? 1 : std::max<uint64_t>(1, events / per_party);
      for (uint64_t event = stride / 2; event < events; event += stride) {
        ExpectRestart(of, {{party, event, all}}, counts);
        if (::testing::Test::HasFatalFailure()) return counts;
      }
      if (all && per_party != 0) break;  // of the first one is enough for a short run
    }
  }
  return counts;
}

}  // namespace partita::testing
