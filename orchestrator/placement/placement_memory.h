// What windows have taught of jobs, tiers and workers, as placement asks for it. Part of its
// policy's state; plain data, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "orchestrator/decision/cache_plan.h"
#include "orchestrator/observation/level.h"
#include "orchestrator/observation/observation.h"
#include "orchestrator/placement/cost_model.h"
#include "orchestrator/placement/profile_windows.h"
#include "orchestrator/placement/resolve.h"

namespace headrace::orchestrate {

struct JobMemory {
  std::string name = {};
  ProfileSums sums = {};
  // Rows that were delivered or settled, and elements that trainers took: the ratio is what an
  // element stands for.
  double records = 0, elements = 0;
  Level demand = {};        // elements/s
  Level reader_rate = {};   // bytes/s of one read of the source
  double records_done = 0;  // of the epoch that runs,
  double progress = 0;      // and how much of its splits is done
  double epoch_records = 0;
  uint64_t epoch = 0;
  bool epoch_ended = false;  // in the last window
  double cached_share = 0;  // of the rows of the last window that had some: how many were kept ones
  double kept_share = 0;    // the most of it, since it was decided
  Level observed_with = {}, observed_without = {};  // rows/s, by whether rows come from the cache
  double last_rate = 0;  // rows/s of the last window, when it is one of the two; else 0
  bool last_with = false;

  std::optional<CachePlacement> chosen = {};
  uint64_t chosen_in_epoch = 0;
  ResolveState resolve = {};
  std::shared_ptr<const CachePlan> plan = {};
  std::string subject = {};  // of its decisions

  double RowsPerElement() const { return elements > 0 ? records / elements : 0; }
  // Of an epoch; 0: not known yet.
  double Rows() const;
};

struct TierMemory {
  TransferFit read{}, write{};
  double split_bytes = 0;   // of one that was read, or kept
  double most_readers = 1;  // at once, on a worker, in a window
  TierProfile Profile(const std::string& name) const;
};

struct PlacementMemory {
  std::map<uint64_t, JobMemory> jobs = {};
  std::map<std::string, TierMemory> tiers = {};
  Level usable =
      {};  // CPU seconds that workers get out of a second of a core, where they are short
  double cached_cpu = 0, cached_bytes = 0;  // of rows that came from caches

  void Learn(const Observation& seen);
  double CodecSecondsPerByte() const;

 private:
  void LearnJob(const JobObservation& seen, double seconds);
  void LearnTiers(const Observation& seen);
  void LearnWorkers(const Observation& seen);
};

}  // namespace headrace::orchestrate
