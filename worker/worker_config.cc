#include "worker/worker_config.h"

#include "common/role/log_section.h"

namespace headrace {

ConfigSpec<WorkerConfig> WorkerConfigSpec() {
  using C = WorkerConfig;
  ConfigSpec<C> spec("worker");
  spec.Field("dispatcher", &C::dispatcher, "the dispatcher's address, host:port or unix:/path")
      .Field("listen", &C::listen, "address:port to serve batches on; port 0 takes any free one")
      .Field("advertise", &C::advertise,
             "what clients dial; empty: the address that was bound, or the host's name")
      .Field("transports", &C::transports,
             "how batches are offered to clients, best first: each client takes the first that "
             "reaches it")
      .Field("tcp_listen", &C::tcp_listen,
             "address:port of the transport tcp; empty: the host of `listen`, any free port")
      .Field("metrics_listen", &C::metrics_listen, "address:port of /metrics; empty: none")
      .Field("compute_threads", &C::compute_threads, "threads that run steps; 0: one per core",
             Between(0, 1024))
      .Field("io_threads", &C::io_threads, "threads that read files", Between(1, 1024))
      .Field("roots", &C::roots, "directories that pipelines may read; empty: all")
      .Field("tags", &C::tags, "free words by which operators tell workers apart")
      .Field("output_bytes", &C::output_bytes,
             "finished batches of one task that wait for a client")
      .Field("read_bytes", &C::read_bytes, "records of one task that were read ahead")
      .Field("stage_bytes", &C::stage_bytes,
             "what may wait in front of each further stage of one task")
      .Field("max_element_bytes", &C::max_element_bytes, "a larger batch or element fails")
      .Field("max_record_bytes", &C::max_record_bytes, "a larger record of a file fails")
      .Field("connect_timeout", &C::connect_timeout,
             "how long to look for the dispatcher at start; 0s: for ever")
      .Field("call_timeout", &C::call_timeout, "bound of one call to the dispatcher")
      .Field("shutdown_timeout", &C::shutdown_timeout, "bound of leaving")
      .Section("log", &C::log, LogSection(), "what is logged, and how");
  return spec;
}

}  // namespace headrace
