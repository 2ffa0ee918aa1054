#include "pipeline/udf/output_log.h"

#include "common/clock.h"
#include "common/logging/logging.h"

namespace headrace::udf {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kMaxLineBytes = 500;
constexpr uint64_t kMaxLines = 100;  // a window
constexpr absl::Duration kWindow = absl::Seconds(10);

}  // namespace

void OutputLog::Take(PythonProcess& process) {
  const std::string text = process.TakeOutput(kReadBytes);
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view part = rest.substr(0, end);
    if (unfinished_.size() < kMaxLineBytes)
      unfinished_.append(part.substr(0, kMaxLineBytes - unfinished_.size()));
    if (end == std::string_view::npos) return;
    Line(unfinished_, process.pid());
    unfinished_.clear();
    rest.remove_prefix(end + 1);
  }
}

std::string OutputLog::WithLastWords(std::string why) {
  const std::string words = unfinished_.empty() ? last_ : unfinished_;
  unfinished_.clear();
  last_.clear();
  return words.empty() ? why : fmt::format("{}; it last printed: {}", why, words);
}

void OutputLog::Line(std::string_view line, int pid) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  last_ = std::string(line);
  const absl::Duration now = RealClock().Steady();
  if (now - window_begin_ > kWindow) {
    if (dropped_ > 0)
      Log(level_, "python {} [{}]: ({} lines were dropped)", function_, pid, dropped_);
    window_begin_ = now;
    lines_ = dropped_ = 0;
  }
  if (++lines_ > kMaxLines) {
    ++dropped_;
    return;
  }
  Log(level_, "python {} [{}]: {}", function_, pid, line);
}

}  // namespace headrace::udf
