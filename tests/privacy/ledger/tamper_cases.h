// What becomes of a ledger that somebody changed: every change of one kind, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/privacy/ledger/institutions.h"
#include "tests/privacy/ledger/raw_tables.h"

namespace partita::privacy::ledger {

struct TamperCount {
  uint64_t refused = 0;     // by opening and verifying, as every command does first
  uint64_t unchanged = 0;   // what the ledger says is the same
  uint64_t impossible = 0;  // SQLite did not take it
  uint64_t accepted = 0;    // it says something else
  std::string first_accepted;

  uint64_t all() const { return refused + unchanged + accepted; }
};

// One party's ledger, changed again and again. Its chains alone have to notice: what the host has
// seen is gone.
class Tampering {
 public:
  Tampering(const Institutions& institutions, std::string name)
      : institutions_(institutions), name_(std::move(name)) {
    institutions_.ForgetSeen(name_);
    good_ = institutions_.Save(name_);
    meaning_ = institutions_.Meaning(name_);
  }
  ~Tampering() { institutions_.PutBackLedger(name_, good_); }
  Tampering(const Tampering&) = delete;
  Tampering& operator=(const Tampering&) = delete;

  std::filesystem::path File() const { return institutions_.Of(name_).file; }
  // As they are without a change.
  std::vector<RawRow> Rows(const RawTable& table) const {
    institutions_.PutBackLedger(name_, good_);
    return RawLedger(File()).Rows(table);
  }

  void Try(const std::string& what, const std::function<bool(RawLedger&)>& change,
           TamperCount& count) {
    institutions_.PutBackLedger(name_, good_);
    bool done = false;
    {
      RawLedger raw(File());
      done = change(raw);
    }
    if (!done) {
      ++count.impossible;
      return;
    }
    try {
      SqliteLedger ledger(institutions_.Of(name_));
      ledger.Verify();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kRefused) << what << ": " << error.what();
      ++count.refused;
      return;
    }
    if (institutions_.Meaning(name_) == meaning_) {
      ++count.unchanged;
      return;
    }
    ++count.accepted;
    if (count.first_accepted.empty()) count.first_accepted = what;
  }

 private:
  const Institutions& institutions_;
  std::string name_;
  LedgerFiles good_;
  std::string meaning_;
};

inline std::string Place(const RawTable& table, size_t row, const std::string& what) {
  return table.name + ", row " + std::to_string(row) + ": " + what;
}

// Every row of every table deleted.
inline TamperCount DeleteEveryRow(const Institutions& institutions, const std::string& name) {
  Tampering tampering(institutions, name);
  TamperCount count;
  for (const RawTable& table : RawTables()) {
    const std::vector<RawRow> rows = tampering.Rows(table);
    for (size_t i = 0; i < rows.size(); ++i) {
      tampering.Try(
          Place(table, i, "deleted"), [&](RawLedger& raw) { return raw.Delete(table, rows[i]); },
          count);
    }
  }
  return count;
}

// Every row with the content of every other of its table, and every two neighbours exchanged.
inline TamperCount MoveEveryRow(const Institutions& institutions, const std::string& name) {
  Tampering tampering(institutions, name);
  TamperCount count;
  for (const RawTable& table : RawTables()) {
    const std::vector<RawRow> rows = tampering.Rows(table);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = 0; j < rows.size(); ++j) {
        if (i == j) continue;
        tampering.Try(
            Place(table, i, "replaced by row " + std::to_string(j)),
            [&](RawLedger& raw) { return raw.Replace(table, rows[i], rows[j]); }, count);
      }
      if (i == 0) continue;
      tampering.Try(
          Place(table, i, "exchanged with the one before"),
          [&](RawLedger& raw) {
            return raw.Replace(table, rows[i], rows[i - 1]) &&
                   raw.Replace(table, rows[i - 1], rows[i]);
          },
          count);
    }
  }
  return count;
}

// Every byte of every cell of every row, with each of `masks`.
inline TamperCount FlipEveryByte(const Institutions& institutions, const std::string& name,
                                 const std::vector<uint8_t>& masks) {
  Tampering tampering(institutions, name);
  TamperCount count;
  for (const RawTable& table : RawTables()) {
    const std::vector<RawRow> rows = tampering.Rows(table);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t column = 0; column < table.columns.size(); ++column) {
        for (size_t byte = 0; byte < rows[i][column].size(); ++byte) {
          for (const uint8_t mask : masks) {
            tampering.Try(
                Place(table, i, table.columns[column] + ", byte " + std::to_string(byte)),
                [&](RawLedger& raw) {
                  return raw.Set(table, rows[i], column, rows[i][column].Flipped(byte, mask));
                },
                count);
          }
        }
      }
    }
  }
  return count;
}

}  // namespace partita::privacy::ledger
