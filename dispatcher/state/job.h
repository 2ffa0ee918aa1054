// A job: one named consumption of a pipeline. Part of State; changed by State::Apply alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/ids.h"
#include "dispatcher/state/epoch.h"
#include "dispatcher/state/job_data.h"

namespace headrace::dispatch {

struct FinishedEpoch {
  v1::EpochSummary summary;
  bool abandoned = false;
};

struct Job {
  // Summaries are kept of so many epochs: a rank that lags further behind reopens the job anyway.
  static constexpr size_t kKeptEpochs = 8;

  JobId id;
  std::string name;
  v1::PipelineDef pipeline;
  v1::JobOptions options;
  std::string fingerprint;
  std::shared_ptr<const JobData> dataset;  // null once the job ended
  std::set<ClientId> clients;
  // Running or parked; none between epochs.
  std::optional<Epoch> epoch;
  uint64_t next_epoch = 0;  // that StartEpoch would begin
  std::map<uint64_t, FinishedEpoch> finished;

  bool ended = false;
  uint32_t end_code = 0;  // absl::StatusCode; 0: finished
  std::string end_message;

  // Totals over epochs that are over; the running one counts for itself.
  EpochCounts past;

  // Names of running jobs are unique.
  bool running() const { return !ended; }
};

}  // namespace headrace::dispatch
