// One connection to PostgreSQL (libpq): statements with a deadline, binary values, errors of our
// type. Whatever fails is told with the server's main message and its code: details and contexts
// hold the values of rows, connection strings hold passwords, and neither is printed. For whoever
// keeps something in a database; tables of others are read by data/source. Not in the library
// `base`: link partita_postgres.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/postgres_connect.h"

namespace partita::postgres {

// One parameter of a statement, in PostgreSQL's binary form.
class Value {
 public:
  static Value Integer(int32_t value);
  static Value BigInteger(int64_t value);
  static Value Text(std::string_view text);
  static Value Blob(ByteView bytes);
  // bytea[]; get(i) for i in [0, count) gives the elements.
  template <typename Get>
  static Value BlobArray(size_t count, const Get& get) {
    std::vector<ByteView> blobs(count);
    for (size_t i = 0; i < count; ++i) blobs[i] = get(i);
    return BlobArray(blobs);
  }
  static Value BlobArray(std::span<const ByteView> blobs);

 private:
  friend class Session;
  Value(unsigned type, Bytes bytes) : type_(type), bytes_(std::move(bytes)) {}
  unsigned type_;
  Bytes bytes_;
};

// The rows of a query.
class Rows {
 public:
  explicit Rows(pg_result* result);
  size_t size() const;
  bool IsNull(size_t row, int column) const;
  ByteView Blob(size_t row, int column) const;  // in the rows
  std::string Text(size_t row, int column) const;
  int64_t Integer(size_t row, int column) const;  // boolean, integer and bigint
  // Rows that an UPDATE or INSERT touched.
  int64_t affected() const;
  // "COMMIT", "INSERT 0 3", ...
  std::string_view command() const;

  // Throws kBadInput if the value has another length.
  template <size_t kSize>
  std::array<uint8_t, kSize> Fixed(size_t row, int column) const {
    std::array<uint8_t, kSize> out{};
    CopyFixed(row, column, out);
    return out;
  }

 private:
  void CopyFixed(size_t row, int column, std::span<uint8_t> out) const;
  std::unique_ptr<pg_result, void (*)(pg_result*)> result_;
};

// What to throw for a statement, by whoever keeps the tables. state: the server's SQLSTATE, empty
// if it did not answer (the connection was lost, or it took too long).
using Failure = Error (*)(std::string_view state, const std::string& message);

class Session {
 public:
  // Connects as Connect does, to what `use` says; throws what it does. Every statement must end
  // within statement_timeout; a transaction that says nothing for a third of that is ended by the
  // server, so that a stopped process holds no lock for ever.
  Session(const std::string& connection, const Use& use,
          std::chrono::milliseconds statement_timeout, Failure failure);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Statements without parameters, one after the other; the rows of the last.
  Rows Execute(const std::string& sql);
  // One statement, prepared once per connection.
  Rows Query(const std::string& sql, const std::vector<Value>& values = {});

  // False once the connection is lost or a statement was given up: only destruction is left.
  bool usable() const { return usable_; }
  // After an error: whether the same transaction may be tried again, on a new connection if this
  // one is no longer usable. It may have happened.
  bool may_repeat() const { return may_repeat_; }
  void ForgetFailure() { may_repeat_ = false; }

 private:
  friend class Transaction;
  Rows Await();
  void WaitFor(const Deadline& deadline);
  [[noreturn]] void FailLost();
  [[noreturn]] void FailLate();
  [[noreturn]] void FailUndone();
  [[noreturn]] void FailAs(const pg_result* result);

  Connection connection_;
  std::string what_;
  std::chrono::milliseconds statement_timeout_;
  Failure failure_;
  std::map<std::string, std::string> prepared_;
  bool usable_ = true;
  bool may_repeat_ = false;
};

// Undone unless committed, at an isolation level of its own whatever the server's default is.
class Transaction {
 public:
  // kDurable: committed means on stable storage, whatever the server's default is. kForgetful: for
  // what may be lost in a crash and is then done again. Both are READ COMMITTED: each statement sees
  // what was committed when it starts, so that what is read under a lock is what the lock protects.
  // kSerial: as durable, and SERIALIZABLE. kReading: SERIALIZABLE, and nothing can be written.
  enum class Kind { kDurable, kForgetful, kSerial, kReading };
  // then: more statements that go with the first message, such as a lock.
  Transaction(Session& session, Kind kind, const std::string& then = {});
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  // Of the last statement of `then`.
  const Rows& begun() const { return *begun_; }
  void Commit();

 private:
  void Undo() noexcept;
  Session& session_;
  std::optional<Rows> begun_;
  bool done_ = false;
};

}  // namespace partita::postgres
