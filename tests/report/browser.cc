#include "tests/report/browser.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "tests/report/sample_run.h"

namespace partita::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOptions =
    " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars "
    "--no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync"
    " --host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=5000 --enable-logging=stderr";

std::string Output(const std::string& command, int* status) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string out;
  std::array<char, 1 << 16> buffer{};
  while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    out.append(buffer.data(), got);
  }
  *status = ::pclose(pipe);
  return out;
}

BrowserRun Run(const std::string& options, const std::string& file) {
  std::string profile = (fs::temp_directory_path() / "partita_browser.XXXXXX").string();
  if (::mkdtemp(profile.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const std::string errors = profile + "/errors";
  BrowserRun run;
  run.out = Output("timeout 100 chromium" + std::string(kOptions) + " --user-data-dir='" + profile +
                       "' " + options + " 'file://" + file + "' 2>'" + errors + "'",
                   &run.status);
  std::istringstream lines(ReadText(errors));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("CONSOLE") != std::string::npos) run.console.push_back(line);
  }
  std::error_code ignored;
  fs::remove_all(profile, ignored);
  return run;
}

}  // namespace

bool HasBrowser() { return std::system("command -v chromium >/dev/null") == 0; }

BrowserRun DumpDocument(const std::string& file) { return Run("--dump-dom", file); }

BrowserRun PrintPdf(const std::string& file, const std::string& pdf) {
  return Run("--no-pdf-header-footer --print-to-pdf='" + pdf + "'", file);
}

BrowserRun TakePicture(const std::string& file, const std::string& png) {
  return Run("--window-size=1020,9000 --screenshot='" + png + "'", file);
}

std::vector<size_t> PdfPageSizes(const std::string& pdf) {
  const std::string text = ReadText(pdf);
  const std::regex page(R"(/Type /Page\n[^>]*?/Contents (\d+) 0 R)");
  std::vector<size_t> sizes;
  for (std::sregex_iterator it(text.begin(), text.end(), page), end; it != end; ++it) {
    const size_t object = text.find("\n" + (*it)[1].str() + " 0 obj");
    const size_t length = text.find("/Length ", object);
    if (object == std::string::npos || length == std::string::npos) continue;
    sizes.push_back(std::stoul(text.substr(length + 8, 12)));
  }
  return sizes;
}

}  // namespace partita::report
