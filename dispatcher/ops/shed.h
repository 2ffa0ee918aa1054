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
// A task that makes nothing of its splits though nothing holds it up, while others have none left:
// its read hangs, or its worker is wedged, alive as it may be. Its splits are given out again,
// under the fence that a lost worker's would be: whatever it still makes of them is dropped.
// (Speculative execution, Dean and Ghemawat, "MapReduce", section 3.6, with the fence in place of
// the race.)
void GiveOutStuck(OpContext& context, JobId job);
// Splits of the epoch were taken from that worker so, and others are better places for them.
bool WasStuck(const OpContext& context, const Job& job, WorkerId worker);
// Forgets tasks that are gone.
void CollectStragglers(OpContext& context);

}  // namespace headrace::dispatch
