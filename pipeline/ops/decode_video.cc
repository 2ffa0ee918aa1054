// decode_video: the bytes of a video clip -> uint8 frames.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_field.h"
#include "pipeline/video/decode.h"

namespace headrace {
namespace {

constexpr double kMaxSeconds = 86'400;
constexpr int64_t kMost = int64_t{1} << 40;  // of any count

struct DecodeVideoParams {
  std::string field;
  int64_t every = 1;
  int64_t start = 0;
  std::optional<int64_t> frames;
  std::vector<int64_t> size;
  int64_t max_pixels = VideoOptions().max_pixels;
  int64_t max_bytes = VideoOptions().max_bytes;
  int64_t max_decoded_frames = VideoOptions().max_decoded_frames;
  double time_limit = 60;
};

class DecodeVideoStep final : public StatelessOp {
 public:
  DecodeVideoStep(std::string field, const VideoOptions& options)
      : field_(std::move(field)), options_(options) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(field_));
    const Field& field = input[at_];
    if (field.dtype != DType::kBytes || field.shape != Shape()) {
      return InvalidArgument(
          "field '{}' is {} {}; decode_video takes the bytes of a video clip: bytes []", field_,
          Name(field.dtype), field.shape.ToString());
    }
    Schema out = input;
    const auto side = [](int64_t asked) { return asked > 0 ? asked : Shape::kDynamic; };
    out[at_] = {field.name,
                DType::kUInt8,
                {Shape::kDynamic, side(options_.height), side(options_.width), 3}};
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      const auto video = DecodeVideo(cells[row].string(), options_, [&block](size_t bytes) {
        return block.arena().Allocate(bytes);
      });
      // No library: no clip can be decoded, so the task ends.
      if (absl::IsFailedPrecondition(video.status())) return video.status();
      if (!video.ok()) {
        block.Fail(row, Annotate(video.status(), fmt::format("field '{}'", field_)));
        continue;
      }
      const Shape shape{video->frames, video->height, video->width, 3};
      cells[row] = {reinterpret_cast<const std::byte*>(video->pixels),
                    static_cast<size_t>(shape.items()), shape};
    }
    return absl::OkStatus();
  }

 private:
  std::string field_;
  VideoOptions options_;
  size_t at_ = 0;
};

absl::StatusOr<std::unique_ptr<Op>> MakeDecodeVideo(DecodeVideoParams p) {
  const auto within = [](std::string_view name, int64_t value, int64_t least) -> absl::Status {
    if (value >= least && value <= kMost) return absl::OkStatus();
    return InvalidArgument("{}: expected {} to {}, got {}", name, least, kMost, value);
  };
  HR_RETURN_IF_ERROR(within("every", p.every, 1));
  HR_RETURN_IF_ERROR(within("start", p.start, 0));
  HR_RETURN_IF_ERROR(within("frames", p.frames.value_or(1), 1));
  HR_RETURN_IF_ERROR(within("max_pixels", p.max_pixels, 1));
  HR_RETURN_IF_ERROR(within("max_bytes", p.max_bytes, 1));
  HR_RETURN_IF_ERROR(within("max_decoded_frames", p.max_decoded_frames, 1));
  if (!(p.time_limit > 0 && p.time_limit <= kMaxSeconds)) {
    return InvalidArgument("time_limit: expected seconds above 0, at most {}, got {}", kMaxSeconds,
                           p.time_limit);
  }
  VideoOptions options;
  options.every = p.every;
  options.start = p.start;
  options.frames = p.frames.value_or(0);
  if (!p.size.empty()) {
    HR_ASSIGN_OR_RETURN(const ImageSize size, ParseImageSize(p.size));
    options.height = size.height;
    options.width = size.width;
  }
  options.max_pixels = p.max_pixels;
  options.max_bytes = p.max_bytes;
  options.max_decoded_frames = p.max_decoded_frames;
  options.time_limit = absl::Seconds(p.time_limit);
  return std::make_unique<DecodeVideoStep>(std::move(p.field), options);
}

}  // namespace

void Register_decode_video(OpRegistry& registry) {
  using P = DecodeVideoParams;
  ParamSet<P> params;
  params.Required("field", &P::field, "bytes of a video clip: MP4, Matroska, WebM, AVI, MPEG, ...")
      .Optional("every", &P::every, "each so manieth frame is taken; 1: all")
      .Optional("start", &P::start, "frames left out at the front")
      .Optional("frames", &P::frames,
                "most frames that are taken, after which decoding ends; default: all")
      .Optional("size", &P::size,
                "[height, width] to scale to; a single number is both; default: as stored")
      .Optional("max_pixels", &P::max_pixels, "height x width above which a clip is refused")
      .Optional("max_bytes", &P::max_bytes, "of all frames taken, above which a clip is refused")
      .Optional("max_decoded_frames", &P::max_decoded_frames,
                "frames decoded, taken or not, above which a clip is refused")
      .Optional("time_limit", &P::time_limit, "seconds after which a clip is refused");
  registry
      .Add<P>("decode_video",
              "Decode frames of a video clip to uint8 [frames, height, width, 3], as stored "
              "(rotation is not applied).",
              std::move(params), MakeDecodeVideo)
      .bare_param = "field";
}

}  // namespace headrace
