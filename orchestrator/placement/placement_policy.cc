#include "orchestrator/placement/placement_policy.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "orchestrator/placement/placement_question.h"

namespace headrace::orchestrate {
namespace {

constexpr std::string_view kPolicy = "placement";
constexpr double kStillSaves = 0.01;  // of the cost, what a cache that is there must save to stay

uint64_t FingerprintOf(const std::vector<AskedJob>& jobs) {
  uint64_t print = 0xCBF29CE484222325u;  // FNV-1a
  for (const AskedJob& job : jobs) print = (print ^ job.seen->job) * 0x100000001B3u;
  return print;
}

// One window's view of things.
class Turn {
 public:
  Turn(const CachingOptions& options, const Observation& seen, PlacementMemory& memory)
      : options_(options), seen_(seen), memory_(memory) {}

  std::vector<Decision> Decide() {
    for (const JobObservation& job : seen_.jobs) {
      if (job.cache != CacheChoosing::kAuto) continue;
      AskedJob asked{&job, &memory_.jobs[job.job]};
      const std::string why_not = WhyUndecided(asked, options_.evidence);
      if (why_not.empty()) {
        asked_.push_back(asked);
      } else {
        Undecided(asked, why_not);
      }
    }
    if (!asked_.empty()) DecideAsked();
    return std::move(decisions_);
  }

 private:
  // What it was told before stays, be it by another orchestrator: nobody knows better.
  void Undecided(const AskedJob& job, const std::string& why) {
    if (job.memory->plan != nullptr && job.memory->plan->solved) {
      Hold(job, *job.memory->plan, fmt::format("it stays as it is: {}", why));
      return;
    }
    CachePlan plan;
    plan.job = job.seen->job;
    plan.reason = fmt::format("nothing is decided: {}", why);
    plan.placement = job.seen->placement;
    if (job.seen->facts != nullptr)
      plan.steps = StepsOf(ProfileOf(job.memory->sums, *job.seen->facts), *job.seen->facts);
    Hold(job, std::move(plan));
  }

  void DecideAsked() {
    const PlacementQuestion question = QuestionOf(seen_, options_, memory_, asked_);
    std::string why;
    for (size_t i = 0; i < asked_.size(); ++i) {
      const std::string reason = LookAgain(question, i);
      if (why.empty()) why = reason;
    }
    if (why.empty()) {
      for (size_t i = 0; i < asked_.size(); ++i) Keep(question, i);
      return;
    }
    PlacementDecision answer = DecidePlacement(question, options_.rule);
    StayWherePossible(question, answer);
    for (size_t i = 0; i < asked_.size(); ++i) {
      ResolveState& state = asked_[i].memory->resolve;
      state.solved = true;
      state.off_windows = 0;
      state.jobs_fingerprint = FingerprintOf(asked_);
      state.bandwidth_when_solved = BandwidthOf(question);
      Solved(question, i, answer.jobs[i], why);
    }
  }

  // What is not clearly better than what was decided before is not worth the change: figures that
  // are nearly even would have caches go to and fro with the noise.
  void StayWherePossible(const PlacementQuestion& question, PlacementDecision& answer) const {
    std::vector<std::optional<CacheChoice>> plan;
    for (const JobPlacement& placement : answer.jobs) plan.push_back(placement.choice);
    const auto decided = plan;
    for (size_t i = 0; i < plan.size(); ++i) {
      const std::optional<CachePlacement>& before = asked_[i].memory->chosen;
      if (!before.has_value()) continue;
      const auto current = ChoiceOf(question, *before, *asked_[i].seen);
      if (current.has_value() && Stays(question, i, *current, plan[i])) plan[i] = current;
    }
    if (plan == decided) return;
    const double cost = PlanCost(question, plan);
    // Not finite: all together do not fit.
    if (!(cost * (1 - options_.rule.least_saving) <= answer.cost)) return;
    for (size_t i = 0; i < plan.size(); ++i) {
      if (plan[i] != decided[i]) StayAt(question, i, *plan[i], answer.jobs[i]);
    }
  }

  bool Stays(const PlacementQuestion& question, size_t index, const CacheChoice& current,
             const std::optional<CacheChoice>& better) const {
    const PlacementQuestion alone{{question.jobs[index]}, question.cluster, question.existing};
    const double now = PlanCost(alone, {current});
    const double then = PlanCost(alone, {better});
    if (better.has_value()) return now * (1 - options_.rule.least_saving) <= then;
    return now <= (1 - kStillSaves) * then;
  }

  void StayAt(const PlacementQuestion& question, size_t index, const CacheChoice& choice,
              JobPlacement& placement) const {
    placement.choice = choice;
    placement.with = PredictEpoch(question.jobs[index], question.cluster, {.choice = choice});
    placement.reason = fmt::format(
        "it stays in {}, since nothing else costs clearly less: {:.4g} rows/s instead of {:.4g} "
        "without a cache",
        question.cluster.tiers[choice.tier].name, placement.with.rows_per_second,
        placement.without.rows_per_second);
    for (PlacementCandidate& candidate : placement.candidates) {
      candidate.chosen = candidate.choice.has_value() && candidate.choice->cut == choice.cut &&
                         candidate.choice->tier == choice.tier;
    }
  }

  // Why the question is to be answered again, for the sake of this job; empty: it is not.
  std::string LookAgain(const PlacementQuestion& question, size_t index) {
    const AskedJob& job = asked_[index];
    JobMemory& memory = *job.memory;
    ResolveWindow window;
    window.observed_rows_per_second = memory.last_rate;
    if (memory.last_rate > 0) {
      const bool with = memory.last_with;
      window.predicted_rows_per_second =
          Predicted(question, index, with ? InForce(job) : std::nullopt).rows_per_second;
    }
    window.free_bandwidth = BandwidthOf(question);
    window.jobs = asked_.size();
    window.jobs_fingerprint = FingerprintOf(asked_);
    window.epoch_ended = memory.epoch_ended;
    ResolveDecision decision =
        ShouldSolveAgain(options_.resolve, window, std::move(memory.resolve));
    memory.resolve = std::move(decision.state);
    return decision.solve ? std::move(decision.reason) : std::string();
  }

  // Where the rows of the job's tasks come from.
  static std::optional<CachePlacement> InForce(const AskedJob& job) {
    if (job.seen->placement.has_value()) return job.seen->placement;
    const PipelineFacts& facts = *job.seen->facts;
    if (!facts.own_cache.has_value()) return std::nullopt;
    return CachePlacement{.cut = *facts.own_cache, .tier = facts.own_tier};
  }

  EpochPrediction Predicted(const PlacementQuestion& question, size_t index,
                            const std::optional<CachePlacement>& placement) const {
    const AskedJob& job = asked_[index];
    const std::optional<CacheChoice> choice =
        placement.has_value() ? ChoiceOf(question, *placement, *job.seen) : std::nullopt;
    return PredictNow(question, index, choice, seen_, job);
  }

  void AddRates(const PlacementQuestion& question, size_t index, CachePlan& plan) const {
    const EpochPrediction with = Predicted(question, index, plan.placement);
    const EpochPrediction without = Predicted(question, index, std::nullopt);
    plan.predicted = with.rows_per_second;
    plan.predicted_without = without.rows_per_second;
    plan.bottleneck = Name(with.bottleneck);
    plan.bottleneck_without = Name(without.bottleneck);
    plan.workers = with.workers;
    const JobMemory& memory = *asked_[index].memory;
    plan.observed_without = memory.observed_without.value();
    const bool none = !plan.placement.has_value() || plan.placement->none;
    plan.observed = none ? plan.observed_without : memory.observed_with.value();
  }

  Numbers NumbersOf(const CachePlan& plan) const {
    Numbers numbers = {
        {"predicted", plan.predicted},    {"predicted_without", plan.predicted_without},
        {"observed", plan.observed},      {"observed_without", plan.observed_without},
        {"demand", plan.demand},          {"rows", plan.rows},
        {"epochs_left", plan.epochs_left}};
    if (plan.placement.has_value() && !plan.placement->none)
      numbers.emplace_back("share", plan.placement->share);
    return numbers;
  }

  // For the plan's own reason, or another.
  void Hold(const AskedJob& job, CachePlan plan, std::string reason = {}) {
    JobMemory& memory = *job.memory;
    memory.plan = std::make_shared<const CachePlan>(std::move(plan));
    Decision decision;
    decision.policy = kPolicy;
    decision.action.subject = memory.subject.empty() ? job.seen->name : memory.subject;
    decision.reason = reason.empty() ? memory.plan->reason : std::move(reason);
    decision.numbers = NumbersOf(*memory.plan);
    decision.plan = memory.plan;
    decisions_.push_back(std::move(decision));
  }

  // Nothing to solve: what was decided, with what is seen by now.
  void Keep(const PlacementQuestion& question, size_t index) {
    CachePlan plan = *asked_[index].memory->plan;
    AddRates(question, index, plan);
    Hold(asked_[index], std::move(plan));
  }

  void Solved(const PlacementQuestion& question, size_t index, const JobPlacement& answer,
              const std::string& why) {
    const AskedJob& job = asked_[index];
    JobMemory& memory = *job.memory;
    CachePlan plan = PlanOf(question, index, answer, job);
    const std::optional<CachePlacement> before = memory.chosen;
    const bool kept_before = InForce(job).has_value() && !InForce(job)->none;
    AddRates(question, index, plan);
    if (before == plan.placement) {
      Hold(job, std::move(plan));
      return;
    }
    memory.chosen = plan.placement;
    memory.chosen_in_epoch = job.seen->epoch;
    memory.kept_share = 0;
    memory.observed_with.Clear();
    plan.observed = plan.placement->none ? plan.observed_without : 0;
    memory.subject = job.seen->name;
    if (answer.choice.has_value()) {
      const size_t cut = answer.choice->cut;
      memory.subject +=
          "/" + (cut == 0 ? std::string("source") : question.jobs[index].steps[cut - 1].name);
    }
    Decision decision;
    decision.policy = kPolicy;
    decision.action.subject = memory.subject;
    decision.reason = fmt::format("{}; {}", why, plan.reason);
    decision.numbers = NumbersOf(plan);
    if (answer.choice.has_value()) {
      decision.action.verb = Verb::kPlaceCache;
      decision.action.where = plan.placement->tier;
      decision.action.amount = CacheBytes(question.jobs[index], *answer.choice);
    } else if (kept_before) {
      decision.action.verb = Verb::kDropCache;
    }
    memory.plan = std::make_shared<const CachePlan>(std::move(plan));
    decision.plan = memory.plan;
    decisions_.push_back(std::move(decision));
  }

  const CachingOptions& options_;
  const Observation& seen_;
  PlacementMemory& memory_;
  std::vector<AskedJob> asked_;
  std::vector<Decision> decisions_;
};

}  // namespace

std::vector<Decision> DecideCaches(const CachingOptions& options, const Observation& observation,
                                   CachingState& state) {
  state.memory.Learn(observation);
  return Turn(options, observation, state.memory).Decide();
}

std::unique_ptr<Policy> MakeCachingPolicy(const CachingOptions& options) {
  return MakePolicy<CachingOptions, CachingState>(std::string(kPolicy), options, DecideCaches);
}

}  // namespace headrace::orchestrate
