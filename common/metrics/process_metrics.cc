#include "common/metrics/process_metrics.h"

#include "common/process_stats.h"

namespace headrace {
namespace {

ProcessStats Now() { return ReadProcessStats().value_or(ProcessStats{}); }

}  // namespace

ProcessMetrics AddProcessMetrics(Metrics& metrics) {
  ProcessMetrics out;
  out.push_back(metrics.AddGaugeFunction("headrace_process_resident_bytes",
                                         "Resident memory of the process.", {},
                                         [] { return static_cast<double>(Now().resident.value); }));
  out.push_back(metrics.AddCounterFunction("headrace_process_cpu_seconds_total",
                                           "CPU time of the process, user and system.", {},
                                           [] { return absl::ToDoubleSeconds(Now().cpu); }));
  out.push_back(metrics.AddGaugeFunction("headrace_process_threads", "Threads of the process.", {},
                                         [] { return static_cast<double>(Now().threads); }));
  out.push_back(metrics.AddGaugeFunction("headrace_process_open_files",
                                         "Open file descriptors of the process.", {},
                                         [] { return static_cast<double>(Now().open_files); }));
  return out;
}

}  // namespace headrace
