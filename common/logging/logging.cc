#include "common/logging/logging.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kMaxMessageBytes = 16 * 1024;
constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};
constexpr std::array<spdlog::level::level_enum, 4> kSpdlogLevels = {
    spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};

std::string PatternSafe(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) continue;
    out.push_back(c);
  }
  return out;
}

std::unique_ptr<spdlog::formatter> Formatter(bool json, std::string_view given_role) {
  const std::string role = PatternSafe(given_role);
  std::string pattern;
  if (json) {
    pattern = fmt::format(
        R"({{"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",{}"thread":%t,"message":"%v"}})",
        role.empty() ? "" : fmt::format(R"("role":"{}",)", role));
  } else {
    pattern = fmt::format("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ {}%v", role.empty() ? "" : role + ": ");
  }
  return std::make_unique<spdlog::pattern_formatter>(std::move(pattern),
                                                     spdlog::pattern_time_type::utc);
}

struct ProcessLog {
  ProcessLog() : logger("headrace", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()) {
    logger.set_level(spdlog::level::info);
    logger.flush_on(spdlog::level::warn);
    logger.set_formatter(Formatter(false, ""));
    logger.set_error_handler([](const std::string&) {});  // a log that cannot be written is lost
  }

  std::atomic<bool> json = false;
  spdlog::logger logger;
};

// Never destroyed: a thread may log while the process exits.
ProcessLog& TheLog() {
  static ProcessLog* log = new ProcessLog;
  return *log;
}

void AppendEscaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
}

std::string JsonEscaped(const std::string& text) {
  const std::string quoted =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

absl::StatusOr<size_t> LevelIndex(const std::string& name) {
  for (size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i] == name) return i;
  }
  return InvalidArgument("log level '{}' is not one of debug, info, warning, error", name);
}

}  // namespace

absl::Status InitLogging(const LoggingConfig& config) {
  HR_ASSIGN_OR_RETURN(const size_t level, LevelIndex(config.level));
  if (config.format != "text" && config.format != "json") {
    return InvalidArgument("log format '{}' is not one of text, json", config.format);
  }
  const bool json = config.format == "json";
  ProcessLog& log = TheLog();
  log.json.store(json, std::memory_order_relaxed);
  log.logger.set_formatter(Formatter(json, config.role));
  log.logger.set_level(kSpdlogLevels[level]);
  return absl::OkStatus();
}

bool LogEnabled(LogLevel level) noexcept {
  return TheLog().logger.should_log(kSpdlogLevels[static_cast<size_t>(level)]);
}

std::optional<int64_t> LogLimiter::Admit() noexcept {
  const int64_t now = absl::ToInt64Nanoseconds(clock_.Steady());
  int64_t next = next_nanos_.load(std::memory_order_relaxed);
  if (now < next || !next_nanos_.compare_exchange_strong(next, now + period_nanos_)) {
    silent_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  return silent_.exchange(0, std::memory_order_relaxed);
}

namespace log_internal {

void Write(LogLevel level, int64_t silent, fmt::string_view format,
           fmt::format_args args) noexcept {
  try {
    std::string message = fmt::vformat(format, args);
    if (message.size() > kMaxMessageBytes) {
      message.resize(kMaxMessageBytes);
      message += "... (cut)";
    }
    if (silent > 0) message += fmt::format(" ({} more since the last such line)", silent);
    ProcessLog& log = TheLog();
    std::string line;
    if (log.json.load(std::memory_order_relaxed)) {
      line = JsonEscaped(message);
    } else {
      AppendEscaped(message, line);
    }
    log.logger.log(kSpdlogLevels[static_cast<size_t>(level)], spdlog::string_view_t(line));
  } catch (...) {
    // Out of memory or a formatter that throws: the line is lost, the caller goes on.
  }
}

}  // namespace log_internal

}  // namespace headrace
