#include "orchestrator/role/orchestrator.h"

#include <random>
#include <utility>

#include "common/status.h"
#include "orchestrator/drivers/kubernetes_driver.h"
#include "orchestrator/drivers/none_driver.h"
#include "orchestrator/drivers/process_driver.h"

namespace headrace {
namespace {

uint64_t FreshUid() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device() | 1;
}

}  // namespace

Orchestrator::Orchestrator(const OrchestratorConfig& config, Deps deps)
    : config_(config),
      deps_(std::move(deps)),
      health_(Unavailable("the dispatcher at {} was not asked yet", config.dispatcher)) {}

absl::StatusOr<std::unique_ptr<Orchestrator>> Orchestrator::Start(const OrchestratorConfig& config,
                                                                  Deps deps) {
  std::unique_ptr<Orchestrator> made(new Orchestrator(config, std::move(deps)));
  Orchestrator* self = made.get();
  if (config.driver == "none") {
    made->driver_ = std::make_unique<orchestrate::NoneDriver>();
  } else if (config.driver == "process") {
    orchestrate::ProcessDriver::Options options;
    options.workers = static_cast<size_t>(config.min_workers);
    options.drain_timeout = config.process.drain_timeout;
    options.call_timeout = config.call_timeout;
    made->driver_ = std::make_unique<orchestrate::ProcessDriver>(
        options, orchestrate::ProcessDriver::Deps{made->deps_.launch, made->deps_.dispatcher.get(),
                                                  made->deps_.clock});
  } else if (config.driver == "kubernetes") {
    orchestrate::KubernetesOptions options;
    options.url = config.kubernetes.url;
    options.ca_file = config.kubernetes.ca_file;
    options.token_file = config.kubernetes.token_file;
    options.space = config.kubernetes.namespace_name;
    options.kind = config.kubernetes.kind;
    options.name = config.kubernetes.name;
    options.call_timeout = config.call_timeout;
    HR_ASSIGN_OR_RETURN(made->driver_,
                        orchestrate::KubernetesDriver::Make(options, *made->deps_.clock));
  } else {
    return InvalidArgument("driver: '{}' is none of: none, process, kubernetes", config.driver);
  }
  std::vector<std::unique_ptr<orchestrate::Policy>> policies;
  policies.push_back(orchestrate::MakeAutoscaler(AutoscaleOptionsOf(config)));
  if (config.caching.enabled && made->deps_.catalog != nullptr) {
    orchestrate::CachingOptions caching = CachingOptionsOf(config);
    caching.scales = made->driver_->scales();
    policies.push_back(orchestrate::MakeCachingPolicy(caching));
    made->pipelines_ = std::make_unique<orchestrate::PipelineReader>(*made->deps_.catalog);
  }
  made->loop_ = std::make_unique<orchestrate::ControlLoop>(
      orchestrate::ControlLoop::Options{config.window, config.call_timeout},
      orchestrate::ControlLoop::Deps{made->deps_.fleet.get(), made->driver_.get(),
                                     made->deps_.clock, made->deps_.metrics,
                                     made->pipelines_.get()},
      std::move(policies), FreshUid());
  made->thread_ =
      std::make_unique<PeriodicTask>("hr-orchestrate", config.poll, [self] { self->Poll(); });
  made->thread_->TriggerNow();
  return made;
}

void Orchestrator::Poll() {
  absl::Status status = loop_->Poll();
  absl::MutexLock lock(&mutex_);
  health_ = std::move(status);
}

absl::Status Orchestrator::health() const {
  absl::MutexLock lock(&mutex_);
  return health_;
}

Orchestrator::~Orchestrator() { Shutdown(absl::Seconds(2)); }

void Orchestrator::Shutdown(absl::Duration timeout) {
  if (thread_ == nullptr) return;
  thread_->Stop();
  driver_->Stop(timeout);
  thread_ = nullptr;
}

}  // namespace headrace
