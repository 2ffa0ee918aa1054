#include "orchestrator/observation/level.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::orchestrate {
namespace {

constexpr double kSigmaPerMad = 1.4826;    // of a normal distribution
constexpr double kMedianPerMean = 1.2533;  // standard error of the median over that of the mean
constexpr size_t kEnough = 6;              // windows from which scatter is measured, not assumed
// In sigmas: two windows in a row beyond the first, or four beyond the second, are a change. By
// chance the first happens once in 10,000 windows, the second once in 500, where it costs nothing
// but a few windows of accuracy.
constexpr double kFar = 2.5;
constexpr double kOff = 0.9;

double ScatterOf(const std::deque<double>& logs) {
  if (logs.size() < kEnough) return Level::kAssumedScatter;
  const double middle = Median(logs);
  std::deque<double> distances;
  for (const double log : logs) distances.push_back(std::abs(log - middle));
  return std::max(Level::kLeastScatter, kSigmaPerMad * Median(std::move(distances)));
}

// Do the last `count` of `logs` lie beyond `sigmas`, all on one side of those before?
bool Moved(const std::deque<double>& logs, size_t count, double sigmas) {
  if (logs.size() <= count) return false;
  const std::deque<double> before(logs.begin(), logs.end() - static_cast<std::ptrdiff_t>(count));
  const double middle = Median(before);
  // What little was seen is not trusted to be as narrow as it looks.
  const double floor = before.size() < kEnough ? Level::kAssumedScatter : Level::kLeastScatter;
  const double limit = sigmas * std::max(floor, ScatterOf(before));
  int above = 0;
  int below = 0;
  for (size_t i = logs.size() - count; i < logs.size(); ++i) {
    above += logs[i] > middle + limit;
    below += logs[i] < middle - limit;
  }
  return static_cast<size_t>(std::max(above, below)) == count;
}

}  // namespace

double Median(std::deque<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool Level::Add(double value) {
  if (!(value > 0) || !std::isfinite(value)) return false;
  logs_.push_back(std::log(value));
  constexpr std::pair<size_t, double> kRules[] = {{2, kFar}, {4, kOff}};
  for (const auto& [count, sigmas] : kRules) {
    if (!Moved(logs_, count, sigmas)) continue;
    logs_.erase(logs_.begin(), logs_.end() - static_cast<std::ptrdiff_t>(count));
    return true;
  }
  if (logs_.size() > kMostWindows) logs_.pop_front();
  return false;
}

double Level::value() const { return logs_.empty() ? 0 : std::exp(Median(logs_)); }

double Level::scatter() const { return ScatterOf(logs_); }

double Level::error() const {
  if (logs_.empty()) return 1;
  return kMedianPerMean * scatter() / std::sqrt(static_cast<double>(logs_.size()));
}

}  // namespace headrace::orchestrate
