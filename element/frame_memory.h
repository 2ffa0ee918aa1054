// Memory from which a transport can send without a copy. The worker makes one and hands it to the
// engine: blocks that leave a task lay their big cells in it. A transport that does not know the
// memory (gRPC, TCP) sends from it as from any other.
#pragma once

#include <cstddef>
#include <memory>

namespace headrace {

class FrameMemory {
 public:
  virtual ~FrameMemory() = default;
  // `bytes` uninitialised bytes, 64-byte aligned, given back when the last holder lets go. Null
  // when there is none to be had now: the caller takes memory of its own. Thread-safe, never
  // blocks.
  virtual std::shared_ptr<std::byte> Take(size_t bytes) = 0;
};

}  // namespace headrace
