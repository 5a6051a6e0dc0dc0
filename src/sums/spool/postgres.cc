#include "sums/spool/postgres.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "sums/spool/libpq.h"

namespace partita::sums {
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

// libpq's messages are several lines long, with a tab before the later ones.
std::string OneLine(std::string_view message) {
  std::string line;
  for (const char c : message) {
    const bool is_space = c == '\n' || c == '\t' || c == ' ';
    if (!is_space) line.push_back(c);
    if (is_space && !line.empty() && line.back() != ' ') line.push_back(' ');
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

struct Options {
  std::vector<const char*> keywords, values;
  void Set(const char* keyword, const char* value) {
    keywords.push_back(keyword);
    values.push_back(value);
  }
};

using ParsedString = std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)>;

ParsedString Parse(const std::string& connection) {
  char* message = nullptr;
  ParsedString parsed(Pq().conninfoParse(connection.c_str(), &message), Pq().conninfoFree);
  // The message may quote the string, and with it a password.
  Pq().freemem(message);
  if (parsed == nullptr) {
    throw Error(ErrorCode::kBadInput, "the connection string of the upload store cannot be read",
                "Write host=... dbname=... user=..., or postgresql://user@host/database.");
  }
  return parsed;
}

std::string ValueOf(const ParsedString& parsed, std::string_view keyword) {
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->keyword == keyword && option->val != nullptr) return option->val;
  }
  return {};
}

bool IsThisMachine(std::string_view host) {
  return host.starts_with('/') || host == "localhost" || host == "127.0.0.1" || host == "::1";
}

// Several hosts are separated by commas.
bool AreAllThisMachine(std::string_view hosts) {
  while (true) {
    const size_t comma = hosts.find(',');
    if (!IsThisMachine(hosts.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    hosts.remove_prefix(comma + 1);
  }
}

// What the environment says about hosts would go before the string's own.
void RefuseEnvironment() {
  for (const char* name : {"PGHOSTADDR", "PGSERVICE"}) {
    if (std::getenv(name) != nullptr) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("the environment sets {}, which would change where the upload store "
                              "is",
                              name),
                  "Write it into the connection string instead.");
    }
  }
}

// Whether all traffic stays on this machine.
bool IsLocal(const ParsedString& parsed) {
  const std::string host = ValueOf(parsed, "host");
  const std::string address = ValueOf(parsed, "hostaddr");
  if (host.empty() && address.empty()) {
    throw Error(ErrorCode::kBadInput, "the connection string of the upload store names no host",
                "Name it: host=/var/run/postgresql for the server of this machine.");
  }
  return (host.empty() || AreAllThisMachine(host)) &&
         (address.empty() || AreAllThisMachine(address));
}

Options OptionsOf(const ParsedString& parsed) {
  Options options;
  RefuseEnvironment();
  if (!ValueOf(parsed, "service").empty()) {
    throw Error(ErrorCode::kBadInput,
                "the connection string of the upload store names a service file",
                "Write its settings into the string.");
  }
  if (!ValueOf(parsed, "password").empty()) {
    throw Error(ErrorCode::kBadInput,
                "the connection string of the upload store holds a password, which other users of "
                "this machine may see",
                "Write it into a file that only you can read, and name that with passfile=FILE.");
  }
  const std::string ssl_mode = ValueOf(parsed, "sslmode");
  if (!IsLocal(parsed)) {
    if (!ssl_mode.empty() && ssl_mode != "verify-full") {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("sslmode={} does not prove who the upload store's server is", ssl_mode),
          "Use sslmode=verify-full with sslrootcert=FILE.");
    }
    options.Set("sslmode", "verify-full");
  }
  // What comes first gives way to the string. No standby: it takes nothing.
  options.Set("connect_timeout", "10");
  options.Set("tcp_user_timeout", "30000");
  options.Set("application_name", "partita");
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) options.Set(option->keyword, option->val);
  }
  options.Set("target_session_attrs", "read-write");
  options.Set("client_encoding", "UTF8");
  options.Set(nullptr, nullptr);
  return options;
}

bool IsOneOf(std::string_view state, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return state.starts_with(prefix); });
}

struct Advice {
  ErrorCode code;
  const char* hint;
};

// By SQLSTATE (PostgreSQL's appendix A).
Advice AdviceFor(std::string_view state) {
  if (IsOneOf(state, {"53100"})) {
    return {ErrorCode::kUnreachable,
            "The disk of the database server is full. Make room; what was acknowledged is there."};
  }
  if (IsOneOf(state, {"42501"})) {
    return {ErrorCode::kBadInput,
            "Grant this role what docs/private-sums-operations.md names, or start once as the "
            "owner of the tables."};
  }
  if (IsOneOf(state, {"25006"})) {
    return {ErrorCode::kUnreachable, "The server is a standby or read-only; use the primary."};
  }
  if (IsOneOf(state, {"42P01", "42P06", "42703", "3F000"})) {
    return {ErrorCode::kBadInput,
            "The database does not hold the tables of this version of Partita; use the one that "
            "this compute node made."};
  }
  return {ErrorCode::kUnreachable,
          "Check the database server and start again; what was acknowledged is in the store."};
}

// The server goes away, or ends one of two transactions that wait for each other.
bool IsPassing(std::string_view state) {
  return IsOneOf(state, {"08", "57P01", "57P02", "57P03", "25P03", "40001", "40P01"});
}

std::string FieldOf(const pg_result* result, int field) {
  const char* text = Pq().resultErrorField(result, field);
  return text == nullptr ? std::string() : OneLine(text);
}

}  // namespace

PostgresValue PostgresValue::Integer(int32_t value) {
  Bytes bytes;
  AppendBigEndian(bytes, static_cast<uint32_t>(value), 4);
  return {kIntegerType, std::move(bytes)};
}

PostgresValue PostgresValue::BigInteger(int64_t value) {
  Bytes bytes;
  AppendBigEndian(bytes, static_cast<uint64_t>(value), 8);
  return {kBigIntegerType, std::move(bytes)};
}

PostgresValue PostgresValue::Text(std::string_view text) {
  return {kTextType, Bytes(text.begin(), text.end())};
}

PostgresValue PostgresValue::Blob(ByteView bytes) {
  return {kBlobType, Bytes(bytes.begin(), bytes.end())};
}

// One dimension, no nulls, first index 1; each element after its length.
PostgresValue PostgresValue::BlobArray(std::span<const ByteView> blobs) {
  size_t size = 20;
  for (const ByteView blob : blobs) size += 4 + blob.size();
  if (size > static_cast<size_t>(std::numeric_limits<int>::max()) / 2) {
    throw Error(ErrorCode::kInternal, "one statement for the upload store is too large");
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

PostgresRows::PostgresRows(pg_result* result) : result_(result, Pq().clear) {}

size_t PostgresRows::size() const { return static_cast<size_t>(Pq().ntuples(result_.get())); }

bool PostgresRows::IsNull(size_t row, int column) const {
  return Pq().getisnull(result_.get(), static_cast<int>(row), column) != 0;
}

ByteView PostgresRows::Blob(size_t row, int column) const {
  const auto at = static_cast<int>(row);
  return {reinterpret_cast<const uint8_t*>(Pq().getvalue(result_.get(), at, column)),
          static_cast<size_t>(Pq().getlength(result_.get(), at, column))};
}

std::string PostgresRows::Text(size_t row, int column) const {
  const ByteView bytes = Blob(row, column);
  return {bytes.begin(), bytes.end()};
}

int64_t PostgresRows::Integer(size_t row, int column) const {
  const ByteView bytes = Blob(row, column);
  if (IsNull(row, column) || bytes.empty() || bytes.size() > 8) {
    throw Error(ErrorCode::kBadInput, "the upload store holds a number of a wrong length");
  }
  uint64_t value = (bytes.front() & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (const uint8_t byte : bytes) value = (value << 8) | byte;
  return static_cast<int64_t>(value);
}

int64_t PostgresRows::affected() const {
  const std::string_view text = Pq().cmdTuples(result_.get());
  int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

std::string_view PostgresRows::command() const { return Pq().cmdStatus(result_.get()); }

void PostgresRows::CopyFixed(size_t row, int column, std::span<uint8_t> out) const {
  const ByteView blob = Blob(row, column);
  if (blob.size() != out.size()) {
    throw Error(ErrorCode::kBadInput, "the upload store holds a field of a wrong length");
  }
  std::copy(blob.begin(), blob.end(), out.begin());
}

PostgresConnection::PostgresConnection(const std::string& connection,
                                       std::chrono::milliseconds statement_timeout)
    : connection_(nullptr, Pq().finish), statement_timeout_(statement_timeout) {
  const ParsedString parsed = Parse(connection);
  const Options options = OptionsOf(parsed);
  connection_.reset(Pq().connectdbParams(options.keywords.data(), options.values.data(), 0));
  if (Pq().status(connection_.get()) != CONNECTION_OK) {
    throw Error(ErrorCode::kUnreachable,
                fmt::format("the upload store cannot be reached: {}",
                            OneLine(Pq().errorMessage(connection_.get()))),
                "Check that the server runs, the connection string, the role and its password.");
  }
  Pq().setNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  Pq().setnonblocking(connection_.get(), 1);
  Execute(
      fmt::format("SET search_path = pg_catalog; "
                  "SET idle_in_transaction_session_timeout = {}",
                  std::max<int64_t>(1, statement_timeout_.count() / 3)));
}

PostgresConnection::~PostgresConnection() = default;

PostgresRows PostgresConnection::Execute(const std::string& sql) {
  if (Pq().sendQuery(connection_.get(), sql.c_str()) != 1) FailLost();
  return Await();
}

PostgresRows PostgresConnection::Query(const char* sql, const std::vector<PostgresValue>& values) {
  std::vector<Oid> types;
  std::vector<const char*> addresses;
  std::vector<int> lengths;
  const std::vector<int> formats(values.size(), kBinary);
  for (const PostgresValue& value : values) {
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
    if (Pq().sendPrepare(connection_.get(), name.c_str(), sql, count, types.data()) != 1)
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

PostgresRows PostgresConnection::Await() {
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
  return PostgresRows(last.release());
}

// Until a result can be taken without waiting.
void PostgresConnection::WaitFor(const Deadline& deadline) {
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

void PostgresConnection::FailLost() {
  usable_ = false;
  may_repeat_ = true;
  throw Error(ErrorCode::kUnreachable,
              fmt::format("the connection to the upload store was lost: {}",
                          OneLine(Pq().errorMessage(connection_.get()))),
              AdviceFor({}).hint);
}

void PostgresConnection::FailLate() {
  usable_ = false;
  may_repeat_ = false;
  throw Error(
      ErrorCode::kUnreachable,
      fmt::format("the upload store did not answer within {} ms", statement_timeout_.count()),
      AdviceFor({}).hint);
}

void PostgresConnection::FailAs(const pg_result* result) {
  const std::string state = FieldOf(result, PG_DIAG_SQLSTATE);
  if (Pq().status(connection_.get()) != CONNECTION_OK) usable_ = false;
  may_repeat_ = !usable_ || IsPassing(state);
  const std::string message = FieldOf(result, PG_DIAG_MESSAGE_PRIMARY);
  const Advice advice = AdviceFor(state);
  throw Error(advice.code,
              fmt::format("the upload store refused a statement: {} ({})",
                          message.empty() ? OneLine(Pq().resultErrorMessage(result)) : message,
                          state.empty() ? "no code" : state),
              advice.hint);
}

PostgresTransaction::PostgresTransaction(PostgresConnection& connection, Kind kind,
                                         const std::string& then)
    : connection_(connection) {
  try {
    connection_.Execute(
        fmt::format("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
                    "SET LOCAL synchronous_commit = {}; {}",
                    kind == Kind::kDurable ? "on" : "off", then));
  } catch (...) {
    Undo();
    throw;
  }
}

PostgresTransaction::~PostgresTransaction() {
  if (!done_) Undo();
}

void PostgresTransaction::Commit() {
  done_ = true;
  // A transaction in which something failed answers ROLLBACK.
  if (connection_.Execute("COMMIT").command() != "COMMIT") {
    throw Error(ErrorCode::kUnreachable, "the upload store undid a transaction");
  }
}

void PostgresTransaction::Undo() noexcept {
  if (!connection_.usable()) return;
  try {
    connection_.Execute("ROLLBACK");
  } catch (const Error&) {
    // The connection is lost, and the transaction with it.
  }
}

}  // namespace partita::sums
