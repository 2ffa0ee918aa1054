// `headrace run --record-trace FILE`: what an orchestrator's policies would see of the cluster,
// window by window, an observation a line (orchestrator/observation/observation_json.h). A thread
// of its own asks the dispatcher a few times a second; a look that fails is left out.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sync/periodic_task.h"
#include "orchestrator/observation/collector.h"
#include "rpc/fleet_calls.h"

namespace headrace {

class TraceRecorder {
 public:
  // An error: the file cannot be written. What was in it is gone.
  static absl::StatusOr<std::unique_ptr<TraceRecorder>> Start(const std::string& path,
                                                              std::unique_ptr<FleetCalls> calls,
                                                              absl::Duration window);
  // Writes the window that is open, if half of it is over, or none was written yet. Once, at the
  // end.
  absl::Status Finish();

 private:
  TraceRecorder(const std::string& path, std::unique_ptr<FleetCalls> calls, absl::Duration window);
  void Poll();
  void Write(const v1::ObserveFleetReply& fleet) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const std::unique_ptr<FleetCalls> calls_;
  const double window_;  // seconds
  absl::Mutex mutex_;
  std::ofstream file_ ABSL_GUARDED_BY(mutex_);
  orchestrate::Collector collector_ ABSL_GUARDED_BY(mutex_);
  size_t windows_ ABSL_GUARDED_BY(mutex_) = 0;
  PeriodicTask thread_;  // last: it uses everything above
};

}  // namespace headrace
