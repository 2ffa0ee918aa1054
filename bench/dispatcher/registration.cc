// A large dataset registers; the dispatcher is then started again, by its events and by a snapshot.
#include "absl/time/clock.h"
#include "bench/dispatcher/bed.h"
#include "common/status.h"

namespace headrace::bench {
namespace {

double Seconds(absl::Time since) { return absl::ToDoubleSeconds(absl::Now() - since); }

// A start over the journal, until it answers.
absl::StatusOr<double> TimeRestart(const Options& options, const Catalog& catalog) {
  const absl::Time start = absl::Now();
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Dispatcher> dispatcher,
                      StartDispatcher(options, catalog));
  HR_ASSIGN_OR_RETURN(const v1::ListJobsReply jobs,
                      Connect(*dispatcher, 2)->ListJobs({}, absl::Minutes(2)));
  const double seconds = Seconds(start);
  if (jobs.jobs_size() != 1 || jobs.jobs(0).splits() != options.splits) {
    return DataLoss("after the restart: {}", jobs.ShortDebugString());
  }
  return seconds;
}

}  // namespace

absl::StatusOr<nlohmann::json> MeasureRegistration(const Options& options) {
  const Catalog catalog;
  nlohmann::json out;
  {
    HR_ASSIGN_OR_RETURN(const std::unique_ptr<Dispatcher> dispatcher,
                        StartDispatcher(options, catalog));
    const auto client = Connect(*dispatcher, 1);
    out["mebibytes_before"] = PeakMebibytes();
    const double cpu = CpuSeconds();
    const absl::Time start = absl::Now();
    HR_ASSIGN_OR_RETURN(const v1::OpenJobReply opened,
                        client->OpenJob(OpenRequest(options, 1), absl::Minutes(5)));
    out["register_seconds"] = Seconds(start);
    out["register_cpu_seconds"] = CpuSeconds() - cpu;
    out["peak_mebibytes"] = PeakMebibytes();
    if (opened.splits() != options.splits) return Internal("{} splits", opened.splits());
    v1::StartEpochRequest begin;
    begin.set_client(opened.client());
    begin.set_job(opened.job());
    HR_RETURN_IF_ERROR(client->StartEpoch(begin, absl::Minutes(2)).status());
  }
  HR_ASSIGN_OR_RETURN(out["restart_by_events_seconds"], TimeRestart(options, catalog));
  {
    HR_ASSIGN_OR_RETURN(const std::unique_ptr<Dispatcher> dispatcher,
                        StartDispatcher(options, catalog));
    const absl::Time start = absl::Now();
    HR_RETURN_IF_ERROR(dispatcher->service().Compact());
    out["snapshot_seconds"] = Seconds(start);
  }
  HR_ASSIGN_OR_RETURN(out["restart_by_snapshot_seconds"], TimeRestart(options, catalog));
  out["peak_mebibytes_all"] = PeakMebibytes();
  return out;
}

}  // namespace headrace::bench
