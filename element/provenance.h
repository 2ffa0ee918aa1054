// Where an element came from: the identity that exactly-once delivery counts
// (docs/design/002-identity.md).
#pragma once

#include <compare>
#include <cstdint>

#include "absl/container/inlined_vector.h"

namespace headrace {

// One record. Pure function of the data: never of timing, worker or thread.
struct RecordId {
  uint64_t split = 0;  // index of the split in the dataset's list
  uint64_t index = 0;  // record within the split
  uint32_t part = 0;   // 0-based, for steps that cut a record into several elements
  uint32_t parts = 1;  // how many elements the record was cut into
  uint32_t pass = 0;   // `repeat`'s pass

  auto operator<=>(const RecordId&) const = default;
};

// `count` records of one split that follow each other, all with the same part and pass.
struct Run {
  uint64_t split = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  uint32_t part = 0;
  uint32_t parts = 1;
  uint32_t pass = 0;

  auto operator<=>(const Run&) const = default;
};

// The runs of an element: one for a record, many for a batch. One run costs no allocation.
using Provenance = absl::InlinedVector<Run, 1>;

inline Run RunOf(const RecordId& id) { return {id.split, id.index, 1, id.part, id.parts, id.pass}; }

// Appends `run`, merging it into the last one where it follows on.
template <typename Runs>
void AppendRun(Runs& runs, const Run& run) {
  if (!runs.empty()) {
    Run& last = runs.back();
    if (last.split == run.split && last.part == run.part && last.parts == run.parts &&
        last.pass == run.pass && last.first + last.count == run.first) {
      last.count += run.count;
      return;
    }
  }
  runs.push_back(run);
}

}  // namespace headrace
