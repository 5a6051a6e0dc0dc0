#include "base/postgres_connect.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/libpq.h"

namespace partita::postgres {
namespace {

struct Options {
  std::vector<const char*> keywords, values;
  void Set(const char* keyword, const char* value) {
    keywords.push_back(keyword);
    values.push_back(value);
  }
};

using ParsedString = std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)>;

ParsedString Parse(const std::string& connection, std::string_view what) {
  char* message = nullptr;
  ParsedString parsed(Pq().conninfoParse(connection.c_str(), &message), Pq().conninfoFree);
  // The message may quote the string, and with it a password.
  Pq().freemem(message);
  if (parsed == nullptr) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the connection string of {} cannot be read", what),
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
void RefuseEnvironment(std::string_view what) {
  for (const char* name : {"PGHOSTADDR", "PGSERVICE", "PGOPTIONS"}) {
    if (std::getenv(name) != nullptr) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("the environment sets {}, which would change what {} is", name, what),
                  "Write it into the connection string instead.");
    }
  }
}

// Whether all traffic stays on this machine.
bool IsLocal(const ParsedString& parsed, std::string_view what) {
  const std::string host = ValueOf(parsed, "host");
  const std::string address = ValueOf(parsed, "hostaddr");
  if (host.empty() && address.empty()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the connection string of {} names no host", what),
                "Name it: host=/var/run/postgresql for the server of this machine.");
  }
  return (host.empty() || AreAllThisMachine(host)) &&
         (address.empty() || AreAllThisMachine(address));
}

Options OptionsOf(const ParsedString& parsed, const Use& use) {
  Options options;
  RefuseEnvironment(use.what);
  if (!ValueOf(parsed, "service").empty()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the connection string of {} names a service file", use.what),
                "Write its settings into the string.");
  }
  if (!ValueOf(parsed, "password").empty()) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("the connection string of {} holds a password, which other users of this "
                    "machine may see",
                    use.what),
        fmt::format("Write it into a file that only you can read, and {}.", use.password_place));
  }
  const std::string port = ValueOf(parsed, "port");
  // A password with a slash would be taken for one, and libpq would print it.
  if (port.find_first_not_of("0123456789,") != std::string::npos) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the connection string of {} has a port that is no number", use.what),
                "Write postgresql://user@host:5432/database.");
  }
  if (!use.writes) {
    for (const char* keyword : {"options", "replication"}) {
      if (ValueOf(parsed, keyword).empty()) continue;
      throw Error(ErrorCode::kBadInput,
                  fmt::format("the connection string of {} sets '{}'", use.what, keyword),
                  "Leave it out.");
    }
    if (ValueOf(parsed, "dbname").empty() || ValueOf(parsed, "user").empty()) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("the connection string of {} names no database or no user", use.what),
                  "Write postgresql://user@host/database.");
    }
  }
  const std::string ssl_mode = ValueOf(parsed, "sslmode");
  if (!IsLocal(parsed, use.what)) {
    if (!ssl_mode.empty() && ssl_mode != "verify-full") {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("sslmode={} does not prove who the server of {} is", ssl_mode, use.what),
          "Use sslmode=verify-full with sslrootcert=FILE.");
    }
    options.Set("sslmode", "verify-full");
  }
  // What comes first gives way to the string.
  options.Set("connect_timeout", "10");
  options.Set("tcp_user_timeout", "30000");
  options.Set("application_name", "partita");
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) options.Set(option->keyword, option->val);
  }
  if (use.writes) options.Set("target_session_attrs", "read-write");
  if (!use.password.empty()) options.Set("password", use.password.c_str());
  options.Set("client_encoding", "UTF8");
  options.Set("gssencmode", "disable");  // it would be tried before TLS
  options.Set(nullptr, nullptr);
  return options;
}

}  // namespace

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

std::string FieldOf(const pg_result* result, int field) {
  const char* text = Pq().resultErrorField(result, field);
  return text == nullptr ? std::string() : OneLine(text);
}

Connection Connect(const std::string& connection, const Use& use) {
  const ParsedString parsed = Parse(connection, use.what);
  const Options options = OptionsOf(parsed, use);
  Connection opened(Pq().connectdbParams(options.keywords.data(), options.values.data(), 0),
                    Pq().finish);
  if (Pq().status(opened.get()) != CONNECTION_OK) {
    throw Error(
        ErrorCode::kUnreachable,
        fmt::format("{} cannot be reached: {}", use.what, OneLine(Pq().errorMessage(opened.get()))),
        use.password.empty()
            ? fmt::format("Check that the server runs, the address and the role; where it has a "
                          "password, write that into a file that only you can read, and {}.",
                          use.password_place)
            : "Check that the server runs, the address, the role and its password.");
  }
  Pq().setNoticeProcessor(
      opened.get(), [](void*, const char*) {}, nullptr);
  return opened;
}

}  // namespace partita::postgres
