#include "pipeline/audio/mel.h"

#include <kiss_fft.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/status.h"

namespace headrace {
namespace {

// Slaney's scale: linear to 1 kHz, then logarithmic (M. Slaney, "Auditory Toolbox", 1998).
constexpr double kSlaneyHzPerMel = 200.0 / 3;
constexpr double kSlaneyLogHz = 1000;
constexpr double kSlaneyLogMel = kSlaneyLogHz / kSlaneyHzPerMel;
double SlaneyLogStep() { return std::log(6.4) / 27; }

double ToMel(double hz, MelScale scale) {
  if (scale == MelScale::kHtk) return 2595 * std::log10(1 + hz / 700);
  if (hz < kSlaneyLogHz) return hz / kSlaneyHzPerMel;
  return kSlaneyLogMel + std::log(hz / kSlaneyLogHz) / SlaneyLogStep();
}
double ToHz(double mel, MelScale scale) {
  if (scale == MelScale::kHtk) return 700 * (std::pow(10, mel / 2595) - 1);
  if (mel < kSlaneyLogMel) return mel * kSlaneyHzPerMel;
  return kSlaneyLogHz * std::exp(SlaneyLogStep() * (mel - kSlaneyLogMel));
}

int64_t Bins(const MelOptions& o) { return o.n_fft / 2 + 1; }

// Index of a sample beyond the ends, mirrored without the end itself; reflecting asks for more
// samples than are added.
int64_t Mirror(int64_t i, int64_t n) {
  if (i < 0) return -i;
  return i < n ? i : 2 * (n - 1) - i;
}

absl::Status Check(const MelOptions& o) {
  const auto within = [](std::string_view name, int64_t value, int64_t least,
                         int64_t most) -> absl::Status {
    if (value >= least && value <= most) return absl::OkStatus();
    return InvalidArgument("{}: expected {} to {}, got {}", name, least, most, value);
  };
  HR_RETURN_IF_ERROR(within("n_fft", o.n_fft, 2, MelSpectrogram::kMaxFft));
  HR_RETURN_IF_ERROR(within("win_length", o.win_length, 1, o.n_fft));
  HR_RETURN_IF_ERROR(within("hop_length", o.hop_length, 1, MelSpectrogram::kMaxFft));
  HR_RETURN_IF_ERROR(within("n_mels", o.n_mels, 1, MelSpectrogram::kMaxMels));
  const double half = static_cast<double>(o.sample_rate) / 2;
  if (!(o.f_min >= 0 && o.f_min < o.f_max && o.f_max <= half)) {
    return InvalidArgument(
        "f_min, f_max: expected 0 <= f_min < f_max <= {} (half the sample rate), got {} and {}",
        half, o.f_min, o.f_max);
  }
  if (!(o.power > 0 && o.power <= 8))
    return InvalidArgument("power: expected a number above 0, at most 8, got {}", o.power);
  if (!(o.floor > 0 && std::isfinite(o.floor)))
    return InvalidArgument("floor: expected a number above 0, got {}", o.floor);
  if (!(o.top_db >= 0)) return InvalidArgument("top_db: expected 0 or more, got {}", o.top_db);
  return absl::OkStatus();
}

}  // namespace

std::vector<MelFilter> MelFilters(const MelOptions& o) {
  const double low = ToMel(o.f_min, o.scale), high = ToMel(o.f_max, o.scale);
  std::vector<double> edges;  // of filter i: from edge i up to i + 1, down to i + 2
  for (int64_t i = 0; i < o.n_mels + 2; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(o.n_mels + 1);
    edges.push_back(ToHz(low + (high - low) * at, o.scale));
  }
  std::vector<MelFilter> out(static_cast<size_t>(o.n_mels));
  for (size_t i = 0; i < out.size(); ++i) {
    const double height = o.slaney_norm ? 2.0 / (edges[i + 2] - edges[i]) : 1.0;
    for (int64_t bin = 0; bin < Bins(o); ++bin) {
      const double hz = static_cast<double>(bin) * static_cast<double>(o.sample_rate) /
                        static_cast<double>(o.n_fft);
      const double weight = std::min((hz - edges[i]) / (edges[i + 1] - edges[i]),
                                     (edges[i + 2] - hz) / (edges[i + 2] - edges[i + 1]));
      if (!(weight > 0)) continue;
      if (out[i].weights.empty()) out[i].first = bin;
      out[i].weights.push_back(static_cast<float>(weight * height));
    }
  }
  return out;
}

absl::StatusOr<std::unique_ptr<const MelSpectrogram>> MelSpectrogram::Make(
    const MelOptions& options) {
  HR_RETURN_IF_ERROR(Check(options));
  std::unique_ptr<MelSpectrogram> out(new MelSpectrogram(options));
  if (out->plan_ == nullptr)
    return ResourceExhausted("no memory for transforms of {} samples", options.n_fft);
  return out;
}

MelSpectrogram::MelSpectrogram(const MelOptions& options)
    : options_(options), filters_(MelFilters(options)) {
  for (int64_t i = 0; i < options.win_length; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(options.win_length);
    window_.push_back(static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * at)));
  }
  plan_ = kiss_fft_alloc(static_cast<int>(options.n_fft), 0, nullptr, nullptr);
}

MelSpectrogram::~MelSpectrogram() { kiss_fft_free(plan_); }

absl::StatusOr<int64_t> MelSpectrogram::Frames(int64_t samples) const {
  const int64_t pad = options_.center ? options_.n_fft / 2 : 0;
  if (options_.center && options_.pad == MelPad::kReflect && samples <= pad) {
    return InvalidArgument(
        "sound of {} samples is too short to be mirrored by n_fft / 2 = {}; pad_mode: zero takes "
        "it",
        samples, pad);
  }
  if (samples + 2 * pad < options_.n_fft) {
    return InvalidArgument("sound of {} samples is shorter than n_fft {}", samples, options_.n_fft);
  }
  return 1 + (samples + 2 * pad - options_.n_fft) / options_.hop_length;
}

// The n_fft samples from `start` on (before 0 where the sound is padded), weighted.
void MelSpectrogram::Window(std::span<const float> samples, int64_t start, float* frame) const {
  const auto length = static_cast<int64_t>(samples.size());
  std::fill_n(frame, options_.n_fft, 0.0f);
  const int64_t left = (options_.n_fft - options_.win_length) / 2;
  for (int64_t i = 0; i < options_.win_length; ++i) {
    int64_t at = start + left + i;
    if (at < 0 || at >= length) {
      if (options_.pad == MelPad::kZero) continue;
      at = Mirror(at, length);
    }
    frame[left + i] = samples[static_cast<size_t>(at)] * window_[static_cast<size_t>(i)];
  }
}

void MelSpectrogram::Log(float* values, int64_t count) const {
  if (options_.log == MelLog::kNone) return;
  const auto floor = static_cast<float>(options_.floor);
  const float decibels = static_cast<float>(20 / options_.power);
  float most = -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    const float x = std::max(values[i], floor);
    values[i] = options_.log == MelLog::kNatural ? std::log(x) : std::log10(x);
    if (options_.log == MelLog::kDecibel) values[i] *= decibels;
    most = std::max(most, values[i]);
  }
  if (options_.log != MelLog::kDecibel || options_.top_db == 0) return;
  const float least = most - static_cast<float>(options_.top_db);
  for (int64_t i = 0; i < count; ++i) values[i] = std::max(values[i], least);
}

void MelSpectrogram::Run(std::span<const float> samples, Arena& arena, float* out) const {
  const int64_t bins = Bins(options_), mels = options_.n_mels;
  const absl::StatusOr<int64_t> counted = Frames(static_cast<int64_t>(samples.size()));
  if (!counted.ok()) return;
  const int64_t frames = *counted;
  const auto n = static_cast<size_t>(options_.n_fft);
  auto* frame = reinterpret_cast<float*>(arena.Allocate(n * sizeof(float)));
  auto* wave = reinterpret_cast<kiss_fft_cpx*>(arena.Allocate(n * sizeof(kiss_fft_cpx)));
  auto* spectrum = reinterpret_cast<kiss_fft_cpx*>(arena.Allocate(n * sizeof(kiss_fft_cpx)));
  auto* power = reinterpret_cast<float*>(arena.Allocate(static_cast<size_t>(bins) * sizeof(float)));
  const int64_t pad = options_.center ? options_.n_fft / 2 : 0;
  const int64_t mel_step = options_.time_first ? 1 : frames,
                time_step = options_.time_first ? mels : 1;
  for (int64_t t = 0; t < frames; ++t) {
    Window(samples, t * options_.hop_length - pad, frame);
    // As complex numbers: the transform of real ones has scratch memory in its plan, which threads
    // could not share.
    for (size_t i = 0; i < n; ++i) wave[i] = {frame[i], 0.0f};
    kiss_fft(plan_, wave, spectrum);
    for (int64_t b = 0; b < bins; ++b) {
      const float square = spectrum[b].r * spectrum[b].r + spectrum[b].i * spectrum[b].i;
      power[b] = options_.power == 2   ? square
                 : options_.power == 1 ? std::sqrt(square)
                                       : std::pow(square, static_cast<float>(options_.power / 2));
    }
    for (int64_t m = 0; m < mels; ++m) {
      const MelFilter& filter = filters_[static_cast<size_t>(m)];
      float sum = 0;
      for (size_t k = 0; k < filter.weights.size(); ++k)
        sum += filter.weights[k] * power[filter.first + static_cast<int64_t>(k)];
      out[m * mel_step + t * time_step] = sum;
    }
  }
  Log(out, mels * frames);
}

}  // namespace headrace
