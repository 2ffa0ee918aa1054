// Every state within a bound, breadth first: so the first fault found has the shortest way to it.
// One thread, no randomness.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/bound.h"

namespace headrace::model {

struct Verdict {
  std::string fault;               // "": no promise is broken in any state seen
  std::vector<std::string> trace;  // the shortest way to it, a line a step
  bool whole = false;              // every state within the bound was seen
  uint64_t states = 0;
  uint64_t steps = 0;     // between them
  uint64_t finished = 0;  // states with the epoch read to its end
  uint64_t depth = 0;     // steps to the farthest state

  std::string Text() const;
};

// Looks for: an element handed over twice (DOUBLED), one that the ledger counts as done and nobody
// was handed (LOST), an event that State refused (REFUSED), and, when all states were seen, one
// from which the epoch cannot come to its end though no further fault happens (STUCK).
Verdict Explore(const Bound& bound, uint64_t most_states);

}  // namespace headrace::model
