// Decides how a frame crosses: what can be lent where it lies, what is copied into a slot, what
// goes through the socket. Called by whoever writes frames, one frame at a time.
#pragma once

#include <memory>
#include <vector>

#include "element/frame.h"
#include "transport/shm/shm_messages.h"
#include "transport/shm/shm_pool.h"

namespace headrace {

struct PlacedFrame {
  FrameNotice notice;               // but for its number
  std::vector<FrameSlice> parts;    // the inline bytes; they borrow the frame
  std::shared_ptr<std::byte> copy;  // a slot of the pool; null: nothing was copied
};

// - small frames: inline;
// - columns that lie in the pool: lent, and the little that does not, inline;
// - else copied into a slot, or inline when the pool has none.
// `frame.header` must stay where it is (it is longer than what std::string keeps in itself).
PlacedFrame PlaceFrame(const Frame& frame, ShmPool& pool);
// All of it through the socket.
PlacedFrame PlaceInline(const Frame& frame);

}  // namespace headrace
