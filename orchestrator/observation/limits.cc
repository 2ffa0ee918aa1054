#include "orchestrator/observation/limits.h"

namespace headrace::orchestrate {
namespace {

constexpr double kWaits = 0.02;  // of the trainers' time, from which they count as waiting
constexpr double kBusy = 0.7;    // of workers' threads, from which they are what is slow

}  // namespace

std::string_view Word(Limit limit) {
  switch (limit) {
    case Limit::kNothing:
      return "idle";
    case Limit::kTrainer:
      return "trainer";
    case Limit::kNetwork:
      return "network";
    case Limit::kWorkers:
      return "workers";
    case Limit::kSource:
      return "source";
    case Limit::kNoWorker:
      return "no worker";
    case Limit::kUnknown:
      return "unknown";
  }
  return "?";
}

std::string_view Advice(Limit limit) {
  switch (limit) {
    case Limit::kNothing:
      return "nobody reads it now";
    case Limit::kTrainer:
      return "its trainers never wait";
    case Limit::kNetwork:
      return "batches are finished and wait to be sent: a faster network, or compression";
    case Limit::kWorkers:
      return "workers are busy: more of them, or a cheaper pipeline";
    case Limit::kSource:
      return "workers wait, too, for files or for Python processes: more of those, or a cache";
    case Limit::kNoWorker:
      return "no worker works for it";
    case Limit::kUnknown:
      return "too little was seen";
  }
  return "?";
}

Limit LimitOf(const JobObservation& job, const Observation& observation) {
  if (job.waits_for_workers) return Limit::kNoWorker;
  if (job.clients == 0) return Limit::kNothing;
  if (!job.stall.has_value()) return Limit::kUnknown;
  if (*job.stall <= kWaits) return Limit::kTrainer;
  if (job.fetch_stall > job.prepare_stall) return Limit::kNetwork;
  double busy = 0;
  double n = 0;
  for (const WorkerObservation& worker : observation.workers) {
    if (!worker.busy.has_value()) continue;
    busy += *worker.busy;
    n += 1;
  }
  if (n == 0) return Limit::kUnknown;
  return busy / n >= kBusy ? Limit::kWorkers : Limit::kSource;
}

}  // namespace headrace::orchestrate
