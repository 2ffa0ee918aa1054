// Leases follow caches: in a lane that tasks share, a task is given splits that its worker's caches
// have, then splits that no cache has, and those that other workers have last
// (docs/design/036-leases-by-cache.md). Policies with lanes of one task each know nothing of it.
#pragma once

#include <vector>

#include "dispatcher/context/op_context.h"

namespace headrace::dispatch {

// How many times what is needed is looked through for splits that are cached here, where `share` of
// what is not elsewhere is: min(10, ceil(1 / max(share, .1))). Whatever is passed over soon fills
// that window, so that an epoch does not begin with all that is cached and end with all that is
// not.
size_t LookAhead(double share);

// Keeps what the request tells. False when it tells nothing and nothing is known: the task should
// be asked.
bool TakeHoldings(OpContext& context, const Job& job, const Task& task,
                  const v1::LeaseSplitsRequest& request);

struct Choice {
  std::vector<Piece> pieces;  // in the lane's order
  // There are none, for what is left is in the caches of workers that will get to it.
  bool left_to_others = false;
};
// Of what the task's lane has, the `want` to lease now.
Choice ChoosePieces(OpContext& context, const Job& job, const Task& task, size_t want);

// Forgets tasks and jobs that are gone.
void CollectHoldings(OpContext& context);

}  // namespace headrace::dispatch
