#include "orchestrator/decision/decision.h"

#include "fmt/format.h"

namespace headrace::orchestrate {

std::string_view VerbName(Verb verb) {
  switch (verb) {
    case Verb::kHold:
      return "hold";
    case Verb::kSetWorkers:
      return "set_workers";
    case Verb::kSetShare:
      return "set_share";
    case Verb::kPlaceCache:
      return "place_cache";
    case Verb::kDropCache:
      return "drop_cache";
    case Verb::kSetCapacity:
      return "set_capacity";
    case Verb::kJoinSharing:
      return "join_sharing";
  }
  return "?";
}

std::string ToLine(const Decision& decision) {
  const Action& action = decision.action;
  std::string line = fmt::format("{}: {}", decision.policy, VerbName(action.verb));
  if (!action.subject.empty()) line += fmt::format(" '{}'", action.subject);
  if (!action.where.empty()) line += " " + action.where;
  const bool counted = action.verb == Verb::kSetWorkers || action.verb == Verb::kSetShare ||
                       action.verb == Verb::kSetCapacity;
  if (counted) line += fmt::format(" {:g}", action.amount);
  if (!decision.reason.empty()) line += ": " + decision.reason;
  return line;
}

double NumberOf(const Decision& decision, std::string_view name) {
  for (const auto& [key, value] : decision.numbers) {
    if (key == name) return value;
  }
  return 0;
}

}  // namespace headrace::orchestrate
