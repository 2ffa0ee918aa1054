#include "element/frame_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/status.h"
#include "google/protobuf/arena.h"
#include "headrace/v1/frame.pb.h"

namespace headrace {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

// Cells at least this big are borrowed, smaller ones packed: below it the copy costs less than a
// slice does in gRPC.
constexpr size_t kBorrowBytes = 16 << 10;
constexpr std::byte kZeros[kFrameAlignment] = {};

// Where a cell's strings lie: the two layouts of Cell in one form.
struct StringSpan {
  const int64_t* offsets = nullptr;  // null: one string, all of `data`
  const std::byte* data = nullptr;
  size_t bytes = 0;
};

StringSpan StringsOf(const Cell& cell) {
  if (cell.shape.rank() == 0) return {nullptr, cell.data, cell.bytes};
  const auto* offsets = reinterpret_cast<const int64_t*>(cell.data);
  const size_t index_bytes = static_cast<size_t>(cell.shape.items() + 1) * sizeof(int64_t);
  return {offsets, cell.data + index_bytes, cell.bytes - index_bytes};
}

void SetPlace(const PiecePlace& place, v1::OrderedPiece& out) {
  out.set_lane(place.lane);
  out.set_window(place.window);
  out.set_piece(place.piece);
  out.set_rest(place.rest);
  out.set_window_end(place.window_end);
}

// Prefix, header, padding.
std::string HeaderBytes(const v1::FrameHeader& header) {
  const size_t header_bytes = header.ByteSizeLong();
  const size_t unpadded = kFramePrefixBytes + header_bytes;
  std::string out(unpadded + FramePadding(unpadded), '\0');
  std::memcpy(out.data(), kFrameMagic, sizeof(kFrameMagic));
  const auto length = static_cast<uint32_t>(header_bytes);
  std::memcpy(out.data() + sizeof(kFrameMagic), &length, sizeof(length));
  header.SerializeToArray(out.data() + kFramePrefixBytes, static_cast<int>(header_bytes));
  return out;
}

// Builds one frame's payload and header.
class FrameBuilder {
 public:
  FrameBuilder(const Block& block, size_t begin, size_t end)
      : block_(block), begin_(begin), end_(end) {}

  absl::StatusOr<Frame> Build(const FrameMeta& meta, size_t max_bytes) {
    header_ = google::protobuf::Arena::CreateMessage<v1::FrameHeader>(&proto_arena_);
    HR_RETURN_IF_ERROR(MeasureColumns(max_bytes));
    HR_ASSIGN_OR_RETURN(scratch_, AllocateFrameBytes(packed_bytes_));
    packed_ = scratch_.get();
    for (size_t field = 0; field < block_.schema().size(); ++field) AddColumn(field);
    AddProvenance(meta.batched);
    return Seal(meta, max_bytes);
  }

 private:
  struct Measure {
    bool dense = true;
    uint64_t items = 0;
    uint64_t bytes = 0;  // of the cells' contents, without string offsets
    bool borrow = false;
  };

  std::span<const Cell> cells(size_t field) const {
    return std::span(block_.column(field)).subspan(begin_, end_ - begin_);
  }

  // Checks the cells and learns how much scratch memory the packed ones take.
  absl::Status MeasureColumns(size_t max_bytes) {
    uint64_t total = 0;
    for (size_t field = 0; field < block_.schema().size(); ++field) {
      const Field& spec = block_.schema()[field];
      Measure& m = measures_.emplace_back();
      for (const Cell& cell : cells(field)) {
        HR_RETURN_IF_ERROR(MeasureCell(spec, cell, m));
        const Shape& first = cells(field)[0].shape;
        if (cell.shape.rank() != first.rank()) {
          return Internal("field '{}': rows of shapes {} and {} in one frame", spec.name,
                          first.ToString(), cell.shape.ToString());
        }
        m.dense = m.dense && cell.shape == first;
      }
      m.borrow = m.bytes >= kBorrowBytes * (end_ - begin_) || end_ - begin_ == 1;
      const uint64_t index_bytes =
          spec.dtype == DType::kBytes ? (m.items + 1) * sizeof(int64_t) : 0;
      packed_bytes_ += 2 * kFrameAlignment + index_bytes + (m.borrow ? 0 : m.bytes);
      total += index_bytes + m.bytes;
    }
    if (total > max_bytes) return TooLarge(total, max_bytes);
    return absl::OkStatus();
  }

  absl::Status MeasureCell(const Field& spec, const Cell& cell, Measure& m) {
    const uint64_t items = static_cast<uint64_t>(cell.shape.items());
    m.items += items;
    if (spec.dtype != DType::kBytes) {
      if (cell.bytes != items * ItemSize(spec.dtype)) {
        return Internal("field '{}': a cell of shape {} and dtype {} has {} bytes", spec.name,
                        cell.shape.ToString(), Name(spec.dtype), cell.bytes);
      }
      m.bytes += cell.bytes;
      return absl::OkStatus();
    }
    const size_t index_bytes = cell.shape.rank() == 0 ? 0 : (items + 1) * sizeof(int64_t);
    if (cell.bytes < index_bytes) {
      return Internal("field '{}': a bytes cell of shape {} has only {} bytes", spec.name,
                      cell.shape.ToString(), cell.bytes);
    }
    m.bytes += cell.bytes - index_bytes;
    return absl::OkStatus();
  }

  absl::Status TooLarge(uint64_t total, size_t max_bytes) const {
    size_t largest = 0;
    for (size_t i = 1; i < measures_.size(); ++i) {
      if (measures_[i].bytes > measures_[largest].bytes) largest = i;
    }
    return OutOfRange(
        "a frame of {} rows would have {} bytes (field '{}' alone {}), over "
        "transport.max_frame_bytes = {}; "
        "make batches smaller or raise the limit",
        end_ - begin_, total, block_.schema()[largest].name, measures_[largest].bytes, max_bytes);
  }

  void AddColumn(size_t field) {
    const Field& spec = block_.schema()[field];
    const Measure& m = measures_[field];
    v1::Column& column = *header_->add_columns();
    column.set_name(spec.name);
    column.set_dtype(static_cast<v1::DType>(spec.dtype));
    AddShapes(field, column);
    if (spec.dtype == DType::kBytes) AddOffsets(field, column);
    Pad();
    const uint64_t at = payload_bytes_;
    if (m.borrow) {
      Borrow(field);
    } else {
      Pack(field);
    }
    if (spec.dtype == DType::kBytes) {
      column.set_data_offset(at);
      column.set_data_length(m.bytes);
    } else {
      column.set_offset(at);
      column.set_length(m.bytes);
    }
  }

  void AddShapes(size_t field, v1::Column& column) {
    const Shape& first = cells(field)[0].shape;
    if (measures_[field].dense) {
      for (int64_t dim : first.dims()) column.add_dims(dim);
      return;
    }
    column.set_ragged(true);
    column.set_rank(static_cast<uint32_t>(first.rank()));
    for (const Cell& cell : cells(field)) {
      for (int64_t dim : cell.shape.dims()) column.add_row_dims(dim);
    }
  }

  // The strings' ends, counted through all rows.
  void AddOffsets(size_t field, v1::Column& column) {
    Pad();
    const Measure& m = measures_[field];
    auto* offsets = reinterpret_cast<int64_t*>(TakePacked((m.items + 1) * sizeof(int64_t)));
    column.set_offset(payload_bytes_);
    column.set_length((m.items + 1) * sizeof(int64_t));
    Slice(reinterpret_cast<const std::byte*>(offsets), (m.items + 1) * sizeof(int64_t));
    int64_t base = 0;
    size_t at = 0;
    offsets[at++] = 0;
    for (const Cell& cell : cells(field)) {
      const StringSpan strings = StringsOf(cell);
      if (strings.offsets == nullptr) {
        offsets[at++] = base + static_cast<int64_t>(strings.bytes);
      } else {
        for (int64_t i = 1; i <= cell.shape.items(); ++i) offsets[at++] = base + strings.offsets[i];
      }
      base += static_cast<int64_t>(strings.bytes);
    }
  }

  void Borrow(size_t field) {
    const bool strings = block_.schema()[field].dtype == DType::kBytes;
    for (const Cell& cell : cells(field)) {
      const StringSpan s = strings ? StringsOf(cell) : StringSpan{nullptr, cell.data, cell.bytes};
      Slice(s.data, s.bytes);
    }
  }

  void Pack(size_t field) {
    const bool strings = block_.schema()[field].dtype == DType::kBytes;
    std::byte* to = TakePacked(measures_[field].bytes);
    const std::byte* begin = to;
    for (const Cell& cell : cells(field)) {
      const StringSpan s = strings ? StringsOf(cell) : StringSpan{nullptr, cell.data, cell.bytes};
      if (s.bytes != 0) std::memcpy(to, s.data, s.bytes);
      to += s.bytes;
    }
    Slice(begin, static_cast<size_t>(to - begin));
  }

  // The next aligned piece of the packed buffer; the padding after it is zeroed, so that Pad can
  // lengthen its slice.
  std::byte* TakePacked(size_t bytes) {
    std::byte* piece = packed_;
    const size_t padding = FramePadding(bytes);
    std::memset(piece + bytes, 0, padding);
    packed_ += bytes + padding;
    return piece;
  }

  void Slice(const std::byte* data, size_t size) {
    if (size == 0) return;
    payload_bytes_ += size;
    if (!frame_.payload.empty() &&
        frame_.payload.back().data + frame_.payload.back().size == data) {
      frame_.payload.back().size += size;  // packed neighbours, or cells that lie back to back
      return;
    }
    frame_.payload.push_back({data, size});
  }

  void Pad() {
    const size_t padding = FramePadding(payload_bytes_);
    if (padding == 0) return;
    payload_bytes_ += padding;
    FrameSlice& last = frame_.payload.back();
    const std::byte* end = last.data + last.size;
    if (end >= scratch_.get() && end < packed_) {
      last.size += padding;
    } else {
      frame_.payload.push_back({kZeros, padding});
    }
  }

  void AddProvenance(bool batched) {
    bool one_record_each = !batched;
    for (size_t row = begin_; row < end_ && one_record_each; ++row) {
      const Provenance& runs = block_.provenance(row);
      one_record_each = runs.size() == 1 && runs[0].count == 1;
    }
    Provenance merged;
    for (size_t row = begin_; row < end_; ++row) {
      const Provenance& runs = block_.provenance(row);
      if (one_record_each) {
        AppendRun(merged, runs[0]);
        continue;
      }
      header_->add_row_runs(static_cast<uint32_t>(runs.size()));
      for (const Run& run : runs) AddRun(run);
    }
    for (const Run& run : merged) AddRun(run);
  }

  void AddRun(const Run& run) {
    v1::Run& out = *header_->add_runs();
    out.set_split(run.split);
    out.set_first(run.first);
    out.set_count(run.count);
    out.set_part(run.part);
    if (run.parts != 1) out.set_parts(run.parts);
    out.set_pass(run.pass);
  }

  absl::StatusOr<Frame> Seal(const FrameMeta& meta, size_t max_bytes) {
    frame_.whole_columns = end_ - begin_ == 1 || std::none_of(measures_.begin(), measures_.end(),
                                                              [](auto& m) { return m.borrow; });
    header_->set_task(meta.task);
    header_->set_sequence(meta.sequence);
    header_->set_epoch(meta.epoch);
    header_->set_rows(static_cast<uint32_t>(end_ - begin_));
    header_->set_batched(meta.batched);
    header_->set_payload_bytes(payload_bytes_);
    header_->set_lease_floor(meta.lease_floor);
    if (meta.place) SetPlace(*meta.place, *header_->mutable_ordered());
    const size_t header_bytes = header_->ByteSizeLong();
    if (header_bytes > kMaxFrameHeaderBytes) {
      return OutOfRange(
          "a frame of {} rows needs a header of {} bytes, more than {}; send fewer rows a frame",
          end_ - begin_, header_bytes, kMaxFrameHeaderBytes);
    }
    frame_.header = HeaderBytes(*header_);
    frame_.bytes = frame_.header.size() + payload_bytes_;
    if (frame_.bytes > max_bytes) return TooLarge(frame_.bytes, max_bytes);
    frame_.owners = {block_.arena_ptr(), std::move(scratch_)};
    return std::move(frame_);
  }

  const Block& block_;
  const size_t begin_;
  const size_t end_;
  google::protobuf::Arena proto_arena_;
  v1::FrameHeader* header_ = nullptr;
  std::vector<Measure> measures_;
  std::shared_ptr<std::byte> scratch_;
  std::byte* packed_ = nullptr;  // the unused rest of scratch_
  size_t packed_bytes_ = 0;
  uint64_t payload_bytes_ = 0;
  Frame frame_;
};

}  // namespace

absl::StatusOr<Frame> WriteFrame(const Block& block, size_t begin, size_t end,
                                 const FrameMeta& meta, size_t max_bytes) {
  if (begin >= end || end > block.rows()) {
    return Internal("a frame of rows [{}, {}) of a block that has {}", begin, end, block.rows());
  }
  return FrameBuilder(block, begin, end).Build(meta, max_bytes);
}

absl::StatusOr<Frame> WriteFrame(const Block& block, const FrameMeta& meta, size_t max_bytes) {
  return WriteFrame(block, 0, block.rows(), meta, max_bytes);
}

Frame WriteWindowEnd(const FrameMeta& meta) {
  v1::FrameHeader header;
  header.set_task(meta.task);
  header.set_sequence(meta.sequence);
  header.set_epoch(meta.epoch);
  header.set_batched(meta.batched);
  if (meta.place) SetPlace(*meta.place, *header.mutable_ordered());
  header.mutable_ordered()->set_window_end(true);
  Frame frame;
  frame.header = HeaderBytes(header);
  frame.bytes = frame.header.size();
  frame.whole_columns = true;
  return frame;
}

size_t FrameEnd(const Block& block, size_t begin, size_t target_bytes) {
  size_t bytes = 0;
  for (size_t row = begin; row < block.rows(); ++row) {
    for (const std::vector<Cell>& column : block.columns()) {
      if (column[row].shape.rank() != column[begin].shape.rank()) return row;
      bytes += column[row].bytes;
    }
    if (bytes > target_bytes && row > begin) return row;
  }
  return block.rows();
}

}  // namespace headrace
