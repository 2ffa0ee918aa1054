// What tells two nodes apart, as a 128-bit hash: nodes of one key behave alike, so that one of them
// is enough.
//
// What is left out or renamed, and why that is sound:
// - Numbers of tasks, leases, workers and clients are names: State compares them for equality only.
//   A task is named by its worker and its place among that worker's tasks; a lease by its task and
//   split (a task never gets a split twice); workers and clients by their machine.
// - Machines may be exchanged: the dispatcher treats all workers alike, and all clients. The key is
//   the smallest over all exchanges.
// - A task that is fenced, in no open fence, run by nobody, without frames under way and in no late
//   call, is never heard of again; nor is a late call of somebody who is gone.
// - Under which task a client reports an element: State looks up the task's lane, and there is one.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>

#include "tests/model/bound.h"
#include "tests/model/node.h"

namespace headrace::model {

struct Key {
  uint64_t high = 0;
  uint64_t low = 0;

  auto operator<=>(const Key&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Key& key) {
    return H::combine(std::move(h), key.high, key.low);
  }
};

Key KeyOf(const Bound& bound, const Node& node);

}  // namespace headrace::model
