#include "pipeline/ops/batch_mix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/status.h"
#include "pipeline/ops/class_numbers.h"

namespace headrace {
namespace {

constexpr int64_t kMaxLabelBytes = int64_t{1} << 32;  // of a batch

uint64_t Fold(uint64_t hash, uint64_t x) {
  hash = (hash ^ x) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

// The logarithm of a draw from Gamma(alpha, 1): Marsaglia and Tsang, "A simple method for
// generating gamma variables" (2000); alpha < 1 by its section 6, in logarithms because the power
// underflows.
double LogGamma(double alpha, RandomStream& random) {
  const double shape = alpha < 1 ? alpha + 1 : alpha;
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  double log_draw = 0;
  for (;;) {
    const double x = random.Normal();
    const double v = std::pow(1.0 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1.0 - random.Uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      log_draw = std::log(d * v);
      break;
    }
  }
  return alpha < 1 ? log_draw + std::log(1.0 - random.Uniform()) / alpha : log_draw;
}

float Mixed(float own, float before, float share, float rest) {
  return before * rest + own * share;
}

}  // namespace

RandomStream BatchStream(const RandomKey& key, const Provenance& batch) {
  uint64_t a = batch.size(), b = ~a;
  for (const Run& run : batch) {
    for (uint64_t word : {run.split, run.first, run.count, (uint64_t{run.part} << 32) | run.pass}) {
      a = Fold(a, word);
      b = Fold(b, ~word);
    }
  }
  return RandomStream(key, a, b);
}

double DrawBeta(double alpha, RandomStream& random) {
  const double x = LogGamma(alpha, random);
  const double y = LogGamma(alpha, random);
  return 1.0 / (1.0 + std::exp(y - x));
}

absl::Status CheckAlpha(double alpha) {
  if (alpha >= 0.001 && alpha <= 1000) return absl::OkStatus();
  return InvalidArgument("alpha: expected 0.001 to 1000, got {}", alpha);
}

template <typename T>
void MixRows(const T* in, int64_t rows, int64_t row_items, double share, T* out) {
  const auto own = static_cast<float>(share), rest = static_cast<float>(1.0 - share);
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = in + r * row_items;
    const T* before = in + (r == 0 ? rows - 1 : r - 1) * row_items;
    for (int64_t i = 0; i < row_items; ++i) {
      const float x = Mixed(static_cast<float>(row[i]), static_cast<float>(before[i]), own, rest);
      // Not above 255.5 for levels: the two factors add up to one.
      out[r * row_items + i] =
          std::is_same_v<T, uint8_t> ? static_cast<T>(x + 0.5f) : static_cast<T>(x);
    }
  }
}
template void MixRows<float>(const float*, int64_t, int64_t, double, float*);
template void MixRows<uint8_t>(const uint8_t*, int64_t, int64_t, double, uint8_t*);

void PasteFromRowBefore(Cell& images, size_t item_bytes, bool chw, const Region& cut,
                        Arena& arena) {
  const Shape& shape = images.shape;
  const int64_t height = shape[chw ? 2 : 1], width = shape[chw ? 3 : 2];
  const int64_t planes = chw ? shape[1] : 1;
  const int64_t pixel_bytes = static_cast<int64_t>(item_bytes) * (chw ? 1 : shape[3]);
  const int64_t image_bytes = planes * height * width * pixel_bytes;
  std::byte* out = arena.Allocate(images.bytes);
  std::memcpy(out, images.data, images.bytes);
  for (int64_t i = 0; i < shape[0]; ++i) {
    const std::byte* before = images.data + (i == 0 ? shape[0] - 1 : i - 1) * image_bytes;
    for (int64_t line = 0; line < planes * cut.height; ++line) {
      const int64_t y = line / cut.height * height + cut.top + line % cut.height;
      const int64_t at = (y * width + cut.left) * pixel_bytes;
      std::memcpy(out + i * image_bytes + at, before + at,
                  static_cast<size_t>(cut.width * pixel_bytes));
    }
  }
  images.data = out;
}

absl::StatusOr<size_t> RequireBatch(const Schema& schema, const std::string& field, size_t rank,
                                    std::string_view step) {
  HR_ASSIGN_OR_RETURN(const size_t at, schema.Require(field));
  const Field& found = schema[at];
  if (!found.shape.has_rank() || found.shape.rank() < rank || found.dtype == DType::kBytes) {
    return InvalidArgument(
        "field '{}' is {} {}; {} takes a batch of it, with at least {} dimensions: put it behind "
        "batch",
        field, Name(found.dtype), found.shape.ToString(), step, rank);
  }
  return at;
}

absl::Status BatchLabels::Bind(const Schema& input, std::string_view step, Schema& out) {
  HR_ASSIGN_OR_RETURN(at_, RequireBatch(input, field_, 1, step));
  const Field& field = input[at_];
  dtype_ = field.dtype;
  const bool shares = dtype_ == DType::kFloat32 && field.shape.rank() == 2;
  const bool numbers = IsInteger(dtype_) && field.shape.rank() == 1;
  if (!shares && !numbers) {
    return InvalidArgument(
        "field '{}' is {} {}; {} takes labels that are class numbers [rows] or float32 [rows, "
        "classes]",
        field_, Name(dtype_), field.shape.ToString(), step);
  }
  if (numbers && !num_classes_) {
    return InvalidArgument("field '{}' holds class numbers: say how many classes: num_classes",
                           field_);
  }
  const int64_t classes = shares ? field.shape[1] : *num_classes_;
  if (shares && num_classes_ && classes != Shape::kDynamic && classes != *num_classes_) {
    return InvalidArgument("field '{}' is {}, num_classes is {}", field_, field.shape.ToString(),
                           *num_classes_);
  }
  out[at_] = {field.name, DType::kFloat32, {field.shape[0], classes}};
  return absl::OkStatus();
}

absl::Status BatchLabels::Mix(Cell& cell, double share, Arena& arena) const {
  const std::string where = fmt::format("field '{}'", field_);
  const int64_t rows = cell.shape[0];
  const int64_t classes = dtype_ == DType::kFloat32 ? cell.shape[1] : *num_classes_;
  if (rows > kMaxLabelBytes / static_cast<int64_t>(sizeof(float)) / std::max<int64_t>(classes, 1)) {
    return OutOfRange("{}: {} rows of {} classes are over the limit of {} bytes", where, rows,
                      classes, kMaxLabelBytes);
  }
  const auto bytes = static_cast<size_t>(rows * classes) * sizeof(float);
  auto* out = reinterpret_cast<float*>(arena.Allocate(bytes));
  if (dtype_ == DType::kFloat32) {
    MixRows(cell.as<float>().data(), rows, classes, share, out);
  } else {
    std::memset(out, 0, bytes);
    const auto own = static_cast<float>(share), rest = static_cast<float>(1.0 - share);
    const absl::Status status =
        ForEachClass(cell, dtype_, classes, [&](int64_t row, int64_t label) {
          out[row * classes + label] += own;
          out[(row + 1 == rows ? 0 : row + 1) * classes + label] += rest;
        });
    if (!status.ok()) return Annotate(status, where);
  }
  cell = {reinterpret_cast<const std::byte*>(out), bytes, Shape{rows, classes}};
  return absl::OkStatus();
}

}  // namespace headrace
