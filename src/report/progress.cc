#include "report/progress.h"

#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/text_table.h"

namespace partita::report {
namespace {

constexpr std::chrono::milliseconds kRefreshEvery{500};
constexpr std::chrono::seconds kLineEvery{30};

bool HasText(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

ProgressStyle DetectProgressStyle(int descriptor) {
  const char* terminal = std::getenv("TERM");
  ProgressStyle style;
  style.refresh = ::isatty(descriptor) == 1 && terminal != nullptr &&
                  std::string_view(terminal) != "dumb" && *terminal != '\0';
  style.color = style.refresh && !HasText("NO_COLOR");
  return style;
}

TerminalProgress::TerminalProgress(std::ostream& out, ProgressStyle style, std::string label,
                                   const std::atomic<bool>* cancelled, Now now)
    : out_(out),
      style_(style),
      label_(std::move(label)),
      cancelled_(cancelled),
      now_(std::move(now)),
      phase_start_(now_()),
      last_draw_(phase_start_) {}

TerminalProgress::~TerminalProgress() {
  try {
    Finish();
  } catch (...) {  // a broken terminal must not end the program
  }
}

void TerminalProgress::Phase(std::string_view name) {
  phase_ = name;
  done_ = total_ = 0;
  phase_start_ = now_();
  Draw();
}

void TerminalProgress::Step(uint64_t done, uint64_t total) {
  done_ = done;
  total_ = total;
  const auto waited = now_() - last_draw_;
  const bool often = style_.refresh || style_.json;
  if (often ? waited >= kRefreshEvery : waited >= kLineEvery) Draw();
}

void TerminalProgress::CheckCancelled() {
  if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) {
    throw Error(ErrorCode::kCancelled, "stopped by the user",
                "run the study again to get its result");
  }
  // Called while waiting for peers: the clock on the line goes on.
  if (!phase_.empty()) Step(done_, total_);
}

void TerminalProgress::Draw() {
  last_draw_ = now_();
  const double seconds = std::chrono::duration<double>(last_draw_ - phase_start_).count();
  if (style_.json) {
    WriteObject(seconds);
    return;
  }
  std::string text = label_.empty() ? phase_ : label_ + ": " + phase_;
  if (total_ > 0) {
    const double percent =
        100.0 * static_cast<double>(std::min(done_, total_)) / static_cast<double>(total_);
    text += ", " + std::to_string(static_cast<int>(percent)) + " %";
  }
  const auto whole = static_cast<int64_t>(seconds);
  if (whole >= 60) text += ", " + FormatSeconds(static_cast<double>(whole));
  if (whole >= 1 && whole < 60) text += ", " + std::to_string(whole) + " s";
  if (!style_.refresh) {
    out_ << text << '\n' << std::flush;
    return;
  }
  const size_t width = TextWidth(text);
  const std::string erase(drawn_width_ > width ? drawn_width_ - width : 0, ' ');
  out_ << '\r' << (style_.color ? "\x1b[2m" : "") << text << (style_.color ? "\x1b[0m" : "")
       << erase << std::flush;
  drawn_width_ = width;
}

void TerminalProgress::WriteObject(double seconds) {
  out_ << nlohmann::ordered_json{{"phase", phase_},
                                 {"done", done_},
                                 {"total", total_},
                                 {"seconds", seconds}}
              .dump()
       << '\n'
       << std::flush;
}

void TerminalProgress::Finish() {
  if (drawn_width_ == 0) return;
  out_ << '\r' << std::string(drawn_width_, ' ') << '\r' << std::flush;
  drawn_width_ = 0;
  phase_.clear();
}

}  // namespace partita::report
