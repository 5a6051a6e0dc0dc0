// What an [[analysis]] says that only its method knows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace partita::study {

// 1-based; columns count characters.
struct Position {
  size_t line = 0, column = 0;
};

// One entry of an analysis's `release` list, or what a method opens without being asked.
struct ReleaseSpec {
  std::string what;  // "moments", "likelihood", "estimates", "robust", "standard-errors", "fit"
  std::string to;    // name of a party but the dealer, or "all"; empty: the receiver
  Position position;
};

struct UsedVariable {
  std::string as;  // "the group"
  std::string name;
};

// What an analysis uses beside its protocol, subset and releases: an envelope must admit it too
// (envelope.h).
struct SectionUses {
  std::vector<std::string> functions;  // none where the method fits one kind of model
  std::vector<ReleaseSpec> releases;
  std::vector<UsedVariable> variables;
};

// The method's own type is derived from it.
struct Section {
  virtual ~Section() = default;
  virtual SectionUses Uses() const = 0;
};

}  // namespace partita::study
