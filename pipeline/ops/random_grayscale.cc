// random_grayscale: some images become grey and keep their channels.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_grey.h"
#include "pipeline/ops/image_params.h"

namespace headrace {
namespace {

struct RandomGrayscaleParams {
  std::string field;
  double probability = 0.1;
  std::optional<int64_t> seed;
};

class RandomGrayscale final : public StatelessOp {
 public:
  explicit RandomGrayscale(RandomGrayscaleParams params) : params_(std::move(params)) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = true;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "random_grayscale"));
    return input;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    ForEachImage(block, image_, [&](size_t row, Cell& cell) {
      RandomStream random(key, block.provenance(row).front());
      if (random.Uniform() < params_.probability)
        GreyCell(cell, image_.dtype, cell.shape[2], block.arena());
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  RandomGrayscaleParams params_;
  ImageField image_;
};

}  // namespace

void Register_random_grayscale(OpRegistry& registry) {
  ParamSet<RandomGrayscaleParams> params;
  DeclareImage(params);
  params.Optional("probability", &RandomGrayscaleParams::probability, "that an image becomes grey");
  DeclareSeed(params);
  registry
      .Add<RandomGrayscaleParams>(
          "random_grayscale", "Make some images grey; they keep their channels.", std::move(params),
          [](RandomGrayscaleParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
            HR_RETURN_IF_ERROR(CheckProbability(p.probability));
            return std::make_unique<RandomGrayscale>(std::move(p));
          })
      .bare_param = "field";
}

}  // namespace headrace
