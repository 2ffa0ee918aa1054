// _decode_and_crop: what decode_image and a crop or resize after it do, decoding only the part that
// is taken. Put into pipelines by the optimizer (fuse_decode.h), never by users.
#include <algorithm>
#include <array>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/imaging/decode_part.h"
#include "pipeline/ops/fuse_decode.h"
#include "pipeline/ops/image_crop.h"
#include "pipeline/ops/image_params.h"

namespace headrace {
namespace {

constexpr std::string_view kName = "_decode_and_crop";

enum class Crop { kResize, kCenterCrop, kRandomCrop, kRandomResizedCrop };
constexpr std::array<std::string_view, 4> kCrops{"resize", "center_crop", "random_crop",
                                                 "random_resized_crop"};

struct DecodeAndCropParams {
  std::string crop = "resize";
  // Of decode_image.
  std::string field;
  int64_t channels = 3;
  int64_t max_pixels = kDefaultMaxPixels;
  // Of the crop.
  std::vector<int64_t> size;
  std::vector<double> scale = {0.08, 1.0};
  std::vector<double> ratio = {0.75, 4.0 / 3.0};
  std::string method = "bilinear";
  std::optional<int64_t> seed;
  int64_t crop_step = -1;
};

class DecodeAndCrop final : public StatelessOp {
 public:
  DecodeAndCrop(DecodeAndCropParams params, Crop crop, ImageSize size, ResizedCropRule rule,
                ResampleMethod method)
      : params_(std::move(params)), crop_(crop), size_(size), rule_(rule), method_(method) {
    part_.channels = params_.channels;
    part_.max_pixels = params_.max_pixels;
  }

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = crop_ == Crop::kRandomCrop || crop_ == Crop::kRandomResizedCrop;
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(params_.field));
    const Field& field = input[at_];
    if (field.dtype != DType::kBytes || field.shape != Shape()) {
      return InvalidArgument("field '{}' is {} {}; {} takes the bytes of an image file: bytes []",
                             params_.field, Name(field.dtype), field.shape.ToString(), kName);
    }
    Schema out = input;
    out[at_] = {field.name, DType::kUInt8, {size_.height, size_.width, params_.channels}};
    if (crop_ == Crop::kResize && params_.size.size() == 1) {
      out[at_].shape = {Shape::kDynamic, Shape::kDynamic, params_.channels};
    }
    return out;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    RandomKey key = WithSeed(context.random, params_.seed);
    if (params_.crop_step >= 0) key.step = static_cast<uint32_t>(params_.crop_step);
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      RandomStream random(key, block.provenance(row).front());
      const absl::StatusOr<ImageView> part = Take(cells[row].string(), random, block.arena());
      if (!part.ok()) {
        block.Fail(row, Annotate(part.status(), fmt::format("field '{}'", params_.field)));
        continue;
      }
      cells[row] = {reinterpret_cast<const std::byte*>(part->data),
                    static_cast<size_t>(part->bytes()),
                    Shape{part->height, part->width, part->channels}};
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<ImageView> Take(std::string_view bytes, RandomStream& random, Arena& arena) const {
    HR_ASSIGN_OR_RETURN(const ImageHeader header, PeekImage(bytes));
    const auto allocate = [&arena](size_t size) { return arena.Allocate(size); };
    switch (crop_) {
      case Crop::kResize: {
        HR_ASSIGN_OR_RETURN(const ImageSize to,
                            ResizedTo(params_.size, header.height, header.width));
        return Resampled(bytes, {0, 0, header.width, header.height}, to, allocate);
      }
      case Crop::kRandomResizedCrop:
        return Resampled(bytes, rule_.Draw(header.height, header.width, random), size_, allocate);
      case Crop::kCenterCrop: {
        HR_ASSIGN_OR_RETURN(const Region region, CenterRegion(header.height, header.width, size_));
        return DecodeRegion(bytes, region, part_, allocate);
      }
      case Crop::kRandomCrop: {
        HR_ASSIGN_OR_RETURN(const Region region,
                            RandomRegion(header.height, header.width, size_, 0, random));
        return DecodeRegion(bytes, region, part_, allocate);
      }
    }
    return Internal("crop {}", static_cast<int>(crop_));
  }

  absl::StatusOr<ImageView> Resampled(std::string_view bytes, const Region& region,
                                      const ImageSize& to, PixelAllocator allocate) const {
    return DecodeRegionResampled(bytes, region, method_, to.height, to.width, part_, allocate);
  }

  DecodeAndCropParams params_;
  Crop crop_;
  ImageSize size_;
  ResizedCropRule rule_;
  ResampleMethod method_;
  PartOptions part_;
  size_t at_ = 0;
};

absl::StatusOr<std::unique_ptr<Op>> MakeDecodeAndCrop(DecodeAndCropParams p) {
  const auto crop = std::find(kCrops.begin(), kCrops.end(), p.crop);
  if (crop == kCrops.end()) return InvalidArgument("crop: no step '{}' to fuse", p.crop);
  if (p.channels != 1 && p.channels != 3)
    return InvalidArgument("channels: expected 3 or 1, got {}", p.channels);
  if (p.max_pixels <= 0)
    return InvalidArgument("max_pixels: expected 1 or more, got {}", p.max_pixels);
  HR_ASSIGN_OR_RETURN(const ImageSize size, ParseImageSize(p.size));
  HR_ASSIGN_OR_RETURN(const ResizedCropRule rule, ParseResizedCropRule(p.scale, p.ratio));
  HR_ASSIGN_OR_RETURN(const ResampleMethod method, ParseResampleMethod(p.method));
  const auto kind = static_cast<Crop>(crop - kCrops.begin());
  return std::make_unique<DecodeAndCrop>(std::move(p), kind, size, rule, method);
}

const v1::Value* Param(const v1::Step& step, std::string_view name) {
  for (const v1::NamedValue& entry : step.params().entries()) {
    if (entry.name() == name) return &entry.value();
  }
  return nullptr;
}

// "" when the two fuse, else why not.
std::string WhyNot(const v1::Step& decode, const v1::Step& crop) {
  if (decode.op() != "decode_image") return fmt::format("'{}' is not decode_image", decode.op());
  if (std::find(kCrops.begin(), kCrops.end(), crop.op()) == kCrops.end()) {
    return fmt::format("'{}' does not take a part of an image", crop.op());
  }
  const v1::Value* decoded = Param(decode, "field");
  const v1::Value* cropped = Param(crop, "field");
  if (decoded == nullptr || cropped == nullptr || decoded->text() != cropped->text())
    return "their fields differ";
  const v1::Value* pad = Param(crop, "pad");
  if (pad != nullptr && pad->integer() != 0) return "random_crop pads";
  return "";
}

}  // namespace

bool CanFuseDecode(const v1::Step& decode, const v1::Step& crop) {
  return WhyNot(decode, crop).empty();
}

absl::StatusOr<v1::Step> FuseDecodeWithCrop(const v1::Step& decode, const v1::Step& crop,
                                            int crop_step) {
  const std::string why_not = WhyNot(decode, crop);
  if (!why_not.empty())
    return FailedPrecondition("{} and {} do not fuse: {}", decode.op(), crop.op(), why_not);
  v1::Step fused;
  fused.set_op(std::string(kName));
  fused.set_location(crop.location());
  const auto add = [&fused](const std::string& name, v1::Value value) {
    v1::NamedValue* entry = fused.mutable_params()->add_entries();
    entry->set_name(name);
    *entry->mutable_value() = std::move(value);
  };
  add("crop", ToValue(crop.op()));
  for (const v1::NamedValue& entry : decode.params().entries()) add(entry.name(), entry.value());
  for (const v1::NamedValue& entry : crop.params().entries()) {
    if (entry.name() != "field" && entry.name() != "pad") add(entry.name(), entry.value());
  }
  if (crop_step >= 0) add("crop_step", ToValue(static_cast<int64_t>(crop_step)));
  return fused;
}

void Register_decode_and_crop(OpRegistry& registry) {
  ParamSet<DecodeAndCropParams> params;
  params.Optional("crop", &DecodeAndCropParams::crop, "name of the step that takes the part")
      .Required("field", &DecodeAndCropParams::field, "bytes of an image file")
      .Optional("channels", &DecodeAndCropParams::channels, "of decode_image")
      .Optional("max_pixels", &DecodeAndCropParams::max_pixels, "of decode_image");
  DeclareCropSize(params);
  DeclareResizedCrop(params);
  DeclareSeed(params);
  params.Optional("crop_step", &DecodeAndCropParams::crop_step,
                  "position by which the crop's draws are keyed, or -1");
  registry
      .Add<DecodeAndCropParams>(std::string(kName),
                                "Decode only the part of an image that a crop takes.",
                                std::move(params), MakeDecodeAndCrop)
      .internal = true;
}

}  // namespace headrace
