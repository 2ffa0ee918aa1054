// Log lines of every role: LogInfo("leased {} splits to worker {}", n, worker). One line on stderr
// each, text or JSON, control characters escaped, so that a file name from outside cannot forge a
// line.
//
// Callable from any thread at any time, also before InitLogging (level info, text). Nothing is
// thrown: a line that cannot be made or written is lost. The process has one log, which is the one
// piece of global state of this room. Never log per record; use a LogLimiter where an event can
// come in floods.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "fmt/core.h"

namespace headrace {

struct LoggingConfig {
  std::string level = "info";   // debug, info, warning, error
  std::string format = "text";  // text, json
  std::string role = "";        // "worker": in every line, unless empty
};

// Call once in main; a second call replaces the settings. INVALID_ARGUMENT names a wrong level or
// format and changes nothing.
absl::Status InitLogging(const LoggingConfig& config);

enum class LogLevel : int { kDebug, kInfo, kWarning, kError };

// Is a line of this level written? For work that only a log line needs.
bool LogEnabled(LogLevel level) noexcept;

// Lets the first event through, then one per `period`, counting those in between. Kept by whoever
// logs (a member of the class whose event it is), shared by its threads without a lock.
class LogLimiter {
 public:
  explicit LogLimiter(absl::Duration period, const Clock& clock = RealClock())
      : period_nanos_(absl::ToInt64Nanoseconds(period)), clock_(clock) {}

  // Nothing: be silent. Otherwise how many events were silent since the last one that was let
  // through.
  std::optional<int64_t> Admit() noexcept;

 private:
  const int64_t period_nanos_;
  const Clock& clock_;
  std::atomic<int64_t> next_nanos_{INT64_MIN};
  std::atomic<int64_t> silent_{0};
};

namespace log_internal {
void Write(LogLevel level, int64_t silent, fmt::string_view format, fmt::format_args args) noexcept;
}  // namespace log_internal

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (LogEnabled(level)) log_internal::Write(level, 0, format, fmt::make_format_args(args...));
}
template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) noexcept {
  Log(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) noexcept {
  Log(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) noexcept {
  Log(LogLevel::kWarning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) noexcept {
  Log(LogLevel::kError, format, std::forward<Args>(args)...);
}

// The same, at the limiter's pace; a line after silent events ends with "(17 more since the last
// such line)".
template <typename... Args>
void LogLimited(LogLimiter& limiter, LogLevel level, fmt::format_string<Args...> format,
                Args&&... args) noexcept {
  if (!LogEnabled(level)) return;
  if (const std::optional<int64_t> silent = limiter.Admit()) {
    log_internal::Write(level, *silent, format, fmt::make_format_args(args...));
  }
}

}  // namespace headrace
