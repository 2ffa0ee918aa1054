// random_flip: mirror an image, each record by its own draw.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/imaging/convert.h"
#include "pipeline/ops/image_field.h"
#include "pipeline/ops/image_params.h"

namespace headrace {
namespace {

struct RandomFlipParams {
  std::string field;
  bool horizontal = true;
  bool vertical = false;
  double probability = 0.5;
  std::optional<int64_t> seed;
};

class RandomFlip final : public StatelessOp {
 public:
  explicit RandomFlip(RandomFlipParams params) : params_(std::move(params)) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = true;
    traits.fields = {params_.field};
    traits.work = FieldWork::kPlaces;
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "random_flip"));
    return input;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    ForEachImage(block, image_, [&](size_t row, Cell& cell) {
      RandomStream random(key, block.provenance(row).front());
      // Both are drawn whatever is asked for, so that switching one on leaves the other's draws
      // alone.
      const bool across = random.Uniform() < params_.probability && params_.horizontal;
      const bool down = random.Uniform() < params_.probability && params_.vertical;
      const int64_t height = cell.shape[0], width = cell.shape[1];
      const int64_t pixel_bytes = cell.shape[2] * static_cast<int64_t>(ItemSize(image_.dtype));
      if (across) {
        std::byte* out = block.arena().Allocate(cell.bytes);
        FlipHorizontal(cell.data, height, width, pixel_bytes, out);
        cell.data = out;
      }
      if (down) {
        std::byte* out = block.arena().Allocate(cell.bytes);
        FlipVertical(cell.data, height, width * pixel_bytes, out);
        cell.data = out;
      }
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  RandomFlipParams params_;
  ImageField image_;
};

}  // namespace

void Register_random_flip(OpRegistry& registry) {
  ParamSet<RandomFlipParams> params;
  DeclareImage(params);
  params.Optional("horizontal", &RandomFlipParams::horizontal, "mirror left and right")
      .Optional("vertical", &RandomFlipParams::vertical, "mirror top and bottom")
      .Optional("probability", &RandomFlipParams::probability, "of each mirroring, drawn apart");
  DeclareSeed(params);
  registry
      .Add<RandomFlipParams>("random_flip", "Mirror an image at random.", std::move(params),
                             [](RandomFlipParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                               HR_RETURN_IF_ERROR(CheckProbability(p.probability));
                               return std::make_unique<RandomFlip>(std::move(p));
                             })
      .bare_param = "field";
}

}  // namespace headrace
