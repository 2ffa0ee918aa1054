// What an image is inside hr_imaging: tightly packed rows of 8-bit pixels, row after row, channels
// interleaved (HWC).
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

// Borrows the pixels. channels is 1 (grey) or 3 (RGB).
struct ImageView {
  const uint8_t* data = nullptr;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;

  int64_t row_bytes() const { return width * channels; }
  int64_t bytes() const { return height * row_bytes(); }
  const uint8_t* row(int64_t y) const { return data + y * row_bytes(); }
};

// A rectangle of whole pixels.
struct Region {
  int64_t left = 0;
  int64_t top = 0;
  int64_t width = 0;
  int64_t height = 0;

  int64_t right() const { return left + width; }
  int64_t bottom() const { return top + height; }
  bool operator==(const Region&) const = default;
};

// A rectangle with edges between pixels: pixel (x, y) covers [x, x+1) x [y, y+1).
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

inline Box BoxOf(const Region& r) {
  return {static_cast<double>(r.left), static_cast<double>(r.top), static_cast<double>(r.right()),
          static_cast<double>(r.bottom())};
}

}  // namespace headrace
