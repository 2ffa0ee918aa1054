// bench_transport --repeats N --size BYTES --frames N: the two rates, interleaved, as JSON
// {"headrace": [..], "raw": [..]} in bytes/s. The first pair is warm-up and is dropped.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/transport/frame_stream_rate.h"
#include "bench/transport/raw_stream.h"

int main(int argc, char** argv) {
  size_t repeats = 7;
  size_t size = 1 << 20;
  size_t frames = 2000;
  CLI::App app("frames over gRPC next to a raw stream");
  app.add_option("--repeats", repeats);
  app.add_option("--size", size);
  app.add_option("--frames", frames);
  CLI11_PARSE(app, argc, argv);

  nlohmann::json out = {{"headrace", nlohmann::json::array()}, {"raw", nlohmann::json::array()}};
  for (size_t i = 0; i <= repeats; ++i) {
    const auto ours = headrace::FrameStreamBytesPerSecond(size, frames);
    const auto raw = headrace::RawStreamBytesPerSecond(size, frames);
    if (!ours.ok() || !raw.ok()) {
      std::fprintf(stderr, "bench_transport: %s %s\n", ours.status().ToString().c_str(),
                   raw.status().ToString().c_str());
      return 1;
    }
    if (i == 0) continue;
    out["headrace"].push_back(*ours);
    out["raw"].push_back(*raw);
  }
  std::printf("%s\n", out.dump().c_str());
  return 0;
}
