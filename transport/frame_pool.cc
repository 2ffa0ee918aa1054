#include "transport/frame_pool.h"

#include <cstdlib>
#include <utility>

#include "common/status.h"
#include "element/frame.h"

namespace headrace {
namespace {

// Below it malloc has the memory at hand anyway.
constexpr size_t kSmallestPooled = 32 << 10;
constexpr size_t kPage = 4096;

}  // namespace

void FramePool::Free::operator()(std::byte* p) const { std::free(p); }

absl::StatusOr<std::shared_ptr<std::byte>> FramePool::Take(size_t size) {
  if (size < kSmallestPooled) return AllocateFrameBytes(size);
  Buffer buffer = shelf_->Find(size);
  if (buffer.memory == nullptr) {
    buffer.capacity = (size + kPage - 1) / kPage * kPage;
    buffer.memory.reset(
        static_cast<std::byte*>(std::aligned_alloc(kFrameAlignment, buffer.capacity)));
    if (buffer.memory == nullptr)
      return ResourceExhausted("no memory for a frame of {} bytes", size);
  }
  const size_t capacity = buffer.capacity;
  return std::shared_ptr<std::byte>(buffer.memory.release(),
                                    [shelf = shelf_, capacity](std::byte* p) {
                                      shelf->Put({std::unique_ptr<std::byte, Free>(p), capacity});
                                    });
}

size_t FramePool::idle_bytes() const {
  absl::MutexLock lock(&shelf_->mutex);
  return shelf_->idle_bytes;
}

void FramePool::Shelf::Put(Buffer buffer) {
  std::vector<Buffer> dropped;  // freed after the lock
  absl::MutexLock lock(&mutex);
  if (buffer.capacity > keep_bytes) {
    dropped.push_back(std::move(buffer));
    return;
  }
  idle_bytes += buffer.capacity;
  idle.push_back(std::move(buffer));
  while (idle_bytes > keep_bytes) {
    idle_bytes -= idle.front().capacity;
    dropped.push_back(std::move(idle.front()));
    idle.erase(idle.begin());
  }
}

FramePool::Buffer FramePool::Shelf::Find(size_t size) {
  absl::MutexLock lock(&mutex);
  size_t best = idle.size();
  for (size_t i = 0; i < idle.size(); ++i) {
    const size_t capacity = idle[i].capacity;
    if (capacity < size || capacity > 2 * size + kPage) continue;
    if (best == idle.size() || capacity <= idle[best].capacity) best = i;
  }
  if (best == idle.size()) return {};
  Buffer found = std::move(idle[best]);
  idle.erase(idle.begin() + static_cast<ptrdiff_t>(best));
  idle_bytes -= found.capacity;
  return found;
}

}  // namespace headrace
