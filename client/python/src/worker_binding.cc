#include "client/python/src/worker_binding.h"

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/python/src/blocking_call.h"
#include "client/python/src/forks.h"
#include "client/python/src/pipeline_binding.h"
#include "client/python/src/status.h"
#include "common/logging/logging.h"
#include "embedded/embedded_cluster.h"

namespace py = pybind11;

namespace headrace::python {
namespace {

class NativeWorker {
 public:
  explicit NativeWorker(std::shared_ptr<const Catalog> catalog)
      : catalog_(std::move(catalog)), metrics_("worker") {}

  // One compute thread, for `job` alone. Python functions run in subprocesses of `python`, with its
  // `path`: they are the trainer's own, and run where it runs anyway.
  static std::unique_ptr<NativeWorker> Start(const std::string& dispatcher,
                                             const std::string& listen, const std::string& job,
                                             const std::string& python,
                                             const std::vector<std::string>& path,
                                             const std::vector<std::string>& security) {
    NoteGrpcUse();
    LoggingConfig log;
    log.level = "warning";
    RaiseIfError(InitLogging(log));
    WorkerConfig config;
    config.dispatcher = dispatcher;
    config.listen = listen;
    config.tags = {"job=" + job};
    config.compute_threads = 1;
    config.udf = "pickle";
    config.udf_python = python;
    config.udf_path = path;
    config.udf_processes = 1;
    config.udf_output = LogLevel::kWarning;
    config.token_file = security.at(0);
    config.tls = {.cert = security.at(2),
                  .key = security.at(3),
                  .ca = security.at(1),
                  .server_name = security.at(4)};
    auto worker = std::make_unique<NativeWorker>(SharedCatalog());
    worker->worker_ = ValueOrRaise(RunInterruptibly(
        [&, config] { return StartWorker(config, *worker->catalog_, &worker->metrics_, {}); }));
    return worker;
  }

  void Drain() { worker_->Drain(); }
  bool drained() const { return worker_->drained(); }
  void Close(double seconds) {
    const py::gil_scoped_release release;
    worker_->Shutdown(absl::Seconds(seconds));
  }

 private:
  const std::shared_ptr<const Catalog> catalog_;
  Metrics metrics_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace

void BindWorker(py::module_& module) {
  py::class_<NativeWorker>(module, "Worker")
      .def_static("start", &NativeWorker::Start)
      .def("drain", &NativeWorker::Drain)
      .def_property_readonly("drained", &NativeWorker::drained)
      .def("close", &NativeWorker::Close);
}

}  // namespace headrace::python
