// Three lists of people of which nobody knows who is in all of them (level hidden), matched by a linker,
// and studies of these rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "methods/prepare_study.h"
#include "run/simulate/simulate.h"
#include "tests/run/matching/matching_group.h"

namespace partita::run::hidden_lists {

using testing::MatchingGroup;
using testing::OfAll;

inline constexpr const char* kHolders[] = {"clinic", "registry", "office"};

// The lists of clinic, registry and office, of 60, 75 and 90 people, have 50 in common.
inline std::string MatchingText(const std::string& count) {
  std::string text = "matching = 1\nname = \"cohort\"\nkeys = [[\"id\"]]\nlevel = \"hidden\"\n" +
                     count +
                     "[[column]]\nname = \"id\"\nrule = \"digits\"\nlength = 4\n"
                     "[[party]]\nname = \"trust\"\nrole = \"linker\"\n";
  for (const char* const holder : kHolders)
    text += fmt::format("[[party]]\nname = \"{}\"\nrows = 100\n", holder);
  return text;
}
inline const std::string kExact = "count = \"exact\"\nminimum = 20\n",
                         kNobody = "count = \"nobody\"\n";

struct Row {
  int id = 0;
  std::string x, z, sex, y, w;
};

// missing: one cell in so many is empty; 0: none.
inline std::vector<Row> People(unsigned missing) {
  std::mt19937_64 random(5);
  std::vector<Row> rows;
  const auto cell = [&](const std::string& text) {
    return missing > 0 && random() % missing == 0 ? std::string() : text;
  };
  for (int id = 0; id < 120; ++id) {
    const double x = static_cast<double>(random() % 2000) / 100 - 10,
                 z = static_cast<double>(random() % 2000) / 100 - 10,
                 e = static_cast<double>(random() % 2000) / 100 - 10;
    Row row;
    row.id = id;
    row.x = cell(fmt::format("{:.2f}", x));
    row.z = cell(fmt::format("{:.2f}", z));
    row.y = cell(fmt::format("{:.2f}", (x + z + e) / 2));
    row.sex = random() % 2 == 0 ? "f" : "m";
    row.w = std::to_string(random() % 4);
    rows.push_back(row);
  }
  return rows;
}

// Who is in which list.
struct Lists {
  int first[3] = {20, 15, 0}, last[3] = {80, 90, 70};
  bool Has(size_t holder, int id) const { return id >= first[holder] && id < last[holder]; }
  bool AllHave(int id) const { return Has(0, id) && Has(1, id) && Has(2, id); }
};

// In an order of the holder's own. joined: only who is in all lists.
inline std::string TableOf(const std::vector<Row>& people, const Lists& lists, size_t holder,
                           bool joined) {
  std::vector<Row> rows;
  for (const Row& row : people) {
    if (joined ? lists.AllHave(row.id) : lists.Has(holder, row.id)) rows.push_back(row);
  }
  std::mt19937_64 random(holder);
  std::shuffle(rows.begin(), rows.end(), random);
  constexpr const char* kHeader[] = {"id,x\n", "id,z,sex\n", "id,y,w\n"};
  std::string csv = kHeader[holder];
  for (const Row& row : rows) {
    const std::string cells = holder == 0   ? row.x
                              : holder == 1 ? row.z + "," + row.sex
                                            : row.y + "," + row.w;
    csv += fmt::format("{:04},{}\n", row.id, cells);
  }
  return csv;
}

inline std::string Party(const std::string& name, const std::string& roles,
                         const std::string& columns) {
  return fmt::format("[[party]]\nname = \"{}\"\nroles = [{}]\n", name, roles) +
         (columns.empty() ? "" : "columns = [" + columns + "]\n");
}

struct StudyParts {
  std::string analysis, design = "site = \"ignore\"\nmissing = \"refuse\"\n", engine = "dealer",
                        more = "";
};

// rows: what stands in [[rows]] and [table].
inline std::string StudyText(const std::string& rows, const StudyParts& parts) {
  return "partita = 1\nname = \"s\"\n" + Party("analyst", "\"receiver\"", "") +
         Party("clinic", "\"holder\"", "\"x\"") +
         Party("registry", "\"holder\"", "\"z\", \"sex\"") +
         Party("office", "\"holder\"", "\"y\", \"w\"") +
         (parts.engine == "dealer" ? Party("helper", "\"dealer\"", "") : "") + rows +
         "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = -20\nupper = 20\n"
         "[[variable]]\nname = \"y\"\ntype = \"numeric\"\nlower = -20\nupper = 20\n"
         "[[variable]]\nname = \"z\"\ntype = \"numeric\"\nlower = -20\nupper = 20\n"
         "[[variable]]\nname = \"sex\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n"
         "[[variable]]\nname = \"w\"\ntype = \"integer\"\nlower = 0\nupper = 3\n[design]\n" +
         parts.design + "[disclosure]\nmin_rows = 10\nmin_cell = 2\n[engine]\nname = \"" +
         parts.engine + "\"\n" + parts.more + "[[analysis]]\n" + parts.analysis;
}

inline std::string Hidden(const crypto::Digest& record, size_t positions,
                          const std::string& count) {
  return fmt::format(
      "[[rows]]\nname = \"all\"\ncount = {}\n[rows.match]\nlevel = \"hidden\"\n"
      "matching = \"cohort\"\nrecord = \"{}\"\ncount = \"{}\"\nlinker = \"trust\"\n",
      positions, ToHex(record), count);
}
inline const std::string kJoined = "[[rows]]\nname = \"all\"\ncount = 50\n[table]\nkey = \"id\"\n";

inline std::unique_ptr<const Study> Prepared(const std::string& text) {
  return methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
}

inline std::string Refusal(const std::string& text) {
  try {
    Prepared(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.message();
  }
  return "accepted";
}

class HiddenLists : public ::testing::Test {
 protected:
  void Match(const std::string& count, unsigned missing = 0) {
    people_ = People(missing);
    group_ = std::make_unique<MatchingGroup>(MatchingText(count));
    Write(false);
    results_ = group_->RunAndSave();
    const size_t positions = count == kNobody ? 300 : 300 - 2 * 50;
    ASSERT_EQ(results_[0].rows.size(), positions);
    rows_ = Hidden(results_[0].record, positions, count == kNobody ? "nobody" : "exact");
  }
  void Write(bool joined) {
    for (size_t holder = 0; holder < 3; ++holder)
      group_->Write(holder, TableOf(people_, lists_, holder, joined));
  }
  std::vector<PartyEnd> Run(const std::string& text) {
    const std::unique_ptr<const Study> study = Prepared(text);
    std::vector<std::filesystem::path> tables(study->parties.size());
    for (size_t party = 0; party < tables.size(); ++party) {
      for (size_t holder = 0; holder < 3; ++holder) {
        if (study->parties[party].name == kHolders[holder]) tables[party] = group_->Table(holder);
      }
    }
    SilentProgress progress;
    return SimulateInProcess(*study, tables, {}, progress, Keep::kOpenings);
  }
  std::vector<Opening> Opened(const std::string& text) {
    std::vector<PartyEnd> ends = Run(text);
    std::vector<Opening> openings;
    for (PartyEnd& end : ends) {
      if (end.error) ADD_FAILURE() << end.party << ": " << end.error->message();
      if (end.party == "analyst" && end.outcome) openings = std::move(end.outcome->openings);
    }
    return openings;
  }

  std::vector<Row> people_;
  Lists lists_;
  std::unique_ptr<MatchingGroup> group_;
  OfAll<MatchedRows> results_;
  std::string rows_;
};

}  // namespace partita::run::hidden_lists
