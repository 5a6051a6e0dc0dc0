// The steps of linked_join.h without the messages between them, so that tests can enumerate what each
// party sees.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "match/linked_join.h"

namespace partita::match {

inline constexpr size_t kPseudonymBytes = 16;
using Pseudonym = std::array<uint8_t, kPseudonymBytes>;

// What a holder sends: of each place in order, one pseudonym a pass.
class PseudonymList {
 public:
  // The order of the places is drawn here. passes: borrowed.
  PseudonymList(std::span<const std::vector<KeyedRow>> passes, uint64_t rows, uint64_t bound,
                const crypto::Key& key, crypto::RandomSource& random);

  // The next of them: place by place, pass by pass.
  Pseudonym Next();

  // positions: by place, from 1; 0: it does not match. Throws kPeerFault, naming `linker`, unless
  // they are each position once, of rows that have a key in the pass in which they match.
  std::vector<uint32_t> Rows(std::span<const uint64_t> counts, std::span<const uint32_t> positions,
                             const std::string& linker) const;
  // Level hidden. positions: by place, from 1; of a spine of so many, 0 for none at all. Throws
  // kPeerFault, naming `linker`, unless every place has a position of its own. Returns
  // LinkedJoin::rows.
  std::vector<uint32_t> Spine(uint32_t spine, std::span<const uint32_t> positions,
                              const std::string& linker) const;
  size_t places() const { return row_at_.size(); }
  // LinkedJoin::common. key: another than that of the pseudonyms.
  crypto::Digest Common(std::span<const uint64_t> counts, std::span<const uint32_t> rows,
                        const crypto::Key& key) const;

 private:
  static constexpr uint32_t kNoKey = UINT32_MAX;
  static constexpr size_t kPlacesAhead = 8;

  // Places are in random order, so that a key is in no cache when its turn comes: asks the memory for
  // those of the next places.
  void AskFor(size_t place, size_t pass) const;

  std::span<const std::vector<KeyedRow>> passes_;
  std::vector<std::vector<uint32_t>> key_of_row_;  // by pass and row: index in the pass, or kNoKey
  std::vector<uint32_t> row_at_;                   // by place; from the number of rows on none
  std::array<uint8_t, 64> key_block_{};
  crypto::RandomSource& random_;
  crypto::BufferedSha256 hash_;
  size_t next_ = 0;
};

// What the linker has of one holder: by pass, of each place.
struct LinkedList {
  std::vector<std::vector<Pseudonym>> passes;
};

// What the linker answers.
struct LinkedAnswers {
  std::vector<uint64_t> counts;                  // by pass
  std::vector<std::vector<uint32_t>> positions;  // by holder and place, from 1; 0: no match
  std::optional<uint32_t> spine;  // level hidden: number of positions; no place has 0
  std::optional<uint32_t> noisy;  // kHiddenNoisy: what is told of total()
  uint64_t total() const;
};

// names: of the holders, for the kPeerFault that a repeated pseudonym is.
LinkedAnswers LinkPseudonyms(std::span<const LinkedList> lists, std::span<const std::string> names,
                             crypto::RandomSource& random);

// From matches to level hidden: every place without a match gets a position of its own, and all
// positions of a spine of so many are drawn anew.
void MakeSpine(uint64_t spine, LinkedAnswers& answers, crypto::RandomSource& random);

// What holders are told of the number of matches: with the noise, from 0 to the shortest list.
uint32_t NoisyTotal(const LinkedJoinTask& task, uint64_t total);
// Throws kPeerFault, naming `linker`, for a number that the task cannot have with this spine.
void RequireNoisy(const LinkedJoinTask& task, uint64_t spine, uint64_t noisy,
                  const std::string& linker);

// How many rows match by the length of the spine; 0 for no spine, kHiddenNobody and kHiddenNoisy. Throws
// kPeerFault, naming `linker`, for a length that the task cannot have.
uint64_t RequireSpine(const LinkedJoinTask& task, uint64_t spine, const std::string& linker);

}  // namespace partita::match
