#include "transport/shm/frame_placer.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace headrace {
namespace {

// Two copies by the kernel cost less than a slot and its way back.
constexpr size_t kInlineFrame = 32 << 10;
constexpr size_t kLendSlice = 16 << 10;
// More than that beside lent columns, and the whole frame is better copied.
constexpr size_t kMostInlineBeside = 64 << 10;
constexpr std::byte kZeros[kFrameAlignment] = {};

// Lays the frame's pieces down one after another.
class Layout {
 public:
  explicit Layout(const Frame& frame) { placed_.notice.size = frame.bytes; }

  void Lend(const ShmPool::Place& place, size_t size) {
    placed_.notice.places.push_back({place.segment, 0, place.offset, size});
    at_ += size;
    lent_ += size;
  }
  void Inline(const void* data, size_t size) {
    if (size == 0) return;
    auto& places = placed_.notice.places;
    if (places.empty() || places.back().segment != FramePlace::kInline) {
      const size_t shift = (at_ - inline_) % kFrameAlignment;
      if (shift != 0) Add(kZeros, shift);
      places.push_back({FramePlace::kInline, 0, inline_, 0});
    }
    places.back().size += size;
    Add(data, size);
    at_ += size;
  }
  size_t lent() const { return lent_; }
  size_t inline_bytes() const { return inline_; }
  size_t at() const { return at_; }
  size_t places() const { return placed_.notice.places.size(); }
  PlacedFrame Done() {
    placed_.notice.inline_bytes = inline_;
    return std::move(placed_);
  }

 private:
  void Add(const void* data, size_t size) {
    placed_.parts.push_back({static_cast<const std::byte*>(data), size});
    inline_ += size;
  }
  PlacedFrame placed_;
  size_t at_ = 0;  // in the frame
  size_t inline_ = 0;
  size_t lent_ = 0;
};

std::optional<PlacedFrame> Lend(const Frame& frame, const ShmPool& pool) {
  Layout layout(frame);
  layout.Inline(frame.header.data(), frame.header.size());
  for (const FrameSlice& slice : frame.payload) {
    const bool aligned =
        reinterpret_cast<uintptr_t>(slice.data) % kFrameAlignment == layout.at() % kFrameAlignment;
    std::optional<ShmPool::Place> place;
    if (slice.size >= kLendSlice && aligned) place = pool.Find(slice.data, slice.size);
    if (place) {
      layout.Lend(*place, slice.size);
    } else {
      layout.Inline(slice.data, slice.size);
    }
    if (layout.inline_bytes() > kMostInlineBeside || layout.places() > kShmMaxPieces)
      return std::nullopt;
  }
  if (layout.lent() == 0) return std::nullopt;
  return layout.Done();
}

}  // namespace

PlacedFrame PlaceInline(const Frame& frame) {
  Layout layout(frame);
  layout.Inline(frame.header.data(), frame.header.size());
  for (const FrameSlice& slice : frame.payload) layout.Inline(slice.data, slice.size);
  return layout.Done();
}

PlacedFrame PlaceFrame(const Frame& frame, ShmPool& pool) {
  if (frame.bytes < kInlineFrame) return PlaceInline(frame);
  if (frame.whole_columns) {
    if (std::optional<PlacedFrame> lent = Lend(frame, pool)) return *std::move(lent);
  }
  std::shared_ptr<std::byte> slot = pool.Take(frame.bytes);
  const std::optional<ShmPool::Place> place =
      slot == nullptr ? std::nullopt : pool.Find(slot.get(), frame.bytes);
  if (!place) return PlaceInline(frame);
  CopyFrame(frame, slot.get());
  Layout layout(frame);
  layout.Lend(*place, frame.bytes);
  PlacedFrame placed = layout.Done();
  placed.copy = std::move(slot);
  return placed;
}

}  // namespace headrace
