#include "worker/worker_config.h"

#include "common/role/log_section.h"
#include "common/role/tls_section.h"

namespace headrace {

namespace {

ConfigSpec<CacheConfig> CacheSection() {
  ConfigSpec<DiskCacheConfig> disk;
  disk.Field("path", &DiskCacheConfig::path,
             "directory below which they are kept, over restarts too; empty: none. Workers may "
             "share it: each has a folder of its own there")
      .Field("bytes", &DiskCacheConfig::bytes, "most that this worker keeps there",
             AtLeast(MiB(1)));
  ConfigSpec<CacheConfig> cache;
  cache
      .Field("memory_bytes", &CacheConfig::memory_bytes,
             "most that this worker keeps in memory; 0: none")
      .Section("disk", &CacheConfig::disk, disk, "rows on disk");
  return cache;
}

}  // namespace

ConfigSpec<WorkerConfig> WorkerConfigSpec() {
  using C = WorkerConfig;
  ConfigSpec<C> spec("worker");
  spec.Field("dispatcher", &C::dispatcher,
             "the dispatcher's address, host:port or unix:/path; of several, joined by commas")
      .Field("listen", &C::listen, "address:port to serve batches on; port 0 takes any free one")
      .Field("advertise", &C::advertise,
             "what clients dial; empty: the address that was bound, or the host's name")
      .Field("transports", &C::transports,
             "how batches are offered to clients, best first: each client takes the first that "
             "reaches it")
      .Field("tcp_listen", &C::tcp_listen,
             "address:port of the transport tcp; empty: the host of `listen`, any free port")
      .Field("shm_bytes", &C::shm_bytes,
             "shared memory that batches lie in for clients on this host; it grows as needed and "
             "shrinks when idle")
      .Field("shm_directory", &C::shm_directory,
             "where the socket of the transport shm lies; empty: in the kernel's abstract space, "
             "for clients in this network namespace")
      .Field("compression", &C::compression,
             "of batches on their way, by the transport tcp: auto compresses where it measures "
             "that the network is slower than that",
             OneOf({"auto", "none", "lz4", "zstd"}))
      .Field("checksums", &C::checksums,
             "the transport tcp guards batches by xxh3 where neither TLS nor loopback does")
      .Field("token_file", &C::token_file,
             "file with the cluster's token: clients must show it, the dispatcher is shown it; "
             "empty: none")
      .Section("tls", &C::tls, TlsSection(),
               "certificates, of the transports tcp and grpc and of calls to the dispatcher; none: "
               "plain text")
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
      .Section("cache", &C::cache, CacheSection(), "rows that pipelines keep by their step `cache`")
      .Field("connect_timeout", &C::connect_timeout,
             "how long to look for the dispatcher at start; 0s: for ever")
      .Field("call_timeout", &C::call_timeout, "bound of one call to the dispatcher")
      .Field("shutdown_timeout", &C::shutdown_timeout, "bound of leaving")
      .Field("udf", &C::udf,
             "Python functions that pipelines may run here: off, those of this machine's modules, "
             "or any that a client sends (pickle)",
             OneOf({"off", "import", "pickle"}))
      .Field("udf_python", &C::udf_python, "the interpreter that runs them; it needs NumPy")
      .Field("udf_path", &C::udf_path, "directories of their modules, before Python's own")
      .Field("udf_processes", &C::udf_processes, "subprocesses of one function; 0: one per core",
             Between(0, 1024))
      .Field("udf_memory_bytes", &C::udf_memory_bytes,
             "a subprocess that holds more between blocks is replaced; twice that much ends it")
      .Field("udf_block_bytes", &C::udf_block_bytes,
             "records handed to a function, or returned by it, at once", AtLeast(MiB(1)))
      .Field("udf_load_timeout", &C::udf_load_timeout, "bound of loading a function")
      .Section("log", &C::log, LogSection(), "what is logged, and how");
  return spec;
}

FunctionPoolOptions FunctionOptionsOf(const WorkerConfig& config) {
  FunctionPoolOptions options;
  // The config's rule admits these words alone; anything else would be a bug, and means off.
  if (const auto mode = ParseFunctionMode(config.udf); mode.ok()) options.mode = *mode;
  options.python = config.udf_python;
  options.path = config.udf_path;
  options.processes = static_cast<size_t>(config.udf_processes);
  options.memory_bytes = static_cast<uint64_t>(config.udf_memory_bytes.value);
  options.block_bytes = static_cast<uint64_t>(config.udf_block_bytes.value);
  options.output_level = config.udf_output;
  options.load_timeout = config.udf_load_timeout;
  return options;
}

}  // namespace headrace
