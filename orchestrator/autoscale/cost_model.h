// What a fleet costs: cost(w) = (N / min(lambda, X_w)) * (trainers' price + w * worker's price),
// over all jobs that share it, where X_w is what w workers make for a job under fair shares. Since
// N is the same for all w, it is left out: the cost of the time in which unhindered trainers would
// do an hour's work. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "orchestrator/autoscale/fair_share.h"

namespace headrace::orchestrate {

struct Prices {  // of an hour; only their ratio matters
  double trainer = 20;
  double worker = 1;
};

// A job as the model sees it.
struct JobLoad {
  double demand = 0;       // lambda: elements/s that its trainers take when they never wait
  double worker_rate = 0;  // elements/s that one worker makes that does nothing else
  double trainers = 1;     // how many wait when it stalls
  double ceiling = 0;      // elements/s beyond which more workers do not help (a shared store, a
                           // network); 0: none known
  Claim claim = {};        // its need is filled in
  // Workers' worth of work that it can use.
  double Need() const;
};

struct Fleet {
  std::vector<JobLoad> jobs = {};
  Prices prices = {};
  size_t least = 0;  // workers
  size_t most = 0;
  double NeedOf() const;  // of all jobs, quotas respected
};

// How much longer job i's work takes than with workers enough: 1 or more.
std::vector<double> Slowdowns(const Fleet& fleet, double workers);
double Cost(const Fleet& fleet, double workers);
// The cheapest number of workers between the bounds; the smallest of those that cost the same.
// `scale`: with every need multiplied by it (to be on one side of what is not known exactly).
size_t CheapestFleet(const Fleet& fleet, double scale = 1);

}  // namespace headrace::orchestrate
