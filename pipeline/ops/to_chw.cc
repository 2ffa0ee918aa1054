// to_chw: [height, width, channels] -> [channels, height, width], the layout that torch's
// convolutions take.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/imaging/convert.h"
#include "pipeline/ops/image_field.h"

namespace headrace {
namespace {

struct ToChwParams {
  std::string field;
};

class ToChw final : public StatelessOp {
 public:
  explicit ToChw(ToChwParams params) : params_(std::move(params)) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "to_chw"));
    Schema out = input;
    const Shape& shape = input[image_.at].shape;
    out[image_.at].shape = {shape[2], shape[0], shape[1]};
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    ForEachImage(block, image_, [&](size_t, Cell& cell) {
      const int64_t pixels = cell.shape[0] * cell.shape[1], channels = cell.shape[2];
      std::byte* out = block.arena().Allocate(cell.bytes);
      if (image_.dtype == DType::kUInt8) {
        PixelsToPlanes(cell.as<uint8_t>().data(), pixels, channels,
                       reinterpret_cast<uint8_t*>(out));
      } else {
        PixelsToPlanes(cell.as<float>().data(), pixels, channels, reinterpret_cast<float*>(out));
      }
      cell = {out, cell.bytes, Shape{channels, cell.shape[0], cell.shape[1]}};
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  ToChwParams params_;
  ImageField image_;
};

}  // namespace

void Register_to_chw(OpRegistry& registry) {
  ParamSet<ToChwParams> params;
  params.Required("field", &ToChwParams::field,
                  "image, uint8 or float32 [height, width, channels]");
  registry
      .Add<ToChwParams>("to_chw",
                        "Channels first: [height, width, channels] to [channels, height, width].",
                        std::move(params),
                        [](ToChwParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                          return std::make_unique<ToChw>(std::move(p));
                        })
      .bare_param = "field";
}

}  // namespace headrace
