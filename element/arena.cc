#include "element/arena.h"

#include <algorithm>
#include <new>

namespace headrace {
namespace {

constexpr size_t kChunk = 64 << 10;
constexpr size_t kOwnChunk = 256 << 10;
// Below it, sending a copy costs less than lending does.
constexpr size_t kLendable = 32 << 10;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

std::byte* NewChunk(size_t bytes) {
  return static_cast<std::byte*>(::operator new(bytes, std::align_val_t{Arena::kAlignment}));
}

}  // namespace

void Arena::Free::operator()(std::byte* p) const {
  ::operator delete(p, std::align_val_t{Arena::kAlignment});
}

std::byte* Arena::Allocate(size_t bytes) {
  const size_t need = RoundUp(std::max<size_t>(bytes, 1), kAlignment);
  if (frames_ != nullptr && need >= kLendable) {
    if (std::shared_ptr<std::byte> lent = frames_->Take(need)) {
      std::byte* out = lent.get();
      Adopt(std::move(lent), need);
      return out;
    }
  }
  if (need > kOwnChunk) {
    chunks_.emplace_back(NewChunk(need));
    bytes_ += need;
    return chunks_.back().get();
  }
  return AllocatePacked(need, kAlignment);
}

std::byte* Arena::AllocatePacked(size_t bytes, size_t alignment) {
  const auto misaligned = reinterpret_cast<uintptr_t>(next_) & (alignment - 1);
  const size_t pad = misaligned == 0 ? 0 : alignment - misaligned;
  if (next_ == nullptr || bytes + pad > left_) {
    // The next chunk is as big as all so far, within bounds: few chunks for big blocks, little
    // waste for small ones.
    const size_t size =
        std::max(RoundUp(bytes, kAlignment), std::clamp(bytes_, kChunk / 16, kOwnChunk * 4));
    chunks_.emplace_back(NewChunk(size));
    bytes_ += size;
    next_ = chunks_.back().get();
    left_ = size;
    std::byte* out = next_;
    next_ += bytes;
    left_ -= bytes;
    return out;
  }
  std::byte* out = next_ + pad;
  next_ = out + bytes;
  left_ -= pad + bytes;
  return out;
}

void Arena::Adopt(std::shared_ptr<const void> owner, size_t bytes) {
  adopted_.push_back(std::move(owner));
  bytes_ += bytes;
}

}  // namespace headrace
