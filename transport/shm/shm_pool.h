// The shared memory that a worker's frames lie in: memfd segments, each cut into slots of one size.
// Owned by the worker, which hands it to the engine (FrameMemory) and to the shm server, whose
// clients map the segments. Thread-safe; nothing blocks.
//
// A segment has no name and is sealed: it cannot shrink under who maps it, and clients cannot write
// to it. Segments are made as they are needed, up to the byte limit, and let go when they have lain
// unused for a while. A slot that is out keeps the pool alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "element/frame_memory.h"
#include "transport/shm/file_descriptor.h"

namespace headrace {

class ShmPool final : public FrameMemory, public std::enable_shared_from_this<ShmPool> {
 public:
  struct Options {
    size_t max_bytes = size_t{1} << 30;  // of all segments; config key: shm_bytes
    absl::Duration keep_idle = absl::Seconds(10);
  };
  static std::shared_ptr<ShmPool> Create(const Options& options, const Clock& clock);
  ~ShmPool() override;

  // Null when all is taken, and when nobody reads from the pool (AddReader) nor has for keep_idle:
  // between two epochs there is a moment without readers, and the first batches belong here too.
  std::shared_ptr<std::byte> Take(size_t bytes) override;

  // Clients that have the pool's segments mapped. Without any, the engine's memory is better its
  // own.
  void AddReader();
  void RemoveReader();
  // For good: slots that come back are not given out again, so that what clients still read stays
  // as it is.
  void Close();

  // A place in a segment.
  struct Place {
    uint32_t segment = 0;
    size_t offset = 0;
  };
  // Where [data, data + size) lies; none when it is not all in one slot of the pool.
  std::optional<Place> Find(const std::byte* data, size_t size) const;
  // What a client needs to map a segment; none when the segment is gone. The descriptor is a copy.
  struct Sharing {
    FileDescriptor memory;
    size_t bytes = 0;
  };
  std::optional<Sharing> Share(uint32_t segment) const;

  // Lets segments go that have been unused for keep_idle.
  void Trim();
  // Segments that were let go since the last call: whoever has them mapped may unmap them.
  std::vector<uint32_t> TakeRetired();

  size_t total_bytes() const;  // of all segments
  size_t used_bytes() const;   // of slots that are out
  size_t segments() const;

 private:
  struct Segment {
    uint32_t id = 0;
    FileDescriptor memory;
    std::byte* base = nullptr;
    size_t bytes = 0;
    size_t slot_bytes = 0;
    std::vector<uint32_t> free;  // the last one was used last, and is warm
    size_t slots = 0;
    absl::Duration idle_since;  // when all its slots were free
    bool idle() const { return free.size() == slots; }
  };

  ShmPool(const Options& options, const Clock& clock);
  bool WantedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Segment* FindFree(size_t slot_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Segment* Grow(size_t slot_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The segment that holds `at`; null when none does.
  Segment* Holding(const std::byte* at) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Return(std::byte* slot);
  void Retire(std::map<const std::byte*, std::unique_ptr<Segment>>::iterator segment)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const Clock& clock_;
  const size_t segment_bytes_;  // of one that holds several slots

  mutable absl::Mutex mutex_;
  std::map<const std::byte*, std::unique_ptr<Segment>> segments_ ABSL_GUARDED_BY(mutex_);
  std::map<size_t, std::vector<Segment*>> by_size_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::map<uint32_t, Segment*> by_id_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> retired_ ABSL_GUARDED_BY(mutex_);
  uint32_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  size_t total_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t readers_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<absl::Duration> last_reader_left_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace headrace
