// The whole State at one moment, in chunks that a journal keeps (v1::StateChunk). Taken under the
// service's mutex; read outside of it, by one thread. Datasets are immutable, so they are shared,
// and turned into chunks only as these are asked for.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "dispatcher/state/job_data.h"
#include "headrace/v1/journal.pb.h"

namespace headrace::dispatch {

class Snapshot {
 public:
  // A chunk is a little over that, unless a single part of it is larger (a pipeline, a bitmap).
  static constexpr size_t kChunkBytes = SplitList::kPieceBytes;

  // State's side: parts in the order that State::Reload takes them.
  void Add(v1::StatePart part);
  void AddSplits(std::shared_ptr<const JobData> dataset);

  // The next chunk, serialised; false: that was all.
  bool Next(std::string& chunk);

 private:
  struct Item {
    v1::StateChunk chunk;
    size_t bytes = 0;
    std::shared_ptr<const JobData> dataset;  // set: its splits instead
    size_t split = 0;                        // the first of them that is yet to come
  };
  std::deque<Item> items_;
};

}  // namespace headrace::dispatch
