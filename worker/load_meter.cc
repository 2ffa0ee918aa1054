#include "worker/load_meter.h"

#include <algorithm>
#include <utility>

#include "common/process_stats.h"

namespace headrace {

void FillTiers(const TieredCache& cache, v1::WorkerLoad& load) {
  if (cache.empty()) return;
  load.set_cache_misses(cache.misses());
  for (const auto& tier : cache.tiers()) {
    const TierUse use = tier->use();
    const TierCounters& counters = tier->counters();
    v1::TierLoad& out = *load.add_tiers();
    out.set_tier(std::string(tier->name()));
    out.set_limit_bytes(use.limit);
    out.set_used_bytes(use.bytes);
    out.set_splits(use.entries);
    out.set_hits(counters.hits);
    out.set_read_bytes(counters.read_bytes);
    out.set_read_seconds(static_cast<double>(counters.read_nanos) * 1e-9);
    out.set_fills(counters.fills);
    out.set_filled_bytes(counters.filled_bytes);
    out.set_fill_seconds(static_cast<double>(counters.fill_nanos) * 1e-9);
  }
}

void LoadMeter::Update(const std::vector<TaskLoad>& tasks) {
  for (auto& [id, job] : jobs_) job.output_bytes = 0;
  std::map<uint64_t, Work> now;
  for (const TaskLoad& task : tasks) {
    const Work before = tasks_[task.task];
    Work& job = jobs_[task.job];
    job.busy_seconds += std::max(0.0, task.busy_seconds - before.busy_seconds);
    job.cpu_seconds += std::max(0.0, task.cpu_seconds - before.cpu_seconds);
    job.output_bytes += task.output_bytes;
    now[task.task] = {task.busy_seconds, task.cpu_seconds, 0};
  }
  tasks_ = std::move(now);
  while (jobs_.size() > kMostJobs) jobs_.erase(jobs_.begin());
}

void LoadMeter::Fill(const Totals& totals, v1::WorkerLoad& load) const {
  load.set_up_seconds(absl::ToDoubleSeconds(totals.now - started_));
  load.set_busy_seconds(static_cast<double>(totals.busy_nanos) * 1e-9);
  load.set_threads(static_cast<uint32_t>(totals.threads));
  load.set_readers(static_cast<uint32_t>(totals.readers));
  if (const auto process = ReadProcessStats(); process.ok())
    load.set_cpu_seconds(absl::ToDoubleSeconds(process->cpu));
  for (const auto& [id, work] : jobs_) {
    v1::JobWork& job = *load.add_jobs();
    job.set_job(id);
    job.set_busy_seconds(work.busy_seconds);
    job.set_cpu_seconds(work.cpu_seconds);
    job.set_output_bytes(work.output_bytes);
  }
}

}  // namespace headrace
