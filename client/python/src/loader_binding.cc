#include "client/python/src/loader_binding.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "client/client.h"
#include "client/python/src/arrays.h"
#include "client/python/src/blocking_call.h"
#include "client/python/src/forks.h"
#include "client/python/src/pipeline_binding.h"
#include "client/python/src/saved_state.h"
#include "client/python/src/status.h"
#include "common/logging/logging.h"
#include "embedded/embedded_cluster.h"

namespace py = pybind11;

namespace headrace::python {
namespace {

// Tries of StartEpoch: short at first, so that one that Ctrl-C left ends soon.
constexpr absl::Duration kFirstTry = absl::Milliseconds(500);
constexpr absl::Duration kLongestTry = absl::Seconds(5);
// How long other ranks may take to come to the epoch's beginning.
constexpr absl::Duration kStartPatience = absl::Minutes(10);
// What a close may take on top of its time limit before it is left to itself.
constexpr absl::Duration kCloseGrace = absl::Milliseconds(200);

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

v1::Visitation ParseVisitation(const std::string& name) {
  if (name == "exactly_once") return v1::VISITATION_EXACTLY_ONCE;
  if (name == "at_least_once") return v1::VISITATION_AT_LEAST_ONCE;
  if (name == "at_most_once") return v1::VISITATION_AT_MOST_ONCE;
  throw py::value_error("visitation: exactly_once, at_least_once or at_most_once, not '" + name +
                        "'");
}

v1::OnClientLoss ParseLoss(const std::string& name) {
  if (name.empty()) return v1::ON_CLIENT_LOSS_UNSPECIFIED;
  if (name == "wait") return v1::ON_CLIENT_LOSS_WAIT;
  if (name == "reassign") return v1::ON_CLIENT_LOSS_REASSIGN;
  throw py::value_error("on_client_loss: wait or reassign, not '" + name + "'");
}

v1::Uneven ParseUneven(const std::string& name) {
  if (name == "free") return v1::UNEVEN_FREE;
  if (name == "drop") return v1::UNEVEN_DROP;
  if (name == "pad") return v1::UNEVEN_PAD;
  if (name == "error") return v1::UNEVEN_ERROR;
  throw py::value_error("uneven: free, drop, pad or error, not '" + name + "'");
}

v1::Caching ParseCaching(const std::string& name) {
  if (name == "pipeline") return v1::CACHING_PIPELINE;
  if (name == "auto") return v1::CACHING_AUTO;
  if (name == "off") return v1::CACHING_OFF;
  throw py::value_error("cache: pipeline, auto or off, not '" + name + "'");
}

v1::Ordering ParseOrdering(const std::string& name) {
  if (name == "free") return v1::ORDERING_FREE;
  if (name == "deterministic") return v1::ORDERING_DETERMINISTIC;
  throw py::value_error("ordering: free or deterministic, not '" + name + "'");
}

// A trainer's terminal is its own.
void LogWarningsOnly() {
  LoggingConfig log;
  log.level = "warning";
  RaiseIfError(InitLogging(log));
}

void RefuseAfterFork(const Birthplace& birthplace) {
  if (birthplace.forked_since())
    Raise(absl::FailedPreconditionError(
        "made before a fork, in the parent process: not usable here"));
}

class NativeLoader {
 public:
  explicit NativeLoader(std::unique_ptr<Loader> loader) : loader_(std::move(loader)) {}
  ~NativeLoader() {
    if (birthplace_.forked_since()) {
      new std::shared_ptr<Loader>(std::move(loader_));  // its threads stayed in the parent
      return;
    }
    if (start_) start_->stop = true;
    const BlockingCall goodbye([loader = std::move(loader_)]() mutable { loader.reset(); });
  }

  py::dict State() const { return StateToDict(loader_->State()); }
  void LoadStates(const py::list& states) {
    std::vector<v1::LoaderState> all;
    for (const py::handle& state : states) all.push_back(StateFromDict(state));
    RaiseIfError(loader_->LoadStates(std::move(all)));
  }
  void SetPlace(uint32_t reader, uint32_t readers) {
    RaiseIfError(loader_->SetPlace(reader, readers));
  }
  // Until the other readers have come.
  void Restore() {
    RefuseAfterFork(birthplace_);
    auto stop = std::make_shared<std::atomic<bool>>(false);
    const absl::Cleanup given_up = [stop] { *stop = true; };
    RaiseIfError(RunInterruptibly([loader = loader_, stop] {
      const absl::Time deadline = absl::Now() + kStartPatience;
      while (true) {
        const absl::Status status = loader->Restore(kFirstTry);
        if (!absl::IsDeadlineExceeded(status) || *stop || absl::Now() > deadline) return status;
      }
    }));
  }

  void StartEpoch(std::optional<uint64_t> epoch) {
    RefuseAfterFork(birthplace_);
    if (start_) {  // one that Ctrl-C left
      start_->call->Wait(absl::InfiniteDuration());
      const std::shared_ptr<Start> left = std::exchange(start_, nullptr);
      // It began an epoch of which nothing was read yet.
      if (left->status.ok() && !epoch) return;
    }
    start_ = std::make_shared<Start>();
    start_->call.emplace([loader = loader_, start = start_, epoch] {
      const absl::Time deadline = absl::Now() + kStartPatience;
      for (absl::Duration limit = kFirstTry;; limit = std::min(2 * limit, kLongestTry)) {
        start->status = loader->StartEpoch(epoch, limit);
        if (!absl::IsDeadlineExceeded(start->status) || start->stop || absl::Now() > deadline)
          return;
      }
    });
    try {
      start_->call->Wait(absl::InfiniteDuration());
    } catch (py::error_already_set&) {
      start_->stop = true;
      throw;
    }
    RaiseIfError(std::exchange(start_, nullptr)->status);
  }

  // The next element's dict; None at the end of the epoch. TimeoutError after `seconds`, if said.
  py::object Next(std::optional<double> seconds) {
    RefuseAfterFork(birthplace_);
    const absl::Time deadline =
        seconds ? absl::Now() + absl::Seconds(*seconds) : absl::InfiniteFuture();
    while (true) {
      absl::StatusOr<std::optional<Element>> next = std::optional<Element>();
      {
        py::gil_scoped_release release;
        next = loader_->Next(kSignalSlice);
      }
      if (absl::IsDeadlineExceeded(next.status())) {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (absl::Now() < deadline) continue;
        PyErr_SetString(PyExc_TimeoutError, std::string(next.status().message()).c_str());
        throw py::error_already_set();
      }
      RaiseIfError(next.status());
      if (!*next) return py::none();
      return ToDict(**next);
    }
  }

  void Close(double seconds) {
    if (birthplace_.forked_since()) return;
    if (start_) start_->stop = true;
    const absl::Duration timeout = absl::Seconds(std::max(seconds, 0.0));
    const BlockingCall call([loader = loader_, timeout] { loader->Close(timeout); });
    call.Wait(timeout + kCloseGrace);
  }

  py::dict Stats() const {
    const LoaderStats stats = loader_->stats();
    py::dict out;
    out["step_seconds"] = absl::ToDoubleSeconds(stats.step);
    out["wait_seconds"] = absl::ToDoubleSeconds(stats.wait);
    out["paused_seconds"] = absl::ToDoubleSeconds(stats.paused);
    out["longest_wait_seconds"] = absl::ToDoubleSeconds(stats.longest_wait);
    out["usual_step_seconds"] = absl::ToDoubleSeconds(stats.usual_step);
    out["stall_fraction"] = stats.stall_fraction;
    out["steps"] = stats.steps;
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
    out["steps"] = summary.steps();
    out["dropped_records"] = summary.dropped_records();
    out["padded_batches"] = summary.padded_batches();
    py::list failures;
    for (const v1::FailureSample& sample : summary.failures()) failures.append(sample.message());
    out["failures"] = failures;
    return out;
  }
  uint64_t epoch() const { return loader_->epoch(); }
  std::string job() const { return loader_->job_name(); }
  bool batched() const { return loader_->batched(); }
  py::list schema() const { return FieldList(loader_->schema()); }

 private:
  struct Start {
    absl::Status status;  // the call's, while it runs
    std::atomic<bool> stop = false;
    std::optional<BlockingCall> call;
  };
  const Birthplace birthplace_;
  std::shared_ptr<Loader> loader_;
  std::shared_ptr<Start> start_;  // runs, or was left by Ctrl-C
};

class NativeCluster {
 public:
  NativeCluster(std::unique_ptr<EmbeddedCluster> embedded, std::unique_ptr<Client> client)
      : embedded_(std::move(embedded)), client_(std::move(client)) {}
  ~NativeCluster() {
    if (birthplace_.forked_since()) {  // the threads stayed in the parent
      new std::shared_ptr<Client>(std::move(client_));
      (void)embedded_.release();
    } else {
      StartClosing(absl::Seconds(2));
    }
  }

  static std::unique_ptr<NativeCluster> Connect(
      const std::string& address, double timeout, const std::string& transport,
      const std::string& token_file, const std::string& tls_ca, const std::string& tls_cert,
      const std::string& tls_key, const std::string& tls_server_name) {
    LogWarningsOnly();
    NoteGrpcUse();
    ClientOptions options;
    options.connect_timeout = absl::Seconds(timeout);
    options.transport = transport;
    options.token_file = token_file;
    options.tls = {.cert = tls_cert, .key = tls_key, .ca = tls_ca, .server_name = tls_server_name};
    return std::make_unique<NativeCluster>(
        nullptr, ValueOrRaise(RunInterruptibly(
                     [address, options] { return Client::Connect(address, options); })));
  }

  static std::unique_ptr<NativeCluster> Local(size_t workers, const std::string& transport,
                                              const std::string& udf, const std::string& python,
                                              const std::vector<std::string>& path) {
    NoteGrpcUse();
    LogWarningsOnly();
    std::unique_ptr<EmbeddedCluster> cluster =
        ValueOrRaise(RunInterruptibly([workers, udf, python, path, catalog = SharedCatalog()] {
          EmbeddedOptions options;
          options.workers = workers;
          options.worker.udf = udf;
          options.worker.udf_python = python;
          options.worker.udf_path = path;
          options.worker.udf_output = LogLevel::kWarning;  // what they print is for this terminal
          return EmbeddedCluster::Start(options, catalog);
        }));
    ClientOptions client_options;
    client_options.transport = transport;
    std::unique_ptr<Client> client =
        ValueOrRaise(Client::Connect(cluster->address(), client_options));
    return std::make_unique<NativeCluster>(std::move(cluster), std::move(client));
  }

  std::unique_ptr<NativeLoader> Stream(
      const Pipeline& pipeline, const std::string& job, const std::string& sharding, uint32_t rank,
      uint32_t world_size, uint64_t prefetch_bytes, const std::string& visitation,
      const std::string& on_client_loss, const std::string& uneven, const std::string& ordering,
      uint32_t ordered_lanes, uint64_t ordered_window_bytes, double weight, int32_t priority,
      double least_workers, uint32_t most_workers, const std::string& cache, uint32_t epochs) {
    RefuseAfterFork(birthplace_);
    if (client_ == nullptr)
      Raise(absl::FailedPreconditionError("the cluster's connection is closed"));
    StreamOptions options;
    options.job = job;
    options.rank = rank;
    options.prefetch_bytes = prefetch_bytes;
    options.job_options.set_sharding(ParseSharding(sharding));
    options.job_options.set_world_size(world_size);
    options.job_options.set_visitation(ParseVisitation(visitation));
    options.job_options.set_on_client_loss(ParseLoss(on_client_loss));
    options.job_options.set_uneven(ParseUneven(uneven));
    options.job_options.set_ordering(ParseOrdering(ordering));
    options.job_options.set_ordered_lanes(ordered_lanes);
    options.job_options.set_ordered_window_bytes(ordered_window_bytes);
    options.job_options.set_weight(weight);
    options.job_options.set_priority(priority);
    options.job_options.set_least_workers(least_workers);
    options.job_options.set_most_workers(most_workers);
    options.job_options.set_cache(ParseCaching(cache));
    options.job_options.set_epochs(epochs);
    return std::make_unique<NativeLoader>(
        ValueOrRaise(RunInterruptibly([client = client_, def = pipeline.def(), options] {
          return client->Stream(def, options);
        })));
  }

  void Close(double seconds) {
    if (birthplace_.forked_since()) return;
    const absl::Duration timeout = absl::Seconds(std::max(seconds, 0.0));
    StartClosing(timeout).Wait(timeout + kCloseGrace);
  }
  std::string address() const { return client_ == nullptr ? "" : client_->address(); }

 private:
  BlockingCall StartClosing(absl::Duration timeout) {
    return BlockingCall(
        [client = std::move(client_), embedded = std::move(embedded_), timeout]() mutable {
          client.reset();
          if (embedded) embedded->Shutdown(timeout);
          embedded.reset();
        });
  }

  const Birthplace birthplace_;
  std::unique_ptr<EmbeddedCluster> embedded_;
  std::shared_ptr<Client> client_;
};

}  // namespace

void BindLoader(py::module_& module) {
  py::class_<NativeLoader>(module, "Loader")
      .def("start_epoch", &NativeLoader::StartEpoch)
      .def("state", &NativeLoader::State)
      .def("load_states", &NativeLoader::LoadStates)
      .def("set_place", &NativeLoader::SetPlace)
      .def("restore", &NativeLoader::Restore)
      .def("next", &NativeLoader::Next)
      .def("close", &NativeLoader::Close)
      .def("stats", &NativeLoader::Stats)
      .def("summary", &NativeLoader::Summary)
      .def_property_readonly("epoch", &NativeLoader::epoch)
      .def_property_readonly("job", &NativeLoader::job)
      .def_property_readonly("batched", &NativeLoader::batched)
      .def_property_readonly("schema", &NativeLoader::schema);
  py::class_<NativeCluster>(module, "Cluster")
      .def_static("connect", &NativeCluster::Connect)
      .def_static("local", &NativeCluster::Local)
      .def("stream", &NativeCluster::Stream)
      .def("close", &NativeCluster::Close)
      .def_property_readonly("address", &NativeCluster::address);
  module.def("grpc_is_unusable", &GrpcIsUnusable);
  module.def("wait_for_left_calls", [](double seconds) {
    py::gil_scoped_release release;
    WaitForLeftCalls(absl::Seconds(seconds));
  });
}

}  // namespace headrace::python
