// decode_image: the bytes of a JPEG, PNG or WebP file -> uint8 [height, width, channels].
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/imaging/decode.h"

namespace headrace {
namespace {

struct DecodeImageParams {
  std::string field;
  int64_t channels = 3;
  int64_t max_pixels = kDefaultMaxPixels;
};

class DecodeImageStep final : public StatelessOp {
 public:
  explicit DecodeImageStep(DecodeImageParams params) : params_(std::move(params)) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(params_.field));
    const Field& field = input[at_];
    if (field.dtype != DType::kBytes || field.shape != Shape()) {
      return InvalidArgument(
          "field '{}' is {} {}; decode_image takes the bytes of an image file: bytes []",
          params_.field, Name(field.dtype), field.shape.ToString());
    }
    Schema out = input;
    out[at_] = {field.name, DType::kUInt8, {Shape::kDynamic, Shape::kDynamic, params_.channels}};
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    DecodeOptions options;
    options.channels = params_.channels;
    options.max_pixels = params_.max_pixels;
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      const absl::StatusOr<DecodedImage> image =
          DecodeImage(cells[row].string(), options,
                      [&block](size_t bytes) { return block.arena().Allocate(bytes); });
      if (!image.ok()) {
        block.Fail(row, Annotate(image.status(), fmt::format("field '{}'", params_.field)));
        continue;
      }
      const ImageView& pixels = image->pixels;
      cells[row] = {reinterpret_cast<const std::byte*>(pixels.data),
                    static_cast<size_t>(pixels.bytes()),
                    Shape{pixels.height, pixels.width, pixels.channels}};
    }
    return absl::OkStatus();
  }

 private:
  DecodeImageParams params_;
  size_t at_ = 0;
};

}  // namespace

void Register_decode_image(OpRegistry& registry) {
  ParamSet<DecodeImageParams> params;
  params.Required("field", &DecodeImageParams::field, "bytes of an image file")
      .Optional("channels", &DecodeImageParams::channels, "3 for RGB, 1 for grey; alpha is dropped")
      .Optional("max_pixels", &DecodeImageParams::max_pixels,
                "height x width above which an image is refused, before memory is taken for it");
  registry
      .Add<DecodeImageParams>(
          "decode_image",
          "Decode a JPEG, PNG or WebP file to uint8 [height, width, channels], as stored (EXIF "
          "orientation is not "
          "applied).",
          std::move(params),
          [](DecodeImageParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
            if (p.channels != 1 && p.channels != 3) {
              return InvalidArgument("channels: expected 3 (RGB) or 1 (grey), got {}", p.channels);
            }
            if (p.max_pixels <= 0)
              return InvalidArgument("max_pixels: expected 1 or more, got {}", p.max_pixels);
            return std::make_unique<DecodeImageStep>(std::move(p));
          })
      .bare_param = "field";
}

}  // namespace headrace
