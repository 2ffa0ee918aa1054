#include "pipeline/engine/record_sieve.h"

#include <algorithm>

namespace headrace {

bool RecordSieve::Keeps(uint64_t split, uint64_t index) {
  if (rule_.shards > 1 && (split + index) % rule_.shards != rule_.shard) return false;
  return rule_.skip == nullptr || !rule_.skip->HasRecord(index, cursor_);
}

RecordSieve::Passed RecordSieve::Run(Block& block) {
  Passed passed;
  passed.records = block.rows();
  for (const headrace::Run& run : block.settled()) passed.records += run.count;
  const bool selects = rule_.shards > 1 || (rule_.skip != nullptr && !rule_.skip->empty());
  if (selects) {
    for (size_t row = 0; row < block.rows(); ++row) {
      const headrace::Run& run = block.provenance(row).front();
      if (!Keeps(run.split, run.first)) block.Drop(row);
    }
    block.Compact();
    // Damaged records: one run each, as Block::FailRecord adds them.
    std::erase_if(block.settled(), [this](const headrace::Run& run) { return !Keeps(run.split, run.first); });
    std::erase_if(block.failures(), [this](const RowFailure& f) { return !Keeps(f.record.split, f.record.first); });
  }
  passed.entered = block.rows() + block.settled().size();
  if (rule_.skip != nullptr && rule_.skip->has_parts()) {
    for (size_t row = 0; row < block.rows(); ++row) {
      const auto [parts, count] = rule_.skip->PartsOf(block.provenance(row).front().first);
      if (count > 0) passed.parts_left_out.push_back({parts, count});
    }
  }
  if (rule_.pass > 0) {
    for (size_t row = 0; row < block.rows(); ++row) block.provenance(row).front().pass = rule_.pass;
    for (headrace::Run& run : block.settled()) run.pass = rule_.pass;
    for (RowFailure& failure : block.failures()) failure.record.pass = rule_.pass;
  }
  return passed;
}

}  // namespace headrace
