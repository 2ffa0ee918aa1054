#include "worker/worker_metrics.h"

namespace headrace {

WorkerMetrics::WorkerMetrics(Metrics& metrics)
    : metrics_(metrics),
      tasks_(metrics.AddGauge("headrace_worker_tasks", "tasks that this worker runs")),
      beat_failures_(metrics.AddCounter("headrace_worker_beat_failures_total",
                                        "beats that the dispatcher did not answer")) {}

void WorkerMetrics::Update(const v1::TaskDef& def, const v1::TaskStats& stats) {
  v1::TaskStats& last = last_[def.task()];
  for (int i = 0; i < stats.steps_size(); ++i) {
    const v1::StepStats& now = stats.steps(i);
    static const v1::StepStats kNothing;
    const v1::StepStats& before = i < last.steps_size() ? last.steps(i) : kNothing;
    const MetricLabels labels = {{"pipeline", def.pipeline().name()}, {"step", now.step()}};
    const auto count = [&](std::string_view name, std::string_view help, uint64_t a, uint64_t b) {
      metrics_.AddCounter(name, help, labels)->Add(static_cast<int64_t>(b - a));
    };
    metrics_.AddSecondsCounter("headrace_step_cpu_seconds_total", "CPU time of a step", labels)
        ->Add(absl::Seconds(now.cpu_seconds() - before.cpu_seconds()));
    count("headrace_step_elements_total", "elements that left a step", before.rows_out(),
          now.rows_out());
    count("headrace_step_input_elements_total", "elements that reached a step", before.rows_in(),
          now.rows_in());
    count("headrace_step_bytes_total", "bytes that left a step", before.bytes_out(),
          now.bytes_out());
    count("headrace_step_failed_elements_total", "elements that failed in a step", before.failed(),
          now.failed());
  }
  const MetricLabels pipeline = {{"pipeline", def.pipeline().name()}};
  metrics_
      .AddGauge("headrace_worker_output_queue_bytes", "finished batches that wait for a client",
                pipeline)
      ->Set(static_cast<double>(stats.queued_bytes()));
  metrics_
      .AddGauge("headrace_worker_held_bytes", "bytes that shuffles and partial batches hold",
                pipeline)
      ->Set(static_cast<double>(stats.held_bytes()));
  last = stats;
}

}  // namespace headrace
