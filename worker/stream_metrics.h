// Counts the streams to clients by the transport that carries them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/metrics/metrics.h"

namespace headrace {

// Owned by the Worker; thread-safe once made. `metrics` outlives it.
class StreamMetrics {
 public:
  StreamMetrics(Metrics& metrics, const std::vector<std::string>& transports) {
    for (const std::string& transport : transports) {
      const MetricLabels labels = {{"transport", transport}};
      series_[transport] = {
          metrics.AddGauge("headrace_worker_streams", "streams to clients that are open", labels),
          metrics.AddCounter("headrace_worker_streams_opened_total",
                             "streams that clients have opened", labels)};
    }
  }

  void Opened(std::string_view transport) {
    if (const auto it = series_.find(transport); it != series_.end()) {
      it->second.open->Add(1);
      it->second.opened->Add();
    }
  }
  void Closed(std::string_view transport) {
    if (const auto it = series_.find(transport); it != series_.end()) it->second.open->Add(-1);
  }

 private:
  struct Series {
    Gauge* open = nullptr;
    Counter* opened = nullptr;
  };
  std::map<std::string, Series, std::less<>> series_;
};

}  // namespace headrace
