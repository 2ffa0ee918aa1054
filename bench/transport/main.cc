// bench_transport [--transport grpc|tcp] --repeats N --size BYTES --frames N: the two rates,
// interleaved, as JSON
// {"headrace": [..], "raw": [..]} in bytes/s. The first pair is warm-up and is dropped.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/transport/frame_stream_rate.h"
#include "bench/transport/raw_stream.h"
#include "bench/transport/raw_tcp.h"

int main(int argc, char** argv) {
  size_t repeats = 7;
  headrace::RateOptions options;
  CLI::App app("frames over a transport next to what it is made of");
  app.add_option("--transport", options.transport)->check(CLI::IsMember({"grpc", "tcp"}));
  app.add_flag("--checksums", options.checksums);
  app.add_option("--repeats", repeats);
  app.add_option("--size", options.payload_bytes);
  app.add_option("--frames", options.frames);
  CLI11_PARSE(app, argc, argv);

  nlohmann::json out = {{"headrace", nlohmann::json::array()}, {"raw", nlohmann::json::array()}};
  for (size_t i = 0; i <= repeats; ++i) {
    const auto ours = headrace::FrameStreamBytesPerSecond(options);
    const auto raw = options.transport == "grpc"
                         ? headrace::RawStreamBytesPerSecond(options.payload_bytes, options.frames)
                         : headrace::RawTcpBytesPerSecond(options.payload_bytes, options.frames);
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
