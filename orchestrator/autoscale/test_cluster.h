// A cluster for tests of the autoscaler: jobs with a demand, workers with a rate, windows of ten
// seconds without noise. What is decided is carried out at once. For tests; no binary links it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "orchestrator/autoscale/autoscaler.h"

namespace headrace::orchestrate {

struct TestJob {
  std::string name = {};
  double demand = 0;
  double rate = 0;        // of one worker
  double ceiling = 0;     // of the shared store; 0: none
  double busy_limit = 1;  // how busy a worker can be
  double weight = 1;
  int priority = 0;
  double most = 0;
  bool reads = true;  // else it is between epochs
};

struct TestCluster {
  std::vector<TestJob> jobs = {};
  size_t workers = 1;
  int changes = 0;
  Decision first = {};  // change
  Decision last = {};   // of the fleet
  std::map<std::string, double> shares = {};
  double now = 0;

  Observation Observe() const { return ObserveWith(workers); }
  Observation ObserveWith(size_t ready) const {
    constexpr double kWindow = 10;
    Observation seen;
    seen.at_seconds = now;
    seen.window_seconds = kWindow;
    seen.workers_wanted = workers;
    std::vector<Claim> claims;
    for (const TestJob& job : jobs) {
      const double useful = job.ceiling > 0 ? std::min(job.demand, job.ceiling) : job.demand;
      claims.push_back({.need = job.reads ? useful / job.rate : 0});
    }
    const std::vector<double> got = FairShares(claims, static_cast<double>(ready));
    double busy = 0;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const TestJob& job = jobs[i];
      JobObservation one;
      one.job = i + 1;
      one.name = job.name;
      one.weight = job.weight;
      one.priority = job.priority;
      one.max_workers = job.most;
      one.connected = 1;
      one.clients = job.reads ? 1 : 0;
      if (job.reads) {
        one.elements_per_second = std::min(job.demand, got[i] * job.rate);
        if (one.elements_per_second > 0) one.demand = job.demand;
        one.stall = 1 - one.elements_per_second / job.demand;
        one.prepare_stall = *one.stall;
        one.queue_fill = *one.stall > 0 ? 0 : 1;
        one.busy_seconds = one.elements_per_second / job.rate * job.busy_limit * kWindow;
        busy += one.busy_seconds;
      }
      seen.jobs.push_back(one);
    }
    for (size_t i = 0; i < ready; ++i) {
      seen.workers.push_back(
          {.worker = i + 1, .cores = 1, .busy = busy / kWindow / static_cast<double>(ready)});
    }
    return seen;
  }

  void Windows(int n, const AutoscaleOptions& options, AutoscaleState& state) {
    for (int i = 0; i < n; ++i) {
      now += 10;
      shares.clear();
      for (const Decision& decision : DecideWorkers(options, Observe(), state)) {
        if (decision.action.verb == Verb::kSetShare)
          shares[decision.action.subject] = decision.action.amount;
        else
          last = decision;
      }
      if (last.action.verb != Verb::kSetWorkers) continue;
      if (changes++ == 0) first = last;
      workers = static_cast<size_t>(last.action.amount);
    }
  }
};

}  // namespace headrace::orchestrate
