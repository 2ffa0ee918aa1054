#include "pipeline/formats/reading/buffer_pool.h"

#include <utility>

namespace headrace {

std::shared_ptr<BufferPool> BufferPool::Create(size_t bytes, size_t max_idle) {
  return std::shared_ptr<BufferPool>(new BufferPool(bytes, max_idle));
}

std::shared_ptr<std::byte[]> BufferPool::Get() {
  std::unique_ptr<std::byte[]> buffer;
  {
    absl::MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      buffer = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (buffer == nullptr) buffer = std::make_unique_for_overwrite<std::byte[]>(bytes_);
  return {buffer.release(), [pool = shared_from_this()](std::byte* bytes) {
            pool->PutBack(std::unique_ptr<std::byte[]>(bytes));
          }};
}

void BufferPool::PutBack(std::unique_ptr<std::byte[]> buffer) {
  absl::MutexLock lock(&mutex_);
  if (idle_.size() < max_idle_) idle_.push_back(std::move(buffer));
}

}  // namespace headrace
