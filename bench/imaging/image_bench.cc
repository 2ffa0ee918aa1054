// What an image costs from JPEG bytes to normalised floats, on one core: the bare loop, the fused
// kernel on the same parts (its "decode" includes the resizing), and the steps of a pipeline.
//
//   image_bench FOLDER [ROUNDS]
//
// Rounds alternate between them, each round with new random parts; CPU time, medians.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "bench/imaging/image_baseline.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/imaging/decode.h"
#include "pipeline/ops/fuse_decode.h"
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

// A chain of bound steps, run over blocks of kRows files as an engine's compute thread does,
// without the engine.
class StepChain {
 public:
  explicit StepChain(const std::vector<v1::Step>& steps) {
    OpRegistry registry;
    RegisterAll_ops(registry);
    Schema schema({{"image", DType::kBytes, {}}});
    schemas_.push_back(std::make_shared<const Schema>(schema));
    for (const v1::Step& step : steps) {
      auto op = (*registry.Find(step.op()))->make(step.params());
      if (!op.ok()) std::abort();
      auto out = (*op)->Bind(schema);
      if (!out.ok()) std::abort();
      schema = *std::move(out);
      schemas_.push_back(std::make_shared<const Schema>(schema));
      ops_.push_back(*std::move(op));
    }
  }

  LoopTime Run(std::span<const std::string> jpegs, uint64_t epoch) const {
    LoopTime time;
    const double start = ThreadSeconds();
    for (size_t first = 0; first < jpegs.size(); first += kRows) {
      Block block(schemas_.front());
      for (size_t i = first; i < std::min(first + kRows, jpegs.size()); ++i) {
        const Cell cell{reinterpret_cast<const std::byte*>(jpegs[i].data()), jpegs[i].size(), {}};
        block.AppendRow({headrace::Run{.split = 0, .first = i, .count = 1}}, {&cell, 1});
      }
      for (size_t k = 0; k < ops_.size(); ++k) {
        StepContext context;
        context.random = {.seed = 1, .epoch = epoch, .step = static_cast<uint32_t>(k)};
        if (!dynamic_cast<const StatelessOp&>(*ops_[k]).Run(block, context).ok()) std::abort();
        block.SetSchema(schemas_[k + 1]);
      }
      for (const Cell& cell : block.column(0)) {
        time.checksum += cell.as<float>().front();
        ++time.images;
      }
    }
    time.seconds = ThreadSeconds() - start;
    return time;
  }

 private:
  static constexpr size_t kRows = 8;
  std::vector<SchemaPtr> schemas_;
  std::vector<std::unique_ptr<Op>> ops_;
};

v1::Step ImageStep(const std::string& op) {
  v1::Step step;
  step.set_op(op);
  const auto add = [&step](const char* name, v1::Value value) {
    v1::NamedValue* entry = step.mutable_params()->add_entries();
    entry->set_name(name);
    *entry->mutable_value() = std::move(value);
  };
  add("field", ToValue(std::string("image")));
  if (op == "random_resized_crop") add("size", ToValue(std::vector<int64_t>{kSize, kSize}));
  if (op == "normalize") {
    add("mean", ToValue(std::vector<double>{0.485, 0.456, 0.406}));
    add("std", ToValue(std::vector<double>{0.229, 0.224, 0.225}));
  }
  return step;
}

double Median(const std::vector<LoopTime>& times,
              const std::function<double(const LoopTime&)>& value) {
  std::vector<double> values;
  for (const LoopTime& time : times) values.push_back(value(time));
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Print(const char* name, const std::vector<LoopTime>& times, bool parts) {
  const auto micros = [&](double LoopTime::* part) {
    return Median(
        times, [part](const LoopTime& t) { return 1e6 * t.*part / static_cast<double>(t.images); });
  };
  std::printf("%-14s %7.1f images/s  %7.1f us an image", name,
              Median(times, [](const LoopTime& t) { return t.images_per_second(); }),
              micros(&LoopTime::seconds));
  if (parts) {
    std::printf(": decode %.1f, resize %.1f, normalize %.1f", micros(&LoopTime::decode_seconds),
                micros(&LoopTime::resize_seconds), micros(&LoopTime::normalize_seconds));
  }
  std::printf("\n");
}

// Of the same rounds, so that what else the machine does falls on both.
void PrintRatio(const char* name, const std::vector<LoopTime>& times,
                const std::vector<LoopTime>& bare) {
  std::vector<double> ratios;
  for (size_t i = 0; i < times.size(); ++i) {
    ratios.push_back(times[i].images_per_second() / bare[i].images_per_second());
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%-14s %.3f of the bare loop (%.3f to %.3f)\n", name, ratios[ratios.size() / 2],
              ratios.front(), ratios.back());
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: image_bench FOLDER [ROUNDS]\n");
    return 2;
  }
  std::vector<std::string> jpegs;
  for (const std::string& path : ListJpegs(argv[1])) jpegs.push_back(ReadFile(path));
  if (jpegs.empty()) {
    std::fprintf(stderr, "%s: no .JPEG, .jpeg or .jpg files\n", argv[1]);
    return 1;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  ImageLoop loop(kSize, 1);
  const v1::Step decode = ImageStep("decode_image"), crop = ImageStep("random_resized_crop");
  const v1::Step normalize = ImageStep("normalize");
  const StepChain apart({decode, crop, normalize});
  const absl::StatusOr<v1::Step> one = FuseDecodeWithCrop(decode, crop);
  if (!one.ok()) std::abort();
  const StepChain together({*one, normalize});
  std::vector<LoopTime> bare, fused, steps, fused_steps;
  for (int round = -1; round < rounds; ++round) {
    const std::vector<Region> parts = DrawParts(jpegs, static_cast<uint64_t>(round + 1));
    const auto epoch = static_cast<uint64_t>(round + 1);
    const LoopTime times[] = {loop.Run(jpegs, parts), loop.RunFused(jpegs, parts),
                              apart.Run(jpegs, epoch), together.Run(jpegs, epoch)};
    if (round < 0) continue;  // warm-up
    bare.push_back(times[0]);
    fused.push_back(times[1]);
    steps.push_back(times[2]);
    fused_steps.push_back(times[3]);
  }
  std::printf("%zu images, random_resized_crop to %ld x %ld, %d rounds\n", jpegs.size(),
              static_cast<long>(kSize), static_cast<long>(kSize), rounds);
  Print("bare loop", bare, true);
  Print("fused kernels", fused, true);
  Print("steps", steps, false);
  Print("fused steps", fused_steps, false);
  PrintRatio("fused kernels", fused, bare);
  PrintRatio("steps", steps, bare);
  PrintRatio("fused steps", fused_steps, bare);
  return 0;
}

}  // namespace
}  // namespace headrace::bench

int main(int argc, char** argv) { return headrace::bench::Main(argc, argv); }
