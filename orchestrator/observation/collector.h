// Makes observations of the dispatcher's running totals: what came between the beginning of a
// window and its end. Owned by the control loop (or a command that shows the cluster); no clock of
// its own: a window is as long as the dispatcher's clock says.
//
// Who comes in the window counts from the first look at it, but for tasks that began in it; who
// goes takes along what it did, but for what its tasks did.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "headrace/v1/fleet.pb.h"
#include "orchestrator/observation/observation.h"

namespace headrace::orchestrate {

class Collector {
 public:
  // A window begins with these totals.
  void Begin(const v1::ObserveFleetReply& totals);
  bool begun() const { return begun_.has_value(); }
  // So far, by these totals. 0 when they are of another life of the dispatcher.
  double Seconds(const v1::ObserveFleetReply& totals) const;
  // Within a window, as often as one looks: what is not a total (queues) is averaged over the
  // looks.
  void Look(const v1::ObserveFleetReply& totals);
  // The window's end; the next one begins.
  Observation End(const v1::ObserveFleetReply& totals, size_t workers_wanted);

 private:
  struct Fill {
    double sum = 0;
    double looks = 0;
    double hungry = 0;      // looks at which trainers had next to nothing
    double on_the_way = 0;  // of those, at which finished batches waited to be sent
  };
  struct Beginning {  // what a window starts from; who came later, from the first look at it
    uint64_t cluster = 0;
    double at_seconds = 0;
    uint64_t workers_lost = 0;
    std::map<uint64_t, v1::FleetClient> clients = {};
    std::map<uint64_t, v1::FleetTask> tasks = {};
    // At the last look at each, by job and task: those that are gone did something, too.
    std::map<uint64_t, std::map<uint64_t, v1::FleetTask>> last_tasks = {};
    std::map<uint64_t, v1::FleetWorker> workers = {};
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> records = {};  // by job: epoch, done of it
    std::map<uint64_t, bool> whole = {};  // workers that were there from the beginning
  };
  JobObservation ObserveJob(const v1::FleetJob& now, double seconds) const;
  void LookAt(const v1::FleetTask& task, uint64_t job);
  void AddSteps(const v1::FleetJob& now, JobObservation& job) const;
  WorkerObservation ObserveWorker(const v1::FleetWorker& now) const;
  double RecordsOf(const v1::FleetJob& now) const;
  void AddTiers(const v1::FleetWorker& now, std::vector<TierObservation>& tiers) const;
  void AddWork(const v1::FleetWorker& now, std::vector<JobObservation>& jobs) const;

  std::optional<Beginning> begun_;
  std::map<uint64_t, Fill> fills_;  // by job
  uint64_t looks_ = 0;              // in this window
  uint64_t newest_task_ = 0;        // of all that were seen, in this life of the dispatcher
};

}  // namespace headrace::orchestrate
