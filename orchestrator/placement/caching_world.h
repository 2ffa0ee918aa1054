// A cluster for tests of the caching policy: one job over a pipeline of which all is known, windows
// of a few seconds. Placements take effect with the next epoch, which fills; later ones read what
// was kept. For tests; no binary links it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/placement/placement_policy.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {

struct CachingWorld {
  struct Step {
    std::string name;
    double cpu = 0;    // of a row that enters
    double bytes = 0;  // of a row that leaves
    double passes = 1;
    bool cut = true;  // rows can be kept behind it
  };

  double rows = 10'000, demand = 1e6, source_bytes = 1000, source_cpu = 1e-5;
  std::vector<Step> steps = {};
  size_t workers = 1;
  double cores = 2, usable = 0.85;
  double memory = 0, disk = 0;  // bytes, of each worker
  double cached_cpu_per_byte = 4e-10;
  double window = 5;
  double noise = 0;  // of each window's speed and costs
  uint64_t seed = 1;
  JobObservation job = {.job = 1, .name = "a"};

  // State.
  double now = 0, done = 0;
  uint64_t epoch = 0;
  std::optional<CachePlacement> told = {};   // the job,
  std::optional<CachePlacement> tasks = {};  // and those that run
  double kept = 0;                           // share of the rows that is kept where tasks look
  std::vector<Decision> changes = {};
  Decision last = {};
  CachingState state = {};
  CachingOptions options = {};

  CachingWorld() : random_(1) {
    job.weight = 1;
    job.clients = job.connected = 1;
    job.cache = CacheChoosing::kAuto;
    job.epochs = 10;
  }
  void Begin() {
    random_ = SeededRandom(seed);
    PipelineFacts facts;
    facts.source_cut = 0;
    facts.source_key = 100;
    bool legal = true;
    for (size_t i = 0; i < steps.size(); ++i) {
      legal = legal && steps[i].cut;
      StepFacts fact{.step = steps[i].name, .one_to_one = steps[i].passes == 1};
      if (legal) fact.cut = i + 1;
      if (!legal) fact.no_cut = "it draws random numbers";
      fact.key = 101 + i;
      facts.steps.push_back(fact);
    }
    if (own_cache.has_value()) facts.own_cache = own_cache;
    facts.own_tier = "auto";
    facts.own_is_fixed = own_is_fixed;
    job.facts = std::make_shared<const PipelineFacts>(facts);
    if (own_cache.has_value()) tasks = CachePlacement{.cut = *own_cache, .tier = "auto"};
  }
  std::optional<size_t> own_cache = {};
  bool own_is_fixed = false;

  double BytesAt(size_t cut) const {
    double bytes = source_bytes, visits = 1;
    for (size_t i = 0; i < cut; ++i) {
      visits *= steps[i].passes;
      bytes = visits * steps[i].bytes;
    }
    return bytes;
  }
  // CPU seconds of a row, `share` of which come from a cache at `cut`.
  double Cpu(size_t cut, double share) const {
    double visits = 1;
    double cpu = (1 - share) * source_cpu + share * cached_cpu_per_byte * BytesAt(cut);
    for (size_t i = 0; i < steps.size(); ++i) {
      cpu += (i < cut ? 1 - share : 1) * visits * steps[i].cpu;
      visits *= steps[i].passes;
    }
    return cpu;
  }
  double Rate(size_t cut, double share) const {
    return std::min(demand, static_cast<double>(workers) * cores * usable / Cpu(cut, share));
  }
  double RateNow() const {
    const bool none = !tasks.has_value() || tasks->none;
    return Rate(none ? 0 : tasks->cut, none ? 0 : kept);
  }
  double Capacity(const CachePlacement& at) const {
    return static_cast<double>(workers) * (at.tier == "disk"   ? disk
                                           : at.tier == "auto" ? memory + disk
                                                               : memory);
  }

  // One window, and what is decided in it.
  void Window() {
    const bool none = !tasks.has_value() || tasks->none;
    const size_t cut = none ? 0 : tasks->cut;
    const double share = none ? 0 : kept;
    const double speed = Rate(cut, share) * random_.Noise(noise);
    // The window is cut where the epoch ends.
    seconds_ = std::min(window, (rows - done) / speed);
    const double passed = speed * seconds_;
    Count(cut, share, passed, speed);
    now += seconds_;
    done += passed;
    job.records = passed;
    job.records_done = done;
    job.epoch = epoch;
    job.epoch_progress = std::floor(100 * done / rows) / 100;
    job.placement = told;
    Observation seen{.at_seconds = now, .window_seconds = seconds_};
    seen.jobs = {job};
    for (size_t i = 0; i < workers; ++i) {
      WorkerObservation worker{.worker = i + 1, .cores = cores, .readers = 4};
      worker.busy = 1;
      seen.workers.push_back(worker);
      if (memory > 0)
        seen.tiers.push_back({.worker = i + 1, .tier = "memory", .capacity_bytes = memory});
      if (disk > 0) seen.tiers.push_back({.worker = i + 1, .tier = "disk", .capacity_bytes = disk});
    }
    seen.workers_wanted = workers;
    for (const Decision& decision : DecideCaches(options, seen, state)) Carry(decision);
    if (done >= rows * (1 - 1e-9)) NextEpoch();
  }
  void Windows(int n) {
    for (int i = 0; i < n; ++i) Window();
  }
  void UntilEpoch(uint64_t e) {
    while (epoch < e) Window();
  }

 private:
  void Count(size_t cut, double share, double passed, double speed) {
    const double made = passed * (1 - share);
    job.steps = {{.step = "0:read",
                  .cpu_seconds = made * source_cpu,
                  .rows_out = made,
                  .bytes_out = made * source_bytes,
                  .wall_seconds = made * source_cpu}};
    double visits = 1;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const double in = visits * (i < cut ? made : passed);
      visits *= step.passes;
      const double each = step.cpu * random_.Noise(noise);
      job.steps.push_back({.step = step.name,
                           .cpu_seconds = in * each,
                           .rows_in = in,
                           .rows_out = in * step.passes,
                           .bytes_out = in * step.passes * step.bytes,
                           .blocks = in / 10,
                           .cpu_square = in * each * each});
    }
    if (share > 0) {
      double behind = 1;
      for (size_t i = 0; i < cut; ++i) behind *= steps[i].passes;
      const double bytes = passed * share * BytesAt(cut);
      job.steps.push_back({.step = "0:cached",
                           .cpu_seconds = bytes * cached_cpu_per_byte,
                           .rows_out = passed * share * behind,
                           .bytes_out = bytes});
    }
    job.cpu_seconds = passed * Cpu(cut, share);
    job.elements_per_second = speed / 10;
    job.demand = demand / 10 * random_.Noise(noise);
    job.stall = std::max(0.0, 1 - speed / demand);
    job.prepare_stall = *job.stall;
  }
  void Carry(const Decision& decision) {
    last = decision;
    if (decision.plan != nullptr) told = decision.plan->placement;
    if (decision.action.verb != Verb::kHold) changes.push_back(decision);
  }
  void NextEpoch() {
    const auto before = tasks;
    if (told.has_value()) tasks = told;
    job.epoch_records = rows;
    ++epoch;
    done = 0;
    const bool none = !tasks.has_value() || tasks->none;
    if (none || before != tasks) {
      kept = 0;  // it is filled in this one
      filling_ = !none;
    } else if (filling_) {
      kept = std::min(tasks->share, Capacity(*tasks) / (rows * BytesAt(tasks->cut)));
      filling_ = false;
    }
  }

  SeededRandom random_;
  double seconds_ = 0;
  bool filling_ = true;
};

}  // namespace headrace::orchestrate
