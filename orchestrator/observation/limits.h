// What a job is held back by, in a word: for `headrace top`, logs and dashboards. By the same
// figures that policies see.
#pragma once

#include <string_view>

#include "orchestrator/observation/observation.h"

namespace headrace::orchestrate {

enum class Limit {
  kNothing,  // it is not read now
  kTrainer,  // its trainers do not wait: they are what is slow
  kNetwork,  // batches are finished and on their way
  kWorkers,  // workers are busy with it
  kSource,   // workers wait, too: for storage, or for subprocesses
  kNoWorker,
  kUnknown,  // the window told too little
};
std::string_view Word(Limit limit);  // "trainer", "network", ...
// What to do about it; a clause.
std::string_view Advice(Limit limit);

Limit LimitOf(const JobObservation& job, const Observation& observation);

}  // namespace headrace::orchestrate
