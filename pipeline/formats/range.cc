// range: records made up on the spot, for benchmarks and tests. Field `index` (int64) counts over
// the whole dataset; `data` is a pure function of it. No files.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "common/status.h"
#include "pipeline/formats/format.h"

namespace headrace {
namespace {

constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
constexpr uint64_t kMaxSplits = 100'000'000;

struct RangeParams {
  int64_t elements = 0;
  int64_t bytes = 8;
  std::string dtype = "uint8";
  int64_t split_elements = 0;
};

// Bits that keep every item a finite number below 2 (and a bool 0 or 1); all ones for integers.
uint64_t ItemMask(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 0x0101010101010101;
    case DType::kFloat16:
    case DType::kBFloat16:
      return 0x3fff3fff3fff3fff;
    case DType::kFloat32:
      return 0x3fffffff3fffffff;
    case DType::kFloat64:
      return 0x3fffffffffffffff;
    default:
      return ~uint64_t{0};
  }
}

void Fill(std::byte* out, size_t bytes, uint64_t index, uint64_t mask) {
  uint64_t word = (index + 1) * kStep;
  word ^= word >> 29;
  size_t at = 0;
  for (; at + 8 <= bytes; at += 8, word += kStep) {
    const uint64_t value = word & mask;
    std::memcpy(out + at, &value, 8);
  }
  const uint64_t value = word & mask;
  std::memcpy(out + at, &value, bytes - at);
}

class RangeReader final : public RecordReader {
 public:
  RangeReader(const v1::Split& split, uint64_t bytes, DType dtype)
      : split_(split.id()),
        first_(split.begin()),
        end_(split.end()),
        next_(split.begin()),
        bytes_(bytes),
        stride_((bytes + 7) / 8 * 8),
        mask_(ItemMask(dtype)),
        shape_({static_cast<int64_t>(bytes / ItemSize(dtype))}) {}

  absl::StatusOr<bool> Read(const ReadLimits& limits, Block& block) override {
    const uint64_t by_bytes =
        limits.max_bytes / std::max<uint64_t>(bytes_ + sizeof(int64_t), 1) + 1;
    const uint64_t rows = std::min({end_ - next_, uint64_t{limits.max_rows}, by_bytes});
    if (rows == 0) return next_ < end_;
    std::byte* indices = block.arena().Allocate(rows * sizeof(int64_t));
    std::byte* data = block.arena().Allocate(rows * stride_);
    for (uint64_t i = 0; i < rows; ++i, ++next_) {
      const auto index = static_cast<int64_t>(next_);
      std::memcpy(indices + i * sizeof(int64_t), &index, sizeof(index));
      Fill(data + i * stride_, bytes_, next_, mask_);
      const Cell cells[] = {{indices + i * sizeof(int64_t), sizeof(int64_t), Shape()},
                            {data + i * stride_, bytes_, shape_}};
      block.AppendRow({Run{split_, next_ - first_, 1}}, cells);
    }
    return next_ < end_;
  }

 private:
  const uint64_t split_;
  const uint64_t first_;
  const uint64_t end_;
  uint64_t next_;
  const uint64_t bytes_;
  const uint64_t stride_;
  const uint64_t mask_;
  const Shape shape_;
};

class Range final : public Format {
 public:
  Range(RangeParams params, DType dtype) : params_(std::move(params)), dtype_(dtype) {}

  static absl::StatusOr<std::unique_ptr<Format>> Make(RangeParams params) {
    HR_ASSIGN_OR_RETURN(const DType dtype, ParseDType(params.dtype));
    const auto item = static_cast<int64_t>(ItemSize(dtype));
    if (item == 0) return InvalidArgument("dtype: range makes numbers, not '{}'", params.dtype);
    if (params.elements < 0) return InvalidArgument("elements: {} is negative", params.elements);
    if (params.split_elements < 0) {
      return InvalidArgument("split_elements: {} is negative", params.split_elements);
    }
    if (params.bytes < 0 || params.bytes > (int64_t{1} << 30) || params.bytes % item != 0) {
      return InvalidArgument("bytes: {} is not between 0 and 1 GiB and a multiple of {}'s {} bytes",
                             params.bytes, params.dtype, item);
    }
    return std::make_unique<Range>(std::move(params), dtype);
  }

  bool has_files() const override { return false; }

  absl::StatusOr<Schema> RecordSchema(FileSystem&, const std::vector<FileInfo>&) override {
    const int64_t items = params_.bytes / static_cast<int64_t>(ItemSize(dtype_));
    return Schema({{"index", DType::kInt64, Shape()}, {"data", dtype_, Shape({items})}});
  }

  absl::Status CutWithoutFiles(const SplitOptions& options, SplitSink sink) override {
    const auto elements = static_cast<uint64_t>(params_.elements);
    auto step = static_cast<uint64_t>(params_.split_elements);
    if (step == 0) {
      const uint64_t row = static_cast<uint64_t>(params_.bytes) + sizeof(int64_t);
      step = std::max<uint64_t>(1, options.target_bytes / row);
    }
    if (elements / step > kMaxSplits) {
      return OutOfRange("{} elements by {} are more than {} splits; raise split_elements", elements,
                        step, kMaxSplits);
    }
    for (uint64_t begin = 0; begin < elements; begin += step) {
      v1::Split split;
      split.set_begin(begin);
      split.set_end(std::min(elements, begin + step));
      split.set_file_index(begin / step);  // each split counts as a file where files are sharded
      sink(std::move(split));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<RecordReader>> Open(FileSystem&, const v1::Split& split,
                                                     SchemaPtr) override {
    if (split.begin() > split.end() || split.end() > static_cast<uint64_t>(params_.elements)) {
      return InvalidArgument("split {} names elements {} to {} of a range of {}", split.id(),
                             split.begin(), split.end(), params_.elements);
    }
    return std::make_unique<RangeReader>(split, static_cast<uint64_t>(params_.bytes), dtype_);
  }

 private:
  const RangeParams params_;
  const DType dtype_;
};

}  // namespace

void Register_range(FormatRegistry& registry) {
  ParamSet<RangeParams> params;
  params.Required("elements", &RangeParams::elements, "how many records")
      .Optional("bytes", &RangeParams::bytes, "size of each record's `data`")
      .Optional("dtype", &RangeParams::dtype,
                "numeric type of `data`; its shape is [bytes / item size]")
      .Optional("split_elements", &RangeParams::split_elements,
                "records per split; 0: as many as fill a split of the usual size");
  registry.Add<RangeParams>("range",
                            "Made-up numbered records, for benchmarks and tests; reads no files.",
                            std::move(params), Range::Make);
}

}  // namespace headrace
