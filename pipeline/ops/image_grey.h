// What grayscale and random_grayscale share.
#pragma once

#include <algorithm>

#include "pipeline/imaging/color.h"
#include "pipeline/ops/image_field.h"

namespace headrace {

template <typename T>
void GreyCellOf(Cell& cell, int64_t channels, Arena& arena) {
  const int64_t pixels = cell.shape[0] * cell.shape[1];
  const size_t bytes = static_cast<size_t>(pixels * channels) * sizeof(T);
  T* out = reinterpret_cast<T*>(arena.Allocate(bytes));
  const T* in = cell.as<T>().data();
  if (cell.shape[2] == 3) {
    ToGrey(in, pixels, channels, out);
  } else {  // grey becomes three equal channels
    for (int64_t p = 0; p < pixels; ++p) std::fill_n(out + p * channels, channels, in[p]);
  }
  cell = {reinterpret_cast<const std::byte*>(out), bytes,
          Shape{cell.shape[0], cell.shape[1], channels}};
}

// Replaces `cell`, an image of 1 or 3 channels, by a grey one of `channels` channels.
inline void GreyCell(Cell& cell, DType dtype, int64_t channels, Arena& arena) {
  if (cell.shape[2] == 1 && channels == 1) return;
  if (dtype == DType::kUInt8) {
    GreyCellOf<uint8_t>(cell, channels, arena);
  } else {
    GreyCellOf<float>(cell, channels, arena);
  }
}

}  // namespace headrace
