#include "cache/memory_tier.h"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

size_t RoundUp(size_t bytes) {
  return (bytes + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}

// Memory with its claim on the budget: they go together.
struct Held {
  Held(std::shared_ptr<MemoryBudget> b, Reservation r, void* m)
      : budget(std::move(b)), claim(std::move(r)), memory(static_cast<std::byte*>(m)) {}
  ~Held() { std::free(memory); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  const std::shared_ptr<MemoryBudget> budget;  // outlives the claim
  const Reservation claim;
  std::byte* const memory;
};

}  // namespace

MemoryTier::Shelf::Shelf(uint64_t bytes, std::shared_ptr<const PrefixUse> p)
    : budget(std::make_shared<MemoryBudget>("the memory cache (cache.memory_bytes)",
                                            static_cast<int64_t>(bytes),
                                            MemoryBudget::Oversize::kRefuse)),
      prefixes(std::move(p)) {}

std::shared_ptr<std::byte> MemoryTier::Shelf::Allocate(size_t bytes) {
  const size_t rounded = RoundUp(bytes);
  if (rounded > static_cast<uint64_t>(budget->limit())) return nullptr;  // evicts nothing in vain
  std::optional<Reservation> claim = budget->TryReserve(static_cast<int64_t>(rounded));
  while (!claim) {
    std::shared_ptr<Entry> victim;
    {
      absl::MutexLock lock(&mutex);
      victim = entries.TakeVictim(*prefixes);
      if (victim == nullptr) return nullptr;
      entry_bytes -= victim->bytes;
    }
    counters.Dropped(CacheDrop::kEvicted);
    victim.reset();  // its bytes fall now, unless someone reads them
    claim = budget->TryReserve(static_cast<int64_t>(rounded));
  }
  void* memory = std::aligned_alloc(kFrameAlignment, rounded);
  if (memory == nullptr) return nullptr;
  auto held = std::make_shared<Held>(budget, *std::move(claim), memory);
  return {held, held->memory};
}

void MemoryTier::Shelf::Drop(const CacheKey& key, const Entry* only, CacheDrop reason) {
  std::shared_ptr<Entry> gone;  // after the lock
  absl::MutexLock lock(&mutex);
  gone = entries.Take(key, only);
  if (gone == nullptr) return;
  entry_bytes -= gone->bytes;
  counters.Dropped(reason);
}

class MemorySplit final : public CachedSplit {
 public:
  MemorySplit(std::shared_ptr<MemoryTier::Shelf> shelf, std::shared_ptr<MemoryTier::Entry> entry)
      : shelf_(std::move(shelf)), entry_(std::move(entry)) {}

  absl::StatusOr<std::optional<StoredFrame>> Next() override {
    if (next_ == entry_->frames.size()) return std::optional<StoredFrame>();
    const StoredFrame& frame = entry_->frames[next_++];
    TierCounters::Add(shelf_->counters.read_bytes, frame.frame.size);
    return std::optional<StoredFrame>(frame);
  }
  uint64_t records() const override { return entry_->records; }
  void Condemn(CacheDrop reason) override { shelf_->Drop(entry_->key, entry_.get(), reason); }

 private:
  const std::shared_ptr<MemoryTier::Shelf> shelf_;
  const std::shared_ptr<MemoryTier::Entry> entry_;
  size_t next_ = 0;
};

class MemoryFill final : public CacheFill {
 public:
  MemoryFill(std::shared_ptr<MemoryTier::Shelf> shelf, CacheKey key, std::shared_ptr<void> lease)
      : shelf_(std::move(shelf)), key_(std::move(key)), lease_(std::move(lease)) {}
  ~MemoryFill() override {
    if (!over_) shelf_->counters.FillDropped(dropped_);
  }

  absl::Status Append(const NewFrame& frame) override {
    StoredFrame stored{.first = frame.first, .count = frame.count, .frame = {}};
    if (frame.bytes > 0) {
      std::shared_ptr<std::byte> memory = shelf_->Allocate(frame.bytes);
      if (memory == nullptr) {
        dropped_ = FillDrop::kNoRoom;
        return ResourceExhausted("cache.memory_bytes is used up");
      }
      std::byte* to = memory.get();
      for (const FrameSlice& piece : frame.pieces) {
        if (piece.size > 0) std::memcpy(to, piece.data, piece.size);
        to += piece.size;
      }
      stored.frame = {std::move(memory), frame.bytes};
    }
    bytes_ += frame.bytes;
    records_ = frame.first + frame.count;
    frames_.push_back(std::move(stored));
    return absl::OkStatus();
  }

  void Commit() override {
    over_ = true;
    auto entry = std::make_shared<MemoryTier::Entry>(
        MemoryTier::Entry{key_, std::move(frames_), records_, bytes_});
    TierCounters::Add(shelf_->counters.fills);
    TierCounters::Add(shelf_->counters.filled_bytes, bytes_);
    std::shared_ptr<MemoryTier::Entry> old;  // goes after the lock
    {
      absl::MutexLock lock(&shelf_->mutex);
      old = shelf_->entries.Put(std::move(entry));
      shelf_->entry_bytes += bytes_;
      if (old != nullptr) shelf_->entry_bytes -= old->bytes;
    }
    lease_.reset();
  }

  std::vector<StoredFrame> TakeBack() override {
    over_ = true;
    return std::exchange(frames_, {});
  }

 private:
  const std::shared_ptr<MemoryTier::Shelf> shelf_;
  const CacheKey key_;
  std::shared_ptr<void> lease_;
  std::vector<StoredFrame> frames_;
  uint64_t bytes_ = 0;
  uint64_t records_ = 0;
  bool over_ = false;  // committed, or moved to another tier
  FillDrop dropped_ = FillDrop::kIncomplete;
};

MemoryTier::MemoryTier(uint64_t bytes, std::shared_ptr<const PrefixUse> prefixes)
    : shelf_(std::make_shared<Shelf>(bytes, std::move(prefixes))) {}

std::unique_ptr<CachedSplit> MemoryTier::Find(const CacheKey& key) {
  std::shared_ptr<Entry> entry;
  {
    absl::MutexLock lock(&shelf_->mutex);
    entry = shelf_->entries.Use(key);
  }
  if (entry == nullptr) return nullptr;
  if (entry->key.version != key.version) {
    shelf_->Drop(key, entry.get(), CacheDrop::kStale);
    return nullptr;
  }
  TierCounters::Add(shelf_->counters.hits);
  return std::make_unique<MemorySplit>(shelf_, std::move(entry));
}

bool MemoryTier::Holds(const CacheKey& key) const {
  absl::MutexLock lock(&shelf_->mutex);
  return shelf_->entries.Holds(key);
}

absl::StatusOr<std::unique_ptr<CacheFill>> MemoryTier::Begin(const CacheKey& key,
                                                             std::shared_ptr<void> lease) {
  const auto used = static_cast<uint64_t>(shelf_->budget->used());
  const auto limit = static_cast<uint64_t>(shelf_->budget->limit());
  {
    // A split that will not fit need not be begun: the mean of those that are here tells.
    absl::MutexLock lock(&shelf_->mutex);
    const size_t entries = shelf_->entries.size();
    const uint64_t mean = entries == 0 ? 0 : shelf_->entry_bytes / entries;
    const bool can_evict = shelf_->entries.HasVictim(*shelf_->prefixes);
    if (!can_evict && (used >= limit || limit - used < mean)) {
      return ResourceExhausted("cache.memory_bytes is used up");
    }
  }
  return std::make_unique<MemoryFill>(shelf_, key, std::move(lease));
}

TierUse MemoryTier::use() const {
  absl::MutexLock lock(&shelf_->mutex);
  return {.bytes = static_cast<uint64_t>(shelf_->budget->used()),
          .limit = static_cast<uint64_t>(shelf_->budget->limit()),
          .entries = shelf_->entries.size()};
}

}  // namespace headrace
