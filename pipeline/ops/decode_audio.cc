// decode_audio: the bytes of a sound file -> float32 samples and their rate.
#include <utility>

#include "common/status.h"
#include "pipeline/audio/decode.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct DecodeAudioParams {
  std::string field;
  bool mono = false;
  std::string rate_field = "sample_rate";
  int64_t max_samples = kDefaultMaxSamples;
};

class DecodeAudioStep final : public StatelessOp {
 public:
  explicit DecodeAudioStep(DecodeAudioParams params) : params_(std::move(params)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(params_.field));
    const Field& field = input[at_];
    if (field.dtype != DType::kBytes || field.shape != Shape()) {
      return InvalidArgument(
          "field '{}' is {} {}; decode_audio takes the bytes of a sound file: bytes []",
          params_.field, Name(field.dtype), field.shape.ToString());
    }
    Schema out = input;
    const Shape samples =
        params_.mono ? Shape{Shape::kDynamic} : Shape{Shape::kDynamic, Shape::kDynamic};
    out[at_] = {field.name, DType::kFloat32, samples};
    if (params_.rate_field.empty()) return out;
    if (input.Find(params_.rate_field) != Schema::kNone) {
      return InvalidArgument(
          "there is a field '{}' already: give rate_field another name, or an empty one for none",
          params_.rate_field);
    }
    out.Add({params_.rate_field, DType::kInt64, Shape()});
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    AudioOptions options;
    options.mono = params_.mono;
    options.max_samples = params_.max_samples;
    std::vector<Cell> rates(block.rows());
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      const auto audio = DecodeAudio(cells[row].string(), options, [&block](size_t bytes) {
        return block.arena().Allocate(bytes);
      });
      if (!audio.ok()) {
        block.Fail(row, Annotate(audio.status(), fmt::format("field '{}'", params_.field)));
        continue;
      }
      const Shape shape =
          params_.mono ? Shape{audio->frames} : Shape{audio->frames, audio->channels};
      cells[row] = {reinterpret_cast<const std::byte*>(audio->samples),
                    static_cast<size_t>(audio->frames * audio->channels) * sizeof(float), shape};
      if (!params_.rate_field.empty())
        rates[row] = MakeScalarCell<int64_t>(block.arena(), audio->sample_rate);
    }
    if (!params_.rate_field.empty()) block.columns().push_back(std::move(rates));
    return absl::OkStatus();
  }

 private:
  DecodeAudioParams params_;
  size_t at_ = 0;
};

}  // namespace

void Register_decode_audio(OpRegistry& registry) {
  ParamSet<DecodeAudioParams> params;
  params.Required("field", &DecodeAudioParams::field, "bytes of a sound file")
      .Optional("mono", &DecodeAudioParams::mono,
                "the mean of the channels, float32 [frames], instead of [frames, channels]")
      .Optional("rate_field", &DecodeAudioParams::rate_field,
                "name of the new int64 field with the frames a second; empty: none")
      .Optional("max_samples", &DecodeAudioParams::max_samples,
                "frames x channels above which a sound is refused, before memory is taken for it");
  registry
      .Add<DecodeAudioParams>(
          "decode_audio",
          "Decode a WAV, FLAC or Ogg (Vorbis, Opus) file to float32 [frames, channels] and its "
          "sample rate.",
          std::move(params),
          [](DecodeAudioParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
            if (p.max_samples <= 0)
              return InvalidArgument("max_samples: expected 1 or more, got {}", p.max_samples);
            return std::make_unique<DecodeAudioStep>(std::move(p));
          })
      .bare_param = "field";
}

}  // namespace headrace
