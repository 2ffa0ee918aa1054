// Workers that are kept for one job: those that trainers run on their own spare cores.
#pragma once

#include <string_view>
#include <vector>

#include "common/ids.h"
#include "dispatcher/state/state.h"

namespace headrace::dispatch {

// A worker with the tag "job=NAME" works for the job of that name alone; with several such tags,
// for each of those.
constexpr std::string_view kJobTag = "job=";

bool WorksFor(const Worker& worker, const Job& job);
// Those that are ready for tasks of `job`.
std::vector<WorkerId> ReadyFor(const State& state, const Job& job);

}  // namespace headrace::dispatch
