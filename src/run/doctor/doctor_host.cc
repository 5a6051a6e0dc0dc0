// The machine: versions, locale, clock, disk, memory. See doctor_checks.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/text_table.h"
#include "base/version.h"
#include "net/frame.h"
#include "net/socket.h"
#include "run/doctor/doctor_checks.h"

namespace partita::run {
namespace {

namespace fs = std::filesystem;

// Results and logs are small; a disk with less than this is about to be full.
constexpr uint64_t kLeastDisk = 64'000'000, kGoodDisk = 1'000'000'000;
constexpr double kFileClockSkewSeconds = 5;

double WallSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A file without a name that is gone when it is closed.
net::Socket ProbeFile(const fs::path& folder) {
  std::string name = (folder / ".partita-doctor-XXXXXX").string();
  net::Socket file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.valid()) ::unlink(name.c_str());
  return file;
}

uint64_t AvailableMemory() {
  std::ifstream info("/proc/meminfo");
  std::string key, unit;
  for (uint64_t kilobytes = 0; info >> key >> kilobytes;) {
    std::getline(info, unit);
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
  return 0;
}

// Rows that this party holds, as far as they are known.
uint64_t KnownRows(const DoctorContext& context) {
  uint64_t rows = 0;
  for (size_t b : context.study->partition.BlocksOf(*context.party))
    rows += context.study->partition.blocks[b].count.value_or(0);
  return std::max(rows, context.table_rows);
}

// An upper estimate: cells as doubles, keys, and three ring elements for every number of the model
// (own values, masks and a peer's masked values).
uint64_t NeededMemory(const DoctorContext& context) {
  const Study& study = *context.study;
  const uint64_t columns = study.file.dictionary.columns.size();
  return 64'000'000 + KnownRows(context) * (8 * columns + 64 + 3 * 16 * study.NumbersPerRow());
}

void CheckMemory(const DoctorContext& context, Findings& findings) {
  const uint64_t available = AvailableMemory();
  if (available == 0 || !context.study || !context.party) return;
  const uint64_t needed = NeededMemory(context);
  const std::string found =
      fmt::format("{} available, about {} needed", FormatBytes(available), FormatBytes(needed));
  if (needed > available) {
    findings.Problem("memory", found, "end other programs, or use a machine with more memory");
  } else if (2 * needed > available) {
    findings.Warn("memory", found, "end other programs before the run");
  } else {
    findings.Ok("memory", found);
  }
}

}  // namespace

void CheckVersions(Findings& findings) {
  findings.Ok("partita",
              fmt::format("release {}, wire version {}: the others need the same wire version",
                          kVersion, net::kWireVersion));
  const std::string openssl = OpenSSL_version(OPENSSL_VERSION_STRING);
  if (OPENSSL_version_major() < 3) {
    findings.Problem("OpenSSL", openssl + " is older than 3.0", "install OpenSSL 3.0 or newer");
  } else {
    findings.Ok("OpenSSL", openssl);
  }
  // Library version 10.3 came with release 1.0.18.
  const int major = sodium_library_version_major(), minor = sodium_library_version_minor();
  if (major < 10 || (major == 10 && minor < 3)) {
    findings.Problem("libsodium", fmt::format("{} is older than 1.0.18", sodium_version_string()),
                     "install libsodium 1.0.18 or newer");
  } else {
    findings.Ok("libsodium", sodium_version_string());
  }
}

void CheckLocale(Findings& findings) {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (locale.empty() && value != nullptr) locale = value;
  }
  const bool utf8 =
      locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  const std::string rule = "numbers are read as [table] says whatever the locale";
  if (utf8) {
    findings.Ok("locale", fmt::format("{}; {}", locale, rule));
  } else {
    findings.Warn("locale",
                  fmt::format("'{}' is not UTF-8; {}, but names may look wrong", locale, rule),
                  "export LC_ALL=C.UTF-8");
  }
}

void CheckClock(const DoctorContext& context, Findings& findings) {
  timex state{};
  state.modes = 0;  // only look
  const int result = ::adjtimex(&state);
  if (result == -1) {
    findings.Warn("clock", "the system does not say whether its clock is synchronised",
                  "make sure that a time service (chrony, systemd-timesyncd) is running");
  } else if (result == TIME_ERROR || (state.status & STA_UNSYNC) != 0) {
    findings.Warn("clock", "the system's clock is not synchronised",
                  "start a time service: timedatectl set-ntp true; or compare with the other "
                  "parties: --with-peers");
  } else {
    findings.Ok("clock", fmt::format("synchronised to about {:.0f} ms",
                                     static_cast<double>(state.maxerror) / 1000));
  }
  const double before = WallSeconds();
  const net::Socket file = ProbeFile(context.options.folder);
  struct stat status {};
  if (!file.valid() || ::write(file.fd(), "x", 1) != 1 || ::fstat(file.fd(), &status) != 0) return;
  const double written = static_cast<double>(status.st_mtim.tv_sec) +
                         1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
  if (std::abs(written - before) > kFileClockSkewSeconds) {
    findings.Warn("file clock",
                  fmt::format("files in {} are dated {:.0f} s {} this machine's clock",
                              context.options.folder.string(), std::abs(written - before),
                              written > before ? "after" : "before"),
                  "a file server with another clock? correct the clock that is wrong");
  }
}

void CheckFolder(const DoctorContext& context, Findings& findings) {
  const fs::path& folder = context.options.folder;
  const net::Socket probe = ProbeFile(folder);
  if (!probe.valid()) {
    findings.Problem("folder",
                     fmt::format("cannot write in {}: {}", folder.string(), std::strerror(errno)),
                     "name another one with --folder, or change its permissions");
    return;
  }
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) {
    findings.Warn("disk", fmt::format("{}: {}", folder.string(), error.message()),
                  "look at the disk yourself: df");
    return;
  }
  const std::string found =
      fmt::format("{} free in {}", FormatBytes(space.available), folder.string());
  if (space.available < kLeastDisk) {
    findings.Problem("disk", found, "free some space: results could not be written");
  } else if (space.available < kGoodDisk) {
    findings.Warn("disk", found, "free some space before the run");
  } else {
    findings.Ok("disk", found);
  }
}

void CheckResources(const DoctorContext& context, Findings& findings) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  findings.Ok("cores", fmt::format("{}", cores));
  CheckMemory(context, findings);
  rlimit files{};
  const uint64_t parties = context.study ? context.study->parties.size() : net::kMaxParties;
  const uint64_t needed = 32 + 4 * parties;
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < needed) {
    findings.Problem(
        "open files",
        fmt::format("this process may open {} files, {} are needed", files.rlim_cur, needed),
        fmt::format("ulimit -n {}", 4 * needed));
  }
}

}  // namespace partita::run
