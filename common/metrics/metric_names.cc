// The naming rules of metrics (users.md, "Metrics"): https://prometheus.io/docs/practices/naming/
// and bounded labels.
#include <algorithm>
#include <array>

#include "common/metrics/metrics.h"
#include "common/status.h"

namespace headrace {
namespace {

// Seconds and bytes are the base units; ratios go from 0 to 1.
constexpr std::array<std::string_view, 22> kNotBaseUnits = {
    "ms",        "millis",    "milliseconds", "us",      "micros", "microseconds",
    "ns",        "nanos",     "nanoseconds",  "minutes", "hours",  "days",
    "kb",        "mb",        "gb",           "kib",     "mib",    "gib",
    "kilobytes", "megabytes", "gigabytes",    "percent"};
// What there are too many of, and what Prometheus keeps for itself.
constexpr std::array<std::string_view, 12> kNotLabels = {
    "path",   "file",  "filename", "url",     "sample", "record",
    "offset", "split", "lease",    "message", "le",     "quantile"};
constexpr std::array<std::string_view, 3> kHistogramSuffixes = {"_count", "_sum", "_bucket"};

bool IsSnakeCase(std::string_view name) {
  if (name.empty() || name.front() < 'a' || name.front() > 'z' || name.back() == '_') return false;
  if (name.find("__") != std::string_view::npos) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Is `word` one of the parts of `name` between underscores?
bool HasWord(std::string_view name, std::string_view word) {
  while (!name.empty()) {
    const size_t end = std::min(name.find('_'), name.size());
    if (name.substr(0, end) == word) return true;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return false;
}

}  // namespace

absl::Status CheckMetric(MetricKind kind, std::string_view name, const MetricLabels& labels) {
  if (!name.starts_with("headrace_") || !IsSnakeCase(name)) {
    return InvalidArgument("'{}' is not headrace_... in snake_case", name);
  }
  if (name.ends_with("_total") != (kind == MetricKind::kCounter)) {
    return InvalidArgument("'{}': counters end in _total, and nothing else does", name);
  }
  for (const std::string_view unit : kNotBaseUnits) {
    if (HasWord(name, unit)) {
      return InvalidArgument("'{}': '{}' is no base unit; use seconds, bytes or a ratio", name,
                             unit);
    }
  }
  for (const std::string_view suffix : kHistogramSuffixes) {
    if (name.ends_with(suffix)) {
      return InvalidArgument("'{}': {} belongs to histograms' own series", name, suffix);
    }
  }
  for (const auto& [label, value] : labels) {
    if (!IsSnakeCase(label)) return InvalidArgument("label '{}' is not in snake_case", label);
    if (std::find(kNotLabels.begin(), kNotLabels.end(), label) != kNotLabels.end()) {
      return InvalidArgument("label '{}' is not bounded, or reserved", label);
    }
  }
  return absl::OkStatus();
}

}  // namespace headrace
