// Bytes that one call needs and the next call on the same thread needs again: intermediate rows,
// pixels that are resized at once. Kept per thread, because a fresh half megabyte per image costs
// more in page faults than the work done in it.
#pragma once

#include <cstddef>
#include <memory>

namespace headrace {

// Grow-only up to kKept; a bigger buffer is given back by the next smaller request. Not
// thread-safe.
class Scratch {
 public:
  static constexpr size_t kKept = 64 << 20;

  // `bytes` (+ 64 to spare, for loads that reach over the end), 64-byte aligned, zero or left from
  // the last use. Invalidates what the last call gave.
  std::byte* Get(size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

// What a buffer is used for: two uses may be alive at once in one thread, one use never twice.
enum class ScratchUse { kDecodedPixels, kDecoderRows, kEntropyWindow, kResample, kUses };

// This thread's buffer for `use`.
Scratch& ThreadScratch(ScratchUse use);

}  // namespace headrace
