// CloseClient: the last report of a client that leaves. Idempotent by client: one that is not known
// has left already.
#include "common/status.h"
#include "dispatcher/ops/cluster.h"
#include "dispatcher/ops/limits.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/progress.h"

namespace headrace::dispatch {

absl::StatusOr<v1::CloseClientReply> CloseClient(OpContext& context,
                                                 const v1::CloseClientRequest& request) {
  RunBudget budget(context.config.limits);
  for (const v1::TaskRuns& runs : request.delivered())
    HR_RETURN_IF_ERROR(budget.Check(runs.runs()));
  const ClientId id(request.client());
  const Job* job = context.state().JobOf(id);
  if (job == nullptr || job->id.value != request.job() || job->Replaced(request.incarnation()) ||
      OfAnotherCluster(context, request.cluster())) {
    return v1::CloseClientReply();
  }
  if (request.delivered_size() != 0) {
    v1::Event event;
    v1::RunsDelivered& delivered = *event.mutable_runs_delivered();
    delivered.set_client(request.client());
    delivered.set_epoch(request.epoch());
    *delivered.mutable_delivered() = request.delivered();
    context.changes.Make(std::move(event));
  }
  RemoveClient(context, id, /*lost=*/false);
  return v1::CloseClientReply();
}

}  // namespace headrace::dispatch
