// xxh3 over a frame as its bytes come, with the widest registers that the machine has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "element/frame.h"

namespace headrace::tcp {

// For one thread. Reset begins the next frame.
class FrameHash {
 public:
  FrameHash();
  ~FrameHash();
  void Reset();
  void Update(const void* data, size_t size);
  uint64_t Digest() const;
  // Of a whole frame, before any coding.
  uint64_t Of(const Frame& frame);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::tcp
