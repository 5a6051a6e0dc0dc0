// What the example studies of every method plan, compute and write is byte for byte what
// tests/references/golden/digests.txt says, numbers to nine digits, since processors may differ in
// the last ones: changes of the frame do not change what it frames. The parties' randomness is
// seeded streams, so noisy results are the same too; times and the versions of libraries are set to
// fixed values. What a method draws after the run, from randomness of its own, is compared by its
// words.
//
// Where a change is meant to change them: PARTITA_GOLDEN=FOLDER build/release/bin/golden_test
// writes all texts to the folder, to be compared with those of the commit before, and their digests
// to FOLDER/digests.txt, which then replaces the old one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "crypto/hash.h"
#include "crypto/prg.h"
#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "report/result_json.h"
#include "report/run_summary.h"
#include "run/party/build_plan.h"
#include "run/party/facts.h"
#include "run/party/party.h"
#include "tests/paths.h"

namespace partita::cli::golden_test {
namespace {

namespace fs = std::filesystem;

using Texts = std::map<std::string, std::string>;  // by file name

// An example, made smaller by replacing texts of its study file.
struct GoldenStudy {
  std::string name;     // of its texts
  std::string example;  // folder below examples/
  std::vector<std::pair<std::string, std::string>> edits = {};
  // Endings of the names of texts with draws that no seed makes the same.
  std::vector<std::string> drawn = {};
};

const std::vector<GoldenStudy>& GoldenStudies() {
  static const std::vector<GoldenStudy> studies = {
      {"mle-rows", "three_factor/horizontal"},
      {"mle-pieces", "three_factor/complex"},
      {"mle-likelihood",
       "three_factor/horizontal",
       {{"\"pooled-moments\"", "\"likelihood\""}, {"[\"moments\"]", "[\"likelihood\"]"}}},
      {"mle-private", "private_regression"},
      {"mixture",
       "synthetic_registry",
       {},
       {"summary.txt", "result.json", "report.html", "synthetic_1.csv", "synthetic_2.csv"}},
      {"classify", "private_classifier"},
      {"describe", "baseline_table"},
      {"glm", "readmission"},
      {"meta", "pooled_registries"},
      {"mixed", "ward_recovery"},
      {"mcmc",
       "registry_survival",
       {{"chains = 160\nsuperchains = 8", "chains = 16\nsuperchains = 4"},
        {"warmup = 150", "warmup = 50"},
        {"draws = 125", "draws = 25"}},
       {"summary.txt"}},
      {"survival", "trial_survival"},
      {"survival-cox",
       "trial_survival",
       {{"report = [182, 365, 730, 1095]", "model = \"cox\""},
        {"~ arm", "~ arm + age"},
        {"\"curves\"", "\"estimates\""}}}};
  return studies;
}

fs::path FolderOf(const GoldenStudy& golden) {
  return fs::path(SourcePath("examples")) / golden.example;
}

std::unique_ptr<const run::Study> Prepare(const GoldenStudy& golden) {
  std::ifstream file(FolderOf(golden) / "study.toml", std::ios::binary);
  std::stringstream read;
  read << file.rdbuf();
  std::string text = read.str();
  for (const auto& [from, to] : golden.edits) {
    const size_t at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error(golden.name + " has no " + from);
    text.replace(at, from.size(), to);
  }
  return methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
}

crypto::Prg Stream(size_t number) {
  crypto::Key key;
  key.Expose()[0] = static_cast<uint8_t>(number + 1);
  return crypto::Prg(key);
}

std::vector<run::PartyOutcome> RunAll(const GoldenStudy& golden, const run::Study& study) {
  const std::vector<std::string> names = run::OnlineNames(study);
  crypto::Prg random = Stream(names.size());
  std::vector<std::unique_ptr<net::Transport>> transports =
      net::MakeMemoryTransports(names, random);
  std::vector<run::PartyOutcome> outcomes(names.size());
  std::vector<std::string> errors(names.size());
  std::vector<std::thread> threads;
  for (size_t party = 0; party < names.size(); ++party) {
    threads.emplace_back([&, party] {
      try {
        crypto::Prg own = Stream(party);
        const std::unique_ptr<run::Approvals> approvals = run::UnsignedApprovals(own);
        run::PartyInput input;
        input.party = party;
        input.data = FolderOf(golden) / names[party] / "data.csv";
        input.approvals = approvals.get();
        SilentProgress progress;
        outcomes[party] = run::RunParty(
            study, input, [&](bool) { return std::move(transports[party]); }, own, progress);
      } catch (const std::exception& error) {
        errors[party] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t party = 0; party < names.size(); ++party)
    EXPECT_EQ(errors[party], "") << golden.name << ", " << names[party];
  return outcomes;
}

// Without what is another one in every run or on every machine.
report::RunFacts FixedFacts(const run::PartyOutcome& outcome) {
  report::RunFacts facts = FactsOf(outcome);
  facts.software_version = "VERSION";
  facts.libraries = {"LIBRARY"};
  facts.started_at = "2026-01-01T00:00:00Z";
  facts.seconds_total = 1;
  for (report::PhaseFacts& phase : facts.phases) phase.seconds = 1;
  for (report::ApprovalFacts& approval : facts.approvals)
    approval.approved_at = approval.valid_until = "2026-01-01T00:00:00Z";
  if (facts.prediction) facts.prediction->measured.seconds = 1;
  return facts;
}

void AddResult(const std::string& prefix, const run::PartyOutcome& outcome, Texts& texts) {
  const report::RunFacts facts = FixedFacts(outcome);
  const study::Plan& plan = outcome.plan;
  if (outcome.result != nullptr) {
    texts[prefix + "summary.txt"] = outcome.result->Text(plan, facts);
    texts[prefix + "result.json"] = outcome.result->Json(plan, facts);
    texts[prefix + "report.html"] = outcome.result->Html(plan, facts);
    for (const study::DocumentFile& file : outcome.result->Files())
      texts[prefix + file.name] = file.contents;
  } else {
    texts[prefix + "summary.txt"] = report::RunSummary(plan, facts);
    texts[prefix + "result.json"] = report::RunJson(plan, facts);
  }
}

// The words of a text without its tables, or of the header of a CSV file, sorted.
std::string WordsOf(const std::string& name, const std::string& text) {
  std::set<std::string> words;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t start = std::min(line.find_first_not_of(' '), line.size());
    if (name.ends_with(".txt") && line.find("  ", start) != std::string::npos) continue;
    std::string word;
    for (const char c : line + " ") {
      if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
        word += c;
        continue;
      }
      if (word.size() > 1) words.insert(word);  // no exponents of numbers
      word.clear();
    }
    if (name.ends_with(".csv")) break;
  }
  return fmt::format("{}\n", fmt::join(words, "\n"));
}

// With at most nine digits in numbers that have a point.
std::string NineDigits(const std::string& text) {
  static const std::regex kNumber("-?[0-9]+\\.[0-9]+(e[-+]?[0-9]+)?");
  std::string rounded;
  auto rest = text.begin();
  for (std::sregex_iterator at(text.begin(), text.end(), kNumber), end; at != end; ++at) {
    rounded.append(rest, text.begin() + at->position());
    rounded += fmt::format("{:.9g}", std::stod(at->str()));
    rest = text.begin() + at->position() + at->length();
  }
  return rounded.append(rest, text.end());
}

Texts TextsOf(const GoldenStudy& golden) {
  Texts texts;
  const std::unique_ptr<const run::Study> study = Prepare(golden);
  const study::Plan plan = run::BuildPlan(*study);
  texts[golden.name + "/plan.txt"] = study::RenderPlanText(plan, {});
  texts[golden.name + "/plan.json"] = study::RenderPlanJson(plan, {});
  for (const run::PartyOutcome& outcome : RunAll(golden, *study))
    AddResult(golden.name + "/" + outcome.party + "/", outcome, texts);
  for (auto& [name, text] : texts) {
    for (const std::string& ending : golden.drawn)
      if (name.ends_with(ending)) text = WordsOf(name, text);
    text = NineDigits(text);
  }
  return texts;
}

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(GoldenTest, ExamplesSayWhatTheySaid) {
  Texts texts;
  for (const GoldenStudy& golden : GoldenStudies()) texts.merge(TextsOf(golden));
  std::string digests;
  for (const auto& [name, text] : texts)
    digests += fmt::format(
        "{}  {}\n",
        ToHex(crypto::Sha256Of({reinterpret_cast<const uint8_t*>(text.data()), text.size()})),
        name);
  if (const char* folder = std::getenv("PARTITA_GOLDEN")) {
    texts["digests.txt"] = digests;
    for (const auto& [name, text] : texts) {
      const fs::path path = fs::path(folder) / name;
      fs::create_directories(path.parent_path());
      std::ofstream(path, std::ios::binary) << text;
    }
    return;
  }
  std::istringstream now(digests), then(Read(FixturePath("references/golden/digests.txt")));
  std::string line, other;
  while (std::getline(now, line)) {
    other.clear();
    std::getline(then, other);
    EXPECT_EQ(line, other);
  }
  EXPECT_FALSE(std::getline(then, other)) << "not written any more: " << other;
}

}  // namespace
}  // namespace partita::cli::golden_test
