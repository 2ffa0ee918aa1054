#include <vector>

#include "dispatcher/background/duties.h"
#include "dispatcher/ops/progress.h"

namespace headrace::dispatch {

void ExpireClients(OpContext& context) {
  std::vector<ClientId> lost;
  for (const auto& [id, client] : context.state().clients().all()) {
    if (context.liveness.Silence(id, context.now) <= context.config.client_timeout) continue;
    const Job* job = context.state().jobs().Find(client.job);
    // Waited for: only it knows what it handed over. It stays awaited in fences, and goes on when
    // it is heard of again.
    if (job->WaitsForLostClients() && job->epoch.has_value() &&
        job->epoch->readers().contains(id)) {
      continue;
    }
    lost.push_back(id);
  }
  for (const ClientId client : lost) RemoveClient(context, client, /*lost=*/true);
}

}  // namespace headrace::dispatch
