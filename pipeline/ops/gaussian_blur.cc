// gaussian_blur: an image blurred by a bell curve of random width: torchvision's GaussianBlur.
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/imaging/blur.h"
#include "pipeline/ops/image_field.h"

namespace headrace {
namespace {

constexpr int64_t kMaxKernel = 1023;

struct GaussianBlurParams {
  std::string field;
  std::vector<int64_t> kernel_size;
  std::vector<double> sigma = {0.1, 2.0};
  double probability = 1.0;
  std::optional<int64_t> seed;
};

class GaussianBlur final : public StatelessOp {
 public:
  explicit GaussianBlur(GaussianBlurParams params) : params_(std::move(params)) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = params_.probability < 1 || params_.sigma.front() < params_.sigma.back();
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "gaussian_blur"));
    return input;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    const int64_t high = params_.kernel_size.front(), wide = params_.kernel_size.back();
    ForEachImage(block, image_, [&](size_t row, Cell& cell) -> absl::Status {
      RandomStream random(key, block.provenance(row).front());
      const double sigma = random.Uniform(params_.sigma.front(), params_.sigma.back());
      if (!(random.Uniform() < params_.probability)) return absl::OkStatus();
      const int64_t height = cell.shape[0], width = cell.shape[1];
      if (high / 2 >= height || wide / 2 >= width) {
        return InvalidArgument(
            "image of {} x {} is too small for a kernel of {} x {} (height x width); resize it "
            "first, or take a smaller kernel_size",
            height, width, high, wide);
      }
      std::byte* out = block.arena().Allocate(cell.bytes);
      std::array<float, kMaxKernel> down_weights, across_weights;
      const std::span down(down_weights.data(), static_cast<size_t>(high));
      const std::span across(across_weights.data(), static_cast<size_t>(wide));
      GaussianWeights(sigma, down);
      GaussianWeights(sigma, across);
      if (image_.dtype == DType::kUInt8) {
        Blur(ViewOf(cell), down, across, reinterpret_cast<uint8_t*>(out));
      } else {
        Blur(cell.as<float>().data(), height, width, cell.shape[2], down, across,
             reinterpret_cast<float*>(out));
      }
      cell.data = out;
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  GaussianBlurParams params_;
  ImageField image_;
};

absl::StatusOr<std::unique_ptr<Op>> MakeGaussianBlur(GaussianBlurParams p) {
  if (p.kernel_size.empty() || p.kernel_size.size() > 2)
    return InvalidArgument("kernel_size: expected [height, width] or one number for both");
  for (int64_t size : p.kernel_size) {
    if (size < 1 || size > kMaxKernel || size % 2 == 0)
      return InvalidArgument("kernel_size: expected odd numbers of 1 to {}, got {}", kMaxKernel,
                             size);
  }
  if (p.sigma.empty() || p.sigma.size() > 2 || !(p.sigma.front() > 0) ||
      !(p.sigma.front() <= p.sigma.back()) || !std::isfinite(p.sigma.back())) {
    return InvalidArgument("sigma: expected a number above 0, or [low, high] with 0 < low <= high");
  }
  HR_RETURN_IF_ERROR(CheckProbability(p.probability));
  return std::make_unique<GaussianBlur>(std::move(p));
}

}  // namespace

void Register_gaussian_blur(OpRegistry& registry) {
  ParamSet<GaussianBlurParams> params;
  params
      .Required("field", &GaussianBlurParams::field,
                "image, uint8 or float32 [height, width, channels]")
      .Required("kernel_size", &GaussianBlurParams::kernel_size,
                "[height, width] of the kernel in pixels, odd; a single number is both")
      .Optional("sigma", &GaussianBlurParams::sigma,
                "[low, high] of the curve's width in pixels, drawn evenly; a single number is it")
      .Optional("probability", &GaussianBlurParams::probability, "that an image is blurred")
      .Optional("seed", &GaussianBlurParams::seed, "of this step; default: the pipeline's");
  registry.Add<GaussianBlurParams>(
      "gaussian_blur", "Blur an image by a bell curve of random width, as torchvision does.",
      std::move(params), MakeGaussianBlur);
}

}  // namespace headrace
