#include "element/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "common/status.h"
#include "google/protobuf/arena.h"
#include "headrace/v1/frame.pb.h"

namespace headrace {

namespace {

// a * b and a + b; false when they do not fit.
bool Multiply(uint64_t a, uint64_t b, uint64_t& out) { return !__builtin_mul_overflow(a, b, &out); }
bool Add(uint64_t a, uint64_t b, uint64_t& out) { return !__builtin_add_overflow(a, b, &out); }

}  // namespace

// Fills a FrameView, checking as it goes. Used once.
class FrameParser {
 public:
  FrameParser(FrameBuffer buffer, const FrameLimits& limits) : limits_(limits) {
    view_->buffer_ = std::move(buffer);
  }

  absl::StatusOr<std::shared_ptr<const FrameView>> Parse() {
    HR_RETURN_IF_ERROR(ParseHeader());
    view_->task_ = header_->task();
    view_->sequence_ = header_->sequence();
    view_->epoch_ = header_->epoch();
    view_->lease_floor_ = header_->lease_floor();
    view_->batched_ = header_->batched();
    view_->rows_ = header_->rows();
    if (header_->has_ordered()) {
      const v1::OrderedPiece& piece = header_->ordered();
      view_->place_ = {piece.lane(), piece.window(), piece.piece(), piece.rest(),
                       piece.window_end()};
    }
    if (view_->rows_ == 0) {
      const bool mark = view_->place_ && view_->place_->window_end;
      if (!mark || header_->columns_size() != 0 || header_->runs_size() != 0)
        return Damaged("it has no rows");
      return std::shared_ptr<const FrameView>(std::move(view_));
    }
    if (view_->rows_ > limits_.max_rows) return Over("rows", view_->rows_, limits_.max_rows);
    const size_t columns = static_cast<size_t>(header_->columns_size());
    if (columns > limits_.max_columns) return Over("columns", columns, limits_.max_columns);
    view_->columns_.resize(columns);
    absl::flat_hash_set<std::string_view> names;
    for (size_t i = 0; i < columns; ++i) {
      const v1::Column& column = header_->columns(static_cast<int>(i));
      if (!names.insert(column.name()).second) return Damaged(column, "its name comes twice");
      HR_RETURN_IF_ERROR(ParseColumn(column, view_->columns_[i]));
    }
    HR_RETURN_IF_ERROR(ParseRuns());
    return std::shared_ptr<const FrameView>(std::move(view_));
  }

 private:
  absl::Status ParseHeader() {
    const FrameBuffer& buffer = view_->buffer_;
    const std::byte* data = buffer.data.get();
    const size_t contiguous = buffer.pieces.empty() ? buffer.size : buffer.pieces[0].size;
    if (buffer.size > limits_.max_bytes) return Over("bytes", buffer.size, limits_.max_bytes);
    if (reinterpret_cast<uintptr_t>(data) % kFrameAlignment != 0) {
      return Internal("a received frame must lie at a multiple of {} bytes", kFrameAlignment);
    }
    if (contiguous < kFramePrefixBytes ||
        std::memcmp(data, kFrameMagic, sizeof(kFrameMagic)) != 0) {
      return Damaged("it does not begin with 'HRF1'");
    }
    uint32_t header_bytes = 0;
    std::memcpy(&header_bytes, data + sizeof(kFrameMagic), sizeof(header_bytes));
    const size_t unpadded = kFramePrefixBytes + header_bytes;
    const size_t payload_at = unpadded + FramePadding(unpadded);
    if (header_bytes > kMaxFrameHeaderBytes)
      return Over("header bytes", header_bytes, kMaxFrameHeaderBytes);
    if (payload_at > contiguous) {
      return Damaged(fmt::format("its header of {} bytes ends after the frame's {}", header_bytes,
                                 contiguous));
    }
    header_ = google::protobuf::Arena::CreateMessage<v1::FrameHeader>(&arena_);
    if (!header_->ParseFromArray(data + kFramePrefixBytes, static_cast<int>(header_bytes))) {
      return Damaged("its header is not a FrameHeader");
    }
    payload_at_ = payload_at;
    payload_bytes_ = buffer.size - payload_at;
    if (header_->payload_bytes() != payload_bytes_) {
      return Damaged(fmt::format("its header promises {} payload bytes, {} are there",
                                 header_->payload_bytes(), payload_bytes_));
    }
    return absl::OkStatus();
  }

  absl::Status ParseColumn(const v1::Column& column, FrameView::Column& out) {
    out.name = column.name();
    if (column.dtype() <= v1::DTYPE_INVALID || column.dtype() > v1::DTYPE_BYTES) {
      return Damaged(column, fmt::format("unknown dtype {}", static_cast<int>(column.dtype())));
    }
    out.dtype = static_cast<DType>(column.dtype());
    out.ragged = column.ragged();
    uint64_t items = 0;
    if (out.ragged) {
      HR_RETURN_IF_ERROR(ParseRowShapes(column, out, items));
    } else {
      HR_RETURN_IF_ERROR(
          ParseShape(column, column.dims().data(), column.dims_size(), out.shape, out.row_items));
      if (!Multiply(out.row_items, view_->rows_, items))
        return Damaged(column, "its shape overflows");
    }
    if (out.dtype == DType::kBytes) return ParseStrings(column, items, out);
    uint64_t bytes = 0;
    if (!Multiply(items, ItemSize(out.dtype), bytes)) return Damaged(column, "its shape overflows");
    return Locate(column, column.offset(), column.length(), bytes, out.data);
  }

  absl::Status ParseShape(const v1::Column& column, const int64_t* dims, int rank, Shape& shape,
                          uint64_t& items) const {
    if (rank < 0 || static_cast<size_t>(rank) > Shape::kMaxRank) {
      return Damaged(column, fmt::format("rank {} is over {}", rank, Shape::kMaxRank));
    }
    items = 1;
    // Dims are multiplied without their zeros too, so that no later product of some of them can
    // overflow.
    uint64_t bound = 1;
    for (int i = 0; i < rank; ++i) {
      if (dims[i] < 0) return Damaged(column, fmt::format("dim {} is {}", i, dims[i]));
      const auto dim = static_cast<uint64_t>(dims[i]);
      if (!Multiply(bound, std::max<uint64_t>(dim, 1), bound) || bound > kMaxItems) {
        return Damaged(column, "its shape overflows");
      }
      items *= dim;
    }
    shape = Shape(std::span(dims, static_cast<size_t>(rank)));
    return absl::OkStatus();
  }

  absl::Status ParseRowShapes(const v1::Column& column, FrameView::Column& out,
                              uint64_t& items) const {
    const uint64_t rank = column.rank();
    if (rank > Shape::kMaxRank)
      return Damaged(column, fmt::format("rank {} is over {}", rank, Shape::kMaxRank));
    if (static_cast<uint64_t>(column.row_dims_size()) != rank * view_->rows_) {
      return Damaged(column, fmt::format("{} row dims for {} rows of rank {}",
                                         column.row_dims_size(), view_->rows_, rank));
    }
    out.row_shapes.resize(view_->rows_);
    out.row_starts.resize(view_->rows_ + 1);
    items = 0;
    for (size_t row = 0; row < view_->rows_; ++row) {
      uint64_t row_items = 0;
      HR_RETURN_IF_ERROR(ParseShape(column, column.row_dims().data() + row * rank,
                                    static_cast<int>(rank), out.row_shapes[row], row_items));
      if (!Add(items, row_items, items)) return Damaged(column, "its shapes overflow");
      out.row_starts[row + 1] = items;
    }
    return absl::OkStatus();
  }

  absl::Status ParseStrings(const v1::Column& column, uint64_t items,
                            FrameView::Column& out) const {
    uint64_t index_bytes = 0;
    if (!Add(items, 1, index_bytes) || !Multiply(index_bytes, sizeof(int64_t), index_bytes)) {
      return Damaged(column, "its shape overflows");
    }
    const std::byte* index = nullptr;
    HR_RETURN_IF_ERROR(Locate(column, column.offset(), column.length(), index_bytes, index));
    HR_RETURN_IF_ERROR(
        Locate(column, column.data_offset(), column.data_length(), column.data_length(), out.data));
    out.offsets = reinterpret_cast<const int64_t*>(index);
    if (out.offsets[0] != 0)
      return Damaged(column, fmt::format("its first offset is {}", out.offsets[0]));
    bool grows = true;
    for (uint64_t i = 0; i < items; ++i) grows &= out.offsets[i] <= out.offsets[i + 1];
    if (!grows) return Damaged(column, "its offsets go back");
    if (static_cast<uint64_t>(out.offsets[items]) != column.data_length()) {
      return Damaged(column, fmt::format("its last offset is {}, its data has {} bytes",
                                         out.offsets[items], column.data_length()));
    }
    return absl::OkStatus();
  }

  // Checks that [offset, offset + length) is an aligned piece of the payload, `expected` bytes
  // long.
  absl::Status Locate(const v1::Column& column, uint64_t offset, uint64_t length, uint64_t expected,
                      const std::byte*& out) const {
    uint64_t end = 0;
    if (length != expected) {
      return Damaged(column, fmt::format("{} bytes where its shape asks for {}", length, expected));
    }
    if (!Add(offset, length, end) || end > payload_bytes_) {
      return Damaged(column, fmt::format("bytes {} + {} lie outside of the payload's {}", offset,
                                         length, payload_bytes_));
    }
    if (offset % kFrameAlignment != 0)
      return Damaged(column, fmt::format("offset {} is not aligned", offset));
    out = FindPiece(payload_at_ + offset, length);
    if (out == nullptr) {
      return Damaged(column, fmt::format("bytes {} + {} lie in several pieces", offset, length));
    }
    return absl::OkStatus();
  }

  // Where bytes [begin, begin + length) of the frame lie; null when that is not in one place.
  const std::byte* FindPiece(size_t begin, size_t length) const {
    const FrameBuffer& buffer = view_->buffer_;
    if (buffer.pieces.empty()) return buffer.data.get() + begin;
    for (const FrameSlice& piece : buffer.pieces) {
      if (begin < piece.size) return length <= piece.size - begin ? piece.data + begin : nullptr;
      begin -= piece.size;
    }
    return length == 0 ? buffer.data.get() : nullptr;  // an empty column at the very end
  }

  absl::Status ParseRuns() {
    const bool one_each = header_->row_runs_size() == 0;
    view_->one_record_rows_ = one_each;
    view_->runs_.reserve(static_cast<size_t>(header_->runs_size()));
    uint64_t records = 0;
    if (one_each) view_->starts_.push_back(0);
    for (const v1::Run& run : header_->runs()) {
      uint64_t end = 0;
      const uint32_t parts = run.parts() == 0 ? 1 : run.parts();
      if (run.count() == 0 || !Add(run.first(), run.count(), end) || run.part() >= parts) {
        return Damaged(
            fmt::format("run (split {}, first {}, count {}, part {} of {}) is not possible",
                        run.split(), run.first(), run.count(), run.part(), parts));
      }
      view_->runs_.push_back(
          {run.split(), run.first(), run.count(), run.part(), parts, run.pass()});
      if (!Add(records, run.count(), records)) return Damaged("its runs overflow");
      if (one_each) view_->starts_.push_back(records);
    }
    if (one_each) {
      if (records == view_->rows_) return absl::OkStatus();
      return Damaged(
          fmt::format("its runs name {} records, it has {} rows", records, view_->rows_));
    }
    return ParseRowRuns();
  }

  absl::Status ParseRowRuns() {
    if (static_cast<size_t>(header_->row_runs_size()) != view_->rows_) {
      return Damaged(
          fmt::format("{} run counts for {} rows", header_->row_runs_size(), view_->rows_));
    }
    view_->starts_.reserve(view_->rows_ + 1);
    uint64_t runs = 0;
    view_->starts_.push_back(0);
    for (uint32_t count : header_->row_runs()) {
      runs += count;  // at most 2^24 rows of 2^32: no overflow
      view_->starts_.push_back(runs);
    }
    if (runs == view_->runs_.size()) return absl::OkStatus();
    return Damaged(fmt::format("its rows own {} runs, {} are there", runs, view_->runs_.size()));
  }

  absl::Status Damaged(std::string_view what) const {
    if (header_ == nullptr) return DataLoss("damaged frame: {}", what);
    return DataLoss("damaged frame {} of task {}: {}", header_->sequence(), header_->task(), what);
  }
  absl::Status Damaged(const v1::Column& column, std::string_view what) const {
    return Damaged(fmt::format("column '{}': {}", column.name(), what));
  }
  absl::Status Over(std::string_view what, uint64_t have, uint64_t limit) const {
    return OutOfRange("a frame with {} {} is over the limit of {}", have, what, limit);
  }

  // Items of one row, zero dims counted as one: far above any frame, far below overflow of items *
  // item size.
  static constexpr uint64_t kMaxItems = uint64_t{1} << 48;

  const FrameLimits limits_;
  std::shared_ptr<FrameView> view_ = std::make_shared<FrameView>();
  google::protobuf::Arena arena_;
  v1::FrameHeader* header_ = nullptr;
  size_t payload_at_ = 0;  // in the frame
  uint64_t payload_bytes_ = 0;
};

absl::StatusOr<std::shared_ptr<const FrameView>> FrameView::Parse(FrameBuffer buffer,
                                                                  const FrameLimits& limits) {
  return FrameParser(std::move(buffer), limits).Parse();
}

size_t FrameView::Find(std::string_view name) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name == name) return i;
  }
  return columns_.size();
}

TensorView FrameView::at(size_t column, size_t row) const {
  const Column& c = columns_[column];
  TensorView view;
  view.dtype = c.dtype;
  view.shape = c.ragged ? c.row_shapes[row] : c.shape;
  const uint64_t first = c.ragged ? c.row_starts[row] : row * c.row_items;
  const uint64_t items = c.ragged ? c.row_starts[row + 1] - first : c.row_items;
  view.data = c.data;
  if (c.dtype == DType::kBytes) {
    view.offsets = c.offsets + first;
    view.bytes = static_cast<size_t>(view.offsets[items] - view.offsets[0]);
  } else {
    const size_t item_bytes = ItemSize(c.dtype);
    view.data += first * item_bytes;
    view.bytes = items * item_bytes;
  }
  return view;
}

void FrameView::AppendRuns(size_t begin, size_t end, std::vector<Run>& out) const {
  if (begin >= end) return;
  if (!one_record_rows_) {
    for (uint64_t i = starts_[begin]; i < starts_[end]; ++i) AppendRun(out, runs_[i]);
    return;
  }
  // The run that holds row `begin`: the last that starts at or before it.
  auto at = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), begin) -
                                starts_.begin() - 1);
  for (uint64_t row = begin; row < end; ++at) {
    Run run = runs_[at];
    const uint64_t skipped = row - starts_[at];
    run.first += skipped;
    run.count = std::min<uint64_t>(starts_[at + 1], end) - row;
    AppendRun(out, run);
    row += run.count;
  }
}

}  // namespace headrace
