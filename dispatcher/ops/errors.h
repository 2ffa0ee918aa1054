// What a job does about failed records and failed tasks.
#pragma once

#include "dispatcher/context/op_context.h"

namespace headrace::dispatch {

// Ends the job when its failed records are more than its ErrorPolicy allows.
void CheckErrorBudget(OpContext& context, JobId job);
// Task errors of a beat: a passing one has the task fenced and its work given to another, a few
// times an epoch; any other ends the job.
void TakeErrors(OpContext& context, WorkerId worker, const v1::WorkerBeatRequest& request);

}  // namespace headrace::dispatch
