// RegisterWorker. Idempotent by worker_uid: the same process gets the same id. Another process at a
// known address takes its place.
#include "common/status.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/progress.h"

namespace headrace::dispatch {

absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(OpContext& context,
                                                       const v1::RegisterWorkerRequest& request) {
  if (request.worker_uid() == 0) return InvalidArgument("worker_uid is missing");
  if (request.address().empty()) return InvalidArgument("the worker's address is missing");
  v1::RegisterWorkerReply reply;
  reply.set_beat_milliseconds(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(WorkerBeatPeriod(context, WorkerId()))));
  reply.set_cluster(context.state().cluster());
  const WorkerTable& workers = context.state().workers();
  if (const Worker* known = workers.FindByUid(request.worker_uid())) {
    if (known->address == request.address()) {
      context.liveness.Saw(known->id, context.now);
      reply.set_worker(known->id.value);
      return reply;
    }
    RemoveWorker(context, known->id, /*lost=*/true, "moved to another address");
  }
  if (const Worker* before = workers.FindByAddress(request.address())) {
    RemoveWorker(context, before->id, /*lost=*/true, "was restarted");
  }
  if (static_cast<int64_t>(workers.live()) >= context.config.limits.max_workers) {
    return ResourceExhausted("{} workers are registered already (limits.max_workers)",
                             context.config.limits.max_workers);
  }
  const WorkerId id = context.state().next_worker();
  v1::Event event;
  v1::WorkerRegistered& registered = *event.mutable_worker_registered();
  registered.set_worker(id.value);
  registered.set_uid(request.worker_uid());
  registered.set_address(request.address());
  *registered.mutable_transports() = request.transports();
  registered.set_host(request.host());
  registered.set_cores(request.cores());
  *registered.mutable_tags() = request.tags();
  context.changes.Make(std::move(event));
  context.liveness.Saw(id, context.now);
  for (const auto& [job, unused] : context.state().jobs().all()) AssignTasks(context, job);
  reply.set_worker(id.value);
  return reply;
}

}  // namespace headrace::dispatch
