#include "orchestrator/role/orchestrator_config.h"

#include "common/role/log_section.h"
#include "common/role/tls_section.h"
#include "common/status.h"

namespace headrace {

ConfigSpec<OrchestratorConfig> OrchestratorConfigSpec() {
  using C = OrchestratorConfig;
  ConfigSpec<OrchestratorPrices> prices;
  prices
      .Field("trainer", &OrchestratorPrices::trainer, "of an hour of one trainer (a rank)",
             Between(0.0, 1e9))
      .Field("worker", &OrchestratorPrices::worker, "of an hour of one worker", Between(0.0, 1e9));
  ConfigSpec<CachingConfig> caching;
  caching
      .Field("enabled", &CachingConfig::enabled,
             "decide where jobs whose option is `cache: auto` keep rows")
      .Field("network_bytes_per_second", &CachingConfig::network_bytes_per_second,
             "of one worker; 0: not known, and no limit in what is predicted");
  ConfigSpec<ProcessDriverConfig> process;
  process
      .Field("worker_arguments", &ProcessDriverConfig::worker_arguments,
             "flags of `headrace worker` for each of them, beside --dispatcher and --listen")
      .Field("log_directory", &ProcessDriverConfig::log_directory,
             "one log file per worker there; empty: our stderr")
      .Field("drain_timeout", &ProcessDriverConfig::drain_timeout,
             "how long a worker that is too many may take to finish what it has");
  using K = KubernetesDriverConfig;
  ConfigSpec<K> kubernetes;
  kubernetes
      .Field("url", &K::url,
             "of the API server, https://host:port; empty: that of the pod's cluster")
      .Field("ca_file", &K::ca_file,
             "PEM file of the authority of its certificate; empty: the pod's, where url is empty")
      .Field("token_file", &K::token_file,
             "file with the token of a service account that may get and patch the scale "
             "subresource; empty: the pod's, where url is empty")
      .Field("namespace", &K::namespace_name, "of the workers; empty: the pod's")
      .Field("kind", &K::kind, "what the workers are", OneOf({"deployment", "statefulset"}))
      .Field("name", &K::name, "its name");
  ConfigSpec<C> spec("orchestrator");
  spec.Field("dispatcher", &C::dispatcher,
             "the dispatcher's address, host:port or unix:/path; of several, joined by commas")
      .Field("token_file", &C::token_file,
             "file with the cluster's token, which the dispatcher asks for; empty: none")
      .Section("tls", &C::tls, TlsSection(),
               "how the dispatcher is dialled; none: plain text. Workers of the driver process get "
               "the same files and the token, unless worker_arguments name others")
      .Field("metrics_listen", &C::metrics_listen, "address:port of /metrics; empty: none")
      .Field("driver", &C::driver,
             "who carries decisions out: none (they are advice), process (workers are children of "
             "the orchestrator, on its machine), kubernetes (the scale subresource)",
             OneOf({"none", "process", "kubernetes"}))
      .Field("min_workers", &C::min_workers, "never fewer; 0: none while no job runs",
             Between(0, 100'000))
      .Field("max_workers", &C::max_workers, "never more", Between(1, 100'000))
      .Section("prices", &C::prices, prices,
               "in any currency: only their ratio matters. The fleet is the one that makes an "
               "epoch cheapest, trainers included")
      .Field("window", &C::window, "how long measurements are taken together")
      .Field("poll", &C::poll, "how often the dispatcher is asked")
      .Field("stall_high", &C::stall_high,
             "of the trainers' time, how much they may wait before workers are added",
             Between(0.0, 1.0))
      .Field("stall_low", &C::stall_low, "below it they count as not waiting", Between(0.0, 1.0))
      .Field("queue_high", &C::queue_high,
             "of the trainers' prefetch, what counts as full: fewer workers are tried then",
             Between(0.0, 1.0))
      .Field("calm_windows", &C::calm_windows,
             "windows without waiting before fewer workers are tried", Between(1, 1000))
      .Field("idle_time", &C::idle_time,
             "without any job, before the fleet shrinks to min_workers; ten times that while "
             "trainers are connected")
      .Field("start_patience", &C::start_patience,
             "how long workers that were asked for may take to come up")
      .Field("call_timeout", &C::call_timeout, "bound of one call to the dispatcher")
      .Section("caching", &C::caching, caching, "where rows are kept between epochs")
      .Section("process", &C::process, process, "of the driver process")
      .Section("kubernetes", &C::kubernetes, kubernetes, "of the driver kubernetes")
      .Section("log", &C::log, LogSection(), "what is logged, and how")
      .Check([](const C& c) {
        if (c.min_workers <= c.max_workers) return absl::OkStatus();
        return InvalidArgument("min_workers is {} and max_workers {}", c.min_workers,
                               c.max_workers);
      });
  return spec;
}

orchestrate::AutoscaleOptions AutoscaleOptionsOf(const OrchestratorConfig& config) {
  orchestrate::AutoscaleOptions options;
  options.min_workers = static_cast<size_t>(config.min_workers);
  options.max_workers = static_cast<size_t>(config.max_workers);
  options.prices = {.trainer = config.prices.trainer, .worker = config.prices.worker};
  options.stall_high = config.stall_high;
  options.stall_low = config.stall_low;
  options.queue_high = config.queue_high;
  options.calm_windows = static_cast<size_t>(config.calm_windows);
  options.idle_seconds = absl::ToDoubleSeconds(config.idle_time);
  options.start_patience_seconds = absl::ToDoubleSeconds(config.start_patience);
  return options;
}

orchestrate::CachingOptions CachingOptionsOf(const OrchestratorConfig& config) {
  orchestrate::CachingOptions options;
  options.min_workers = static_cast<size_t>(config.min_workers);
  options.max_workers = static_cast<size_t>(config.max_workers);
  options.trainer_price = config.prices.trainer;
  options.worker_price = config.prices.worker;
  options.network_bytes_per_second =
      static_cast<double>(config.caching.network_bytes_per_second.value);
  return options;
}

}  // namespace headrace
