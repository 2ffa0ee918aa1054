// What a policy answers: what to do, why in a sentence, and the numbers that the sentence stands
// on. Everything that shows decisions (log line, metric, `headrace explain`, `headrace top`,
// simulator) shows these; drivers read the action alone.
//
// A new kind of action is a new Verb here; who carries it out is the driver's business.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchestrator/decision/cache_plan.h"

namespace headrace::orchestrate {

enum class Verb {
  kHold,         // nothing
  kSetWorkers,   // the fleet shall have `amount` workers
  kSetShare,     // job `subject` gets `amount` workers' worth of the fleet
  kPlaceCache,   // job `subject` ("job/step") is cached behind that step, in tier `where`
  kDropCache,    // the same, undone
  kSetCapacity,  // cache `subject` may hold `amount` bytes of tier `where`
  kJoinSharing,  // job `subject` takes part in the production of job `where`
};
std::string_view VerbName(Verb verb);  // "hold", "set_workers", ...

struct Action {
  Verb verb = Verb::kHold;
  std::string subject = {};  // "": the fleet
  std::string where = {};    // of caches: which tier
  double amount = 0;

  bool operator==(const Action&) const = default;
};

// By which a reader can check the reason: {"demand", 412.0}, {"workers", 6}.
using Numbers = std::vector<std::pair<std::string, double>>;

struct Decision {
  std::string policy = {};  // "autoscale", "placement", "capacity"
  Action action = {};
  std::string reason = {};  // one sentence, with its numbers; no full stop
  Numbers numbers = {};
  // Of a policy of caches: the whole of it, as it stands from now on.
  std::shared_ptr<const CachePlan> plan = {};
};

// "autoscale: set_workers 6: job 'a' takes 412/s, a worker makes 71/s".
std::string ToLine(const Decision& decision);
// 0 where there is none of that name.
double NumberOf(const Decision& decision, std::string_view name);

}  // namespace headrace::orchestrate
