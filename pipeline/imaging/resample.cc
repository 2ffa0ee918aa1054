#include "pipeline/imaging/resample.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "pipeline/imaging/resample_kernels.h"
#include "pipeline/imaging/scratch.h"

namespace headrace {
namespace {

// A horizontal pass over one byte costs about so many vertical ones (measured; see the design
// note).
constexpr int64_t kGatherCost = 6;

// Allocated once per thread: a call per image must not go to the heap for its tables.
struct Tables {
  ResampleAxis<int16_t> columns, rows;
  ResampleAxis<float> float_columns, float_rows;
  std::vector<const uint8_t*> taps;
};
Tables& ThreadTables() {
  thread_local Tables tables;
  return tables;
}

uint8_t* ScratchBytes(int64_t bytes) {
  return reinterpret_cast<uint8_t*>(
      ThreadScratch(ScratchUse::kResample).Get(static_cast<size_t>(bytes)));
}

void Gather1(const uint8_t* in, const ResampleAxis<int16_t>& axis, uint8_t* out) {
  for (int64_t x = 0; x < axis.size; ++x) {
    const uint8_t* p = in + axis.first[static_cast<size_t>(x)];
    const int16_t* weights = axis.row(x);
    int32_t sum = 1 << (kWeightBits - 1);
    for (int32_t t = 0; t < axis.count[static_cast<size_t>(x)]; ++t) sum += weights[t] * p[t];
    out[x] = static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
  }
}

// One call's work. Every pointer it makes is into the image, the scratch or the output.
class Resampler {
 public:
  Resampler(const ResampleKernels& kernels, const ImageView& in, Tables& tables, bool any_order,
            uint8_t* out)
      : kernels_(kernels),
        in_(in),
        columns_(tables.columns),
        rows_(tables.rows),
        taps_(tables.taps),
        any_order_(any_order),
        out_(out) {}

  void Run() {
    const int64_t used_columns = columns_.end() - columns_.begin(),
                  used_rows = rows_.end() - rows_.begin();
    const int64_t area = rows_.size * columns_.size;
    const int64_t rows_first =
        used_columns * rows_.size * rows_.taps + kGatherCost * area * columns_.taps;
    const int64_t columns_first =
        kGatherCost * used_rows * columns_.size * columns_.taps + area * rows_.taps;
    if (rows_.identity || (!columns_.identity && (!any_order_ || columns_first < rows_first))) {
      RunColumnsFirst(used_rows);
    } else {
      RunRowsFirst(used_columns);
    }
  }

 private:
  int64_t out_row_bytes() const { return columns_.size * in_.channels; }

  // Weighted mean of input rows -> output row y of the vertical axis, for `bytes` bytes from byte
  // `from` of each row. Row 0 of the axis is at `base`.
  void Blend(const uint8_t* base, int64_t stride, int64_t from, int64_t y, int64_t bytes,
             uint8_t* out) {
    const int64_t count = rows_.count[static_cast<size_t>(y)];
    const uint8_t* row = base + int64_t{rows_.first[static_cast<size_t>(y)]} * stride + from;
    if (count == 1) {
      std::memcpy(out, row, static_cast<size_t>(bytes));
      return;
    }
    taps_.clear();
    for (int64_t t = 0; t < count; ++t) taps_.push_back(row + t * stride);
    if (count % 2 != 0) taps_.push_back(row);  // its weight is the padding, 0
    kernels_.blend(taps_.data(), rows_.row(y), static_cast<int64_t>(taps_.size()), bytes, out);
  }

  void Gather(const uint8_t* in0, const uint8_t* in1, uint8_t* out0, uint8_t* out1) {
    if (in_.channels == 3) {
      kernels_.gather3(in0, in1, columns_, out0, out1);
      return;
    }
    Gather1(in0, columns_, out0);
    if (out1 != out0) Gather1(in1, columns_, out1);
  }

  // Each output row: blend into a row that stays in the first cache, gather from there. Two at a
  // time.
  void RunRowsFirst(int64_t used_columns) {
    if (columns_.identity) {
      const int64_t from = columns_.begin() * in_.channels;
      for (int64_t y = 0; y < rows_.size; ++y) {
        Blend(in_.data, in_.row_bytes(), from, y, out_row_bytes(), out_ + y * out_row_bytes());
      }
      return;
    }
    const int64_t begin = columns_.begin();
    for (int32_t& first : columns_.first) first -= static_cast<int32_t>(begin);
    const int64_t bytes = used_columns * in_.channels;
    uint8_t* blended0 = ScratchBytes((bytes + kOverread) * 2);
    uint8_t* blended1 = blended0 + bytes + kOverread;
    for (int64_t y = 0; y < rows_.size; y += 2) {
      const int64_t second = std::min(y + 1, rows_.size - 1);
      Blend(in_.data, in_.row_bytes(), begin * in_.channels, y, bytes, blended0);
      Blend(in_.data, in_.row_bytes(), begin * in_.channels, second, bytes, blended1);
      Gather(blended0, blended1, out_ + y * out_row_bytes(), out_ + second * out_row_bytes());
    }
  }

  // Gather every input row that is used, then blend. The way for enlarging: few input rows.
  void RunColumnsFirst(int64_t used_rows) {
    const int64_t begin = rows_.begin();
    for (int32_t& first : rows_.first) first -= static_cast<int32_t>(begin);
    const bool straight = rows_.identity;
    const int64_t row_bytes = out_row_bytes();
    const int64_t padded_bytes = in_.row_bytes() + kOverread;
    uint8_t* padded = ScratchBytes(2 * padded_bytes + (straight ? 0 : used_rows * row_bytes));
    uint8_t* gathered = straight ? out_ : padded + 2 * padded_bytes;
    for (int64_t y = 0; y < used_rows; y += 2) {
      const int64_t second = std::min(y + 1, used_rows - 1);
      uint8_t* out0 = gathered + y * row_bytes;
      uint8_t* out1 = gathered + second * row_bytes;
      if (columns_.identity) {
        const int64_t from = columns_.begin() * in_.channels;
        std::memcpy(out0, in_.row(begin + y) + from, static_cast<size_t>(row_bytes));
        std::memcpy(out1, in_.row(begin + second) + from, static_cast<size_t>(row_bytes));
      } else {
        Gather(Readable(begin + y, padded), Readable(begin + second, padded + padded_bytes), out0,
               out1);
      }
    }
    if (straight) return;
    for (int64_t y = 0; y < rows_.size; ++y)
      Blend(gathered, row_bytes, 0, y, row_bytes, out_ + y * row_bytes);
  }

  // Row y where kOverread bytes may be read behind it: a copy, for the last rows of the image.
  const uint8_t* Readable(int64_t y, uint8_t* copy) const {
    const uint8_t* row = in_.row(y);
    if ((in_.height - 1 - y) * in_.row_bytes() >= kOverread) return row;
    std::memcpy(copy, row, static_cast<size_t>(in_.row_bytes()));
    return copy;
  }

  const ResampleKernels& kernels_;
  const ImageView& in_;
  ResampleAxis<int16_t>& columns_;
  ResampleAxis<int16_t>& rows_;
  std::vector<const uint8_t*>& taps_;
  bool any_order_;
  uint8_t* out_;
};

}  // namespace

void ResampleWith(const ResampleKernels& kernels, const ImageView& in, const Box& box,
                  ResampleMethod method, int64_t out_height, int64_t out_width, uint8_t* out) {
  assert(box.left >= 0 && box.left < box.right && box.right <= static_cast<double>(in.width));
  assert(box.top >= 0 && box.top < box.bottom && box.bottom <= static_cast<double>(in.height));
  assert(out_height > 0 && out_width > 0);
  Tables& tables = ThreadTables();
  MakeAxis(in.width, box.left, box.right, out_width, method, tables.columns);
  MakeAxis(in.height, box.top, box.bottom, out_height, method, tables.rows);
  // A cubic overshoots, and what lies between the passes is cut to [0, 255], so their order shows:
  // it is Pillow's.
  const bool any_order = method == ResampleMethod::kBilinear;
  Resampler(kernels, in, tables, any_order, out).Run();
}

void Resample(const ImageView& in, const Box& box, ResampleMethod method, int64_t out_height,
              int64_t out_width, uint8_t* out) {
  ResampleWith(BestResampleKernels(), in, box, method, out_height, out_width, out);
}

void Resample(const FloatImageView& in, const Box& box, ResampleMethod method, int64_t out_height,
              int64_t out_width, float* out) {
  Tables& tables = ThreadTables();
  MakeAxis(in.width, box.left, box.right, out_width, method, tables.float_columns);
  MakeAxis(in.height, box.top, box.bottom, out_height, method, tables.float_rows);
  const ResampleAxis<float>& columns = tables.float_columns;
  const ResampleAxis<float>& rows = tables.float_rows;
  const int64_t channels = in.channels, row_items = in.width * channels;
  auto* blended =
      reinterpret_cast<float*>(ScratchBytes(row_items * static_cast<int64_t>(sizeof(float))));
  for (int64_t y = 0; y < out_height; ++y) {
    std::fill_n(blended, row_items, 0.0f);
    for (int32_t t = 0; t < rows.count[static_cast<size_t>(y)]; ++t) {
      const float* row = in.data + (rows.first[static_cast<size_t>(y)] + t) * row_items;
      const float weight = rows.row(y)[t];
      for (int64_t i = 0; i < row_items; ++i) blended[i] += weight * row[i];
    }
    for (int64_t x = 0; x < out_width; ++x) {
      const float* pixel = blended + columns.first[static_cast<size_t>(x)] * channels;
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (int32_t t = 0; t < columns.count[static_cast<size_t>(x)]; ++t) {
          sum += columns.row(x)[t] * pixel[t * channels + c];
        }
        *out++ = sum;
      }
    }
  }
}

}  // namespace headrace
