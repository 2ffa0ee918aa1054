#include "worker/worker_metrics.h"

namespace headrace {

WorkerMetrics::WorkerMetrics(Metrics& metrics)
    : metrics_(metrics),
      tasks_(metrics.AddGauge("headrace_worker_tasks", "tasks that this worker runs")),
      beat_failures_(metrics.AddCounter("headrace_worker_beat_failures_total",
                                        "beats that the dispatcher did not answer")) {}

WorkerMetrics::Step WorkerMetrics::StepSeries(const std::string& pipeline,
                                              const std::string& step) {
  const MetricLabels labels = {{"pipeline", pipeline}, {"step", step}};
  const auto counter = [&](std::string_view name, std::string_view help) {
    return metrics_.AddCounter(name, help, labels);
  };
  return {
      metrics_.AddSecondsCounter("headrace_step_cpu_seconds_total", "CPU time of a step", labels),
      counter("headrace_step_elements_total", "elements that left a step"),
      counter("headrace_step_input_elements_total", "elements that reached a step"),
      counter("headrace_step_bytes_total", "bytes that left a step"),
      counter("headrace_step_failed_elements_total", "elements that failed in a step")};
}

void WorkerMetrics::Update(const v1::TaskDef& def, const v1::TaskStats& stats) {
  const std::string& pipeline = def.pipeline().name();
  Task& task = tasks_seen_[def.task()];
  for (int i = 0; i < stats.steps_size(); ++i) {
    const v1::StepStats& now = stats.steps(i);
    static const v1::StepStats kNothing;
    const v1::StepStats& before = i < task.last.steps_size() ? task.last.steps(i) : kNothing;
    if (static_cast<size_t>(i) == task.steps.size()) {
      task.steps.push_back(StepSeries(pipeline, now.step()));
    }
    const Step& series = task.steps[static_cast<size_t>(i)];
    const auto more = [](uint64_t a, uint64_t b) { return static_cast<int64_t>(b - a); };
    series.cpu->Add(absl::Seconds(now.cpu_seconds() - before.cpu_seconds()));
    series.rows_out->Add(more(before.rows_out(), now.rows_out()));
    series.rows_in->Add(more(before.rows_in(), now.rows_in()));
    series.bytes->Add(more(before.bytes_out(), now.bytes_out()));
    series.failed->Add(more(before.failed(), now.failed()));
  }
  if (task.held == nullptr) {
    task.held = &held_[pipeline];
    task.held->queued_gauge =
        metrics_.AddGauge("headrace_worker_output_queue_bytes",
                          "finished batches that wait for a client", {{"pipeline", pipeline}});
    task.held->held_gauge =
        metrics_.AddGauge("headrace_worker_held_bytes",
                          "bytes that shuffles and partial batches hold", {{"pipeline", pipeline}});
  }
  Count(*task.held, task.last, stats);
  task.last = stats;
}

void WorkerMetrics::Count(Held& held, const v1::TaskStats& before, const v1::TaskStats& now) {
  held.queued += now.queued_bytes() - before.queued_bytes();
  held.held += now.held_bytes() - before.held_bytes();
  held.queued_gauge->Set(static_cast<double>(held.queued));
  held.held_gauge->Set(static_cast<double>(held.held));
}

void WorkerMetrics::Forget(uint64_t task) {
  const auto it = tasks_seen_.find(task);
  if (it == tasks_seen_.end()) return;
  Count(*it->second.held, it->second.last, {});
  tasks_seen_.erase(it);
}

void WorkerMetrics::Update(const FunctionCounters& functions) {
  const auto count = [this](std::string_view name, std::string_view help,
                            const MetricLabels& labels, const std::atomic<uint64_t>& total) {
    const uint64_t now = total.load(std::memory_order_relaxed);
    uint64_t& last = last_functions_[std::string(name) + (labels.empty() ? "" : labels[0].second)];
    metrics_.AddCounter(name, help, labels)->Add(static_cast<int64_t>(now - last));
    last = now;
  };
  count("headrace_udf_blocks_total", "blocks that Python functions worked on", {},
        functions.blocks);
  count("headrace_udf_processes_started_total", "subprocesses of Python functions", {},
        functions.started);
  constexpr std::string_view kEnded = "headrace_udf_processes_ended_total";
  constexpr std::string_view kHelp = "subprocesses that did not end in peace";
  count(kEnded, kHelp, {{"reason", "died"}}, functions.died);
  count(kEnded, kHelp, {{"reason", "hung"}}, functions.hung);
  count(kEnded, kHelp, {{"reason", "memory"}}, functions.recycled);
  count(kEnded, kHelp, {{"reason", "wrong_answer"}}, functions.refused);
  metrics_.AddGauge("headrace_udf_processes", "subprocesses of Python functions that run now")
      ->Set(static_cast<double>(functions.running.load(std::memory_order_relaxed)));
}

void WorkerMetrics::Update(const TieredCache& cache) {
  if (cache.empty()) return;
  const auto count = [this](std::string_view name, std::string_view help,
                            const MetricLabels& labels, uint64_t now) {
    std::string series(name);
    for (const auto& label : labels) series += "/" + label.second;
    uint64_t& last = last_cache_[series];
    metrics_.AddCounter(name, help, labels)->Add(static_cast<int64_t>(now - last));
    last = now;
  };
  count("headrace_cache_misses_total", "splits that no tier had", {}, cache.misses());
  for (const auto& tier : cache.tiers()) {
    const TierCounters& counters = tier->counters();
    const std::string name(tier->name());
    const MetricLabels labels = {{"tier", name}};
    count("headrace_cache_hits_total", "splits that a tier had", labels, counters.hits);
    count("headrace_cache_read_bytes_total", "bytes read from a tier", labels, counters.read_bytes);
    count("headrace_cache_fills_total", "splits that were kept", labels, counters.fills);
    count("headrace_cache_filled_bytes_total", "bytes that were kept", labels,
          counters.filled_bytes);
    for (size_t i = 0; i < counters.fill_drops.size(); ++i) {
      const auto reason = static_cast<FillDrop>(i);
      count("headrace_cache_fills_dropped_total", "splits that were begun to be kept, and not kept",
            {{"tier", name}, {"reason", std::string(Name(reason))}}, counters.fill_dropped(reason));
    }
    for (size_t i = 0; i < counters.drops.size(); ++i) {
      const auto reason = static_cast<CacheDrop>(i);
      count("headrace_cache_dropped_total", "kept splits that are kept no more",
            {{"tier", name}, {"reason", std::string(Name(reason))}}, counters.dropped(reason));
    }
    const TierUse use = tier->use();
    metrics_
        .AddGauge("headrace_cache_bytes", "bytes claimed of a tier, fills under way included",
                  labels)
        ->Set(static_cast<double>(use.bytes));
    metrics_.AddGauge("headrace_cache_limit_bytes", "a tier's budget", labels)
        ->Set(static_cast<double>(use.limit));
    metrics_.AddGauge("headrace_cache_splits", "splits that a tier has", labels)
        ->Set(static_cast<double>(use.entries));
  }
}

}  // namespace headrace
