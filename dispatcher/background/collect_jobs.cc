#include <algorithm>
#include <vector>

#include "dispatcher/background/duties.h"
#include "dispatcher/ops/locality.h"
#include "dispatcher/ops/progress.h"
#include "dispatcher/ops/shed.h"
#include "fmt/format.h"

namespace headrace::dispatch {
namespace {

// A job whose clients are all silent (and waited for) is as idle as one without.
bool Idle(OpContext& context, const Job& job) {
  return std::ranges::all_of(job.clients, [&](ClientId client) {
    return context.liveness.Silence(client, context.now) > context.config.client_timeout;
  });
}

}  // namespace

void CollectJobs(OpContext& context) {
  std::vector<JobId> idle;
  for (const auto& [id, job] : context.state().jobs().all()) {
    if (job.ended) {
      context.liveness.Forget(id);
    } else if (context.liveness.Idle(id, Idle(context, job), context.now) >
               context.config.job_grace) {
      idle.push_back(id);
    }
  }
  for (const JobId id : idle) {
    EndJob(context, id, absl::StatusCode::kOk,
           fmt::format("no client for {}", absl::FormatDuration(context.config.job_grace)));
  }
  absl::erase_if(context.telemetry.stats,
                 [&](const auto& entry) { return context.state().JobOf(entry.first) == nullptr; });
  absl::erase_if(context.telemetry.caches, [&](const auto& entry) {
    const Job* job = context.state().jobs().Find(entry.first);
    return job == nullptr || job->ended;
  });
  CollectStragglers(context);
  CollectHoldings(context);
}

void RunDuties(OpContext& context) {
  ExpireClients(context);
  ExpireWorkers(context);
  FinishEpochs(context);
  Speculate(context);
  RefillSlots(context);
  CollectJobs(context);
}

}  // namespace headrace::dispatch
