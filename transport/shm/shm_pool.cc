#include "transport/shm/shm_pool.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "transport/shm/shared_memory.h"

namespace headrace {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSmallestSlot = 32 << 10;
// Few segments, for each is a descriptor and a mapping on both sides; pages of one that were never
// written take no memory.
constexpr size_t kSegmentBytes = 8 << 20;
constexpr size_t kMostSegments = 256;  // about, when the pool is full

// Eight sizes between a power of two and the next: an eighth is wasted at most.
size_t SlotBytes(size_t bytes) {
  bytes = std::max(bytes, kSmallestSlot);
  const size_t step = std::max(kPage, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::shared_ptr<ShmPool> ShmPool::Create(const Options& options, const Clock& clock) {
  return std::shared_ptr<ShmPool>(new ShmPool(options, clock));
}

ShmPool::ShmPool(const Options& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      segment_bytes_(std::min(std::max(kSegmentBytes, options.max_bytes / kMostSegments),
                              options.max_bytes / 4)) {}

ShmPool::~ShmPool() {
  absl::MutexLock lock(&mutex_);
  for (const auto& [base, segment] : segments_) Unmap(base, segment->bytes);
}

std::shared_ptr<std::byte> ShmPool::Take(size_t bytes) {
  if (bytes > options_.max_bytes) return nullptr;
  const size_t slot_bytes = SlotBytes(bytes);
  std::byte* slot = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || !WantedLocked()) return nullptr;
    Segment* segment = FindFree(slot_bytes);
    if (segment == nullptr) segment = Grow(slot_bytes);
    if (segment == nullptr) return nullptr;
    slot = segment->base + segment->free.back() * segment->slot_bytes;
    segment->free.pop_back();
    used_bytes_ += segment->slot_bytes;
  }
  return std::shared_ptr<std::byte>(slot,
                                    [pool = shared_from_this()](std::byte* p) { pool->Return(p); });
}

bool ShmPool::WantedLocked() const {
  if (readers_ > 0) return true;
  return last_reader_left_ && clock_.Steady() - *last_reader_left_ < options_.keep_idle;
}

// The tightest size that wastes no more than half; of it the oldest segment, so that later ones run
// empty.
ShmPool::Segment* ShmPool::FindFree(size_t slot_bytes) {
  for (auto it = by_size_.lower_bound(slot_bytes);
       it != by_size_.end() && it->first <= 2 * slot_bytes; ++it) {
    for (Segment* segment : it->second) {
      if (!segment->free.empty()) return segment;
    }
  }
  return nullptr;
}

ShmPool::Segment* ShmPool::Grow(size_t slot_bytes) {
  const size_t slots = std::max<size_t>(1, segment_bytes_ / slot_bytes);
  const size_t bytes = slots * slot_bytes;
  if (bytes > options_.max_bytes) return nullptr;
  // Sizes that nobody asks for any more make room.
  for (auto it = segments_.begin(); it != segments_.end();) {
    const auto next = std::next(it);
    if (total_bytes_ + bytes > options_.max_bytes && it->second->idle()) Retire(it);
    it = next;
  }
  if (total_bytes_ + bytes > options_.max_bytes) return nullptr;
  absl::StatusOr<OwnMemory> made = MakeSharedMemory(bytes);
  if (!made.ok()) {
    LogDebug("shm: {}", OneLine(made.status()));
    return nullptr;
  }
  auto segment = std::make_unique<Segment>();
  segment->id = next_id_++;
  segment->memory = std::move(made->memory);
  segment->base = made->base;
  segment->bytes = bytes;
  segment->slot_bytes = slot_bytes;
  segment->slots = slots;
  segment->idle_since = clock_.Steady();
  for (size_t i = slots; i > 0; --i) segment->free.push_back(static_cast<uint32_t>(i - 1));
  total_bytes_ += bytes;
  Segment* raw = segment.get();
  by_size_[slot_bytes].push_back(raw);
  by_id_[raw->id] = raw;
  segments_.emplace(raw->base, std::move(segment));
  return raw;
}

ShmPool::Segment* ShmPool::Holding(const std::byte* at) const {
  auto it = segments_.upper_bound(at);
  if (it == segments_.begin()) return nullptr;
  Segment* segment = std::prev(it)->second.get();
  return at < segment->base + segment->bytes ? segment : nullptr;
}

void ShmPool::Return(std::byte* slot) {
  absl::MutexLock lock(&mutex_);
  Segment* segment = Holding(slot);
  used_bytes_ -= segment->slot_bytes;
  if (closed_) return;
  segment->free.push_back(
      static_cast<uint32_t>(static_cast<size_t>(slot - segment->base) / segment->slot_bytes));
  if (segment->idle()) segment->idle_since = clock_.Steady();
}

void ShmPool::Retire(std::map<const std::byte*, std::unique_ptr<Segment>>::iterator it) {
  const Segment& segment = *it->second;
  std::erase(by_size_[segment.slot_bytes], &segment);
  if (by_size_[segment.slot_bytes].empty()) by_size_.erase(segment.slot_bytes);
  by_id_.erase(segment.id);
  retired_.push_back(segment.id);
  total_bytes_ -= segment.bytes;
  Unmap(segment.base, segment.bytes);
  segments_.erase(it);
}

void ShmPool::AddReader() {
  absl::MutexLock lock(&mutex_);
  ++readers_;
}

void ShmPool::RemoveReader() {
  absl::MutexLock lock(&mutex_);
  if (--readers_ == 0) last_reader_left_ = clock_.Steady();
}

void ShmPool::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

std::optional<ShmPool::Place> ShmPool::Find(const std::byte* data, size_t size) const {
  absl::MutexLock lock(&mutex_);
  const Segment* segment = Holding(data);
  if (segment == nullptr) return std::nullopt;
  const auto offset = static_cast<size_t>(data - segment->base);
  const size_t slot_end = (offset / segment->slot_bytes + 1) * segment->slot_bytes;
  if (size > slot_end - offset) return std::nullopt;
  return Place{segment->id, offset};
}

std::optional<ShmPool::Sharing> ShmPool::Share(uint32_t id) const {
  absl::MutexLock lock(&mutex_);
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return std::nullopt;
  FileDescriptor copy(::fcntl(it->second->memory.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return std::nullopt;
  return Sharing{std::move(copy), it->second->bytes};
}

void ShmPool::Trim() {
  const absl::Duration now = clock_.Steady();
  absl::MutexLock lock(&mutex_);
  if (closed_) return;
  for (auto it = segments_.begin(); it != segments_.end();) {
    const auto next = std::next(it);
    if (it->second->idle() && now - it->second->idle_since >= options_.keep_idle) Retire(it);
    it = next;
  }
}

std::vector<uint32_t> ShmPool::TakeRetired() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(retired_, {});
}

size_t ShmPool::total_bytes() const {
  absl::MutexLock lock(&mutex_);
  return total_bytes_;
}

size_t ShmPool::used_bytes() const {
  absl::MutexLock lock(&mutex_);
  return used_bytes_;
}

size_t ShmPool::segments() const {
  absl::MutexLock lock(&mutex_);
  return segments_.size();
}

}  // namespace headrace
