// What the dispatcher shows Prometheus: headrace_dispatcher_*. Update() is called by its background
// thread, under the service's mutex; ObserveCall by RPC threads.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/metrics/metrics.h"
#include "dispatcher/context/holdings.h"
#include "dispatcher/context/telemetry.h"
#include "dispatcher/state/state.h"

namespace headrace {

class DispatcherMetrics {
 public:
  explicit DispatcherMetrics(Metrics& metrics);

  void Update(const dispatch::State& state, const dispatch::Telemetry& telemetry = {},
              const dispatch::Holdings& holdings = {});
  // At the start of a lone dispatcher; else by its candidate's thread.
  void SetLeads(bool leads);
  void ObserveCall(std::string_view method, absl::Duration took, absl::StatusCode code);

 private:
  struct JobSeries {
    JobId job;
    dispatch::EpochCounts shown;  // of that job
    Counter* delivered = nullptr;
    Counter* settled = nullptr;
    Counter* failed = nullptr;
    Counter* skipped = nullptr;
    Counter* pieces = nullptr;
    Gauge* pending = nullptr;
    Gauge* leased = nullptr;
    Gauge* clients = nullptr;
    Gauge* epoch = nullptr;
    SecondsCounter* wait = nullptr;
    SecondsCounter* step = nullptr;
    Gauge* stalled = nullptr;
    std::map<ClientId, v1::ClientLoad> loads;  // what of its clients was counted
  };
  JobSeries& SeriesOf(const dispatch::Job& job);
  void UpdateJob(const dispatch::Job& job, const dispatch::Telemetry& telemetry);
  static void UpdateLoads(const dispatch::Job& job, const dispatch::Telemetry& telemetry,
                          JobSeries& series);

  Metrics& metrics_;
  bool leads_ = false;
  Gauge* const leader_;
  Counter* const terms_;
  Gauge* const jobs_;
  Gauge* const clients_;
  Gauge* const workers_ready_;
  Gauge* const workers_draining_;
  Gauge* const leases_open_;
  Gauge* const leases_fenced_;
  Gauge* const fences_waiting_;
  dispatch::Holdings::Counts shown_;
  Counter* const leased_here_;
  Counter* const leased_cold_;
  Counter* const leased_elsewhere_;
  Counter* const held_back_;
  // By name: a job's successor under the same name goes on counting where it stopped.
  std::map<std::string, JobSeries> by_job_;
  absl::Mutex mutex_;
  std::map<std::string, Histogram*, std::less<>> latency_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Counter*, std::less<>> errors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
