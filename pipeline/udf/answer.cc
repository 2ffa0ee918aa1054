#include "pipeline/udf/answer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/status.h"
#include "pipeline/udf/words.h"

namespace headrace::udf {
namespace {

constexpr uint64_t kMaxRowsOut = uint64_t{1} << 24;
constexpr size_t kMaxErrorBytes = 2048;

class Reader {
 public:
  Reader(std::span<const std::byte> memory, const FunctionSpec& spec, size_t rows, Arena& arena)
      : memory_(memory), spec_(spec), rows_(rows), arena_(arena) {}

  absl::StatusOr<Answer> Read() {
    HR_RETURN_IF_ERROR(ReadHeader());
    HR_RETURN_IF_ERROR(ReadStatus());
    HR_RETURN_IF_ERROR(ReadErrors());
    if (spec_.kind == FunctionKind::kFilter) return std::move(answer_);
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      if (absl::Status status = ReadColumn(i); !status.ok())
        return Annotate(status, fmt::format("field '{}'", spec_.outputs[i].name));
    }
    return std::move(answer_);
  }

 private:
  // `count` items of `size` bytes from `at` on, checked; nothing is read yet.
  absl::StatusOr<const std::byte*> Range(int64_t at, uint64_t count, size_t size) const {
    const uint64_t limit = memory_.size();
    if (at < 0 || static_cast<uint64_t>(at) > limit ||
        count > (limit - static_cast<uint64_t>(at)) / size) {
      return DataLoss("{} items of {} bytes at {} are not within the {} bytes shared", count, size,
                      at, limit);
    }
    return memory_.data() + at;
  }

  absl::Status CopyWords(int64_t at, uint64_t count, int64_t* to) const {
    HR_ASSIGN_OR_RETURN(const std::byte* from, Range(at, count, sizeof(int64_t)));
    if (count != 0) std::memcpy(to, from, count * sizeof(int64_t));
    return absl::OkStatus();
  }

  absl::Status ReadHeader() {
    HR_RETURN_IF_ERROR(CopyWords(0, kHeaderWords, header_.data()));
    const uint64_t columns = spec_.kind == FunctionKind::kFilter ? 0 : spec_.outputs.size();
    if (header_[kAnswerMark] != 1 || header_[kAnswerRows] != static_cast<int64_t>(rows_) ||
        header_[kAnswerColumns] != static_cast<int64_t>(columns)) {
      return DataLoss("its header is for {} rows of {} columns, not for {} of {}",
                      header_[kAnswerRows], header_[kAnswerColumns], rows_, columns);
    }
    const int64_t cpu = header_[kAnswerCpuNanos];
    answer_.cpu_nanos = cpu < 0 ? 0 : static_cast<uint64_t>(cpu);
    return absl::OkStatus();
  }

  absl::Status ReadStatus() {
    answer_.status.assign(rows_, 1);
    if (header_[kAnswerStatusAt] != kEveryRow) {
      HR_RETURN_IF_ERROR(CopyWords(header_[kAnswerStatusAt], rows_, answer_.status.data()));
    }
    for (const int64_t status : answer_.status) {
      const int64_t most = spec_.kind == FunctionKind::kFlatMap ? INT32_MAX : 1;
      const int64_t least = spec_.kind == FunctionKind::kMap ? 1 : 0;
      if (status != -1 && (status < least || status > most))
        return DataLoss("a row's status is {}", status);
      if (status == -1) ++failed_;
      if (status > 0) answer_.rows_out += static_cast<uint64_t>(status);
      if (answer_.rows_out > kMaxRowsOut) {
        return DataLoss("more than {} rows out of a block", kMaxRowsOut);
      }
    }
    if (header_[kAnswerRowsOut] != static_cast<int64_t>(answer_.rows_out)) {
      return DataLoss("it says that {} rows came out, and lists {}", header_[kAnswerRowsOut],
                      answer_.rows_out);
    }
    return absl::OkStatus();
  }

  absl::Status ReadErrors() {
    if (header_[kAnswerErrors] != static_cast<int64_t>(failed_))
      return DataLoss("{} errors for {} failed rows", header_[kAnswerErrors], failed_);
    if (failed_ == 0) return absl::OkStatus();
    std::vector<int64_t> ends(failed_ + 1);
    HR_RETURN_IF_ERROR(CopyWords(header_[kAnswerErrorOffsetsAt], ends.size(), ends.data()));
    HR_RETURN_IF_ERROR(CheckOffsets(ends, header_[kAnswerErrorBytes]));
    HR_ASSIGN_OR_RETURN(const std::byte* data,
                        Range(header_[kAnswerErrorDataAt], static_cast<uint64_t>(ends.back()), 1));
    for (size_t i = 0; i < failed_; ++i) {
      const auto size = static_cast<size_t>(ends[i + 1] - ends[i]);
      answer_.errors.emplace_back(reinterpret_cast<const char*>(data) + ends[i],
                                  std::min(size, kMaxErrorBytes));
    }
    return absl::OkStatus();
  }

  static absl::Status CheckOffsets(std::span<const int64_t> offsets, int64_t bytes) {
    bool rises = offsets.front() == 0 && offsets.back() == bytes;
    for (size_t i = 1; i < offsets.size(); ++i) rises = rises && offsets[i - 1] <= offsets[i];
    if (!rises) return DataLoss("offsets of strings that do not rise from 0 to {}", bytes);
    return absl::OkStatus();
  }

  absl::Status ReadColumn(size_t at) {
    Answer::Column& column = answer_.columns.emplace_back();
    std::array<int64_t, kColumnWords> words{};
    HR_RETURN_IF_ERROR(
        CopyWords(static_cast<int64_t>(sizeof(int64_t) * (kHeaderWords + kColumnWords * at)),
                  kColumnWords, words.data()));
    const Field& field = spec_.outputs[at];
    if (words[kColumnKind] == kUnchanged) return ReadUnchanged(field, column);
    HR_ASSIGN_OR_RETURN(const uint64_t items, ReadShapes(field, words, column));
    if (words[kColumnItems] != static_cast<int64_t>(items))
      return DataLoss("{} items, its shapes say {}", words[kColumnItems], items);
    return field.dtype == DType::kBytes ? ReadStrings(words, items, column)
                                        : ReadNumbers(field, words, items, column);
  }

  absl::Status ReadUnchanged(const Field& field, Answer::Column& column) const {
    if (spec_.kind != FunctionKind::kMap) return DataLoss("unchanged, which only map may say");
    for (const Field& input : spec_.inputs) {
      if (input.name != field.name || input.dtype != field.dtype) continue;
      column.unchanged = true;
      return absl::OkStatus();
    }
    return DataLoss("unchanged, but no such field came in");
  }

  // Fills in the cells' shapes; returns how many items they have together.
  absl::StatusOr<uint64_t> ReadShapes(const Field& field, std::span<const int64_t> words,
                                      Answer::Column& column) const {
    column.cells.resize(answer_.rows_out);
    if (answer_.rows_out == 0) return 0;
    if (words[kColumnKind] == kDense) {
      HR_ASSIGN_OR_RETURN(const Shape shape,
                          ReadShape(field, words[kColumnRank], words.subspan(kColumnDims, 6)));
      for (Cell& cell : column.cells) cell.shape = shape;
    } else if (words[kColumnKind] == kRagged) {
      std::vector<int64_t> dims(answer_.rows_out * kDimsWords);
      HR_RETURN_IF_ERROR(CopyWords(words[kColumnDimsAt], dims.size(), dims.data()));
      for (size_t row = 0; row < column.cells.size(); ++row) {
        const std::span<const int64_t> of_row =
            std::span(dims).subspan(row * kDimsWords, kDimsWords);
        HR_ASSIGN_OR_RETURN(column.cells[row].shape,
                            ReadShape(field, of_row[0], of_row.subspan(1)));
      }
    } else {
      return DataLoss("a column of kind {}", words[kColumnKind]);
    }
    uint64_t items = 0;
    for (const Cell& cell : column.cells) {
      items += static_cast<uint64_t>(cell.shape.items());
      if (items > memory_.size()) return DataLoss("shapes of more items than bytes are shared");
    }
    return items;
  }

  absl::StatusOr<Shape> ReadShape(const Field& field, int64_t rank,
                                  std::span<const int64_t> dims) const {
    if (rank < 0 || rank > static_cast<int64_t>(Shape::kMaxRank))
      return DataLoss("a shape of rank {}", rank);
    uint64_t items = 1;
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t dim = dims[static_cast<size_t>(i)];
      if (dim < 0 || static_cast<uint64_t>(dim) > memory_.size())
        return DataLoss("a dimension of {}", dim);
      items *= static_cast<uint64_t>(dim);  // both factors are below 2^40: no overflow
      if (items > memory_.size()) return DataLoss("a shape of {} items or more", items);
    }
    const Shape shape(dims.subspan(0, static_cast<size_t>(rank)));
    if (!field.shape.Admits(shape)) {
      return DataLoss("a shape {}, declared is {}", shape.ToString(), field.shape.ToString());
    }
    return shape;
  }

  // The column's data, copied. What is checked after this cannot change any more.
  absl::StatusOr<std::byte*> CopyData(std::span<const int64_t> words, uint64_t bytes) {
    if (words[kColumnDataBytes] != static_cast<int64_t>(bytes))
      return DataLoss("{} bytes, where its items take {}", words[kColumnDataBytes], bytes);
    HR_ASSIGN_OR_RETURN(const std::byte* from, Range(words[kColumnDataAt], bytes, 1));
    std::byte* to = arena_.Allocate(bytes);
    if (bytes != 0) std::memcpy(to, from, bytes);
    return to;
  }

  absl::Status ReadNumbers(const Field& field, std::span<const int64_t> words, uint64_t items,
                           Answer::Column& column) {
    const size_t item_bytes = ItemSize(field.dtype);
    if (items > memory_.size() / item_bytes) return DataLoss("more items than bytes are shared");
    HR_ASSIGN_OR_RETURN(const std::byte* at, CopyData(words, items * item_bytes));
    for (Cell& cell : column.cells) {
      cell.data = at;
      cell.bytes = static_cast<size_t>(cell.shape.items()) * item_bytes;
      at += cell.bytes;
    }
    return absl::OkStatus();
  }

  absl::Status ReadStrings(std::span<const int64_t> words, uint64_t items, Answer::Column& column) {
    std::vector<int64_t> offsets(items + 1);
    HR_RETURN_IF_ERROR(CopyWords(words[kColumnOffsetsAt], offsets.size(), offsets.data()));
    HR_RETURN_IF_ERROR(CheckOffsets(offsets, words[kColumnDataBytes]));
    HR_ASSIGN_OR_RETURN(const std::byte* data,
                        CopyData(words, static_cast<uint64_t>(offsets.back())));
    size_t item = 0;
    for (Cell& cell : column.cells) {
      const auto count = static_cast<size_t>(cell.shape.items());
      const int64_t begin = offsets[item];
      const auto bytes = static_cast<size_t>(offsets[item + count] - begin);
      if (cell.shape.rank() == 0) {
        cell.data = data + begin;
        cell.bytes = bytes;
      } else {
        const size_t index_bytes = (count + 1) * sizeof(int64_t);
        std::byte* own = arena_.AllocatePacked(index_bytes + bytes, alignof(int64_t));
        auto* index = reinterpret_cast<int64_t*>(own);
        for (size_t i = 0; i <= count; ++i) index[i] = offsets[item + i] - begin;
        if (bytes != 0) std::memcpy(own + index_bytes, data + begin, bytes);
        cell.data = own;
        cell.bytes = index_bytes + bytes;
      }
      item += count;
    }
    return absl::OkStatus();
  }

  const std::span<const std::byte> memory_;
  const FunctionSpec& spec_;
  const size_t rows_;
  Arena& arena_;
  std::array<int64_t, kHeaderWords> header_{};
  size_t failed_ = 0;
  Answer answer_;
};

}  // namespace

absl::StatusOr<Answer> ReadAnswer(std::span<const std::byte> memory, const FunctionSpec& spec,
                                  size_t rows, Arena& arena) {
  return Reader(memory, spec, rows, arena).Read();
}

}  // namespace headrace::udf
