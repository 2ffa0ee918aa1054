#include "pipeline/udf/block_writer.h"

#include <algorithm>
#include <cstring>

#include "common/status.h"
#include "pipeline/udf/words.h"

namespace headrace::udf {
namespace {

size_t Align(size_t at) { return (at + 63) & ~size_t{63}; }

struct Layout {
  bool dense = true;
  bool bytes = false;
  uint64_t items = 0;
  uint64_t data_bytes = 0;
  size_t data_at = 0;
  size_t offsets_at = 0;
  size_t dims_at = 0;
};

class Writer {
 public:
  Writer(const Block& block, std::span<const uint32_t> rows, const RequestOptions& options)
      : block_(block), rows_(rows), options_(options) {}

  absl::StatusOr<size_t> Write(SharedSegment& segment) {
    const size_t bytes = LayOut();
    if (bytes > options_.max_bytes) {
      return OutOfRange("{} rows of {} bytes are over udf_block_bytes, {}", rows_.size(), bytes,
                        options_.max_bytes);
    }
    if (bytes > segment.size()) {
      size_t size = segment.size();
      while (size < bytes) size *= 2;
      HR_RETURN_IF_ERROR(segment.Grow(std::min(size, options_.max_bytes)));
    }
    at_ = segment.data();
    WriteHeader();
    for (size_t i = 0; i < layouts_.size(); ++i) WriteColumn(i);
    return bytes;
  }

 private:
  const Cell& cell(size_t column, size_t row) const {
    return block_.column(options_.columns[column])[rows_[row]];
  }

  size_t LayOut() {
    size_t at = sizeof(int64_t) * (kHeaderWords + kColumnWords * options_.columns.size());
    const auto take = [&at](size_t bytes) {
      const size_t begin = Align(at);
      at = begin + bytes;
      return begin;
    };
    if (options_.random != nullptr) keys_at_ = take(rows_.size() * 2 * sizeof(uint64_t));
    for (size_t i = 0; i < options_.columns.size(); ++i) {
      Layout& layout = layouts_.emplace_back();
      layout.bytes = block_.schema()[options_.columns[i]].dtype == DType::kBytes;
      for (size_t row = 0; row < rows_.size(); ++row) {
        const Cell& c = cell(i, row);
        const auto items = static_cast<uint64_t>(c.shape.items());
        layout.items += items;
        layout.data_bytes += c.bytes;
        if (layout.bytes && c.shape.rank() > 0) layout.data_bytes -= (items + 1) * sizeof(int64_t);
        layout.dense = layout.dense && c.shape == cell(i, 0).shape;
      }
      if (!layout.dense) layout.dims_at = take(rows_.size() * kDimsWords * sizeof(int64_t));
      if (layout.bytes) layout.offsets_at = take((layout.items + 1) * sizeof(int64_t));
      layout.data_at = take(layout.data_bytes);
    }
    return at;
  }

  void WriteHeader() {
    auto* words = reinterpret_cast<int64_t*>(at_);
    std::fill_n(words, kHeaderWords, 0);
    words[kRequestRows] = static_cast<int64_t>(rows_.size());
    words[kRequestColumns] = static_cast<int64_t>(options_.columns.size());
    words[kRequestKeysAt] = static_cast<int64_t>(keys_at_);
    words[kRequestSingle] = options_.single ? 1 : 0;
    if (options_.random == nullptr) return;
    auto* keys = reinterpret_cast<uint64_t*>(at_ + keys_at_);
    for (size_t row = 0; row < rows_.size(); ++row) {
      RandomStream stream(*options_.random, block_.provenance(rows_[row]).front());
      keys[2 * row] = stream.Next64();
      keys[2 * row + 1] = stream.Next64();
    }
  }

  void WriteColumn(size_t column) {
    const Layout& layout = layouts_[column];
    auto* words = reinterpret_cast<int64_t*>(at_) + kHeaderWords + kColumnWords * column;
    std::fill_n(words, kColumnWords, 0);
    words[kColumnKind] = layout.dense ? kDense : kRagged;
    if (layout.dense && !rows_.empty()) {
      const Shape& shape = cell(column, 0).shape;
      words[kColumnRank] = static_cast<int64_t>(shape.rank());
      std::copy(shape.dims().begin(), shape.dims().end(), words + kColumnDims);
    }
    words[kColumnDataAt] = static_cast<int64_t>(layout.data_at);
    words[kColumnDataBytes] = static_cast<int64_t>(layout.data_bytes);
    words[kColumnOffsetsAt] = static_cast<int64_t>(layout.offsets_at);
    words[kColumnDimsAt] = static_cast<int64_t>(layout.dims_at);
    words[kColumnItems] = static_cast<int64_t>(layout.items);
    if (!layout.dense) WriteDims(column);
    if (layout.bytes) {
      WriteStrings(column);
    } else {
      std::byte* to = at_ + layout.data_at;
      for (size_t row = 0; row < rows_.size(); ++row)
        to = Copy(cell(column, row).data, cell(column, row).bytes, to);
    }
  }

  void WriteDims(size_t column) {
    auto* to = reinterpret_cast<int64_t*>(at_ + layouts_[column].dims_at);
    for (size_t row = 0; row < rows_.size(); ++row, to += kDimsWords) {
      const Shape& shape = cell(column, row).shape;
      std::fill_n(to, kDimsWords, 0);
      to[0] = static_cast<int64_t>(shape.rank());
      std::copy(shape.dims().begin(), shape.dims().end(), to + 1);
    }
  }

  void WriteStrings(size_t column) {
    auto* offsets = reinterpret_cast<int64_t*>(at_ + layouts_[column].offsets_at);
    std::byte* const base = at_ + layouts_[column].data_at;
    std::byte* to = base;
    *offsets++ = 0;
    for (size_t row = 0; row < rows_.size(); ++row) {
      const Cell& c = cell(column, row);
      if (c.shape.rank() == 0) {
        to = Copy(c.data, c.bytes, to);
        *offsets++ = to - base;
        continue;
      }
      const auto items = static_cast<size_t>(c.shape.items());
      const auto* from = reinterpret_cast<const int64_t*>(c.data);
      for (size_t i = 1; i <= items; ++i) *offsets++ = (to - base) + from[i];
      const size_t index_bytes = (items + 1) * sizeof(int64_t);
      to = Copy(c.data + index_bytes, c.bytes - index_bytes, to);
    }
  }

  static std::byte* Copy(const std::byte* from, size_t bytes, std::byte* to) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return to + bytes;
  }

  const Block& block_;
  const std::span<const uint32_t> rows_;
  const RequestOptions& options_;
  std::vector<Layout> layouts_;
  size_t keys_at_ = 0;
  std::byte* at_ = nullptr;
};

}  // namespace

absl::StatusOr<size_t> WriteRequest(const Block& block, std::span<const uint32_t> rows,
                                    const RequestOptions& options, SharedSegment& segment) {
  return Writer(block, rows, options).Write(segment);
}

}  // namespace headrace::udf
