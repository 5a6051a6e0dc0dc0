#include "match/linked_join_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "mpc/functions/switching_network.h"

namespace partita::match {
namespace {

// A place of a list by its pseudonym.
struct NamedPlace {
  std::array<uint64_t, 2> name{};
  uint32_t place = 0;
};

[[noreturn]] void LinkFault(const std::string& party, const std::string& what) {
  throw Error(ErrorCode::kPeerFault, fmt::format("'{}' {}", party, what),
              "its software departs from the protocol: do not match with it");
}

std::vector<NamedPlace> Sorted(const std::vector<Pseudonym>& names, const std::string& holder) {
  std::vector<NamedPlace> places(names.size());
  for (uint32_t place = 0; place < names.size(); ++place) {
    std::memcpy(places[place].name.data(), names[place].data(), kPseudonymBytes);
    places[place].place = place;
  }
  std::sort(places.begin(), places.end(),
            [](const NamedPlace& a, const NamedPlace& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(places.begin(), places.end(),
                         [](const NamedPlace& a, const NamedPlace& b) { return a.name == b.name; });
  if (twice != places.end()) LinkFault(holder, "listed a pseudonym twice");
  return places;
}

// Places of one pass that no earlier pass matched and whose pseudonym all lists have, by list.
std::vector<std::vector<uint32_t>> CommonPlaces(const std::vector<std::vector<NamedPlace>>& sorted,
                                                const std::vector<std::vector<uint32_t>>& matched) {
  std::vector<std::vector<uint32_t>> common(sorted.size());
  std::vector<size_t> at(sorted.size(), 0);
  for (const NamedPlace& first : sorted[0]) {
    bool everywhere = matched[0][first.place] == 0;
    for (size_t list = 1; list < sorted.size(); ++list) {
      const std::vector<NamedPlace>& others = sorted[list];
      while (at[list] < others.size() && others[at[list]].name < first.name) ++at[list];
      everywhere = everywhere && at[list] < others.size() && others[at[list]].name == first.name &&
                   matched[list][others[at[list]].place] == 0;
    }
    if (!everywhere) continue;
    common[0].push_back(first.place);
    for (size_t list = 1; list < sorted.size(); ++list)
      common[list].push_back(sorted[list][at[list]].place);
  }
  return common;
}

}  // namespace

PseudonymList::PseudonymList(std::span<const std::vector<KeyedRow>> passes, uint64_t rows,
                             uint64_t bound, const crypto::Key& key, crypto::RandomSource& random)
    : passes_(passes), random_(random) {
  for (const std::vector<KeyedRow>& pass : passes) {
    std::vector<uint32_t>& of_row = key_of_row_.emplace_back(rows, kNoKey);
    for (uint32_t i = 0; i < pass.size(); ++i) of_row[pass[i].row] = i;
  }
  row_at_.reserve(bound);
  for (const size_t row : mpc::RandomPermutation(bound, random))
    row_at_.push_back(static_cast<uint32_t>(row));
  std::copy(key.Expose().begin(), key.Expose().end(), key_block_.begin());
}

void PseudonymList::AskFor(size_t place, size_t pass) const {
  const auto index_at = [&](size_t at) -> const uint32_t* {
    const bool is_row = at < row_at_.size() && row_at_[at] < key_of_row_[pass].size();
    return is_row ? &key_of_row_[pass][row_at_[at]] : nullptr;
  };
  if (const uint32_t* index = index_at(place + 2 * kPlacesAhead)) __builtin_prefetch(index);
  const uint32_t* index = index_at(place + kPlacesAhead);
  if (index != nullptr && *index != kNoKey) __builtin_prefetch(&passes_[pass][*index]);
}

Pseudonym PseudonymList::Next() {
  AskFor(next_ / passes_.size(), next_ % passes_.size());
  const uint32_t row = row_at_[next_ / passes_.size()];
  const size_t pass = next_ % passes_.size();
  ++next_;
  crypto::Digest hashed{};
  random_.Fill(hashed);
  if (row < key_of_row_[pass].size() && key_of_row_[pass][row] != kNoKey)
    hashed = passes_[pass][key_of_row_[pass][row]].key;
  const crypto::Digest digest = hash_.Update(key_block_).Update(hashed).Finish();
  Pseudonym name{};
  std::copy_n(digest.begin(), name.size(), name.begin());
  return name;
}

std::vector<uint32_t> PseudonymList::Rows(std::span<const uint64_t> counts,
                                          std::span<const uint32_t> positions,
                                          const std::string& linker) const {
  const uint64_t total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  if (total > positions.size()) LinkFault(linker, "matched more rows than there are");
  constexpr uint32_t kNobody = UINT32_MAX;
  std::vector<uint32_t> rows(total, kNobody);
  for (size_t place = 0; place < positions.size(); ++place) {
    const uint32_t position = positions[place];
    if (position == 0) continue;
    if (position > total || rows[position - 1] != kNobody)
      LinkFault(linker, "sent no order of the rows that match");
    rows[position - 1] = row_at_[place];
  }
  size_t position = 0;
  for (size_t pass = 0; pass < counts.size(); ++pass) {
    for (uint64_t left = counts[pass]; left > 0; --left) {
      const uint32_t row = rows[position++];
      if (row == kNobody) LinkFault(linker, "sent no order of the rows that match");
      if (row >= key_of_row_[pass].size() || key_of_row_[pass][row] == kNoKey)
        LinkFault(linker, "matched what has no key");
    }
  }
  return rows;
}

std::vector<uint32_t> PseudonymList::Spine(uint32_t spine, std::span<const uint32_t> positions,
                                           const std::string& linker) const {
  if (spine == 0) {
    const bool none =
        std::all_of(positions.begin(), positions.end(), [](uint32_t p) { return p == 0; });
    if (!none) LinkFault(linker, "sent positions of a spine that has none");
    return {};
  }
  std::vector<bool> taken(spine, false);
  std::vector<uint32_t> rows(spine, kNoRow);
  for (size_t place = 0; place < positions.size(); ++place) {
    const uint32_t position = positions[place];
    if (position == 0 || position > spine || taken[position - 1])
      LinkFault(linker, "sent no positions of the places of this party's list");
    taken[position - 1] = true;
    const uint32_t row = row_at_[place];
    const bool has_key = std::any_of(key_of_row_.begin(), key_of_row_.end(), [&](const auto& keys) {
      return row < keys.size() && keys[row] != kNoKey;
    });
    if (has_key) rows[position - 1] = row;
  }
  return rows;
}

crypto::Digest PseudonymList::Common(std::span<const uint64_t> counts,
                                     std::span<const uint32_t> rows, const crypto::Key& key) const {
  crypto::BufferedSha256 hash;
  hash.Field("partita linked join common v1").Field(key.Expose()).U64(counts.size());
  size_t position = 0;
  for (size_t pass = 0; pass < counts.size(); ++pass) {
    hash.U64(counts[pass]);
    for (uint64_t left = counts[pass]; left > 0; --left)
      hash.Update(passes_[pass][key_of_row_[pass][rows[position++]]].key);
  }
  return hash.Finish();
}

uint64_t LinkedAnswers::total() const {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

LinkedAnswers LinkPseudonyms(std::span<const LinkedList> lists, std::span<const std::string> names,
                             crypto::RandomSource& random) {
  LinkedAnswers answers;
  for (const LinkedList& list : lists) answers.positions.emplace_back(list.passes[0].size(), 0);
  uint32_t matched = 0;
  for (size_t pass = 0; pass < lists[0].passes.size(); ++pass) {
    std::vector<std::vector<NamedPlace>> sorted;
    for (size_t list = 0; list < lists.size(); ++list)
      sorted.push_back(Sorted(lists[list].passes[pass], names[list]));
    const std::vector<std::vector<uint32_t>> common = CommonPlaces(sorted, answers.positions);
    const std::vector<size_t> order = mpc::RandomPermutation(common[0].size(), random);
    for (size_t list = 0; list < lists.size(); ++list) {
      for (size_t i = 0; i < order.size(); ++i)
        answers.positions[list][common[list][i]] = matched + static_cast<uint32_t>(order[i]) + 1;
    }
    matched += static_cast<uint32_t>(order.size());
    answers.counts.push_back(order.size());
  }
  return answers;
}

void MakeSpine(uint64_t spine, LinkedAnswers& answers, crypto::RandomSource& random) {
  // Matches have the first positions, each once in every list.
  auto next = static_cast<uint32_t>(answers.total());
  for (std::vector<uint32_t>& positions : answers.positions) {
    for (uint32_t& position : positions) {
      if (position == 0) position = ++next;
    }
  }
  if (next > spine) throw Error(ErrorCode::kInternal, "a spine is too short for its lists", "");
  const std::vector<size_t> order = mpc::RandomPermutation(spine, random);
  for (std::vector<uint32_t>& positions : answers.positions) {
    for (uint32_t& position : positions) position = static_cast<uint32_t>(order[position - 1]) + 1;
  }
  answers.spine = static_cast<uint32_t>(spine);
}

uint32_t NoisyTotal(const LinkedJoinTask& task, uint64_t total) {
  const auto most = static_cast<int64_t>(*std::min_element(task.bounds.begin(), task.bounds.end()));
  const int64_t noise = std::clamp(task.noise, -most, most);
  return static_cast<uint32_t>(std::clamp(static_cast<int64_t>(total) + noise, int64_t{0}, most));
}

void RequireNoisy(const LinkedJoinTask& task, uint64_t spine, uint64_t noisy,
                  const std::string& linker) {
  const uint64_t most = *std::min_element(task.bounds.begin(), task.bounds.end());
  const bool fits = spine == 0 ? noisy == 0 : noisy >= task.minimum && noisy <= most;
  if (!fits) LinkFault(linker, "told a number of matches that cannot be");
}

uint64_t RequireSpine(const LinkedJoinTask& task, uint64_t spine, const std::string& linker) {
  if (task.level == Level::kHiddenNobody) {
    if (spine != task.Positions(0)) LinkFault(linker, "sent a spine of another length than agreed");
    return 0;
  }
  if (spine == 0) return 0;
  if (task.level == Level::kHiddenNoisy) {
    if (spine != task.Positions(0)) LinkFault(linker, "sent a spine of another length than agreed");
    return 0;
  }
  const uint64_t others = task.bounds.size() - 1, all = task.Positions(0);
  const uint64_t most = *std::min_element(task.bounds.begin(), task.bounds.end());
  const uint64_t matches = spine > all ? 0 : (all - spine) / others;
  if (matches < task.minimum || matches > most || task.Positions(matches) != spine)
    LinkFault(linker, "sent a spine whose length no number of matches from the minimum on has");
  return matches;
}

}  // namespace partita::match
