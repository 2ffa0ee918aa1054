// resample: sound at another sample rate.
#include "pipeline/audio/resample.h"

#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/audio_field.h"

namespace headrace {
namespace {

constexpr int64_t kMaxSamples = int64_t{1} << 28;  // of one row's result: 1 GiB

struct ResampleParams {
  std::string field;
  int64_t rate = 0;
  std::optional<int64_t> from_rate;
  std::string rate_field = "sample_rate";
};

class ResampleStep final : public StatelessOp {
 public:
  explicit ResampleStep(ResampleParams params) : params_(std::move(params)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, RequireSound(input, params_.field, true, "resample"));
    HR_ASSIGN_OR_RETURN(rate_at_, FindRate(input, params_.rate_field));
    if (!rate_at_ && !params_.from_rate) {
      return InvalidArgument(
          "no field '{}' says the present rate: name one in rate_field (decode_audio makes it), or "
          "say from_rate",
          params_.rate_field);
    }
    Schema out = input;
    out[at_].shape[0] = Shape::kDynamic;
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      const int64_t from =
          params_.from_rate ? *params_.from_rate : block.column(*rate_at_)[row].as<int64_t>()[0];
      if (absl::Status s = Change(cells[row], from, block.arena()); !s.ok()) {
        block.Fail(row, Annotate(s, fmt::format("field '{}'", params_.field)));
        continue;
      }
      if (rate_at_)
        block.column(*rate_at_)[row] = MakeScalarCell<int64_t>(block.arena(), params_.rate);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Change(Cell& cell, int64_t from, Arena& arena) const {
    HR_RETURN_IF_ERROR(CheckSampleRate(from));
    Shape shape = cell.shape;
    const int64_t channels = shape.rank() == 2 ? shape[1] : 1;
    if (from == params_.rate || cell.shape.items() == 0) return absl::OkStatus();
    if (channels > 1024) return OutOfRange("sound of {} channels; 1024 are the most", channels);
    shape[0] = ResampledFrames(cell.shape[0], from, params_.rate);
    if (shape[0] > kMaxSamples / channels) {
      return OutOfRange("at {} Hz it is {} frames of {} channels, over the limit of {} samples",
                        params_.rate, shape[0], channels, kMaxSamples);
    }
    const size_t bytes = static_cast<size_t>(shape.items()) * sizeof(float);
    std::byte* out = arena.Allocate(bytes);
    HR_RETURN_IF_ERROR(ResampleAudio(cell.as<float>().data(), cell.shape[0], channels, from,
                                     params_.rate, reinterpret_cast<float*>(out)));
    cell = {out, bytes, shape};
    return absl::OkStatus();
  }

  ResampleParams params_;
  size_t at_ = 0;
  std::optional<size_t> rate_at_;
};

}  // namespace

void Register_resample(OpRegistry& registry) {
  ParamSet<ResampleParams> params;
  params
      .Required("field", &ResampleParams::field,
                "sound, float32 [frames] or [frames, channels], of decode_audio")
      .Required("rate", &ResampleParams::rate, "frames a second of the result")
      .Optional("from_rate", &ResampleParams::from_rate,
                "frames a second of the sound; default: what the row's rate_field says")
      .Optional("rate_field", &ResampleParams::rate_field,
                "int64 field with the present rate; gets the new one");
  registry.Add<ResampleParams>("resample", "Bring sound to another sample rate.", std::move(params),
                               [](ResampleParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                                 if (absl::Status s = CheckSampleRate(p.rate); !s.ok())
                                   return Annotate(s, "rate");
                                 if (p.from_rate) {
                                   if (absl::Status s = CheckSampleRate(*p.from_rate); !s.ok())
                                     return Annotate(s, "from_rate");
                                 }
                                 return std::make_unique<ResampleStep>(std::move(p));
                               });
}

}  // namespace headrace
