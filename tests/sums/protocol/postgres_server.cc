#include "tests/sums/protocol/postgres_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace partita::sums {
namespace {

const std::filesystem::path kPrograms = "/usr/lib/postgresql/15/bin";
constexpr auto kPatience = std::chrono::seconds(120);

struct User {
  uid_t user = 0;
  gid_t group = 0;
};

// Who runs the server.
User ServerUser() {
  if (geteuid() != 0) return {geteuid(), getegid()};
  const passwd* nobody = getpwnam("nobody");
  if (nobody == nullptr) throw std::runtime_error("there is no user to run PostgreSQL as");
  return {nobody->pw_uid, nobody->pw_gid};
}

std::string TextOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// In a child process: a program as the server's user, which ends when this process does.
pid_t Spawn(const std::vector<std::string>& words, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const User user = ServerUser();
  const bool is_root = geteuid() == 0;
  const std::string log_name = log.string();
  const pid_t child = fork();
  if (child != 0) return child;
  if (is_root &&
      (setgroups(0, nullptr) != 0 || setgid(user.group) != 0 || setuid(user.user) != 0)) {
    _exit(126);
  }
  // Immediate shutdown.
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  const int nothing = open("/dev/null", O_RDONLY);
  const int out = open(log_name.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(nothing, 0);
  dup2(out, 1);
  dup2(out, 2);
  execv(arguments[0], arguments.data());
  _exit(127);
}

void RunToEnd(const std::vector<std::string>& words, const std::filesystem::path& log) {
  int status = 0;
  waitpid(Spawn(words, log), &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(words.front() + " failed: " + TextOf(log));
  }
}

std::vector<pid_t> ChildrenOf(pid_t process) {
  std::ifstream in(fmt::format("/proc/{0}/task/{0}/children", process));
  std::vector<pid_t> children;
  for (pid_t child = 0; in >> child;) children.push_back(child);
  return children;
}

}  // namespace

bool HasEnded(pid_t process) {
  const std::string stat = TextOf(fmt::format("/proc/{}/stat", process));
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.compare(name_end, 3, ") Z") == 0;
}

PostgresServer::PostgresServer(Options options, const std::filesystem::path& parent)
    : options_(std::move(options)) {
  const std::filesystem::path memory = "/dev/shm";
  const std::filesystem::path usual =
      std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
  std::string name = ((parent.empty() ? usual : parent) / "partita_pg_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for PostgreSQL");
  folder_ = name;
  const User user = ServerUser();
  if (geteuid() == 0 && chown(folder_.c_str(), user.user, user.group) != 0) {
    throw std::runtime_error("PostgreSQL's folder cannot be given to its user");
  }
  RunToEnd({kPrograms / "initdb", "-D", data(), "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--no-locale", "--no-sync", "--no-instructions"},
           folder_ / "log");
  Start();
  Administer("postgres", "CREATE ROLE spool LOGIN");
}

PostgresServer::~PostgresServer() {
  if (process_ > 0) Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void PostgresServer::Start(const Options& more) {
  Options settings = {{"listen_addresses", ""},
                      {"unix_socket_directories", folder_},
                      {"fsync", "on"},
                      {"synchronous_commit", "off"},
                      {"wal_writer_delay", "10s"},
                      {"default_transaction_isolation", "repeatable read"},
                      {"dynamic_shared_memory_type", "mmap"},  // in the folder, also when killed
                      {"shared_buffers", "32MB"},
                      {"max_connections", "60"},
                      {"max_wal_size", "64MB"},
                      {"min_wal_size", "32MB"},
                      {"autovacuum", "off"},
                      {"jit", "off"}};
  for (const auto& [name, value] : options_) settings[name] = value;
  for (const auto& [name, value] : more) settings[name] = value;
  std::vector<std::string> words = {kPrograms / "postgres", "-D", data()};
  for (const auto& [name, value] : settings) {
    words.insert(words.end(), {"-c", fmt::format("{}={}", name, value)});
  }
  const Deadline deadline = Deadline::After(kPatience);
  process_ = Spawn(words, folder_ / "log");
  while (PQping(Connection("postgres", "postgres").c_str()) != PQPING_OK) {
    if (deadline.passed()) throw std::runtime_error("PostgreSQL: " + TextOf(folder_ / "log"));
    if (HasEnded(process_)) {
      // Of its predecessor something may be left for a moment.
      waitpid(process_, nullptr, 0);
      process_ = Spawn(words, folder_ / "log");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void PostgresServer::Kill() {
  const std::vector<pid_t> children = ChildrenOf(process_);
  kill(process_, SIGKILL);
  for (const pid_t child : children) kill(child, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
  const Deadline deadline = Deadline::After(kPatience);
  while (!std::all_of(children.begin(), children.end(), HasEnded)) {
    if (deadline.passed()) throw std::runtime_error("PostgreSQL cannot be killed");
    std::this_thread::yield();
  }
}

void PostgresServer::Stop() {
  kill(process_, SIGINT);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

std::string PostgresServer::MakeDatabase() {
  const std::string name = fmt::format("node{}", databases_++);
  Administer("postgres", fmt::format("CREATE DATABASE {} OWNER spool", name));
  return name;
}

std::string PostgresServer::Connection(const std::string& database, const std::string& role) const {
  return fmt::format("host={} dbname={} user={}", folder_.string(), database, role);
}

PostgresSettings PostgresServer::Settings(const std::string& database) const {
  PostgresSettings settings;
  settings.connection = Connection(database);
  settings.node.fill(1);
  return settings;
}

postgres::Rows PostgresServer::Administer(const std::string& database,
                                          const std::string& sql) const {
  return OpenSpoolSession(Connection(database, "postgres"), kPatience).Execute(sql);
}

PostgresServer& SharedServer() {
  static PostgresServer server;
  return server;
}

}  // namespace partita::sums
