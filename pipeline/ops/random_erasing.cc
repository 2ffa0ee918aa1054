// random_erasing: a random rectangle of an image is overwritten: torchvision's RandomErasing.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_field.h"

namespace headrace {
namespace {

constexpr std::string_view kName = "random_erasing";

struct RandomErasingParams {
  std::string field;
  double probability = 0.5;
  std::vector<double> scale = {0.02, 0.33};
  std::vector<double> ratio = {0.3, 3.3};
  std::vector<double> value = {0.0};
  bool noise = false;
  std::string layout = "hwc";
  std::optional<int64_t> seed;
};

// Where an image's sides are: [height, width, channels] or [channels, height, width].
struct Planes {
  int64_t height = 0, width = 0, channels = 0;
  int64_t row = 0, pixel = 0, channel = 0;  // steps from one to the next, in items
};
Planes PlanesOf(const Shape& shape, bool chw) {
  if (chw) return {shape[1], shape[2], shape[0], shape[2], 1, shape[1] * shape[2]};
  return {shape[0], shape[1], shape[2], shape[1] * shape[2], shape[2], 1};
}

class RandomErasing final : public StatelessOp {
 public:
  explicit RandomErasing(RandomErasingParams params)
      : params_(std::move(params)), chw_(params_.layout == "chw") {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = true;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(params_.field));
    const Field& field = input[at_];
    if (!chw_) HR_RETURN_IF_ERROR(RequireImage(input, params_.field, kName).status());
    dtype_ = field.dtype;
    const bool pixels = dtype_ == DType::kUInt8 || dtype_ == DType::kFloat32;
    if (!pixels || !field.shape.has_rank() || field.shape.rank() != 3) {
      return InvalidArgument(
          "field '{}' is {} {}; {} takes uint8 or float32 [channels, height, width] with layout: "
          "chw",
          params_.field, Name(dtype_), field.shape.ToString(), kName);
    }
    for (double v : params_.value) {
      if (dtype_ == DType::kUInt8 && !(v >= 0 && v <= 255))
        return InvalidArgument("value: {} is no level of uint8 (0 to 255)", v);
    }
    const int64_t channels = field.shape[chw_ ? 0 : 2];
    if (channels != Shape::kDynamic) {
      HR_RETURN_IF_ERROR(CheckValues(channels, field.shape));
    }
    return input;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      RandomStream random(key, block.provenance(row).front());
      if (!(random.Uniform() < params_.probability)) continue;
      const Planes planes = PlanesOf(cells[row].shape, chw_);
      if (absl::Status s = CheckValues(planes.channels, cells[row].shape); !s.ok()) {
        block.Fail(row, Annotate(s, fmt::format("field '{}'", params_.field)));
        continue;
      }
      const std::optional<Region> region = Draw(planes, random);
      if (!region) continue;
      if (dtype_ == DType::kUInt8) {
        Erase<uint8_t>(cells[row], planes, *region, random, block.arena());
      } else {
        Erase<float>(cells[row], planes, *region, random, block.arena());
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckValues(int64_t channels, const Shape& shape) const {
    const auto given = static_cast<int64_t>(params_.value.size());
    if (params_.noise || given == 1 || given == channels) return absl::OkStatus();
    return InvalidArgument("value has {} numbers, the image is {} ({})", given, shape.ToString(),
                           params_.layout);
  }

  // RandomErasing.get_params: up to ten draws of an area and a shape, then a place; nothing when
  // none of them fits into the image.
  std::optional<Region> Draw(const Planes& image, RandomStream& random) const {
    const double area = static_cast<double>(image.height * image.width);
    const double low = std::log(params_.ratio[0]), high = std::log(params_.ratio[1]);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double erased = area * random.Uniform(params_.scale[0], params_.scale[1]);
      const double aspect = std::exp(random.Uniform(low, high));  // height / width
      const auto h = static_cast<int64_t>(std::nearbyint(std::sqrt(erased * aspect)));
      const auto w = static_cast<int64_t>(std::nearbyint(std::sqrt(erased / aspect)));
      if (h >= image.height || w >= image.width) continue;
      const auto top = random.Below(static_cast<uint64_t>(image.height - h) + 1);
      const auto left = random.Below(static_cast<uint64_t>(image.width - w) + 1);
      return Region{static_cast<int64_t>(left), static_cast<int64_t>(top), w, h};
    }
    return std::nullopt;
  }

  template <typename T>
  void Erase(Cell& cell, const Planes& image, const Region& region, RandomStream& random,
             Arena& arena) const {
    std::byte* copy = arena.Allocate(cell.bytes);
    std::memcpy(copy, cell.data, cell.bytes);
    T* out = reinterpret_cast<T*>(copy);
    for (int64_t c = 0; c < image.channels; ++c) {
      const T value = static_cast<T>(
          params_.value[params_.value.size() == 1
                            ? 0
                            : std::min(static_cast<size_t>(c), params_.value.size() - 1)]);
      for (int64_t y = region.top; y < region.bottom(); ++y) {
        T* p = out + c * image.channel + y * image.row + region.left * image.pixel;
        for (int64_t x = 0; x < region.width; ++x, p += image.pixel)
          *p = params_.noise ? Noise(random, T{}) : value;
      }
    }
    cell.data = copy;
  }
  static float Noise(RandomStream& random, float) { return static_cast<float>(random.Normal()); }
  static uint8_t Noise(RandomStream& random, uint8_t) {
    return static_cast<uint8_t>(random.Next32() >> 24);
  }

  RandomErasingParams params_;
  bool chw_;
  DType dtype_ = DType::kInvalid;
  size_t at_ = 0;
};

absl::StatusOr<std::unique_ptr<Op>> MakeRandomErasing(RandomErasingParams p) {
  HR_RETURN_IF_ERROR(CheckProbability(p.probability));
  const auto range = [](const std::vector<double>& r, double most) {
    return r.size() == 2 && r[0] > 0 && r[0] <= r[1] && r[1] <= most;
  };
  if (!range(p.scale, 1))
    return InvalidArgument("scale: expected [low, high] with 0 < low <= high <= 1");
  if (!range(p.ratio, 1e6))
    return InvalidArgument("ratio: expected [low, high] with 0 < low <= high, as height / width");
  if (p.value.empty()) return InvalidArgument("value: expected a number, or one per channel");
  for (double v : p.value) {
    if (!std::isfinite(v)) return InvalidArgument("value: {} is not a number", v);
  }
  if (p.layout != "hwc" && p.layout != "chw")
    return InvalidArgument("layout: expected 'hwc' or 'chw', got '{}'", p.layout);
  return std::make_unique<RandomErasing>(std::move(p));
}

}  // namespace

void Register_random_erasing(OpRegistry& registry) {
  ParamSet<RandomErasingParams> params;
  params
      .Required("field", &RandomErasingParams::field,
                "image, uint8 or float32, before or after normalize")
      .Optional("probability", &RandomErasingParams::probability,
                "that something of an image is erased")
      .Optional("scale", &RandomErasingParams::scale,
                "least and most of the image's area that is erased")
      .Optional("ratio", &RandomErasingParams::ratio, "least and most height / width of the part")
      .Optional("value", &RandomErasingParams::value,
                "what is written, in the image's own unit: one number, or one per channel")
      .Optional("noise", &RandomErasingParams::noise,
                "random pixels instead of value: standard normal for float32, any level for uint8")
      .Optional("layout", &RandomErasingParams::layout, "hwc or chw: [channels, height, width]")
      .Optional("seed", &RandomErasingParams::seed, "of this step; default: the pipeline's");
  registry
      .Add<RandomErasingParams>("random_erasing",
                                "Overwrite a random rectangle of an image, as torchvision does.",
                                std::move(params), MakeRandomErasing)
      .bare_param = "field";
}

}  // namespace headrace
