// Mel spectrograms, by KISS FFT, with the conventions of librosa and torchaudio: a periodic Hann
// window centred in n_fft, frames every `hop` samples, triangular filters that are straight lines
// in Hz.
//
// Made once per pipeline; immutable, so any thread may call Run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "element/arena.h"

struct kiss_fft_state;

namespace headrace {

enum class MelScale { kHtk, kSlaney };
enum class MelLog { kNone, kDecibel, kNatural, kLog10 };
enum class MelPad { kReflect, kZero };

struct MelOptions {
  int64_t sample_rate = 0;
  int64_t n_fft = 400;
  int64_t win_length = 400;
  int64_t hop_length = 200;
  int64_t n_mels = 128;
  double f_min = 0;
  double f_max = 0;
  double power = 2;  // of the magnitude
  MelScale scale = MelScale::kHtk;
  bool slaney_norm = false;  // each filter's area is 1, instead of its height
  bool center = true;        // n_fft / 2 samples are added on each side
  MelPad pad = MelPad::kReflect;
  MelLog log = MelLog::kNone;
  double floor = 1e-10;  // what smaller values count as before the logarithm
  double top_db = 0;     // kDecibel: nothing is lower than the loudest less this; 0: no such limit
  bool time_first = false;
};

// The first bin a filter weighs, and its weights from there on.
struct MelFilter {
  int64_t first = 0;
  std::vector<float> weights;
};
std::vector<MelFilter> MelFilters(const MelOptions& options);

class MelSpectrogram {
 public:
  static constexpr int64_t kMaxFft = 1 << 20;
  static constexpr int64_t kMaxMels = 1 << 14;

  // INVALID_ARGUMENT, under the parameter's name.
  static absl::StatusOr<std::unique_ptr<const MelSpectrogram>> Make(const MelOptions& options);
  ~MelSpectrogram();

  // Frames of a sound of that many samples; INVALID_ARGUMENT where it is too short for one.
  absl::StatusOr<int64_t> Frames(int64_t samples) const;

  // `out` has room for n_mels x Frames(). Scratch memory comes from `arena`.
  void Run(std::span<const float> samples, Arena& arena, float* out) const;

 private:
  explicit MelSpectrogram(const MelOptions& options);
  void Window(std::span<const float> samples, int64_t start, float* frame) const;
  void Log(float* values, int64_t count) const;

  MelOptions options_;
  std::vector<float> window_;  // win_length values
  std::vector<MelFilter> filters_;
  kiss_fft_state* plan_ = nullptr;
};

}  // namespace headrace
