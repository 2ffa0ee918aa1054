#include "common/metrics/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <variant>

#include "common/logging/logging.h"
#include "common/status.h"

namespace headrace {

// One of the handles, or a function (empty when its owner is gone).
struct Metrics::Series {
  MetricLabels labels;
  std::variant<std::monostate, std::unique_ptr<Counter>, std::unique_ptr<SecondsCounter>,
               std::unique_ptr<Gauge>, std::unique_ptr<Histogram>, std::function<double()>>
      value;
};

struct Metrics::Family {
  MetricKind kind;
  std::string help;
  std::map<MetricLabels, std::unique_ptr<Series>> series;  // by sorted labels
  std::unique_ptr<Series> beyond_limit;                    // one for all that are not shown
};

namespace {

template <typename T>
T* Handle(const std::variant<std::monostate, std::unique_ptr<Counter>,
                             std::unique_ptr<SecondsCounter>, std::unique_ptr<Gauge>,
                             std::unique_ptr<Histogram>, std::function<double()>>& value) {
  const auto* held = std::get_if<std::unique_ptr<T>>(&value);
  return held == nullptr ? nullptr : held->get();
}

prometheus::MetricType Type(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return prometheus::MetricType::Counter;
    case MetricKind::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

void Fill(const Histogram& histogram, prometheus::ClientMetric::Histogram& out) {
  const std::vector<uint64_t> counts = histogram.Counts();
  uint64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const bool last = i == histogram.upper_bounds().size();
    out.bucket.push_back(
        {total, last ? std::numeric_limits<double>::infinity() : histogram.upper_bounds()[i]});
  }
  out.sample_count = total;
  out.sample_sum = histogram.sum();
}

}  // namespace

Histogram::Histogram(std::vector<double> upper_bounds)
    : upper_bounds_(std::move(upper_bounds)), counts_(upper_bounds_.size() + 1) {
  assert(std::is_sorted(upper_bounds_.begin(), upper_bounds_.end()));
}

void Histogram::Observe(double v) {
  const auto bound = std::lower_bound(upper_bounds_.begin(), upper_bounds_.end(), v);
  counts_[static_cast<size_t>(bound - upper_bounds_.begin())].fetch_add(1,
                                                                        std::memory_order_relaxed);
  sum_.fetch_add(v, std::memory_order_relaxed);
}

std::vector<uint64_t> Histogram::Counts() const {
  std::vector<uint64_t> out;
  for (const std::atomic<uint64_t>& count : counts_) {
    out.push_back(count.load(std::memory_order_relaxed));
  }
  return out;
}

std::vector<double> LatencyBuckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
          0.25,   0.5,     1,      2.5,   5,      10,    25,   50,    100};
}

std::vector<double> SizeBuckets() {
  std::vector<double> bounds;
  for (double bytes = 1024; bytes <= 4.0 * (1 << 30); bytes *= 4) bounds.push_back(bytes);
  return bounds;
}

Metrics::Metrics(std::string role) : role_(std::move(role)) {}
Metrics::~Metrics() = default;

Metrics::Series* Metrics::Add(MetricKind kind, std::string_view name, std::string_view help,
                              MetricLabels labels, const std::function<void(Series&)>& make) {
  std::sort(labels.begin(), labels.end());
  const absl::Status checked = CheckMetric(kind, name, labels);
  auto found = families_.find(name);
  if (!checked.ok() || (found != families_.end() && found->second.kind != kind)) {
    LogError("metric {}: {}", name, checked.ok() ? "used with two kinds" : OneLine(checked));
    assert(false && "a metric is against the rules");
    make(*hidden_.emplace_back(std::make_unique<Series>()));
    return hidden_.back().get();
  }
  if (found == families_.end()) {
    found =
        families_.emplace(std::string(name), Family{kind, std::string(help), {}, nullptr}).first;
  }
  Family& family = found->second;
  std::unique_ptr<Series>* series = nullptr;
  if (const auto known = family.series.find(labels); known != family.series.end()) {
    series = &known->second;
  } else if (family.series.size() >= kMaxSeriesPerName) {
    series = &family.beyond_limit;
    if (*series == nullptr) {
      LogError("metric {} has {} series: a label is not bounded; further ones are not shown", name,
               kMaxSeriesPerName);
      *series = std::make_unique<Series>();
    }
  } else {
    series = &family.series[labels];
    *series = std::make_unique<Series>();
    (*series)->labels = std::move(labels);
  }
  if (std::holds_alternative<std::monostate>((*series)->value)) make(**series);
  return series->get();
}

Counter* Metrics::AddCounter(std::string_view name, std::string_view help, MetricLabels labels) {
  absl::MutexLock lock(&mutex_);
  Series* series = Add(MetricKind::kCounter, name, help, std::move(labels),
                       [](Series& s) { s.value = std::make_unique<Counter>(); });
  assert(Handle<Counter>(series->value) != nullptr && "a seconds counter or function has the name");
  return Handle<Counter>(series->value);
}

SecondsCounter* Metrics::AddSecondsCounter(std::string_view name, std::string_view help,
                                           MetricLabels labels) {
  absl::MutexLock lock(&mutex_);
  Series* series = Add(MetricKind::kCounter, name, help, std::move(labels),
                       [](Series& s) { s.value = std::make_unique<SecondsCounter>(); });
  assert(Handle<SecondsCounter>(series->value) != nullptr && "a plain counter has the name");
  return Handle<SecondsCounter>(series->value);
}

Gauge* Metrics::AddGauge(std::string_view name, std::string_view help, MetricLabels labels) {
  absl::MutexLock lock(&mutex_);
  Series* series = Add(MetricKind::kGauge, name, help, std::move(labels),
                       [](Series& s) { s.value = std::make_unique<Gauge>(); });
  assert(Handle<Gauge>(series->value) != nullptr && "a gauge function has the name");
  return Handle<Gauge>(series->value);
}

Histogram* Metrics::AddHistogram(std::string_view name, std::string_view help,
                                 std::vector<double> upper_bounds, MetricLabels labels) {
  absl::MutexLock lock(&mutex_);
  Series* series = Add(MetricKind::kHistogram, name, help, std::move(labels), [&](Series& s) {
    s.value = std::make_unique<Histogram>(std::move(upper_bounds));
  });
  return Handle<Histogram>(series->value);
}

std::unique_ptr<Metrics::Function> Metrics::AddGaugeFunction(std::string_view name,
                                                             std::string_view help,
                                                             MetricLabels labels,
                                                             std::function<double()> value) {
  return AddFunction(MetricKind::kGauge, name, help, std::move(labels), std::move(value));
}

std::unique_ptr<Metrics::Function> Metrics::AddCounterFunction(std::string_view name,
                                                               std::string_view help,
                                                               MetricLabels labels,
                                                               std::function<double()> value) {
  return AddFunction(MetricKind::kCounter, name, help, std::move(labels), std::move(value));
}

std::unique_ptr<Metrics::Function> Metrics::AddFunction(MetricKind kind, std::string_view name,
                                                        std::string_view help, MetricLabels labels,
                                                        std::function<double()> value) {
  absl::MutexLock lock(&mutex_);
  bool made = false;
  const Series* series = Add(kind, name, help, std::move(labels), [&](Series& s) {
    s.value = std::move(value);
    made = true;
  });
  if (!made) {
    LogError("metric {}: this series has a value already; the function is not shown", name);
    series = nullptr;
  }
  return std::unique_ptr<Function>(new Function(*this, std::string(name), series));
}

Metrics::Function::~Function() { metrics_.RemoveFunction(name_, series_); }

void Metrics::RemoveFunction(const std::string& name, const Series* series) {
  if (series == nullptr) return;
  absl::MutexLock lock(&mutex_);
  const auto family = families_.find(name);
  if (family == families_.end()) return;
  std::erase_if(family->second.series,
                [series](const auto& entry) { return entry.second.get() == series; });
}

void Metrics::Remove(std::string_view label, std::string_view value) {
  absl::MutexLock lock(&mutex_);
  for (auto& [name, family] : families_) {
    std::erase_if(family.series, [&](const auto& entry) {
      return std::any_of(entry.first.begin(), entry.first.end(), [&](const auto& pair) {
        return pair.first == label && pair.second == value;
      });
    });
  }
}

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> out;
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, family] : families_) {
    prometheus::MetricFamily& shown = out.emplace_back();
    shown.name = name;
    shown.help = family.help;
    shown.type = Type(family.kind);
    for (const auto& [labels, series] : family.series) {
      prometheus::ClientMetric& metric = shown.metric.emplace_back();
      if (!role_.empty()) metric.label.push_back({"role", role_});
      for (const auto& [key, text] : labels) metric.label.push_back({key, text});
      double value = 0;
      if (const auto* c = Handle<Counter>(series->value)) value = static_cast<double>(c->value());
      if (const auto* c = Handle<SecondsCounter>(series->value)) {
        value = absl::ToDoubleSeconds(c->value());
      }
      if (const auto* g = Handle<Gauge>(series->value)) value = g->value();
      if (const auto* h = Handle<Histogram>(series->value)) Fill(*h, metric.histogram);
      if (const auto* f = std::get_if<std::function<double()>>(&series->value)) value = (*f)();
      metric.counter.value = value;
      metric.gauge.value = value;
    }
  }
  return prometheus::TextSerializer().Serialize(out);
}

std::vector<Metrics::Name> Metrics::Names() const {
  std::vector<Name> out;
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, family] : families_) {
    Name& entry = out.emplace_back(Name{name, family.kind, family.help, {}});
    for (const auto& [labels, series] : family.series) {
      for (const auto& pair : labels) {
        if (std::find(entry.labels.begin(), entry.labels.end(), pair.first) == entry.labels.end()) {
          entry.labels.push_back(pair.first);
        }
      }
    }
    std::sort(entry.labels.begin(), entry.labels.end());
  }
  return out;
}

}  // namespace headrace
