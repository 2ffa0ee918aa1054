// A fence that waits for its confirmations. From its start no lease of its tasks is good; when no
// client is awaited any more, their splits may be leased again.
#pragma once

#include <map>
#include <set>
#include <string>

#include "common/ids.h"
#include "headrace/v1/journal.pb.h"

namespace headrace::dispatch {

struct FenceRound {
  std::set<TaskId> tasks;
  // Clients that may hold frames of these tasks and have not confirmed, with the tasks that each
  // still has to confirm.
  std::map<ClientId, std::set<TaskId>> awaited;
  v1::FenceCause cause = v1::FENCE_CAUSE_UNSPECIFIED;
  bool give_up = false;  // at most once: what was not delivered is not leased again
  std::string reason;

  bool Complete() const { return awaited.empty(); }
};

}  // namespace headrace::dispatch
