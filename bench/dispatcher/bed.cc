#include "bench/dispatcher/bed.h"

#include <sys/resource.h>

#include "common/clock.h"
#include "common/status.h"
#include "dispatcher/graph_pipeline_resolver.h"
#include "dispatcher/journal/open_journal.h"
#include "fmt/format.h"
#include "rpc/grpc_dispatcher_client.h"

namespace headrace::bench {
namespace {

// Files with paths as long as they are on clusters, some splits each.
class PathResolver final : public PipelineResolver {
 public:
  PathResolver(uint64_t splits, uint64_t files) : splits_(splits), files_(files) {}

  absl::StatusOr<ResolvedPipeline> Resolve(const v1::PipelineDef&, uint64_t) override {
    ResolvedPipeline resolved;
    const uint64_t each = (splits_ + files_ - 1) / files_;
    v1::Split split;
    for (uint64_t i = 0; i < splits_; ++i) {
      const uint64_t file = i / each;
      if (i % each == 0) {
        split.set_path(fmt::format(
            "/mnt/datasets/web-2026-11/train/part-{:05}/shard-{:08}.tfrecord", file / 1000, file));
        split.set_file_size(each * (64 << 20));
        split.set_file_mtime_ns(1'790'000'000'000'000'000 + static_cast<int64_t>(file) * 1'234'567);
      }
      split.set_begin(i % each * (64 << 20));
      split.set_end(split.begin() + (64 << 20));
      split.set_file_index(file);
      resolved.splits.Add(split);
    }
    resolved.fingerprint = "bench";
    resolved.dataset_version = "1";
    return resolved;
  }

 private:
  const uint64_t splits_;
  const uint64_t files_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dispatcher>> StartDispatcher(const Options& options,
                                                            const Catalog& catalog) {
  DispatcherConfig config;
  config.listen = "127.0.0.1:0";
  config.limits.max_splits = 4'000'000'000;
  config.limits.max_leases_per_request = 4096;
  config.worker_timeout = absl::Seconds(30);
  config.client_timeout = absl::Seconds(30);
  Dispatcher::Deps deps;
  if (options.files != 0) {
    deps.resolver = std::make_unique<PathResolver>(options.splits, options.files);
  } else {
    deps.resolver = MakeGraphPipelineResolver(catalog.ops, catalog.formats, NewLocalFileSystem({}));
  }
  static Metrics metrics("dispatcher");  // outlives every dispatcher of the process
  deps.metrics = &metrics;
  config.journal.driver = options.journal;
  config.journal.directory = options.directory;
  HR_ASSIGN_OR_RETURN(deps.journal, OpenJournal(config.journal, JournalMetrics(metrics)));
  return Dispatcher::Start(config, std::move(deps));
}

std::shared_ptr<grpc::Channel> MakeChannel(const Dispatcher& dispatcher, int number) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("headrace.bench.connection", number);
  arguments.SetMaxReceiveMessageSize(256 << 20);
  arguments.SetMaxSendMessageSize(256 << 20);
  return grpc::CreateCustomChannel(dispatcher.address(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

std::unique_ptr<DispatcherClient> ClientOver(const Dispatcher& dispatcher,
                                             std::shared_ptr<grpc::Channel> channel) {
  return MakeGrpcDispatcherClient(std::move(channel), dispatcher.address(), RealClock());
}

std::unique_ptr<DispatcherClient> Connect(const Dispatcher& dispatcher, int number) {
  return ClientOver(dispatcher, MakeChannel(dispatcher, number));
}

v1::OpenJobRequest OpenRequest(const Options& options, uint64_t uid) {
  v1::OpenJobRequest request;
  request.set_job_name("bench");
  request.set_client_uid(uid);
  v1::Source& source = *request.mutable_pipeline()->mutable_source();
  source.set_format("range");
  const auto set = [&](const char* name, int64_t value) {
    v1::NamedValue& entry = *source.mutable_params()->add_entries();
    entry.set_name(name);
    entry.mutable_value()->set_integer(value);
  };
  set("elements", static_cast<int64_t>(options.splits));
  set("split_elements", 1);
  return request;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace headrace::bench
