// What the dispatcher does by itself, every background_period: each duty a function in its own
// file, run under the service's mutex.
#pragma once

#include "dispatcher/context/op_context.h"

namespace headrace::dispatch {

// Workers silent for longer than worker_timeout are lost.
void ExpireWorkers(OpContext& context);
// Clients silent for longer than client_timeout are lost; where on_client_loss is `wait` they are
// waited for instead.
void ExpireClients(OpContext& context);
// Epochs of which nothing is still to come are finished. (Ops do so at once; this is for what they
// may have missed.)
void FinishEpochs(OpContext& context);
// Splits that a worker makes nothing of, while others have none left, are given out again.
void Speculate(OpContext& context);
// Free lanes and idle workers get tasks.
void RefillSlots(OpContext& context);
// Jobs that had no client for job_grace end; measurements of what is over are dropped.
void CollectJobs(OpContext& context);

// All of them, in a good order.
void RunDuties(OpContext& context);

}  // namespace headrace::dispatch
