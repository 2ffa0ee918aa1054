#include "orchestrator/placement/placement_question.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fmt/format.h"

namespace headrace::orchestrate {
namespace {

constexpr double kUsableGuess = 0.9;
constexpr double kGrownShare = 1.1;  // a cache that is there need not be built for that much more

// In front of which step a cut of the profile is, as pipelines are written.
std::optional<size_t> WrittenCut(const PipelineFacts& facts, size_t cut) {
  return cut == 0 ? facts.source_cut : facts.steps[cut - 1].cut;
}

std::string NameOf(const JobProfile& profile, size_t cut) {
  return cut == 0 ? "the source" : profile.steps[cut - 1].name;
}

// The cut of the profile that rows are kept at; nullopt: at none.
std::optional<size_t> ProfileCut(const PipelineFacts& facts, size_t written) {
  for (size_t cut = facts.steps.size() + 1; cut-- > 0;) {
    const std::optional<size_t> at = WrittenCut(facts, cut);
    if (at.has_value() && *at <= written) return *at == written ? std::optional(cut) : std::nullopt;
  }
  return std::nullopt;
}

size_t ReadyOf(const Observation& seen) { return std::max<size_t>(1, seen.ready()); }

void AddTiers(const Observation& seen, const PlacementMemory& memory, ClusterProfile& cluster) {
  std::map<std::string, double> capacity;
  for (const TierObservation& tier : seen.tiers) {
    double& bytes = capacity[tier.tier];
    const bool own = tier.tier == "memory" || tier.tier == "disk";
    bytes = own ? bytes + tier.capacity_bytes : std::max(bytes, tier.capacity_bytes);
  }
  for (const auto& [name, bytes] : capacity) {
    const auto known = memory.tiers.find(name);
    TierProfile profile =
        known == memory.tiers.end() ? TierMemory().Profile(name) : known->second.Profile(name);
    profile.capacity_bytes = bytes;
    profile.codec_seconds_per_byte = memory.CodecSecondsPerByte();
    cluster.tiers.push_back(std::move(profile));
  }
}

void AddSource(const Observation& seen, const std::vector<AskedJob>& jobs,
               ClusterProfile& cluster) {
  double readers = 0, rate = 0, error = 0;
  for (const WorkerObservation& worker : seen.workers) {
    if (worker.condition == WorkerCondition::kReady) readers += worker.readers;
  }
  for (const AskedJob& job : jobs) {
    if (!job.memory->reader_rate.known()) continue;
    rate = std::max(rate, job.memory->reader_rate.value());
    error = std::max(error, job.memory->reader_rate.error());
  }
  cluster.source_bytes_per_second =
      rate > 0 ? readers * rate : std::numeric_limits<double>::infinity();
  cluster.source_bandwidth_error = error;
}

ClusterProfile ClusterOf(const Observation& seen, const CachingOptions& options,
                         const PlacementMemory& memory, const std::vector<AskedJob>& jobs) {
  ClusterProfile cluster;
  double cores = 0, workers = 0;
  for (const WorkerObservation& worker : seen.workers) {
    if (worker.condition != WorkerCondition::kReady) continue;
    cores += worker.cores;
    workers += 1;
  }
  cluster.worker_cores = workers > 0 ? cores / workers : 1;
  cluster.efficiency = memory.usable.known() ? memory.usable.value() : kUsableGuess;
  cluster.network_bytes_per_second = options.network_bytes_per_second > 0
                                         ? options.network_bytes_per_second
                                         : std::numeric_limits<double>::infinity();
  cluster.worker_price = options.worker_price;
  const size_t ready = ReadyOf(seen);
  cluster.min_workers =
      static_cast<int>(options.scales ? std::max<size_t>(1, options.min_workers) : ready);
  cluster.max_workers =
      static_cast<int>(options.scales ? std::max<size_t>(1, options.max_workers) : ready);
  AddTiers(seen, memory, cluster);
  AddSource(seen, jobs, cluster);
  return cluster;
}

// What the job has in a cache already: where it was told to keep it, or where its pipeline says.
void AddExisting(const AskedJob& job, const JobProfile& profile, PlacementQuestion& question) {
  const PipelineFacts& facts = *job.seen->facts;
  const JobMemory& memory = *job.memory;
  CachePlacement at;
  if (job.seen->placement.has_value()) {
    at = *job.seen->placement;
    // Tasks of the running epoch fill it, or have found it filled: for those to come it is there.
    if (memory.chosen.has_value() && job.seen->epoch <= memory.chosen_in_epoch) return;
    if (job.seen->epoch > memory.chosen_in_epoch + 1)
      at.share = std::min(at.share, memory.kept_share);  // it may not have had the room
  } else if (facts.own_cache.has_value()) {
    at = {.cut = *facts.own_cache, .tier = facts.own_tier};
  } else {
    return;
  }
  const std::optional<size_t> cut = ProfileCut(facts, at.cut);
  if (at.none || !cut.has_value()) return;
  for (size_t tier = 0; tier < question.cluster.tiers.size(); ++tier) {
    if (at.tier != "auto" && at.tier != question.cluster.tiers[tier].name) continue;
    question.existing.push_back({profile.prefix_keys[*cut], tier, kGrownShare * at.share});
  }
}

// A cache that is where its pipeline orders it.
void TakeRoom(const JobObservation& seen, JobMemory& memory, const CachingOptions& options,
              PlacementQuestion& question) {
  if (seen.cache != CacheChoosing::kPipeline || seen.facts == nullptr) return;
  if (!seen.facts->own_cache.has_value()) return;
  const std::optional<size_t> cut = ProfileCut(*seen.facts, *seen.facts->own_cache);
  const JobProfile profile = AskedProfile({&seen, &memory}, options);
  if (!cut.has_value() || !(profile.rows > 0)) return;
  double bytes = CacheBytes(profile, {.cut = *cut});
  for (size_t tier = 0; tier < question.cluster.tiers.size(); ++tier) {
    TierProfile& place = question.cluster.tiers[tier];
    if (seen.facts->own_tier != "auto" && seen.facts->own_tier != place.name) continue;
    const double taken = std::min(bytes, place.capacity_bytes);
    place.capacity_bytes -= taken;
    bytes -= taken;
    if (taken > 0) question.existing.push_back({profile.prefix_keys[*cut], tier, 1});
  }
}

}  // namespace

double EpochsLeft(const JobObservation& job) {
  const auto begun = static_cast<double>(job.epoch + 1);
  return job.epochs > 0 ? std::max(0.0, job.epochs - begun) : begun;
}

std::string WhyUndecided(const AskedJob& job, const EvidenceRule& rule) {
  const JobObservation& seen = *job.seen;
  const JobMemory& memory = *job.memory;
  if (seen.facts == nullptr) {
    return fmt::format("its pipeline is not known here: {}",
                       seen.no_facts.empty() ? "the dispatcher did not tell it" : seen.no_facts);
  }
  if (seen.facts->own_is_fixed)
    return "its pipeline's cache has `variants`, whose draws hang on where it is";
  if (!seen.facts->source_cut.has_value()) return seen.facts->no_source_cut;
  if (const std::string steps = Unmeasured(memory.sums, *seen.facts); !steps.empty())
    return fmt::format("not yet seen at work: {}", steps);
  const ProfileEvidence evidence =
      EnoughEvidence(ProfileOf(memory.sums, *seen.facts), memory.sums.seconds, rule);
  if (!evidence.enough) return evidence.reason;
  if (!memory.demand.known() || memory.RowsPerElement() <= 0)
    return "its trainers have not taken anything yet";
  if (memory.Rows() <= 0)
    return "no split was read to its end yet, which would tell how many rows an epoch has";
  if (EpochsLeft(seen) < 1) return "no epoch will begin that could read from a cache";
  return {};
}

JobProfile AskedProfile(const AskedJob& job, const CachingOptions& options) {
  JobProfile profile = ProfileOf(job.memory->sums, *job.seen->facts);
  profile.job = job.seen->name;
  profile.rows = job.memory->Rows();
  profile.epochs_left = EpochsLeft(*job.seen);
  profile.demand = job.memory->demand.value() * job.memory->RowsPerElement();
  profile.demand_error = job.memory->demand.error();
  profile.trainer_price =
      options.trainer_price * static_cast<double>(std::max<size_t>(1, job.seen->connected));
  return profile;
}

PlacementQuestion QuestionOf(const Observation& seen, const CachingOptions& options,
                             PlacementMemory& memory, const std::vector<AskedJob>& jobs) {
  PlacementQuestion question;
  question.cluster = ClusterOf(seen, options, memory, jobs);
  for (const JobObservation& job : seen.jobs)
    TakeRoom(job, memory.jobs[job.job], options, question);
  for (const AskedJob& job : jobs) {
    question.jobs.push_back(AskedProfile(job, options));
    AddExisting(job, question.jobs.back(), question);
  }
  return question;
}

std::vector<double> BandwidthOf(const PlacementQuestion& question) {
  std::vector<double> free;
  for (const TierProfile& tier : question.cluster.tiers) free.push_back(tier.read_bytes_per_second);
  const double source = question.cluster.source_bytes_per_second;
  free.push_back(std::isfinite(source) ? source : 0);
  return free;
}

std::vector<PlanStep> StepsOf(const JobProfile& profile, const PipelineFacts& facts) {
  std::vector<PlanStep> steps;
  steps.push_back({.step = std::string(kReadStep),
                   .cpu_seconds = profile.source_cpu_seconds,
                   .bytes = profile.source_bytes,
                   .no_cut = facts.no_source_cut});
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const StepProfile& step = profile.steps[i];
    const double error = CpuError(step);
    steps.push_back(
        {.step = step.name,
         .cpu_seconds = step.visits * step.cpu_seconds,
         .error = step.cpu_seconds > 0 && std::isfinite(error) ? error / step.cpu_seconds : 0,
         .bytes = step.bytes_out,
         .rows = step.visits,
         .no_cut = facts.steps[i].no_cut});
  }
  return steps;
}

std::optional<CacheChoice> ChoiceOf(const PlacementQuestion& question,
                                    const CachePlacement& placement, const JobObservation& job) {
  if (placement.none || job.facts == nullptr) return std::nullopt;
  const std::optional<size_t> cut = ProfileCut(*job.facts, placement.cut);
  for (size_t tier = 0; cut.has_value() && tier < question.cluster.tiers.size(); ++tier) {
    if (placement.tier == "auto" || placement.tier == question.cluster.tiers[tier].name)
      return CacheChoice{*cut, tier, placement.share};
  }
  return std::nullopt;
}

EpochPrediction PredictNow(const PlacementQuestion& question, size_t index,
                           const std::optional<CacheChoice>& choice, const Observation& seen,
                           const AskedJob& job) {
  double weights = 0;
  for (const JobObservation& other : seen.jobs) {
    if (other.clients > 0 || other.job == job.seen->job) weights += other.weight;
  }
  ClusterProfile cluster = question.cluster;
  if (weights > 0) cluster.worker_cores *= job.seen->weight / weights;
  return PredictEpochWith(question.jobs[index], cluster, {.choice = choice},
                          static_cast<int>(ReadyOf(seen)));
}

CachePlan PlanOf(const PlacementQuestion& question, size_t index, const JobPlacement& placement,
                 const AskedJob& job) {
  const PipelineFacts& facts = *job.seen->facts;
  const JobProfile& profile = question.jobs[index];
  const auto told = [&](const CacheChoice& choice) {
    return CachePlacement{.cut = WrittenCut(facts, choice.cut).value_or(0),
                          .tier = question.cluster.tiers[choice.tier].name,
                          .share = choice.share};
  };
  CachePlan plan;
  plan.job = job.seen->job;
  plan.solved = true;
  plan.reason = question.cluster.tiers.empty()
                    ? "no worker has a cache (cache.memory_bytes, cache.disk in its config)"
                    : placement.reason;
  plan.placement =
      placement.choice.has_value() ? told(*placement.choice) : CachePlacement{.none = true};
  plan.steps = StepsOf(profile, facts);
  for (const PlacementCandidate& candidate : placement.candidates) {
    PlanCandidate& out = plan.candidates.emplace_back();
    if (candidate.choice.has_value()) {
      out.placement = told(*candidate.choice);
      out.after = NameOf(profile, candidate.choice->cut);
    }
    out.bytes = candidate.bytes;
    out.cost = candidate.cost;
    out.rows_per_second = candidate.epoch.rows_per_second;
    out.workers = candidate.epoch.workers;
    out.bottleneck = Name(candidate.epoch.bottleneck);
    out.chosen = candidate.chosen;
  }
  plan.rows = profile.rows;
  plan.epochs_left = profile.epochs_left;
  plan.demand = profile.demand;
  return plan;
}

}  // namespace headrace::orchestrate
