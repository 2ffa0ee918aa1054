// The jobs that run, and the last few that ended (their clients and operators ask what became of
// them). Part of State.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "dispatcher/state/job.h"

namespace headrace::dispatch {

class JobTable {
 public:
  static constexpr size_t kKeptEnded = 100;

  // `splits` are the whole list; the event's own are not looked at.
  absl::Status Open(const v1::JobOpened& event, SplitList splits);
  absl::Status End(const v1::JobEnded& event);

  // For snapshots. A restored job has its dataset without splits, its clients and its epoch yet to
  // come.
  static void Keep(const Job& job, v1::KeptJob& kept);
  absl::StatusOr<Job*> Reload(const v1::KeptJob& kept);

  Job* Find(JobId id);
  const Job* Find(JobId id) const;
  // The running job of that name; null when there is none.
  const Job* FindRunning(std::string_view name) const;
  // The latest of that name, running or ended.
  const Job* FindLatest(std::string_view name) const;
  const std::map<JobId, Job>& all() const { return jobs_; }
  size_t running() const { return running_; }

 private:
  std::map<JobId, Job> jobs_;
  size_t running_ = 0;
};

}  // namespace headrace::dispatch
