// What a role counts and measures, for Prometheus. One Metrics per role, handed to its parts, which
// ask for handles when they are made and keep them. Handles live as long as the Metrics (or until
// their series are removed). All of it is thread-safe; Counter::Add is one relaxed atomic addition,
// so a step may call it per block.
//
// Names are headrace_what_unit in snake_case and base units (seconds, bytes); counters end in
// _total. Labels are bounded (role, job, pipeline, step), never a path or a sample. A name against
// the rules is a bug: it asserts, and is logged where asserts are off.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace headrace {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class alignas(64) Counter {
 public:
  void Add(int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Time spent: counted in whole nanoseconds, shown in seconds.
class alignas(64) SecondsCounter {
 public:
  void Add(absl::Duration d) { AddNanos(absl::ToInt64Nanoseconds(d)); }
  void AddNanos(int64_t n) { nanos_.fetch_add(n, std::memory_order_relaxed); }
  absl::Duration value() const { return absl::Nanoseconds(nanos_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<int64_t> nanos_{0};
};

class alignas(64) Gauge {
 public:
  void Set(double v) { value_.store(v, std::memory_order_relaxed); }
  void Add(double v) { value_.fetch_add(v, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Histogram {
 public:
  explicit Histogram(std::vector<double> upper_bounds);  // rising; +Inf is added
  void Observe(double v);
  void Observe(absl::Duration d) { Observe(absl::ToDoubleSeconds(d)); }

  const std::vector<double>& upper_bounds() const { return upper_bounds_; }
  std::vector<uint64_t> Counts() const;  // per bucket, the last is +Inf's
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> upper_bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

std::vector<double> LatencyBuckets();  // 100 us to 100 s, about 3 a decade, in seconds
std::vector<double> SizeBuckets();     // 1 KiB to 4 GiB, each 4 times the last, in bytes

enum class MetricKind { kCounter, kGauge, kHistogram };

// The naming rules. INVALID_ARGUMENT says which one is broken.
absl::Status CheckMetric(MetricKind kind, std::string_view name, const MetricLabels& labels);

class Metrics {
 public:
  // The series of one name are limited (labels are meant to be bounded): those beyond it count, but
  // are not shown.
  static constexpr size_t kMaxSeriesPerName = 5000;

  explicit Metrics(
      std::string role = "");  // "worker": the label role of every series, unless empty
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The same name and labels give the same handle. `help` and the buckets are those of the first
  // call for the name.
  Counter* AddCounter(std::string_view name, std::string_view help, MetricLabels labels = {});
  SecondsCounter* AddSecondsCounter(std::string_view name, std::string_view help,
                                    MetricLabels labels = {});
  Gauge* AddGauge(std::string_view name, std::string_view help, MetricLabels labels = {});
  Histogram* AddHistogram(std::string_view name, std::string_view help,
                          std::vector<double> upper_bounds, MetricLabels labels = {});

  // A value asked for at each scrape, while the returned handle lives. `value` must be quick, and
  // must not call this object. For what its owner counts already: queue fill, sizes, the process's
  // memory.
  class Function;
  [[nodiscard]] std::unique_ptr<Function> AddGaugeFunction(std::string_view name,
                                                           std::string_view help,
                                                           MetricLabels labels,
                                                           std::function<double()> value);
  [[nodiscard]] std::unique_ptr<Function> AddCounterFunction(std::string_view name,
                                                             std::string_view help,
                                                             MetricLabels labels,
                                                             std::function<double()> value);

  // Drops every series with this label, when a job is over. Their handles are gone: nobody may use
  // them any more.
  void Remove(std::string_view label, std::string_view value);

  // The exposition format of Prometheus, names sorted.
  std::string Text() const;

  // What is there, for the docs and the test of the public surface.
  struct Name {
    std::string name;
    MetricKind kind;
    std::string help;
    std::vector<std::string> labels;
  };
  std::vector<Name> Names() const;

 private:
  struct Series;
  struct Family;

  Series* Add(MetricKind kind, std::string_view name, std::string_view help, MetricLabels labels,
              const std::function<void(Series&)>& make) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<Function> AddFunction(MetricKind kind, std::string_view name,
                                        std::string_view help, MetricLabels labels,
                                        std::function<double()> value);
  void RemoveFunction(const std::string& name, const Series* series);

  const std::string role_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Family, std::less<>> families_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Series>> hidden_
      ABSL_GUARDED_BY(mutex_);  // against the rules or the limit
};

class Metrics::Function {
 public:
  ~Function();  // after it, `value` is not called any more
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

 private:
  friend class Metrics;
  Function(Metrics& metrics, std::string name, const Series* series)
      : metrics_(metrics), name_(std::move(name)), series_(series) {}

  Metrics& metrics_;
  const std::string name_;
  const Series* const series_;
};

}  // namespace headrace
