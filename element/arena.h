// Memory of a block: bump allocation, 64-byte aligned, freed at once when the last holder lets go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "element/frame_memory.h"

namespace headrace {

// Not thread-safe: one thread works on a block at a time. Shared ownership (ArenaPtr) is how a row
// outlives its block.
class Arena {
 public:
  static constexpr size_t kAlignment = 64;

  Arena() = default;
  // Cells worth lending are laid in `frames` while it has room.
  explicit Arena(std::shared_ptr<FrameMemory> frames) : frames_(std::move(frames)) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `bytes` uninitialised, 64-byte aligned bytes that live as long as the arena. Never null (0
  // gives a valid pointer). Small requests come from a chunk; big ones (> 256 KiB) get one of their
  // own.
  std::byte* Allocate(size_t bytes);
  // As Allocate, packed to `alignment` (a power of two <= 64): for many small values.
  std::byte* AllocatePacked(size_t bytes, size_t alignment);
  // Keeps `owner` alive as long as the arena: bytes read into, or borrowed from, somewhere else.
  // `bytes` is accounted.
  void Adopt(std::shared_ptr<const void> owner, size_t bytes);
  // Bytes held, adopted ones included: what queues and budgets count.
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::shared_ptr<FrameMemory> frames_;
  std::vector<std::unique_ptr<std::byte, Free>> chunks_;
  std::vector<std::shared_ptr<const void>> adopted_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
  size_t bytes_ = 0;
};

using ArenaPtr = std::shared_ptr<Arena>;

}  // namespace headrace
