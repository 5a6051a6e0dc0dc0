#include "base/postgres_session.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>

#include "base/libpq.h"

namespace partita::postgres {
namespace {

// Of the system catalogue (pg_type), fixed for ever.
constexpr Oid kBlobType = 17;
constexpr Oid kBigIntegerType = 20;
constexpr Oid kIntegerType = 23;
constexpr Oid kTextType = 25;
constexpr Oid kBlobArrayType = 1001;

constexpr int kBinary = 1;

void AppendBigEndian(Bytes& out, uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

bool IsOneOf(std::string_view state, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return state.starts_with(prefix); });
}

// The server goes away, or ends one of two transactions that wait for each other.
bool IsPassing(std::string_view state) {
  return IsOneOf(state, {"08", "57P01", "57P02", "57P03", "25P03", "40001", "40P01"});
}

}  // namespace

Value Value::Integer(int32_t value) {
  Bytes bytes;
  AppendBigEndian(bytes, static_cast<uint32_t>(value), 4);
  return {kIntegerType, std::move(bytes)};
}

Value Value::BigInteger(int64_t value) {
  Bytes bytes;
  AppendBigEndian(bytes, static_cast<uint64_t>(value), 8);
  return {kBigIntegerType, std::move(bytes)};
}

Value Value::Text(std::string_view text) { return {kTextType, Bytes(text.begin(), text.end())}; }

Value Value::Blob(ByteView bytes) { return {kBlobType, Bytes(bytes.begin(), bytes.end())}; }

// One dimension, no nulls, first index 1; each element after its length.
Value Value::BlobArray(std::span<const ByteView> blobs) {
  size_t size = 20;
  for (const ByteView blob : blobs) size += 4 + blob.size();
  if (size > static_cast<size_t>(std::numeric_limits<int>::max()) / 2) {
    throw Error(ErrorCode::kInternal, "one statement for the database is too large");
  }
  Bytes bytes;
  bytes.reserve(size);
  AppendBigEndian(bytes, 1, 4);
  AppendBigEndian(bytes, 0, 4);
  AppendBigEndian(bytes, kBlobType, 4);
  AppendBigEndian(bytes, blobs.size(), 4);
  AppendBigEndian(bytes, 1, 4);
  for (const ByteView blob : blobs) {
    AppendBigEndian(bytes, blob.size(), 4);
    bytes.insert(bytes.end(), blob.begin(), blob.end());
  }
  return {kBlobArrayType, std::move(bytes)};
}

Rows::Rows(pg_result* result) : result_(result, Pq().clear) {}

size_t Rows::size() const { return static_cast<size_t>(Pq().ntuples(result_.get())); }

bool Rows::IsNull(size_t row, int column) const {
  return Pq().getisnull(result_.get(), static_cast<int>(row), column) != 0;
}

ByteView Rows::Blob(size_t row, int column) const {
  const auto at = static_cast<int>(row);
  return {reinterpret_cast<const uint8_t*>(Pq().getvalue(result_.get(), at, column)),
          static_cast<size_t>(Pq().getlength(result_.get(), at, column))};
}

std::string Rows::Text(size_t row, int column) const {
  const ByteView bytes = Blob(row, column);
  return {bytes.begin(), bytes.end()};
}

int64_t Rows::Integer(size_t row, int column) const {
  const ByteView bytes = Blob(row, column);
  if (IsNull(row, column) || bytes.empty() || bytes.size() > 8) {
    throw Error(ErrorCode::kBadInput, "the database holds a number of a wrong length");
  }
  uint64_t value = (bytes.front() & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (const uint8_t byte : bytes) value = (value << 8) | byte;
  return static_cast<int64_t>(value);
}

int64_t Rows::affected() const {
  const std::string_view text = Pq().cmdTuples(result_.get());
  int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

std::string_view Rows::command() const { return Pq().cmdStatus(result_.get()); }

void Rows::CopyFixed(size_t row, int column, std::span<uint8_t> out) const {
  const ByteView blob = Blob(row, column);
  if (blob.size() != out.size()) {
    throw Error(ErrorCode::kBadInput, "the database holds a field of a wrong length");
  }
  std::copy(blob.begin(), blob.end(), out.begin());
}

Session::Session(const std::string& connection, const Use& use,
                 std::chrono::milliseconds statement_timeout, Failure failure)
    : connection_(Connect(connection, use)),
      what_(use.what),
      statement_timeout_(statement_timeout),
      failure_(failure) {
  Pq().setnonblocking(connection_.get(), 1);
  Execute(
      fmt::format("SET search_path = pg_catalog; "
                  "SET idle_in_transaction_session_timeout = {}",
                  std::max<int64_t>(1, statement_timeout_.count() / 3)));
}

Session::~Session() = default;

Rows Session::Execute(const std::string& sql) {
  if (Pq().sendQuery(connection_.get(), sql.c_str()) != 1) FailLost();
  return Await();
}

Rows Session::Query(const std::string& sql, const std::vector<Value>& values) {
  std::vector<Oid> types;
  std::vector<const char*> addresses;
  std::vector<int> lengths;
  const std::vector<int> formats(values.size(), kBinary);
  for (const Value& value : values) {
    types.push_back(value.type_);
    // An address even for no bytes: no address is NULL.
    addresses.push_back(value.bytes_.empty() ? ""
                                             : reinterpret_cast<const char*>(value.bytes_.data()));
    lengths.push_back(static_cast<int>(value.bytes_.size()));
  }
  const auto count = static_cast<int>(values.size());
  auto known = prepared_.find(sql);
  if (known == prepared_.end()) {
    std::string name = fmt::format("s{}", prepared_.size());
    if (Pq().sendPrepare(connection_.get(), name.c_str(), sql.c_str(), count, types.data()) != 1)
      FailLost();
    Await();
    known = prepared_.emplace(sql, std::move(name)).first;
  }
  if (Pq().sendQueryPrepared(connection_.get(), known->second.c_str(), count, addresses.data(),
                             lengths.data(), formats.data(), kBinary) != 1) {
    FailLost();
  }
  return Await();
}

Rows Session::Await() {
  const Deadline deadline = Deadline::After(statement_timeout_);
  std::unique_ptr<pg_result, void (*)(pg_result*)> last(nullptr, Pq().clear);
  std::unique_ptr<pg_result, void (*)(pg_result*)> failed(nullptr, Pq().clear);
  while (true) {
    WaitFor(deadline);
    pg_result* result = Pq().getResult(connection_.get());
    if (result == nullptr) break;
    const ExecStatusType status = Pq().resultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
      last.reset(result);
    } else {
      failed.reset(result);
    }
  }
  if (failed != nullptr) FailAs(failed.get());
  if (last == nullptr) FailLost();
  return Rows(last.release());
}

// Until a result can be taken without waiting.
void Session::WaitFor(const Deadline& deadline) {
  while (true) {
    const int unsent = Pq().flush(connection_.get());
    if (unsent < 0 || Pq().consumeInput(connection_.get()) != 1) FailLost();
    if (unsent == 0 && Pq().isBusy(connection_.get()) == 0) return;
    if (deadline.passed()) FailLate();
    pollfd waiting{Pq().socket(connection_.get()),
                   static_cast<short>(unsent == 0 ? POLLIN : POLLIN | POLLOUT), 0};
    const int64_t left = std::min<int64_t>(deadline.remaining().count(), 1000);
    if (poll(&waiting, 1, static_cast<int>(left)) < 0 && errno != EINTR) FailLost();
  }
}

void Session::FailLost() {
  usable_ = false;
  may_repeat_ = true;
  throw failure_({}, fmt::format("the connection to {} was lost: {}", what_,
                                 OneLine(Pq().errorMessage(connection_.get()))));
}

void Session::FailLate() {
  usable_ = false;
  may_repeat_ = false;
  throw failure_({},
                 fmt::format("{} did not answer within {} ms", what_, statement_timeout_.count()));
}

void Session::FailUndone() { throw failure_({}, what_ + " undid a transaction"); }

void Session::FailAs(const pg_result* result) {
  const std::string state = FieldOf(result, PG_DIAG_SQLSTATE);
  if (Pq().status(connection_.get()) != CONNECTION_OK) usable_ = false;
  may_repeat_ = !usable_ || IsPassing(state);
  const std::string message = FieldOf(result, PG_DIAG_MESSAGE_PRIMARY);
  throw failure_(state,
                 fmt::format("{} refused a statement: {} ({})", what_,
                             message.empty() ? OneLine(Pq().resultErrorMessage(result)) : message,
                             state.empty() ? "no code" : state));
}

namespace {

std::string BeginningOf(Transaction::Kind kind) {
  switch (kind) {
    case Transaction::Kind::kDurable:
      return "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = on; ";
    case Transaction::Kind::kForgetful:
      return "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = "
             "off; ";
    case Transaction::Kind::kSerial:
      return "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE; SET LOCAL synchronous_commit = on; ";
    case Transaction::Kind::kReading:
      return "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY; ";
  }
  throw Error(ErrorCode::kInternal, "a transaction of no kind");
}

}  // namespace

Transaction::Transaction(Session& session, Kind kind, const std::string& then) : session_(session) {
  try {
    begun_.emplace(session_.Execute(BeginningOf(kind) + then));
  } catch (...) {
    Undo();
    throw;
  }
}

Transaction::~Transaction() {
  if (!done_) Undo();
}

void Transaction::Commit() {
  done_ = true;
  // A transaction in which something failed answers ROLLBACK.
  if (session_.Execute("COMMIT").command() != "COMMIT") session_.FailUndone();
}

void Transaction::Undo() noexcept {
  if (!session_.usable()) return;
  try {
    session_.Execute("ROLLBACK");
  } catch (const Error&) {
    // The connection is lost, and the transaction with it.
  }
}

}  // namespace partita::postgres
