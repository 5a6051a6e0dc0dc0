#include "run/party/row_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "data/source/open_table.h"
#include "run/party/locked_file.h"
#include "run/party/row_digests.h"

namespace partita::run {
namespace {

bool Has(std::span<const uint64_t> set, uint64_t digest) {
  return std::binary_search(set.begin(), set.end(), digest);
}

// Digests of the rows that are chosen; 0 is of a position without a row.
RowDigests Chosen(std::vector<uint64_t> digests, std::span<const uint8_t> chosen) {
  size_t kept = 0;
  for (size_t r = 0; r < digests.size(); ++r) {
    if (chosen[r] != 0 && digests[r] != 0) digests[kept++] = digests[r];
  }
  digests.resize(kept);
  return digests;
}

// For the key alone.
void Unseen(uint64_t /*set*/, std::span<const uint64_t> /*digests*/) {}

}  // namespace

std::filesystem::path RowSetsPath(const std::filesystem::path& data) {
  return data::FileOfRows(data).string() + ".row-sets";
}

RowSets::RowSets(std::filesystem::path file, crypto::RandomSource& random)
    : file_(std::move(file)), key_(crypto::RandomKey(random)) {
  const std::optional<RowSetRecord> record = ReadRowSets(file_, Unseen);
  kept_ = record.has_value();
  if (kept_) key_ = record->key;
}

void RowSets::Require(const Study& study, size_t party, const LocalData& local,
                      const std::filesystem::path& data) {
  asked_.clear();
  matching_ = 0;
  const std::vector<std::vector<uint8_t>> sets = study.ExactRowSets(*local.method, local.holding);
  if (sets.empty()) return;
  party_ = study.parties[party].name;
  least_ = study.LeastRowsApart();
  if (!kept_) {
    // The key is fixed before the first digest: runs that begin at once come to the same.
    const LockedFile locked(file_, RowSetRecordName());
    if (const std::optional<RowSetRecord> record = ReadRowSets(file_, Unseen)) {
      key_ = record->key;
    } else {
      WriteRowSets(file_, {.key = key_}, {});
    }
    kept_ = true;
  }
  std::vector<std::vector<uint64_t>> ways = DigestsOf(study, local, data, key_);
  const study::RowMatch* match = HoldingMatch(study, local.holding);
  if (match != nullptr && match->hidden) matching_ = HiddenMatching(*match, key_);
  for (size_t s = 0; s < sets.size(); ++s) {
    std::vector<RowDigests>& asked = asked_.emplace_back();
    for (std::vector<uint64_t>& digests : ways) {
      RowDigests& set =
          asked.emplace_back(Chosen(s + 1 < sets.size() ? digests : std::move(digests), sets[s]));
      if (matching_ != 0) set.insert(set.end(), {kHiddenSet, matching_});
    }
    if (matching_ != 0) {
      RowDigests& set = asked.emplace_back(CellsAsKeys(study, local, data, key_));
      set.insert(set.end(), {kHiddenSet, kCellsAsKeys, matching_});
    }
    for (RowDigests& set : asked) {
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
    }
  }
  RequireApart(CompareWithServed());
}

void RowSets::Record() {
  if (asked_.empty()) return;
  const LockedFile locked(file_, RowSetRecordName());
  const std::vector<Served> served = CompareWithServed();
  RequireApart(served);
  std::vector<RowDigests> anew;
  for (size_t a = 0; a < asked_.size(); ++a) {
    for (size_t way = 0; way < asked_[a].size(); ++way) {
      RowDigests& set = asked_[a][way];
      if (!WasServed(served, a, way) && std::find(anew.begin(), anew.end(), set) == anew.end())
        anew.push_back(std::move(set));
    }
  }
  asked_.clear();
  if (!anew.empty()) WriteRowSets(file_, {.key = key_, .num_sets = served.size()}, anew);
}

std::vector<RowSets::Served> RowSets::CompareWithServed() const {
  std::vector<Served> served;
  const auto take = [&](uint64_t set, std::span<const uint64_t> digests) {
    if (set == served.size()) {
      Served& next = served.emplace_back();
      for (const std::vector<RowDigests>& asked : asked_)
        next.asked.emplace_back(asked.begin(), asked.end());
    }
    Served& last = served.back();
    last.hidden = last.hidden || Has(digests, kHiddenSet);
    last.cells_as_keys = last.cells_as_keys || Has(digests, kCellsAsKeys);
    last.of_matching = last.of_matching || Has(digests, matching_);
    for (std::vector<BesideServed>& asked : last.asked) {
      for (BesideServed& apart : asked) apart.Add(digests);
    }
  };
  const std::optional<RowSetRecord> record = ReadRowSets(file_, take);
  const bool same = record ? record->key.Expose() == key_.Expose() : !kept_;
  if (!same) throw ReplacedRecord(file_);
  return served;
}

// Of hidden rows nobody knows by how many people the rows of two studies differ. The sets of one
// matching have its digest in common.
void RowSets::RequireComparable(const RowDigests& set, const Served& served,
                                const BesideServed& apart) const {
  if (!Has(set, kHiddenSet) && !served.hidden) return;
  const bool cells = Has(set, kCellsAsKeys) && served.cells_as_keys && !served.of_matching;
  if (apart.Count() == 0 || cells || !apart.HaveCommon()) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("party {} has served other rows of this table, or the same with other "
                          "cells, and of one of the two studies which rows match is hidden: exact "
                          "results of both could show the people in which they differ, or whether "
                          "these match, and how few these are nobody can see",
                          party_),
              fmt::format("ask for the rows that were served, of the same matching and of the same "
                          "table, cell by cell; what was served is in {}",
                          file_.string()));
}

void RowSets::RequireApart(const std::vector<Served>& served) const {
  for (size_t a = 0; a < asked_.size(); ++a) {
    const auto was_served = [&](size_t way) { return WasServed(served, a, way); };
    std::vector<size_t> ways(asked_[a].size());
    std::iota(ways.begin(), ways.end(), size_t{0});
    // Hidden rows are the same if no cell of them has changed.
    if (matching_ != 0 ? std::all_of(ways.begin(), ways.end(), was_served)
                       : std::any_of(ways.begin(), ways.end(), was_served))
      continue;
    for (const size_t way : ways) {
      for (const Served& other : served) {
        const BesideServed& between = other.asked[a][way];
        RequireComparable(asked_[a][way], other, between);
        if (between.Count() == 0 || between.Count() >= least_) continue;
        ThrowApart(between.Count());
      }
    }
  }
}

bool RowSets::WasServed(const std::vector<Served>& served, size_t asked, size_t way) {
  return std::any_of(served.begin(), served.end(),
                     [&](const Served& other) { return other.asked[asked][way].Count() == 0; });
}

void RowSets::ThrowApart(uint64_t rows) const {
  throw Error(
      ErrorCode::kRefused,
      fmt::format("party {} has served rows of this table that differ from those of this study "
                  "by {}, fewer than {}: exact results of both would show these rows",
                  party_, rows, least_),
      fmt::format("use the same rows as before: where missing cells leave rows out, let every "
                  "study of this table say the same [population], subset = [{{variable = ..., "
                  "present = true}}]; what was served is in {}",
                  file_.string()));
}

void RequireServable(const Study& study, size_t party, const std::filesystem::path& data,
                     const std::filesystem::path& record, crypto::RandomSource& random,
                     Progress& progress) {
  if (!study.parties[party].holder || !std::filesystem::exists(record)) return;
  const LocalData local = LoadLocalData(study, party, data, crypto::RandomKey(random), progress);
  RowSets(record, random).Require(study, party, local, data);
}

}  // namespace partita::run
