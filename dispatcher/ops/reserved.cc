#include "dispatcher/ops/reserved.h"

#include <string>

namespace headrace::dispatch {

bool WorksFor(const Worker& worker, const Job& job) {
  bool kept = false;
  for (const std::string& tag : worker.tags) {
    if (!tag.starts_with(kJobTag)) continue;
    if (std::string_view(tag).substr(kJobTag.size()) == job.name) return true;
    kept = true;
  }
  return !kept;
}

std::vector<WorkerId> ReadyFor(const State& state, const Job& job) {
  std::vector<WorkerId> ready = state.workers().Ready();
  std::erase_if(ready, [&](WorkerId id) { return !WorksFor(*state.workers().Find(id), job); });
  return ready;
}

}  // namespace headrace::dispatch
