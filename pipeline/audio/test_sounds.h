// Sound files that tests make themselves, by libsndfile. No binary links this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

enum class SoundKind { kWav16, kWavFloat, kFlac, kVorbis, kOpus };

// Interleaved samples; a different tone in every channel.
std::vector<float> MakeTone(int64_t frames, int64_t channels, int64_t sample_rate);

// "" when libsndfile refuses.
std::string EncodeSound(SoundKind kind, const std::vector<float>& samples, int64_t channels,
                        int64_t sample_rate);

}  // namespace headrace
