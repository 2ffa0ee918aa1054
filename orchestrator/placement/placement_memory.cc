#include "orchestrator/placement/placement_memory.h"

#include <algorithm>
#include <cmath>

namespace headrace::orchestrate {
namespace {

constexpr double kFade = 0.98;
constexpr double kWaits = 0.05;     // of the time, above which a trainer is held back by its making
constexpr double kReadsAll = 0.8;   // of the readers' time, above which reading holds it back
constexpr double kFromCache = 0.9;  // of what is kept, above which a window is one with the cache
constexpr double kFromSource = 0.02;
// Before anything was measured: of memory, of a disk, of a store that workers share.
struct Guess {
  double read, write;  // bytes/s
};
constexpr Guess kMemory{4e9, 2e9}, kDisk{5e8, 2e8}, kShared{2e8, 1e8};
constexpr double kGuessError = 0.5, kLeastError = 0.05;
constexpr double kCodecGuess = 5e-10;  // seconds/byte
constexpr double kEnoughCached = 1e6;  // bytes, from which the codec is measured

const StepObservation* Find(const JobObservation& job, std::string_view name) {
  const auto found = std::ranges::find(job.steps, name, &StepObservation::step);
  return found == job.steps.end() ? nullptr : &*found;
}

// Of the rows of the window, how many came from a cache. Rows behind filters are as many as their
// source's on the way that was taken: both are counted where they enter the steps.
std::optional<double> CachedShare(const JobObservation& seen, const ProfileSums& sums) {
  const StepObservation* read = Find(seen, kReadStep);
  const StepObservation* cached = Find(seen, kCachedStep);
  const double made = read != nullptr ? read->rows_out : 0;
  double kept = cached != nullptr ? cached->rows_out : 0;
  if (kept > 0 && seen.facts != nullptr && seen.placement.has_value()) {
    const JobProfile profile = ProfileOf(sums, *seen.facts);
    for (size_t i = 0; i < seen.facts->steps.size(); ++i) {
      const bool last_in_front = seen.facts->steps[i].cut == seen.placement->cut;
      if (last_in_front && i + 1 < profile.steps.size() && profile.steps[i + 1].visits > 0)
        kept /= profile.steps[i + 1].visits;
    }
  }
  if (!(made + kept > 0)) return std::nullopt;
  return kept / (made + kept);
}

}  // namespace

double JobMemory::Rows() const {
  if (epoch_records > 0) return epoch_records;
  return progress > 0 ? records_done / progress : 0;
}

TierProfile TierMemory::Profile(const std::string& name) const {
  TierProfile profile;
  profile.name = name;
  profile.kind = name == "memory" ? TierKind::kMemory
                 : name == "disk" ? TierKind::kDisk
                                  : TierKind::kShared;
  profile.per_worker = profile.kind != TierKind::kShared;
  profile.over_network = profile.kind == TierKind::kShared;
  const Guess guess = profile.kind == TierKind::kMemory ? kMemory
                      : profile.kind == TierKind::kDisk ? kDisk
                                                        : kShared;
  const auto rate = [this](const TransferFit& fit, double many, double otherwise) {
    const double seconds = fit.Seconds(split_bytes);
    return fit.samples() > 0 && seconds > 0 ? many * split_bytes / seconds : otherwise;
  };
  profile.read_bytes_per_second = rate(read, most_readers, guess.read);
  profile.write_bytes_per_second = rate(write, 1, guess.write);
  profile.bandwidth_error = std::max(kLeastError, kGuessError / std::sqrt(1 + read.samples()));
  return profile;
}

void PlacementMemory::LearnJob(const JobObservation& seen, double seconds) {
  JobMemory& job = jobs[seen.job];
  if (job.name != seen.name) job = {.name = seen.name};  // another dispatcher's numbers
  AddWindow(seen, seconds, job.sums);
  job.epoch_ended = seen.epoch > job.epoch;
  job.epoch = seen.epoch;
  job.epoch_records = seen.epoch_records;
  job.records_done = seen.records_done;
  const double passes = seen.facts != nullptr ? seen.facts->passes : 1;
  job.progress = seen.epoch_progress / passes;
  if (seen.demand.has_value()) job.demand.Add(*seen.demand);
  const double elements = seen.elements_per_second * seconds;
  if (elements > 0 || seen.records > 0) {
    job.elements = kFade * job.elements + elements;
    job.records = kFade * job.records + seen.records;
  }
  if (const StepObservation* read = Find(seen, kReadStep); read && read->wall_seconds > 0)
    job.reader_rate.Add(read->bytes_out / read->wall_seconds);
  if (const StepObservation* cached = Find(seen, kCachedStep); cached && cached->rows_out > 0) {
    cached_cpu = kFade * cached_cpu + cached->cpu_seconds;
    cached_bytes = kFade * cached_bytes + cached->bytes_out;
  }
  job.last_rate = 0;
  const std::optional<double> share = CachedShare(seen, job.sums);
  if (!share.has_value()) return;
  job.cached_share = *share;
  if (!job.chosen.has_value() || seen.epoch > job.chosen_in_epoch)
    job.kept_share = std::max(job.kept_share, *share);
  if (seen.clients == 0 || !(seen.records > 0)) return;
  const double wanted =
      seen.placement.has_value() && !seen.placement->none ? seen.placement->share : 1;
  job.last_with = *share >= kFromCache * wanted;
  // Rows on their way into a cache cost more than those that are not kept.
  const bool fills = seen.placement.has_value() ? !seen.placement->none && !job.last_with &&
                                                      seen.epoch > job.chosen_in_epoch
                                                : *share > kFromSource;
  if (!job.last_with && (fills || *share > kFromSource)) return;
  job.last_rate = seen.records / seconds;
  (job.last_with ? job.observed_with : job.observed_without).Add(job.last_rate);
}

void PlacementMemory::LearnTiers(const Observation& seen) {
  for (const TierObservation& tier : seen.tiers) {
    TierMemory& memory = tiers[tier.tier];
    if (tier.hits > 0 && tier.read_bytes > 0) {
      memory.split_bytes = tier.read_bytes / tier.hits;
      memory.read.Add(memory.split_bytes, tier.read_seconds / tier.hits);
      memory.most_readers =
          std::max({1.0, kFade * memory.most_readers, tier.read_seconds / seen.window_seconds});
    }
    if (tier.fills > 0 && tier.filled_bytes > 0) {
      const double each = tier.filled_bytes / tier.fills;
      if (memory.split_bytes == 0) memory.split_bytes = each;
      memory.write.Add(each, tier.fill_seconds / tier.fills);
    }
  }
}

void PlacementMemory::LearnWorkers(const Observation& seen) {
  double cores = 0, readers = 0, cpu = 0, reading = 0;
  for (const WorkerObservation& worker : seen.workers) {
    if (!worker.busy.has_value()) return;  // it has not been up for all of the window
    cores += worker.cores;
    readers += worker.readers;
  }
  bool short_of = false;
  for (const JobObservation& job : seen.jobs) {
    cpu += job.cpu_seconds;
    if (const StepObservation* read = Find(job, kReadStep)) reading += read->wall_seconds;
    short_of = short_of || (job.prepare_stall > kWaits && job.prepare_stall > job.fetch_stall &&
                            jobs[job.job].cached_share < 0.5);
  }
  if (!short_of || !(cores > 0) || reading > kReadsAll * readers * seen.window_seconds) return;
  usable.Add(cpu / (cores * seen.window_seconds));
}

void PlacementMemory::Learn(const Observation& seen) {
  std::erase_if(jobs, [&](const auto& entry) {
    return std::ranges::find(seen.jobs, entry.first, &JobObservation::job) == seen.jobs.end();
  });
  for (const JobObservation& job : seen.jobs) LearnJob(job, seen.window_seconds);
  LearnTiers(seen);
  LearnWorkers(seen);
}

double PlacementMemory::CodecSecondsPerByte() const {
  return cached_bytes > kEnoughCached ? cached_cpu / cached_bytes : kCodecGuess;
}

}  // namespace headrace::orchestrate
