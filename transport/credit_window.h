// How many bytes one side of a stream lets the other send. Plain counting, for one thread or under
// its owner's lock.
#pragma once

#include <cstdint>
#include <limits>

namespace headrace {

class CreditWindow {
 public:
  // Adds to what is left; a sum that does not fit stays at the largest number (a hostile peer gains
  // nothing).
  void Grant(uint64_t bytes) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    const int64_t more = bytes > static_cast<uint64_t>(kMost) ? kMost : static_cast<int64_t>(bytes);
    if (left_ > 0 && more > kMost - left_) {
      left_ = kMost;
    } else {
      left_ += more;
    }
  }
  // A frame may go, whatever its size: below zero the window stays shut until grants have made up
  // for it.
  bool open() const { return left_ > 0; }
  // Takes `bytes` for a frame; false, and nothing taken, when the window is shut.
  bool Take(uint64_t bytes) {
    if (!open()) return false;
    left_ -= static_cast<int64_t>(bytes);  // a frame's size is far below 2^63
    return true;
  }
  int64_t left() const { return left_; }

 private:
  int64_t left_ = 0;
};

}  // namespace headrace
