#include "client/python/src/loader_binding.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/client.h"
#include "client/python/src/arrays.h"
#include "client/python/src/pipeline_binding.h"
#include "client/python/src/status.h"
#include "common/logging/logging.h"
#include "embedded/embedded_cluster.h"

namespace py = pybind11;

namespace headrace::python {
namespace {

// A wait is cut into slices so that Ctrl-C is seen.
constexpr absl::Duration kSlice = absl::Milliseconds(100);

v1::Sharding ParseSharding(const std::string& name) {
  static const std::pair<const char*, v1::Sharding> kNames[] = {
      {"dynamic", v1::SHARDING_DYNAMIC},
      {"off", v1::SHARDING_OFF},
      {"static_file", v1::SHARDING_STATIC_FILE},
      {"static_data", v1::SHARDING_STATIC_DATA},
      {"static_hint", v1::SHARDING_STATIC_HINT},
      {"static_file_or_data", v1::SHARDING_STATIC_FILE_OR_DATA}};
  for (const auto& [known, value] : kNames) {
    if (name == known) return value;
  }
  throw py::value_error(
      "sharding: dynamic, off, static_file, static_data, static_file_or_data or static_hint, not "
      "'" +
      name + "'");
}

class NativeLoader {
 public:
  explicit NativeLoader(std::unique_ptr<Loader> loader) : loader_(std::move(loader)) {}
  ~NativeLoader() {
    py::gil_scoped_release release;
    loader_.reset();
  }

  void StartEpoch(std::optional<uint64_t> epoch) {
    absl::Status status;
    {
      py::gil_scoped_release release;
      status = loader_->StartEpoch(epoch);
    }
    RaiseIfError(status);
  }

  // The next element's dict; None at the end of the epoch.
  py::object Next() {
    while (true) {
      absl::StatusOr<std::optional<Element>> next = std::optional<Element>();
      {
        py::gil_scoped_release release;
        next = loader_->Next(kSlice);
      }
      if (absl::IsDeadlineExceeded(next.status())) {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        continue;
      }
      RaiseIfError(next.status());
      if (!*next) return py::none();
      return ToDict(**next);
    }
  }

  void Close(double seconds) {
    py::gil_scoped_release release;
    loader_->Close(absl::Seconds(seconds));
  }

  py::dict Stats() const {
    const LoaderStats stats = loader_->stats();
    py::dict out;
    out["step_seconds"] = absl::ToDoubleSeconds(stats.step);
    out["wait_seconds"] = absl::ToDoubleSeconds(stats.wait);
    out["elements"] = stats.elements;
    out["bytes"] = stats.bytes;
    out["held_bytes"] = stats.held_bytes;
    return out;
  }
  py::dict Summary() const {
    const v1::EpochSummary summary = loader_->summary();
    py::dict out;
    out["delivered"] = summary.delivered();
    out["settled"] = summary.settled();
    out["failed"] = summary.failed();
    py::list failures;
    for (const v1::FailureSample& sample : summary.failures()) failures.append(sample.message());
    out["failures"] = failures;
    return out;
  }
  uint64_t epoch() const { return loader_->epoch(); }
  std::string job() const { return loader_->job_name(); }
  bool batched() const { return loader_->batched(); }

 private:
  std::unique_ptr<Loader> loader_;
};

class NativeCluster {
 public:
  NativeCluster(std::unique_ptr<EmbeddedCluster> embedded, std::unique_ptr<Client> client)
      : embedded_(std::move(embedded)), client_(std::move(client)) {}
  ~NativeCluster() { Close(); }

  static std::unique_ptr<NativeCluster> Connect(const std::string& address, double timeout) {
    ClientOptions options;
    options.connect_timeout = absl::Seconds(timeout);
    absl::StatusOr<std::unique_ptr<Client>> client = absl::UnknownError("");
    {
      py::gil_scoped_release release;
      client = Client::Connect(address, options);
    }
    return std::make_unique<NativeCluster>(nullptr, ValueOrRaise(std::move(client)));
  }

  static std::unique_ptr<NativeCluster> Local(size_t workers) {
    // A trainer's terminal is its own.
    LoggingConfig log;
    log.level = "warning";
    RaiseIfError(InitLogging(log));
    EmbeddedOptions options;
    options.workers = workers;
    absl::StatusOr<std::unique_ptr<EmbeddedCluster>> embedded = absl::UnknownError("");
    const std::shared_ptr<const Catalog> catalog = SharedCatalog();
    {
      py::gil_scoped_release release;
      embedded = EmbeddedCluster::Start(options, catalog);
    }
    std::unique_ptr<EmbeddedCluster> cluster = ValueOrRaise(std::move(embedded));
    std::unique_ptr<Client> client = ValueOrRaise(Client::Connect(cluster->address()));
    return std::make_unique<NativeCluster>(std::move(cluster), std::move(client));
  }

  std::unique_ptr<NativeLoader> Stream(const Pipeline& pipeline, const std::string& job,
                                       const std::string& sharding, uint32_t rank,
                                       uint32_t world_size, uint64_t prefetch_bytes) {
    if (client_ == nullptr)
      Raise(absl::FailedPreconditionError("the cluster's connection is closed"));
    StreamOptions options;
    options.job = job;
    options.rank = rank;
    options.prefetch_bytes = prefetch_bytes;
    options.job_options.set_sharding(ParseSharding(sharding));
    options.job_options.set_world_size(world_size);
    absl::StatusOr<std::unique_ptr<Loader>> loader = absl::UnknownError("");
    {
      py::gil_scoped_release release;
      loader = client_->Stream(pipeline.def(), options);
    }
    return std::make_unique<NativeLoader>(ValueOrRaise(std::move(loader)));
  }

  void Close() {
    py::gil_scoped_release release;
    client_.reset();
    embedded_.reset();
  }
  // After a fork: the other process owns the threads, so nothing may be joined or freed here.
  void Abandon() {
    (void)client_.release();
    (void)embedded_.release();
  }
  std::string address() const { return client_ == nullptr ? "" : client_->address(); }

 private:
  std::unique_ptr<EmbeddedCluster> embedded_;
  std::unique_ptr<Client> client_;
};

}  // namespace

void BindLoader(py::module_& module) {
  py::class_<NativeLoader>(module, "Loader")
      .def("start_epoch", &NativeLoader::StartEpoch)
      .def("next", &NativeLoader::Next)
      .def("close", &NativeLoader::Close)
      .def("stats", &NativeLoader::Stats)
      .def("summary", &NativeLoader::Summary)
      .def_property_readonly("epoch", &NativeLoader::epoch)
      .def_property_readonly("job", &NativeLoader::job)
      .def_property_readonly("batched", &NativeLoader::batched);
  py::class_<NativeCluster>(module, "Cluster")
      .def_static("connect", &NativeCluster::Connect)
      .def_static("local", &NativeCluster::Local)
      .def("stream", &NativeCluster::Stream)
      .def("close", &NativeCluster::Close)
      .def("abandon", &NativeCluster::Abandon)
      .def_property_readonly("address", &NativeCluster::address);
}

}  // namespace headrace::python
