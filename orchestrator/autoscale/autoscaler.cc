#include "orchestrator/autoscale/autoscaler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"

namespace headrace::orchestrate {
namespace {

constexpr double kStrongStall = 0.10;  // of the time: seen in one window, if a change explains it
constexpr double kFirstStall = 0.05;   // enough in the first window with a fleet
constexpr size_t kFirstPatience = 32;  // windows until a number that was too few is tried again
constexpr size_t kMostPatience = 512;
constexpr double kBetweenEpochs = 10;    // times as patient while trainers are connected
constexpr double kCeilingMargin = 1.1;   // of the need, where a shared limit is known
constexpr double kWorthwhile = 0.99;     // of the cost, that more workers must bring it to
constexpr double kCarefulGrowth = 1.25;  // where a shared limit was met before

// One call's view of things.
struct Turn {
  const AutoscaleOptions& options;
  const Observation& seen;
  AutoscaleState& state;
  size_t workers = 0;  // that were asked for
  Fleet fleet = {};
  std::vector<const JobObservation*> jobs = {};  // that run, as in fleet.jobs
  std::vector<double> shares = {};               // theirs, of the present fleet
  double error = 0;                              // of the need, relative

  const JobEvidence& evidence(size_t job) const { return state.evidence.jobs.at(jobs[job]->name); }
  double StallOf(size_t job) const;
  size_t Worst() const;  // the job that waits most, of those that more workers could help
  double Stall() const { return jobs.empty() ? 0 : StallOf(Worst()); }
  bool Starved() const;
  bool Calm() const;
};

std::vector<double> SharesOf(const Fleet& fleet, double workers) {
  std::vector<Claim> claims;
  for (const JobLoad& job : fleet.jobs) {
    claims.push_back(job.claim);
    claims.back().need = job.Need();
  }
  return FairShares(claims, workers);
}

// How much of their time its trainers wait: the median of the last windows, so that an odd one
// moves nothing; but the last alone, when a step in what they take or in what rows cost explains
// it. A job that its quota holds back does not count.
double Turn::StallOf(size_t job) const {
  const Claim& claim = fleet.jobs[job].claim;
  if (claim.most > 0 && shares[job] >= claim.most - 1e-6) return 0;
  const JobEvidence& known = evidence(job);
  if (known.stalls.empty()) return 0;
  const double last = known.stalls.back();
  const bool explained = known.changed || known.now_need > 1.1 * shares[job];
  return last > kStrongStall && explained ? last : RecentMedian(known.stalls);
}

size_t Turn::Worst() const {
  size_t worst = 0;
  for (size_t i = 1; i < jobs.size(); ++i) {
    if (StallOf(i) > StallOf(worst)) worst = i;
  }
  return worst;
}

bool Turn::Starved() const {
  for (size_t i = 0; i < jobs.size(); ++i) {
    // What is little is believed when it was seen twice.
    const bool once = evidence(i).stalls.size() == 1;
    if (StallOf(i) > (once ? kFirstStall : options.stall_high)) return true;
  }
  return false;
}

bool Turn::Calm() const {
  for (size_t i = 0; i < jobs.size(); ++i) {
    const JobEvidence& known = evidence(i);
    if (known.stalls.empty() || known.stalls.back() > options.stall_low) return false;
    if (RecentMedian(known.stalls) > options.stall_low) return false;
    if (RecentMedian(known.fills) < options.queue_high) return false;
  }
  return !jobs.empty();
}

// What trainers see corrects what the model thinks of workers: how long they wait says how much
// the fleet makes, and where none waits it makes enough.
void Calibrate(Turn& turn) {
  const std::vector<double> slowdowns = Slowdowns(turn.fleet, static_cast<double>(turn.workers));
  for (size_t i = 0; i < turn.jobs.size(); ++i) {
    const JobEvidence& known = turn.evidence(i);
    JobLoad& load = turn.fleet.jobs[i];
    if (known.stalls.empty() || load.ceiling > 0 || turn.shares[i] <= 0) continue;
    const double stall = std::min(turn.StallOf(i), 0.99);
    if (stall > turn.options.stall_high) {
      load.worker_rate *= slowdowns[i] * (1 - stall);
    } else if (stall < turn.options.stall_low && slowdowns[i] > 1 &&
               RecentMedian(known.fills) >= turn.options.queue_high) {
      load.worker_rate *= slowdowns[i];
    }
  }
}

Turn Look(const AutoscaleOptions& options, const Observation& seen, AutoscaleState& state) {
  Turn turn{options, seen, state, seen.workers_wanted};
  turn.fleet.prices = options.prices;
  turn.fleet.least = options.min_workers;
  turn.fleet.most = options.max_workers;
  for (const JobObservation& job : seen.jobs) {
    if (job.clients == 0) continue;
    turn.jobs.push_back(&job);
    turn.fleet.jobs.push_back(state.evidence.LoadOf(job));
  }
  turn.error = state.evidence.NeedError(seen);
  turn.shares = SharesOf(turn.fleet, static_cast<double>(turn.workers));
  return turn;
}

Numbers NumbersOf(const Turn& turn) {
  double demand = 0;
  for (const JobLoad& load : turn.fleet.jobs) demand += load.demand;
  Numbers numbers = {{"workers", static_cast<double>(turn.workers)},
                     {"ready", static_cast<double>(turn.seen.ready())},
                     {"need", turn.fleet.NeedOf()},
                     {"need_error", turn.error},
                     {"demand", demand},
                     {"stall", turn.Stall()}};
  if (turn.jobs.size() == 1) numbers.emplace_back("worker_rate", turn.fleet.jobs[0].worker_rate);
  return numbers;
}

// "job 'a' takes 412/s and a worker makes 71/s", or of several their needs.
std::string Needs(const Turn& turn) {
  if (turn.jobs.size() == 1) {
    const JobLoad& load = turn.fleet.jobs[0];
    return fmt::format("job '{}' takes {:.3g}/s and a worker makes {:.3g}/s", turn.jobs[0]->name,
                       load.demand, load.worker_rate);
  }
  std::string words;
  for (size_t i = 0; i < turn.jobs.size() && i < 4; ++i) {
    words += fmt::format("{}'{}' {:.1f}", i == 0 ? "" : ", ", turn.jobs[i]->name,
                         turn.fleet.jobs[i].Need());
  }
  if (turn.jobs.size() > 4) words += fmt::format(" and {} more jobs", turn.jobs.size() - 4);
  return fmt::format("workers that jobs can use: {}, together {:.1f}", words, turn.fleet.NeedOf());
}

Decision Hold(const Turn& turn, std::string reason) {
  return {"autoscale", {}, std::move(reason), NumbersOf(turn)};
}

Decision SetWorkers(Turn& turn, size_t workers, std::string reason) {
  Decision decision{"autoscale",
                    {.verb = Verb::kSetWorkers, .amount = static_cast<double>(workers)},
                    fmt::format("{} ({} -> {} workers)", reason, turn.workers, workers),
                    NumbersOf(turn)};
  if (!turn.fleet.jobs.empty() && turn.workers > 0) {
    decision.numbers.emplace_back("cost_now", Cost(turn.fleet, static_cast<double>(turn.workers)));
    decision.numbers.emplace_back("cost_then", Cost(turn.fleet, static_cast<double>(workers)));
  }
  turn.state.evidence.FleetChanges(turn.seen, workers);
  turn.state.settled = 0;
  turn.state.short_seconds = 0;
  turn.state.changing = true;
  return decision;
}

// --- No job, or the first.

Decision WithoutJobs(Turn& turn) {
  turn.state.idle_seconds += turn.seen.window_seconds;
  size_t connected = 0;
  for (const JobObservation& job : turn.seen.jobs) connected += job.connected;
  // Trainers that are still there evaluate, or write a checkpoint.
  const double patience = turn.options.idle_seconds * (connected > 0 ? kBetweenEpochs : 1);
  if (turn.workers > turn.options.min_workers && turn.state.idle_seconds >= patience) {
    return SetWorkers(turn, turn.options.min_workers,
                      fmt::format("no job has been read for {:.0f} s", turn.state.idle_seconds));
  }
  return Hold(turn, fmt::format("no job is read; after {:.0f} s without one the fleet has {} "
                                "workers",
                                patience, turn.options.min_workers));
}

Decision FromNothing(Turn& turn) {
  const size_t known = CheapestFleet(turn.fleet);  // from an epoch before, perhaps
  const size_t workers =
      std::clamp<size_t>(known, 1, std::max<size_t>(1, turn.options.max_workers));
  return SetWorkers(turn, workers,
                    fmt::format("job '{}' waits and there are no workers", turn.jobs[0]->name));
}

// --- Up.

std::string WhyNotMore(const Turn& turn) {
  for (size_t i = 0; i < turn.jobs.size(); ++i) {
    if (turn.fleet.jobs[i].ceiling <= 0) continue;
    return fmt::format(
        "job '{}' waits {:.0f}% of the time, but more workers did not help: something that they "
        "share gives {:.3g}/s at most",
        turn.jobs[i]->name, 100 * turn.Stall(), turn.fleet.jobs[i].ceiling);
  }
  if (turn.workers >= turn.options.max_workers) {
    return fmt::format("job '{}' waits {:.0f}% of the time, and max_workers is {}",
                       turn.jobs[turn.Worst()]->name, 100 * turn.Stall(), turn.options.max_workers);
  }
  return fmt::format(
      "job '{}' waits {:.1f}% of the time, and another worker would cost more than that",
      turn.jobs[turn.Worst()]->name, 100 * turn.Stall());
}

void RememberTooFew(Turn& turn) {
  AutoscaleState::TooFew& few = turn.state.too_few[turn.workers];
  few.need = turn.fleet.NeedOf();
  few.patience = std::clamp(2 * few.patience, kFirstPatience, kMostPatience);
  few.windows_left = few.patience;
}

Decision Up(Turn& turn) {
  size_t wanted = CheapestFleet(turn.fleet);
  for (size_t i = 0; i < turn.jobs.size(); ++i) {
    if (!turn.evidence(i).had_ceiling) continue;
    const double most = std::ceil(kCarefulGrowth * static_cast<double>(turn.workers));
    wanted = std::min(wanted, static_cast<size_t>(most));
  }
  const double now = Cost(turn.fleet, static_cast<double>(turn.workers));
  const double then = Cost(turn.fleet, static_cast<double>(wanted));
  if (wanted <= turn.workers || then > kWorthwhile * now) {
    const size_t enough = CheapestFleet(turn.fleet, kCeilingMargin);
    const bool limited =
        std::ranges::any_of(turn.fleet.jobs, [](const JobLoad& load) { return load.ceiling > 0; });
    if (limited && enough < turn.workers && turn.state.settled >= turn.options.calm_windows)
      return SetWorkers(turn, enough, WhyNotMore(turn));
    return Hold(turn, WhyNotMore(turn));
  }
  const std::string reason =
      fmt::format("job '{}' waits {:.0f}% of the time; {}", turn.jobs[turn.Worst()]->name,
                  100 * turn.Stall(), Needs(turn));
  RememberTooFew(turn);
  return SetWorkers(turn, wanted, reason);
}

// --- Down.

bool TriedInVain(const Turn& turn, size_t workers) {
  const double need = turn.fleet.NeedOf();
  for (const auto& [few, memory] : turn.state.too_few) {
    if (few < workers || memory.windows_left == 0) continue;
    if (std::abs(std::log(std::max(need, 1e-9) / std::max(memory.need, 1e-9))) <
        std::max(0.1, 3 * turn.error)) {
      return true;
    }
  }
  return false;
}

Decision Down(Turn& turn) {
  const size_t surely = CheapestFleet(turn.fleet, 1 + 0.5 * turn.error);
  const std::string calm =
      fmt::format("nobody waits and the trainers' queues are full; {}", Needs(turn));
  if (surely + 1 < turn.workers && !TriedInVain(turn, surely)) {
    return SetWorkers(turn, surely, calm);
  }
  const size_t fewer = turn.workers - 1;
  if (turn.state.settled < turn.options.calm_windows)
    return Hold(turn, calm + "; seen for too short a time to try fewer");
  const bool cheaper = CheapestFleet(turn.fleet) < turn.workers;
  if (cheaper && fewer >= std::max<size_t>(turn.options.min_workers, 1) &&
      !TriedInVain(turn, fewer)) {
    return SetWorkers(turn, fewer, calm);
  }
  return Hold(turn, calm + (cheaper ? "; fewer workers were tried, and were too few"
                                    : "; this is the cheapest fleet"));
}

// --- A fleet that is not what was asked for.

void TrackFleet(const Observation& seen, AutoscaleState& state) {
  const size_t ready = seen.ready();
  if (ready == seen.workers_wanted && seen.workers_lost == 0) {
    ++state.settled;
    state.short_seconds = 0;
    state.changing = false;
  } else {
    state.settled = 0;
    if (ready < seen.workers_wanted) state.short_seconds += seen.window_seconds;
  }
  for (auto& [workers, few] : state.too_few) {
    if (few.windows_left > 0) --few.windows_left;
  }
}

Decision Unsettled(Turn& turn) {
  const size_t ready = turn.seen.ready();
  if (ready > turn.workers) {
    return Hold(turn,
                fmt::format("{} of {} workers are still to leave", ready - turn.workers, ready));
  }
  if (turn.state.changing && turn.state.short_seconds < turn.options.start_patience_seconds) {
    return Hold(turn,
                fmt::format("{} of {} workers are up; the others start", ready, turn.workers));
  }
  return Hold(turn, fmt::format("{} of {} workers are up; those that were lost are replaced, which "
                                "is no reason to scale",
                                ready, turn.workers));
}

// Even a fleet that is short of workers may be larger than anybody needs.
bool FarTooMany(const Turn& turn) {
  for (size_t i = 0; i < turn.jobs.size(); ++i) {
    const JobObservation& job = *turn.jobs[i];
    if (!job.stall.has_value() || *job.stall > turn.options.stall_low) return false;
    if (job.queue_fill < turn.options.queue_high) return false;
    if (turn.evidence(i).demand.windows() < 2) return false;
  }
  return CheapestFleet(turn.fleet, 1 + 2 * turn.error) < turn.seen.ready();
}

Decision DecideFleet(Turn& turn) {
  if (turn.workers > turn.options.max_workers) {
    return SetWorkers(turn, turn.options.max_workers, "max_workers is lower");
  }
  if (turn.workers < turn.options.min_workers) {
    return SetWorkers(turn, turn.options.min_workers, "min_workers is higher");
  }
  if (turn.jobs.empty()) return WithoutJobs(turn);
  turn.state.idle_seconds = 0;
  if (turn.workers == 0) return FromNothing(turn);
  const bool known = turn.fleet.NeedOf() > 0;
  if (turn.state.settled == 0) {
    if (known && turn.seen.ready() < turn.workers && FarTooMany(turn)) return Down(turn);
    return Unsettled(turn);
  }
  if (!known) return Hold(turn, "no trainer has taken anything yet");
  Calibrate(turn);
  if (turn.Starved()) return Up(turn);
  if (turn.Calm()) return Down(turn);
  return Hold(turn, fmt::format("{}; trainers wait {:.1f}% of the time with {} workers",
                                Needs(turn), 100 * turn.Stall(), turn.workers));
}

void AddShares(const Turn& turn, std::vector<Decision>& decisions) {
  if (turn.jobs.size() < 2) return;
  const double workers = static_cast<double>(turn.seen.ready());
  const double need = turn.fleet.NeedOf();
  if (need <= workers) return;  // each has what it needs
  const std::vector<double> shares = SharesOf(turn.fleet, workers);
  for (size_t i = 0; i < turn.jobs.size(); ++i) {
    const JobLoad& load = turn.fleet.jobs[i];
    decisions.push_back(
        {"autoscale",
         {.verb = Verb::kSetShare, .subject = turn.jobs[i]->name, .amount = shares[i]},
         fmt::format("jobs can use {:.1f} workers and {:.0f} are up; this one {:.1f}, "
                     "by weight {:g} and priority {}",
                     need, workers, load.Need(), load.claim.weight, load.claim.priority),
         {{"need", load.Need()}, {"share", shares[i]}}});
  }
}

}  // namespace

std::vector<Decision> DecideWorkers(const AutoscaleOptions& options, const Observation& observation,
                                    AutoscaleState& state) {
  TrackFleet(observation, state);
  state.evidence.Learn(observation, state.settled > 0);
  Turn turn = Look(options, observation, state);
  std::vector<Decision> decisions = {DecideFleet(turn)};
  AddShares(turn, decisions);
  return decisions;
}

}  // namespace headrace::orchestrate
