// Whatever the bytes: samples within the limit, or an error; never a read or write out of bounds.
// Half of the inputs are sound files that this program makes itself, with some bytes overwritten,
// so that the decoders are reached from the first second on.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "pipeline/audio/decode.h"
#include "pipeline/audio/test_sounds.h"

namespace headrace {
namespace {

std::vector<std::string> Seeds() {
  std::vector<std::string> out;
  for (SoundKind kind : {SoundKind::kWav16, SoundKind::kWavFloat, SoundKind::kFlac,
                         SoundKind::kVorbis, SoundKind::kOpus}) {
    out.push_back(EncodeSound(kind, MakeTone(700, 2, 16000), 2, 16000));
  }
  return out;
}

void Decode(std::string_view bytes, uint8_t choice) {
  AudioOptions options;
  options.mono = (choice & 1) != 0;
  options.max_samples = 1 << 18;
  std::vector<std::byte> buffer;
  const auto audio = DecodeAudio(bytes, options, [&buffer](size_t size) {
    buffer.assign(size, std::byte{0});
    return buffer.data();
  });
  if (!audio.ok()) return;
  if (audio->frames * audio->channels > options.max_samples) std::abort();
  if (static_cast<size_t>(audio->frames * audio->channels) * sizeof(float) != buffer.size())
    std::abort();
}

}  // namespace
}  // namespace headrace

// libsndfile 1.2 does not free some kilobytes of libvorbis's when the headers of an Ogg file are
// damaged.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libvorbis\n"; }

// One: the options. Two: 255 for bytes as they are, else a seed. Then triples: place (16 bits) and
// new byte.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> seeds = headrace::Seeds();
  if (size < 2) return 0;
  if (data[1] == 255) {
    headrace::Decode({reinterpret_cast<const char*>(data) + 2, size - 2}, data[0]);
    return 0;
  }
  std::string file = seeds[data[1] % seeds.size()];
  for (size_t at = 2; at + 3 <= size; at += 3) {
    const size_t place = (size_t{data[at]} << 8 | data[at + 1]) % file.size();
    // A place at the very front cuts the file instead, or no run would ever see a short one.
    if (place < 2) {
      file.resize(1 + data[at + 2] * file.size() / 256);
    } else {
      file[place] = static_cast<char>(data[at + 2]);
    }
  }
  headrace::Decode(file, data[0]);
  return 0;
}
