// What an image costs from JPEG bytes to normalised floats, on one core: the bare loop, and the
// fused kernel on the same parts.
//
//   image_bench FOLDER [ROUNDS]
//
// Rounds alternate between the two, each round with new random parts; CPU time, medians.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "bench/imaging/image_baseline.h"
#include "pipeline/imaging/decode.h"
#include "pipeline/ops/image_crop.h"

namespace headrace::bench {
namespace {

constexpr int64_t kSize = 224;

std::vector<Region> DrawParts(std::span<const std::string> jpegs, uint64_t round) {
  std::vector<Region> parts;
  for (size_t i = 0; i < jpegs.size(); ++i) {
    const absl::StatusOr<ImageHeader> header = PeekImage(jpegs[i]);
    if (!header.ok()) std::abort();
    RandomStream random({.seed = 1, .epoch = round, .step = 0}, i, 0);
    parts.push_back(ResizedCropRule().Draw(header->height, header->width, random));
  }
  return parts;
}

double Median(const std::vector<LoopTime>& times,
              const std::function<double(const LoopTime&)>& value) {
  std::vector<double> values;
  for (const LoopTime& time : times) values.push_back(value(time));
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Print(const char* name, const std::vector<LoopTime>& times) {
  const auto micros = [&](double LoopTime::* part) {
    return Median(
        times, [part](const LoopTime& t) { return 1e6 * t.*part / static_cast<double>(t.images); });
  };
  std::printf(
      "%-10s %7.1f images/s  %7.1f us an image: decode%s %.1f, resize %.1f, normalize %.1f\n", name,
      Median(times, [](const LoopTime& t) { return t.images_per_second(); }),
      micros(&LoopTime::seconds), name[0] == 'f' ? "+resize" : "",
      micros(&LoopTime::decode_seconds), micros(&LoopTime::resize_seconds),
      micros(&LoopTime::normalize_seconds));
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: image_bench FOLDER [ROUNDS]\n");
    return 2;
  }
  const std::vector<std::string> jpegs = ReadJpegs(argv[1]);
  if (jpegs.empty()) {
    std::fprintf(stderr, "%s: no .JPEG, .jpeg or .jpg files\n", argv[1]);
    return 1;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  ImageLoop loop(kSize);
  std::vector<LoopTime> bare, fused;
  std::vector<double> ratios;
  for (int round = -1; round < rounds; ++round) {
    const std::vector<Region> parts = DrawParts(jpegs, static_cast<uint64_t>(round + 1));
    const LoopTime b = loop.Run(jpegs, parts), f = loop.RunFused(jpegs, parts);
    if (round < 0) continue;  // warm-up
    bare.push_back(b);
    fused.push_back(f);
    ratios.push_back(b.seconds / f.seconds);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%zu images, random_resized_crop to %ld x %ld, %d rounds\n", jpegs.size(),
              static_cast<long>(kSize), static_cast<long>(kSize), rounds);
  Print("bare loop", bare);
  Print("fused", fused);
  std::printf("fused / bare loop: %.3f (%.3f to %.3f)\n", ratios[ratios.size() / 2], ratios.front(),
              ratios.back());
  return 0;
}

}  // namespace
}  // namespace headrace::bench

int main(int argc, char** argv) { return headrace::bench::Main(argc, argv); }
