// color_jitter: brightness, contrast, saturation and hue changed by random factors, in random
// order: torchvision's ColorJitter.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/imaging/color.h"
#include "pipeline/ops/image_field.h"

namespace headrace {
namespace {

struct ColorJitterParams {
  std::string field;
  std::vector<double> brightness;
  std::vector<double> contrast;
  std::vector<double> saturation;
  std::vector<double> hue;
  double probability = 1.0;
  std::optional<int64_t> seed;
};

enum Change : uint8_t { kBrightness, kContrast, kSaturation, kHue };

struct Range {
  double low = 0, high = 0;
};
// In the order of Change; none: that change is not asked for.
using Ranges = std::array<std::optional<Range>, 4>;

// What one record draws.
struct Jitter {
  bool any = false;
  std::array<double, 4> by{};  // indexed by Change
  std::array<Change, 4> order{kBrightness, kContrast, kSaturation, kHue};
};

// Everything is drawn whatever is asked for, so that switching one change on leaves the draws of
// the others alone.
Jitter Draw(const Ranges& ranges, double probability, RandomStream& random) {
  Jitter out;
  out.any = random.Uniform() < probability;
  for (size_t i = out.order.size() - 1; i > 0; --i)
    std::swap(out.order[i], out.order[static_cast<size_t>(random.Below(i + 1))]);
  for (size_t c = 0; c < ranges.size(); ++c) {
    const double at = random.Uniform();
    if (ranges[c]) out.by[c] = ranges[c]->low + (ranges[c]->high - ranges[c]->low) * at;
  }
  return out;
}

template <typename T>
void Apply(Change change, double by, const T* in, int64_t pixels, int64_t channels, T* out) {
  // Grey has no saturation and no hue.
  if ((change == kSaturation || change == kHue) && channels == 1) {
    if (in != out) std::copy_n(in, pixels, out);
    return;
  }
  switch (change) {
    case kBrightness:
      return AdjustBrightness(in, pixels * channels, by, out);
    case kContrast:
      return AdjustContrast(in, pixels, channels, by, out);
    case kSaturation:
      return AdjustSaturation(in, pixels, by, out);
    case kHue:
      return AdjustHue(in, pixels, by, out);
  }
}

class ColorJitter final : public StatelessOp {
 public:
  ColorJitter(ColorJitterParams params, const Ranges& ranges)
      : params_(std::move(params)), ranges_(ranges) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = true;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "color_jitter"));
    return input;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    ForEachImage(block, image_, [&](size_t row, Cell& cell) {
      RandomStream random(key, block.provenance(row).front());
      const Jitter jitter = Draw(ranges_, params_.probability, random);
      if (!jitter.any) return absl::OkStatus();
      if (image_.dtype == DType::kUInt8) {
        ApplyAll<uint8_t>(jitter, cell, block.arena());
      } else {
        ApplyAll<float>(jitter, cell, block.arena());
      }
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void ApplyAll(const Jitter& jitter, Cell& cell, Arena& arena) const {
    const int64_t channels = cell.shape[2], pixels = cell.shape[0] * cell.shape[1];
    const T* from = cell.as<T>().data();
    T* out = nullptr;
    for (Change change : jitter.order) {
      if (!ranges_[change]) continue;
      if (out == nullptr) out = reinterpret_cast<T*>(arena.Allocate(cell.bytes));
      Apply(change, jitter.by[change], from, pixels, channels, out);
      from = out;
    }
    if (out != nullptr) cell.data = reinterpret_cast<const std::byte*>(out);
  }

  ColorJitterParams params_;
  Ranges ranges_;
  ImageField image_;
};

// [low, high], or one number x for `middle` - x to `middle` + x; empty: not asked for.
absl::StatusOr<std::optional<Range>> ParseRange(std::string_view name,
                                                const std::vector<double>& given, double middle,
                                                double least, double most) {
  if (given.empty()) return std::nullopt;
  Range out{given.front(), given.back()};
  if (given.size() == 1) {
    out = {std::max(middle - given[0], least), middle + given[0]};
    if (!(given[0] >= 0)) out.low = NAN;
  }
  if (given.size() > 2 || !(out.low >= least) || !(out.low <= out.high) || !(out.high <= most) ||
      !std::isfinite(out.high)) {
    return InvalidArgument(
        "{}: expected a number of 0 or more, or [low, high] within {} to {} with low <= high", name,
        least, most);
  }
  return out;
}

absl::StatusOr<std::unique_ptr<Op>> MakeColorJitter(ColorJitterParams p) {
  constexpr double kMostFactor = 1e6;
  Ranges ranges;
  HR_ASSIGN_OR_RETURN(ranges[kBrightness],
                      ParseRange("brightness", p.brightness, 1, 0, kMostFactor));
  HR_ASSIGN_OR_RETURN(ranges[kContrast], ParseRange("contrast", p.contrast, 1, 0, kMostFactor));
  HR_ASSIGN_OR_RETURN(ranges[kSaturation],
                      ParseRange("saturation", p.saturation, 1, 0, kMostFactor));
  HR_ASSIGN_OR_RETURN(ranges[kHue], ParseRange("hue", p.hue, 0, -0.5, 0.5));
  if (std::none_of(ranges.begin(), ranges.end(), [](const auto& r) { return r.has_value(); })) {
    return InvalidArgument("nothing to change: give brightness, contrast, saturation or hue");
  }
  HR_RETURN_IF_ERROR(CheckProbability(p.probability));
  return std::make_unique<ColorJitter>(std::move(p), ranges);
}

}  // namespace

void Register_color_jitter(OpRegistry& registry) {
  ParamSet<ColorJitterParams> params;
  params
      .Required("field", &ColorJitterParams::field,
                "image, uint8 or float32 (0 to 1) [height, width, channels]")
      .Optional("brightness", &ColorJitterParams::brightness,
                "x: a factor from max(0, 1 - x) to 1 + x; or [low, high]; empty: left alone")
      .Optional("contrast", &ColorJitterParams::contrast, "as brightness")
      .Optional("saturation", &ColorJitterParams::saturation, "as brightness")
      .Optional("hue", &ColorJitterParams::hue,
                "x: a turn from -x to x of the colour circle, at most 0.5; or [low, high]")
      .Optional("probability", &ColorJitterParams::probability, "that an image is changed at all")
      .Optional("seed", &ColorJitterParams::seed, "of this step; default: the pipeline's");
  registry.Add<ColorJitterParams>(
      "color_jitter",
      "Change brightness, contrast, saturation and hue at random, in random order, as torchvision "
      "does.",
      std::move(params), MakeColorJitter);
}

}  // namespace headrace
