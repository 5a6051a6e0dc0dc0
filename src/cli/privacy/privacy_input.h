// What all commands of `partita privacy` are given, and what it means.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/privacy/privacy_mechanism.h"
#include "privacy/accounting/pld.h"

namespace partita::cli {

// As written; numbers are read by the functions below, so that their errors are Partita's own.
struct PrivacyOptions {
  std::string kind;
  std::map<std::string, std::string> values;  // by key of privacy_mechanism.h
  std::vector<std::string> mechanisms;
  std::string file;
  std::string adjacency, delta, epsilon, uses;
  std::string width = "1e-3";
};

// --adjacency and --width.
void AddCommonOptions(CLI::App& command, PrivacyOptions& options);
// KIND and the keys of mechanisms.
void AddMechanismOptions(CLI::App& command, PrivacyOptions& options);
// --mechanism, and a file of mechanisms as the option or argument `file_name`.
void AddCompositionOptions(CLI::App& command, PrivacyOptions& options,
                           const std::string& file_name);
void AddDeltaOption(CLI::App& command, PrivacyOptions& options, bool required);
void AddBudgetOptions(CLI::App& command, PrivacyOptions& options);
void AddUsesOption(CLI::App& command, PrivacyOptions& options);

struct Composition {
  privacy::Adjacency adjacency = privacy::Adjacency::kAddRemove;
  std::vector<MechanismSpec> parts;
  std::vector<privacy::Event> events;
  uint64_t uses = 0;  // cap on the uses of one record, for whoever knows the batches; 0: none
};

// Throws kUsage or kBadInput for everything that is not given, twice given, or out of range.
Composition ReadComposition(const PrivacyOptions& options);
// One mechanism, for `sigma` and `steps`; its events are made later.
Composition ReadOneMechanism(const PrivacyOptions& options, bool noise_wanted);

double ReadDelta(const PrivacyOptions& options);  // of the command line, else of the file
privacy::EpsilonDelta ReadBudget(const PrivacyOptions& options);
// The width asked for. tick: called between steps of long work.
privacy::PldOptions ReadAccuracy(const PrivacyOptions& options, std::function<void()> tick);

}  // namespace partita::cli
