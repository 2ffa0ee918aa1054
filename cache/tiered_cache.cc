#include "cache/tiered_cache.h"

#include <utility>

#include "common/status.h"

namespace headrace {

class TieredFill final : public CacheFill {
 public:
  TieredFill(TieredCache& cache, CacheKey key, std::string tier, std::shared_ptr<void> lease,
             TieredCache::Begun begun)
      : cache_(cache),
        key_(std::move(key)),
        asked_(std::move(tier)),
        lease_(std::move(lease)),
        begun_(std::move(begun)) {}

  absl::Status Append(const NewFrame& frame) override {
    if (begun_.fill == nullptr) return ResourceExhausted("no tier has room");
    absl::Status status = begun_.fill->Append(frame);
    while (!status.ok()) {
      TieredCache::Begun next = cache_.BeginIn(begun_.tier + 1, key_, asked_, lease_);
      std::vector<StoredFrame> so_far;
      if (next.fill != nullptr) so_far = begun_.fill->TakeBack();
      const bool at_hand = !so_far.empty() || frame.first == 0;
      begun_ = at_hand ? std::move(next) : TieredCache::Begun();
      if (begun_.fill == nullptr) {
        lease_.reset();
        return status;
      }
      status = MoveIn(so_far);
      if (status.ok()) status = begun_.fill->Append(frame);
    }
    return absl::OkStatus();
  }

  void Commit() override {
    lease_.reset();  // the tier's fill has it, too
    if (begun_.fill != nullptr) begun_.fill->Commit();
  }

 private:
  absl::Status MoveIn(std::vector<StoredFrame>& frames) {
    for (StoredFrame& stored : frames) {
      const FrameSlice whole{stored.frame.data.get(), stored.frame.size};
      HR_RETURN_IF_ERROR(begun_.fill->Append({.first = stored.first,
                                              .count = stored.count,
                                              .bytes = whole.size,
                                              .pieces = {&whole, 1}}));
      stored.frame = {};  // its memory is another's now
    }
    return absl::OkStatus();
  }

  TieredCache& cache_;
  const CacheKey key_;
  const std::string asked_;
  std::shared_ptr<void> lease_;
  TieredCache::Begun begun_;
};

TieredCache::TieredCache(std::vector<std::unique_ptr<CacheTier>> tiers,
                         std::shared_ptr<PrefixUse> prefixes)
    : prefixes_(std::move(prefixes)), tiers_(std::move(tiers)) {}

std::unique_ptr<CachedSplit> TieredCache::Find(const CacheKey& key, std::string_view tier) {
  for (const auto& candidate : tiers_) {
    if (!Allows(tier, *candidate)) continue;
    if (auto found = candidate->Find(key)) return found;
  }
  misses_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

bool TieredCache::Holds(const CacheKey& key, std::string_view tier) const {
  return std::ranges::any_of(
      tiers_, [&](const auto& each) { return Allows(tier, *each) && each->Holds(key); });
}

TieredCache::Begun TieredCache::BeginIn(size_t first, const CacheKey& key, std::string_view tier,
                                        const std::shared_ptr<void>& lease) {
  for (size_t i = first; i < tiers_.size(); ++i) {
    if (!Allows(tier, *tiers_[i])) continue;
    if (auto fill = tiers_[i]->Begin(key, lease); fill.ok()) return {*std::move(fill), i};
  }
  return {};
}

std::unique_ptr<CacheFill> TieredCache::Begin(const CacheKey& key, std::string_view tier) {
  const std::string slot = key.slot();
  {
    absl::MutexLock lock(&writers_->mutex);
    if (!writers_->slots.insert(slot).second) return nullptr;
  }
  std::shared_ptr<void> lease(this, [writers = writers_, slot](void*) {
    absl::MutexLock lock(&writers->mutex);
    writers->slots.erase(slot);
  });
  // Another one may have ended its fill between our look-up and now.
  for (const auto& candidate : tiers_) {
    if (Allows(tier, *candidate) && candidate->Holds(key)) return nullptr;
  }
  Begun begun = BeginIn(0, key, tier, lease);
  if (begun.fill == nullptr) return nullptr;
  return std::make_unique<TieredFill>(*this, key, std::string(tier), std::move(lease),
                                      std::move(begun));
}

}  // namespace headrace
