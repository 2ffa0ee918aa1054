#include "pipeline/engine/record_sieve.h"

#include <algorithm>

namespace headrace {

bool RecordSieve::Keeps(uint64_t split, uint64_t index) {
  if (index < first_ || index >= end_) return false;
  if (rule_.shards > 1 && (split + index) % rule_.shards != rule_.shard) return false;
  return rule_.skip == nullptr || !rule_.skip->HasRecord(index, cursor_);
}

void RecordSieve::Select(Block& block) {
  for (size_t row = 0; row < block.rows(); ++row) {
    const Run& run = block.provenance(row).front();
    if (!Keeps(run.split, run.first)) block.Drop(row);
  }
  block.Compact();
  block.dropped().clear();  // they never entered
  // What ended in the reader: damaged records and those without content.
  std::vector<Run> kept;
  for (const Run& run : block.settled()) {
    for (uint64_t i = 0; i < run.count; ++i) {
      if (!Keeps(run.split, run.first + i)) continue;
      AppendRun(kept, Run{.split = run.split, .first = run.first + i, .count = 1});
    }
  }
  block.settled() = std::move(kept);
  std::erase_if(block.failures(),
                [this](const RowFailure& f) { return !Keeps(f.record.split, f.record.first); });
}

RecordSieve::Passed RecordSieve::Sift(Block& block) {
  Passed passed;
  passed.records = block.rows();
  for (const Run& run : block.settled()) passed.records += run.count;
  if (!passes_all()) Select(block);
  passed.entered = block.rows();
  for (const Run& run : block.settled()) passed.entered += run.count;
  if (rule_.skip != nullptr && rule_.skip->has_parts()) {
    for (size_t row = 0; row < block.rows(); ++row) {
      const auto [parts, count] = rule_.skip->PartsOf(block.provenance(row).front().first);
      if (count > 0) passed.parts_left_out.push_back({parts, count});
    }
  }
  if (rule_.pass > 0) {
    for (size_t row = 0; row < block.rows(); ++row) block.provenance(row).front().pass = rule_.pass;
    for (Run& run : block.settled()) run.pass = rule_.pass;
    for (RowFailure& failure : block.failures()) failure.record.pass = rule_.pass;
  }
  return passed;
}

}  // namespace headrace
