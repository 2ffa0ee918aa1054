// What windows have taught about jobs and workers. Part of the autoscaler's state; plain data, no
// clock.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "orchestrator/autoscale/cost_model.h"
#include "orchestrator/observation/level.h"
#include "orchestrator/observation/observation.h"

namespace headrace::orchestrate {

struct JobEvidence {
  Level demand = {};     // elements/s, when its trainers never wait
  Level busy_rate = {};  // elements/s that a worker makes whose threads are all busy with it
  bool changed = false;  // one of them, in the last window
  double now_need = 0;   // workers, by the last window alone; 0: not known
  // Of windows with the fleet as it is now, the newest last; a few.
  std::deque<double> stalls = {};
  std::deque<double> fills = {};
  std::deque<double> rates = {};  // elements/s handed over
  // A limit that workers share (a store, a network): more of them did not help.
  double ceiling = 0;            // elements/s; 0: none known
  size_t ceiling_windows = 0;    // until it is looked for again
  size_t ceiling_patience = 30;  // the next time
  bool had_ceiling = false;      // growth is careful from then on
  size_t absent = 0;             // windows without it
};

struct Growth {  // the last one
  size_t from = 0;
  size_t to = 0;
  double busy = 0;                           // of workers, before
  Level usable = {};                         // before
  std::map<std::string, double> rates = {};  // of jobs, before
};

struct Evidence {
  std::map<std::string, JobEvidence> jobs = {};
  // How busy workers can be: their busy fraction while trainers wait for them. Below 1 where work
  // waits for other things than their threads (Python processes, files).
  Level usable = {};
  std::deque<double> busy = {};  // of the fleet as it is now; a few windows
  Growth growth;

  // `settled`: the fleet has been what it is for the whole window.
  void Learn(const Observation& observation, bool settled);
  // The fleet is about to change: what belongs to the present one is no more.
  void FleetChanges(const Observation& observation, size_t to);
  // Jobs as the cost model wants them, by what is known.
  JobLoad LoadOf(const JobObservation& job) const;
  // Relative, one standard deviation: of the need of the running jobs.
  double NeedError(const Observation& observation) const;

 private:
  void LearnJob(const Observation& observation, const JobObservation& job, bool settled);
  void LookForCeilings(const Observation& observation);
};

double RecentMedian(const std::deque<double>& values);

}  // namespace headrace::orchestrate
