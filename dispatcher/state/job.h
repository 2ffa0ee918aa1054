// A job: one named consumption of a pipeline. Part of State; changed by State::Apply alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "dispatcher/state/epoch.h"
#include "dispatcher/state/job_data.h"

namespace headrace::dispatch {

struct FinishedEpoch {
  v1::EpochSummary summary;
  bool abandoned = false;
  EpochCounts counts;
};

struct Job {
  // Summaries are kept of so many epochs: a rank that lags further behind reopens the job anyway.
  static constexpr size_t kKeptEpochs = 8;
  static constexpr size_t kKeptWarnings = 8;

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

  // Which life of the job this is: changes when a checkpoint is restored. Clients say which one
  // theirs is.
  uint64_t incarnation = 0;
  // The readers that restored it, by number. Empty: nobody did.
  std::vector<ClientId> members;
  uint64_t restored_epoch = 0;  // that they go on with
  // What was restored, until the epoch that it belongs to is over.
  std::shared_ptr<const v1::JobRestored> restored;
  std::vector<std::string> warnings;  // for people; the last few

  bool ended = false;
  uint32_t end_code = 0;  // absl::StatusCode; 0: finished
  std::string end_message;

  // Totals over epochs that are over; the running one counts for itself.
  EpochCounts past;

  // Names of running jobs are unique.
  bool running() const { return !ended; }
  // The caller belongs to an earlier life of the job. 0: it does not say.
  bool Replaced(uint64_t said) const { return said != 0 && said != incarnation; }
  // Only a silent client knows what it handed over: with exactly-once it is waited for.
  bool WaitsForLostClients() const {
    if (options.on_client_loss() != v1::ON_CLIENT_LOSS_UNSPECIFIED) {
      return options.on_client_loss() == v1::ON_CLIENT_LOSS_WAIT;
    }
    return options.sharding() != v1::SHARDING_OFF &&
           (options.visitation() == v1::VISITATION_UNSPECIFIED ||
            options.visitation() == v1::VISITATION_EXACTLY_ONCE);
  }
};

}  // namespace headrace::dispatch
