// One connection to PostgreSQL (libpq): statements with a deadline, binary values, errors of our
// type. Whatever fails is told with the server's main message and its code: details and contexts
// hold the values of rows, connection strings hold passwords, and neither is printed.
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

struct pg_conn;
struct pg_result;

namespace partita::sums {

// One parameter of a statement, in PostgreSQL's binary form.
class PostgresValue {
 public:
  static PostgresValue Integer(int32_t value);
  static PostgresValue BigInteger(int64_t value);
  static PostgresValue Text(std::string_view text);
  static PostgresValue Blob(ByteView bytes);
  // bytea[]; get(i) for i in [0, count) gives the elements.
  template <typename Get>
  static PostgresValue BlobArray(size_t count, const Get& get) {
    std::vector<ByteView> blobs(count);
    for (size_t i = 0; i < count; ++i) blobs[i] = get(i);
    return BlobArray(blobs);
  }
  static PostgresValue BlobArray(std::span<const ByteView> blobs);

 private:
  friend class PostgresConnection;
  PostgresValue(unsigned type, Bytes bytes) : type_(type), bytes_(std::move(bytes)) {}
  unsigned type_;
  Bytes bytes_;
};

// The rows of a query.
class PostgresRows {
 public:
  explicit PostgresRows(pg_result* result);
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

class PostgresConnection {
 public:
  // connection: libpq's "key=value ..." or "postgresql://...". It must name a host: a folder of a
  // local socket (host=/var/run/postgresql), this machine, or another one, to which only
  // sslmode=verify-full is spoken (the default then; anything weaker is refused). Waits for the
  // server at most connect_timeout seconds (10 unless the string says otherwise). Every statement
  // must end within statement_timeout; a transaction that says nothing for a third of that is
  // ended by the server, so that a stopped process holds no lock for ever. Throws kBadInput for
  // the string, also if it holds a password, kUnreachable.
  PostgresConnection(const std::string& connection, std::chrono::milliseconds statement_timeout);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // Statements without parameters, one after the other; the rows of the last.
  PostgresRows Execute(const std::string& sql);
  // One statement, prepared once per connection: `sql` must be a literal.
  PostgresRows Query(const char* sql, const std::vector<PostgresValue>& values = {});

  // False once the connection is lost or a statement was given up: only destruction is left.
  bool usable() const { return usable_; }
  // After an error: whether the same transaction may be tried again, on a new connection if this
  // one is no longer usable. It may have happened.
  bool may_repeat() const { return may_repeat_; }
  void ForgetFailure() { may_repeat_ = false; }

 private:
  PostgresRows Await();
  void WaitFor(const Deadline& deadline);
  [[noreturn]] void FailLost();
  [[noreturn]] void FailLate();
  [[noreturn]] void FailAs(const pg_result* result);

  std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_;
  std::chrono::milliseconds statement_timeout_;
  std::map<const char*, std::string> prepared_;
  bool usable_ = true;
  bool may_repeat_ = false;
};

// Undone unless committed. READ COMMITTED whatever the server's default is: each statement sees
// what was committed when it starts, so that what is read under a lock is what the lock protects.
class PostgresTransaction {
 public:
  // kDurable: committed means on stable storage, whatever the server's default is. kForgetful: for
  // what may be lost in a crash and is then done again.
  enum class Kind { kDurable, kForgetful };
  // then: more statements that go with the first message, such as a lock.
  PostgresTransaction(PostgresConnection& connection, Kind kind, const std::string& then = {});
  ~PostgresTransaction();
  PostgresTransaction(const PostgresTransaction&) = delete;
  PostgresTransaction& operator=(const PostgresTransaction&) = delete;
  void Commit();

 private:
  void Undo() noexcept;
  PostgresConnection& connection_;
  bool done_ = false;
};

}  // namespace partita::sums
