// The tail of an epoch: who has nothing left to lease waits a moment, who has leases that it has
// not read is asked to give some up (WorkerBeatReply.shed), and what it gives up goes to those that
// wait. In lanes that tasks share; an ordered lane is one task's, and whole windows are made.
#pragma once

#include "dispatcher/context/op_context.h"

namespace headrace::dispatch {

// A lease was granted to the task, or it was told that there is none.
void NoteAnswered(OpContext& context, TaskId task, bool leased);
// The task asks, and nothing is to be leased: others may give some up soon.
bool ShouldWait(OpContext& context, const Job& job, const Task& task);
// Little is left to lease, other tasks have nothing, and this one has something.
bool LeavesToIdle(OpContext& context, const Job& job, const Task& task);
// Adds the tasks of the worker that should give some up.
void FillShed(OpContext& context, WorkerId worker, const v1::WorkerBeatRequest& request,
              v1::WorkerBeatReply& reply);
// Forgets tasks that are gone.
void CollectStragglers(OpContext& context);

}  // namespace headrace::dispatch
