#include "dispatcher/dispatcher_config.h"

#include "common/role/log_section.h"
#include "common/role/tls_section.h"
#include "common/status.h"

namespace headrace {
namespace {

ConfigSpec<DispatcherLimits> LimitsSection() {
  using L = DispatcherLimits;
  ConfigSpec<L> spec;
  spec.Field("max_jobs", &L::max_jobs, "jobs that run at a time", AtLeast(1))
      .Field("max_clients", &L::max_clients, "clients of all jobs", AtLeast(1))
      .Field("max_workers", &L::max_workers, "registered workers", AtLeast(1))
      .Field("max_splits", &L::max_splits, "splits of one dataset",
             Between(int64_t{1}, int64_t{4'000'000'000}))
      .Field("max_static_slots", &L::max_static_slots, "slots that a job may ask for", AtLeast(1))
      .Field("max_runs_per_message", &L::max_runs_per_message,
             "runs of records in one report of a client or worker", AtLeast(1))
      .Field("max_leases_per_request", &L::max_leases_per_request,
             "splits that a worker gets at once", AtLeast(1))
      .Field("max_message", &L::max_message, "bytes of one message to the dispatcher",
             AtLeast(KiB(64)));
  return spec;
}

}  // namespace

ConfigSpec<DispatcherConfig> DispatcherConfigSpec() {
  using C = DispatcherConfig;
  const auto beat = AtLeast(absl::Milliseconds(1));
  ConfigSpec<C> spec("dispatcher");
  spec.Field("listen", &C::listen,
             "address:port to listen on (port 0 takes any free one), or unix:/path")
      .Field("advertise", &C::advertise,
             "where others send clients while this dispatcher leads; empty: the address that was "
             "bound, or the host's name")
      .Field("metrics_listen", &C::metrics_listen, "address:port of /metrics; empty: none")
      .Field("roots", &C::roots, "directories that pipelines may read; empty: all")
      .Field("token_file", &C::token_file,
             "file with the cluster's token, which workers and clients must show; empty: none")
      .Section("tls", &C::tls, TlsSection(), "certificates of its port; none: plain text")
      .Field("worker_timeout", &C::worker_timeout, "a worker silent for longer is lost", beat)
      .Field("client_timeout", &C::client_timeout, "a client silent for longer is lost", beat)
      .Field("job_grace", &C::job_grace,
             "a job without clients ends after that; a client that comes before goes on with it")
      .Field("worker_beat", &C::worker_beat,
             "how often workers report, at least; a few do more often", beat)
      .Field("client_beat", &C::client_beat, "how often clients report", beat)
      .Field("busy_beat", &C::busy_beat, "how often while a fence waits or an epoch is nearly over",
             beat)
      .Field("closing_beat", &C::closing_beat,
             "how often clients report while the last splits are read", beat)
      .Field("shed_after", &C::shed_after,
             "a worker that has had splits of an epoch for so long gives some up to workers that "
             "have none left; 0: never")
      .Field("speculate_after", &C::speculate_after,
             "a worker that has made nothing of its splits for so long, while others have none "
             "left, loses them to these; twice as long each further time in an epoch; 0: never")
      .Field("background_period", &C::background_period,
             "how often time-outs and free slots are looked at", beat)
      .Field("target_split", &C::target_split,
             "larger files are cut into splits of about that size; jobs may say otherwise",
             AtLeast(KiB(1)))
      .Field("max_task_errors", &C::max_task_errors,
             "tasks of an epoch that may fail with a passing error before the job fails",
             AtLeast(0))
      .Field("max_strikes", &C::max_strikes,
             "a worker whose tasks of an epoch failed so often gets no more while there are others",
             AtLeast(1))
      .Field("shutdown_timeout", &C::shutdown_timeout, "bound of leaving")
      .Section("journal", &C::journal, JournalSection(),
               "what outlives the dispatcher's process, and where it is kept")
      .Section("limits", &C::limits, LimitsSection(), "what peers may ask for at most")
      .Section("log", &C::log, LogSection(), "what is logged, and how")
      .Check([](const C& c) {
        if (c.worker_timeout > 2 * c.worker_beat && c.client_timeout > 2 * c.client_beat) {
          return absl::OkStatus();
        }
        return InvalidArgument(
            "worker_timeout and client_timeout must be over twice worker_beat and client_beat");
      });
  return spec;
}

}  // namespace headrace
