// From what was learned to the question that DecidePlacement answers, and back from its answer to
// what a job is told. Pure functions, between placement_memory.h and placement_policy.cc.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/placement/placement_policy.h"

namespace headrace::orchestrate {

// A job that is asked about.
struct AskedJob {
  const JobObservation* seen = nullptr;
  JobMemory* memory = nullptr;
};

// Why nothing can be decided about the job now; empty: it can.
std::string WhyUndecided(const AskedJob& job, const EvidenceRule& rule);

// As placement wants it.
JobProfile AskedProfile(const AskedJob& job, const CachingOptions& options);

// Epochs that will begin after the running one. Where trainers did not say, as many more as they
// have begun.
double EpochsLeft(const JobObservation& job);

// Of these jobs, in their order; others whose pipelines have caches that are not to be moved take
// their room.
PlacementQuestion QuestionOf(const Observation& seen, const CachingOptions& options,
                             PlacementMemory& memory, const std::vector<AskedJob>& jobs);

// What is left of each tier's bandwidth, and of the source's, in a fixed order.
std::vector<double> BandwidthOf(const PlacementQuestion& question);

// The job's plan: `placement` is the answer for question.jobs[index].
CachePlan PlanOf(const PlacementQuestion& question, size_t index, const JobPlacement& placement,
                 const AskedJob& job);

// Rows/s with the workers that there are, of which other jobs have their shares; `placement` as the
// plan has it.
EpochPrediction PredictNow(const PlacementQuestion& question, size_t index,
                           const std::optional<CacheChoice>& choice, const Observation& seen,
                           const AskedJob& job);

// The choice of question.jobs[index] that `placement` is; nullopt: none of them.
std::optional<CacheChoice> ChoiceOf(const PlacementQuestion& question,
                                    const CachePlacement& placement, const JobObservation& job);

// Of a profile, for people: the source first.
std::vector<PlanStep> StepsOf(const JobProfile& profile, const PipelineFacts& facts);

}  // namespace headrace::orchestrate
