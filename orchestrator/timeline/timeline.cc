#include "orchestrator/timeline/timeline.h"

#include <cctype>

#include "common/logging/logging.h"

namespace headrace::orchestrate {
namespace {

constexpr absl::Duration kHoldAgain = absl::Minutes(10);

std::string WithoutNumbers(const std::string& reason) {
  std::string out;
  for (char c : reason) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.') out += c;
  }
  return out;
}

}  // namespace

void Timeline::Add(const Decision& decision, absl::Time now, bool advice) {
  const Action& action = decision.action;
  const std::string verb(VerbName(action.verb));
  metrics_
      .AddCounter("headrace_orchestrator_decisions_total", "decisions of a policy, by what it did",
                  {{"policy", decision.policy}, {"action", verb}})
      ->Add();
  Last& last = last_[decision.policy + "/" + action.subject];
  const std::string kind = verb + WithoutNumbers(decision.reason);
  if (action.verb == Verb::kHold && kind == last.kind && now - last.at < kHoldAgain) return;
  last = {kind, now};
  LogInfo("{}{}", advice ? "advice, by " : "", ToLine(decision));
  v1::FleetDecision kept;
  kept.set_number(++number_);
  kept.set_at_unix_ms(absl::ToUnixMillis(now));
  kept.set_policy(decision.policy);
  kept.set_verb(verb);
  kept.set_subject(action.subject);
  kept.set_where(action.where);
  kept.set_amount(action.amount);
  kept.set_reason((advice ? "advice: " : "") + decision.reason);
  for (const auto& [name, value] : decision.numbers) {
    v1::FleetNumber& number = *kept.add_numbers();
    number.set_name(name);
    number.set_value(value);
  }
  unsent_.push_back(std::move(kept));
  if (unsent_.size() > kKept) unsent_.pop_front();
}

void Timeline::Sent(uint64_t up_to) {
  while (!unsent_.empty() && unsent_.front().number() <= up_to) unsent_.pop_front();
}

}  // namespace headrace::orchestrate
