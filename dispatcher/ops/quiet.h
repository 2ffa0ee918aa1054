// Beats whose answers rest on no event and acknowledge none: "go on as you are". They need not wait
// for the journal, unless they made an event themselves.
#pragma once

#include "headrace/v1/dispatcher.pb.h"

namespace headrace::dispatch {

inline bool TellsNothing(const v1::WorkerBeatRequest& request, const v1::WorkerBeatReply& reply) {
  return request.splits().empty() && request.errors().empty() && !request.draining() &&
         !request.leaving() && reply.start().empty() && reply.stop().empty() &&
         reply.wake().empty() && !reply.drained() && !reply.unknown_worker();
}

inline bool TellsNothing(const v1::ClientBeatRequest& request, const v1::ClientBeatReply& reply) {
  return request.delivered().empty() && request.dropped().empty() &&
         request.confirmed_fences().empty() && request.broken_tasks().empty() &&
         !request.has_steps() && reply.fences().empty() && !reply.tasks_changed() &&
         reply.needs().empty() && !reply.epoch_finished() && !reply.has_failure() &&
         !reply.unknown_client();
}

}  // namespace headrace::dispatch
