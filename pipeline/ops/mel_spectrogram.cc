// mel_spectrogram: sound -> its loudness over mel bands and time.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "pipeline/audio/mel.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/audio_field.h"

namespace headrace {
namespace {

constexpr int64_t kMaxValues = int64_t{1} << 28;  // of one row's result: 1 GiB

struct MelSpectrogramParams {
  std::string field;
  int64_t sample_rate = 0;
  int64_t n_fft = 400;
  std::optional<int64_t> win_length;
  std::optional<int64_t> hop_length;
  int64_t n_mels = 128;
  double f_min = 0;
  std::optional<double> f_max;
  double power = 2;
  std::string mel_scale = "htk";
  std::string norm = "none";
  bool center = true;
  std::string pad_mode = "reflect";
  std::string log = "none";
  double floor = 1e-10;
  double top_db = 0;
  bool time_first = false;
  std::string rate_field = "sample_rate";
};

class MelSpectrogramStep final : public StatelessOp {
 public:
  MelSpectrogramStep(MelSpectrogramParams params, std::unique_ptr<const MelSpectrogram> mel)
      : params_(std::move(params)), mel_(std::move(mel)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, RequireSound(input, params_.field, false, "mel_spectrogram"));
    HR_ASSIGN_OR_RETURN(rate_at_, FindRate(input, params_.rate_field));
    Schema out = input;
    out[at_].shape = ShapeOf(Shape::kDynamic);
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      absl::Status status = CheckRate(block, row);
      if (status.ok()) status = Change(cells[row], block.arena());
      if (!status.ok()) block.Fail(row, Annotate(status, fmt::format("field '{}'", params_.field)));
    }
    return absl::OkStatus();
  }

 private:
  Shape ShapeOf(int64_t frames) const {
    return params_.time_first ? Shape{frames, params_.n_mels} : Shape{params_.n_mels, frames};
  }

  absl::Status CheckRate(const Block& block, size_t row) const {
    if (!rate_at_) return absl::OkStatus();
    const int64_t rate = block.column(*rate_at_)[row].as<int64_t>()[0];
    if (rate == params_.sample_rate) return absl::OkStatus();
    return InvalidArgument("sound at {} Hz where sample_rate is {}; bring it there with resample",
                           rate, params_.sample_rate);
  }

  absl::Status Change(Cell& cell, Arena& arena) const {
    HR_ASSIGN_OR_RETURN(const int64_t frames, mel_->Frames(cell.shape[0]));
    if (frames > kMaxValues / params_.n_mels) {
      return OutOfRange(
          "{} frames of {} mels are over the limit of {} values; take a larger "
          "hop_length",
          frames, params_.n_mels, kMaxValues);
    }
    const size_t bytes = static_cast<size_t>(frames * params_.n_mels) * sizeof(float);
    std::byte* out = arena.Allocate(bytes);
    mel_->Run(cell.as<float>(), arena, reinterpret_cast<float*>(out));
    cell = {out, bytes, ShapeOf(frames)};
    return absl::OkStatus();
  }

  MelSpectrogramParams params_;
  std::unique_ptr<const MelSpectrogram> mel_;
  size_t at_ = 0;
  std::optional<size_t> rate_at_;
};

// Which of `words` it is; INVALID_ARGUMENT lists them.
absl::StatusOr<size_t> Choice(std::string_view name, const std::string& given,
                              const std::vector<std::string_view>& words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    if (given == words[i]) return i;
    list += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  }
  return InvalidArgument("{}: expected {}, got '{}'", name, list, given);
}

absl::StatusOr<std::unique_ptr<Op>> MakeMelSpectrogram(MelSpectrogramParams p) {
  if (p.sample_rate < 1 || p.sample_rate > 100'000'000)
    return InvalidArgument("sample_rate: expected 1 to 100000000, got {}", p.sample_rate);
  MelOptions o;
  o.sample_rate = p.sample_rate;
  o.n_fft = p.n_fft;
  o.win_length = p.win_length.value_or(p.n_fft);
  o.hop_length = p.hop_length.value_or(std::max<int64_t>(o.win_length / 2, 1));
  o.n_mels = p.n_mels;
  o.f_min = p.f_min;
  o.f_max = p.f_max.value_or(static_cast<double>(p.sample_rate) / 2);
  o.power = p.power;
  HR_ASSIGN_OR_RETURN(const size_t scale, Choice("mel_scale", p.mel_scale, {"htk", "slaney"}));
  HR_ASSIGN_OR_RETURN(const size_t norm, Choice("norm", p.norm, {"none", "slaney"}));
  HR_ASSIGN_OR_RETURN(const size_t pad, Choice("pad_mode", p.pad_mode, {"reflect", "zero"}));
  HR_ASSIGN_OR_RETURN(const size_t log, Choice("log", p.log, {"none", "db", "ln", "log10"}));
  o.scale = static_cast<MelScale>(scale);
  o.slaney_norm = norm == 1;
  o.center = p.center;
  o.pad = static_cast<MelPad>(pad);
  o.log = static_cast<MelLog>(log);
  o.floor = p.floor;
  o.top_db = p.top_db;
  o.time_first = p.time_first;
  HR_ASSIGN_OR_RETURN(auto mel, MelSpectrogram::Make(o));
  return std::make_unique<MelSpectrogramStep>(std::move(p), std::move(mel));
}

}  // namespace

void Register_mel_spectrogram(OpRegistry& registry) {
  using P = MelSpectrogramParams;
  ParamSet<P> params;
  params.Required("field", &P::field, "sound, float32 [frames], of decode_audio with mono: true")
      .Required("sample_rate", &P::sample_rate, "frames a second that the sound has")
      .Optional("n_fft", &P::n_fft, "samples of a transform")
      .Optional("win_length", &P::win_length, "samples of the Hann window; default: n_fft")
      .Optional("hop_length", &P::hop_length,
                "samples from one frame to the next; default: half of win_length")
      .Optional("n_mels", &P::n_mels, "how many bands")
      .Optional("f_min", &P::f_min, "lowest frequency in Hz")
      .Optional("f_max", &P::f_max, "highest frequency in Hz; default: half the sample rate")
      .Optional("power", &P::power, "of the magnitude: 1 for amplitude, 2 for power")
      .Optional("mel_scale", &P::mel_scale, "htk or slaney (librosa's default)")
      .Optional("norm", &P::norm, "none, or slaney: every band's area is 1 (librosa's default)")
      .Optional("center", &P::center,
                "add half of n_fft on each side, so that frame t is about hop_length * t")
      .Optional("pad_mode", &P::pad_mode, "what is added: reflect, or zero (librosa's default)")
      .Optional("log", &P::log, "none, db, ln or log10")
      .Optional("floor", &P::floor, "what smaller values count as before the logarithm")
      .Optional("top_db", &P::top_db,
                "with db: no value is further below the row's loudest; 0: no such limit")
      .Optional("time_first", &P::time_first, "[frames, n_mels] instead of [n_mels, frames]")
      .Optional("rate_field", &P::rate_field,
                "int64 field that, where there is one, must say sample_rate");
  registry.Add<P>(
      "mel_spectrogram",
      "Sound to float32 [n_mels, frames], by the conventions of torchaudio and librosa.",
      std::move(params), MakeMelSpectrogram);
}

}  // namespace headrace
