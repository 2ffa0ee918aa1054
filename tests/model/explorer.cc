#include "tests/model/explorer.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "tests/model/key.h"
#include "tests/model/rules.h"

namespace headrace::model {
namespace {

constexpr uint32_t kNobody = ~uint32_t{0};

class Explorer {
 public:
  Explorer(const Bound& bound, uint64_t most_states)
      : bound_(bound), rules_(bound_), most_states_(most_states) {}

  Verdict Run();

 private:
  struct Origin {
    uint32_t from = kNobody;
    Action by;
  };
  struct Waiting {
    uint32_t number;
    Node node;
  };

  // The number of the node, and whether it is new.
  std::pair<uint32_t, bool> Number(const Node& node, uint32_t from, Action by);
  void Expand(const Waiting& waiting);
  void FindStuck();
  // `last`: what follows state `at`.
  void Blame(std::string fault, uint32_t at, std::optional<Action> last);

  const Bound bound_;
  const Rules rules_;
  const uint64_t most_states_;
  absl::flat_hash_map<Key, uint32_t> numbers_;
  std::vector<Origin> origins_;
  std::vector<bool> finished_;
  std::vector<std::pair<uint32_t, uint32_t>> ways_;  // to, from; without faults
  std::deque<Waiting> waiting_;
  Verdict verdict_;
};

std::pair<uint32_t, bool> Explorer::Number(const Node& node, uint32_t from, Action by) {
  const auto [it, fresh] =
      numbers_.try_emplace(KeyOf(bound_, node), static_cast<uint32_t>(origins_.size()));
  if (!fresh) return {it->second, false};
  origins_.push_back({from, by});
  finished_.push_back(rules_.Finished(node));
  return {it->second, true};
}

void Explorer::Expand(const Waiting& waiting) {
  for (const Action action : rules_.Enabled(waiting.node)) {
    Node next = rules_.After(waiting.node, action);
    ++verdict_.steps;
    if (!next.fault.empty()) return Blame(next.fault, waiting.number, action);
    const auto [number, fresh] = Number(next, waiting.number, action);
    if (!IsFault(action.step) && number != waiting.number) {
      ways_.emplace_back(number, waiting.number);
    }
    if (fresh) waiting_.push_back({number, std::move(next)});
  }
}

void Explorer::Blame(std::string fault, uint32_t at, std::optional<Action> last) {
  verdict_.fault = std::move(fault);
  std::vector<Action> actions;
  if (last.has_value()) actions.push_back(*last);
  for (; origins_[at].from != kNobody; at = origins_[at].from) actions.push_back(origins_[at].by);
  std::ranges::reverse(actions);
  Node node = rules_.Start();
  for (const Action action : actions) {
    const Node next = rules_.After(node, action);
    verdict_.trace.push_back(
        fmt::format("{:3}. {}", verdict_.trace.size() + 1, rules_.Describe(node, action, next)));
    node = next;
  }
}

void Explorer::FindStuck() {
  std::ranges::sort(ways_);
  std::vector<bool> ends = finished_;
  std::vector<uint32_t> todo;
  for (uint32_t i = 0; i < ends.size(); ++i) {
    if (ends[i]) todo.push_back(i);
  }
  while (!todo.empty()) {
    const uint32_t to = todo.back();
    todo.pop_back();
    for (auto it = std::ranges::lower_bound(ways_, std::pair(to, uint32_t{0}));
         it != ways_.end() && it->first == to; ++it) {
      if (ends[it->second]) continue;
      ends[it->second] = true;
      todo.push_back(it->second);
    }
  }
  const auto stuck = std::ranges::find(ends, false);
  if (stuck != ends.end()) Blame("STUCK", static_cast<uint32_t>(stuck - ends.begin()), {});
}

Verdict Explorer::Run() {
  Node start = rules_.Start();
  (void)Number(start, kNobody, {});
  waiting_.push_back({0, std::move(start)});
  uint32_t end_of_level = 0;
  while (!waiting_.empty() && verdict_.fault.empty() && origins_.size() < most_states_) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (next.number > end_of_level) {
      ++verdict_.depth;
      end_of_level = static_cast<uint32_t>(origins_.size() - 1);
    }
    Expand(next);
  }
  verdict_.whole = waiting_.empty();
  verdict_.states = origins_.size();
  verdict_.finished = static_cast<uint64_t>(std::ranges::count(finished_, true));
  if (verdict_.fault.empty() && verdict_.whole) FindStuck();
  return verdict_;
}

}  // namespace

std::string Verdict::Text() const {
  return fmt::format("{}: {} states{}, {} steps, {} finished, depth {}\n{}",
                     fault.empty() ? "nothing found" : fault, states,
                     whole ? " (all)" : " (a part)", steps, finished, depth,
                     fmt::join(trace, "\n"));
}

Verdict Explore(const Bound& bound, uint64_t most_states) {
  return Explorer(bound, most_states).Run();
}

}  // namespace headrace::model
