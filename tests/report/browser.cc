#include "tests/report/browser.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "base/files.h"
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
  run.out = Output("timeout 240 chromium" + std::string(kOptions) + " --user-data-dir='" + profile +
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

// As the value of an attribute, every character as it is: the page's policy hashes its script.
std::string AttributeOf(const std::string& html) {
  std::string text;
  for (const char c : html) {
    if (c == '&') {
      text += "&amp;";
    } else if (c == '"') {
      text += "&quot;";
    } else {
      text += c;
    }
  }
  return text;
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

std::vector<std::string> LayoutFaults(const std::vector<NamedPage>& pages,
                                      const std::string& file) {
  std::string frames;
  const auto add = [&](const std::string& name, const std::string& width, const std::string& html) {
    frames += "<iframe name=\"" + name + "\" width=\"" + width + "\" height=\"1200\" srcdoc=\"" +
              AttributeOf(html) + "\"></iframe>\n";
  };
  const std::regex media("@media print"),
      policy("<meta http-equiv=\"Content-Security-Policy\"[^>]*>");
  for (const auto& [name, html] : pages) {
    for (const std::string width : {"400", "900", "1400"})
      add(name + ", " + width + " px", width, html);
    // The rules for paper on a screen as wide as A4 between its margins; the page's own policy would
    // refuse the changed style.
    add(name + ", paper", "680",
        std::regex_replace(std::regex_replace(html, media, "@media all"), policy, ""));
  }
  WriteFileAtomically(file, "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n" +
                                frames + "<pre id=\"faults\">not measured</pre>\n<script>" +
                                ReadText(SourcePath("tests/report/layout.js")) +
                                "</script></body></html>\n");
  const BrowserRun run = DumpDocument(file);
  const std::string start = "<pre id=\"faults\">";
  const size_t at = run.out.find(start);
  if (run.status != 0 || at == std::string::npos) return {"no page was measured: " + file};
  std::vector<std::string> faults = run.console;
  std::istringstream lines(
      run.out.substr(at + start.size(), run.out.find("</pre>", at) - at - start.size()));
  for (std::string line; std::getline(lines, line);) faults.push_back(line);
  return faults;
}

std::vector<size_t> PdfPageSizes(const std::string& pdf) {
  const std::string text = ReadText(pdf), start = "/Type /Page\n", key = "/Contents ";
  std::vector<size_t> sizes;
  for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::string number = text.substr(text.find(key, at) + key.size(), 12);
    const size_t object = text.find("\n" + number.substr(0, number.find(' ')) + " 0 obj");
    sizes.push_back(std::stoul(text.substr(text.find("/Length ", object) + 8, 12)));
  }
  return sizes;
}

}  // namespace partita::report
