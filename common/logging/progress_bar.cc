#include "common/logging/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/byte_count.h"
#include "fmt/core.h"

namespace headrace {
namespace {

constexpr absl::Duration kDrawEvery = absl::Milliseconds(100);
constexpr absl::Duration kRateMemory = absl::Seconds(3);  // the shown rate forgets what is older
constexpr size_t kMaxBar = 40;
constexpr size_t kMinBar = 8;

std::string Amount(double n, std::string_view unit) {
  if (unit == "bytes") return HumanBytes(n);
  if (n < 10'000) return fmt::format("{:.0f}", n);
  if (n < 10'000'000) return fmt::format("{:.1f}k", n / 1e3);
  return fmt::format("{:.1f}M", n / 1e6);
}

std::string Clocked(double seconds) {
  const auto s = static_cast<int64_t>(std::ceil(seconds));
  if (s < 3600) return fmt::format("{}:{:02d}", s / 60, s % 60);
  return fmt::format("{}:{:02d}:{:02d}", s / 3600, s / 60 % 60, s % 60);
}

size_t Columns(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string ProgressLine(const ProgressState& state, size_t columns) {
  const auto done = static_cast<double>(state.done);
  std::string rate = Amount(state.per_second, state.unit);
  rate += state.unit == "bytes" ? "/s" : fmt::format(" {}/s", state.unit);
  std::string line(state.label);
  if (!state.total || *state.total <= 0) {
    line += fmt::format("  {}  {}", Amount(done, state.unit), rate);
    return line.substr(0, columns);
  }
  const double fraction = std::clamp(done / static_cast<double>(*state.total), 0.0, 1.0);
  std::string tail =
      fmt::format("{:3.0f}%  {}/{}  {}", std::floor(fraction * 100), Amount(done, state.unit),
                  Amount(static_cast<double>(*state.total), state.unit), rate);
  if (fraction < 1 && state.per_second > 0) {
    tail += fmt::format("  ETA {}",
                        Clocked((static_cast<double>(*state.total) - done) / state.per_second));
  }
  const size_t used = line.size() + tail.size() + std::string_view(" [] ").size();
  if (columns >= used + kMinBar) {
    const size_t width = std::min(columns - used, kMaxBar);
    const auto filled = static_cast<size_t>(fraction * static_cast<double>(width));
    std::string bar(filled, '=');
    if (filled < width) bar += '>';
    bar.resize(width, ' ');
    line += fmt::format(" [{}]", bar);
  }
  line += " " + tail;
  return line.substr(0, columns);
}

ProgressBar::ProgressBar(Options options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      shown_(::isatty(options_.fd) == 1),
      start_(clock.Steady()),
      drawn_at_(start_) {}

ProgressBar::~ProgressBar() { Finish(); }

void ProgressBar::Update(int64_t done) {
  done_ = done;
  if (!shown_ || finished_) return;
  const absl::Duration now = clock_.Steady();
  const absl::Duration since = now - drawn_at_;
  if (since < kDrawEvery) return;
  const double rate = static_cast<double>(done - drawn_done_) / absl::ToDoubleSeconds(since);
  const double weight = 1 - std::exp(-absl::FDivDuration(since, kRateMemory));
  const bool first = drawn_at_ == start_;
  recent_per_second_ = first ? rate : recent_per_second_ + weight * (rate - recent_per_second_);
  drawn_at_ = now;
  drawn_done_ = done;
  Draw(recent_per_second_);
}

void ProgressBar::Finish() {
  if (!shown_ || finished_) return;
  finished_ = true;
  const double seconds = absl::ToDoubleSeconds(clock_.Steady() - start_);
  Draw(seconds > 0 ? static_cast<double>(done_) / seconds : 0);
  (void)!::write(options_.fd, "\n", 1);
}

void ProgressBar::Draw(double per_second) {
  const ProgressState state{options_.label, options_.unit, done_, options_.total, per_second};
  // To the line's start, the new text, and what is left of the old one away.
  const std::string text = fmt::format("\r{}\x1b[K", ProgressLine(state, Columns(options_.fd) - 1));
  (void)!::write(options_.fd, text.data(), text.size());
}

}  // namespace headrace
