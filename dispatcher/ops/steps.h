// `uneven` other than free: every rank is handed the same number of batches, and none waits for one
// that does not come.
//
// A batch is handed over only when it is granted, and batch n is granted when every rank is sure of
// its n-th: it holds it, and keeps it whatever is fenced. So the ranks' counts never differ by more
// than what they may still hand over, and the end is a number that is decided once, here.
//
// At the end some ranks may hold what others wait for. When nothing else moves, and all ranks have
// handed over what was granted, the tasks are fenced (nothing that was promised is lost by it), and
// one task makes what is left again, a batch at a time for each rank. What remains then is fewer
// batches than ranks: dropped, padded, or an error.
#pragma once

#include "dispatcher/context/op_context.h"

namespace headrace::dispatch {

bool IsUneven(const Job& job);  // other than free
// INVALID_ARGUMENT when the job cannot be of that kind.
absl::Status CheckUneven(const v1::JobOptions& options, const JobData& dataset);
// Grants what can be granted, decides the end when it is there, finishes the epoch when all ranks
// have reached it. Idempotent: called at every beat, and by the duties.
void AdvanceSteps(OpContext& context, JobId job);
// So many batches beyond the granted ones a client may hold.
uint32_t StepsHold(const Epoch& epoch);

}  // namespace headrace::dispatch
