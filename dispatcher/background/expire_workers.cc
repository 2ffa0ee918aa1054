#include <vector>

#include "dispatcher/background/duties.h"
#include "dispatcher/ops/progress.h"
#include "fmt/format.h"

namespace headrace::dispatch {

void ExpireWorkers(OpContext& context) {
  std::vector<WorkerId> lost;
  for (const auto& [id, worker] : context.state().workers().all()) {
    if (!worker.live()) continue;
    if (context.liveness.Silence(id, context.now) > context.config.worker_timeout) {
      lost.push_back(id);
    }
  }
  for (const WorkerId worker : lost) {
    RemoveWorker(
        context, worker, /*lost=*/true,
        fmt::format("was silent for over {}", absl::FormatDuration(context.config.worker_timeout)));
  }
}

}  // namespace headrace::dispatch
