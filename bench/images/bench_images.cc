// Images a CPU second of a whole Headrace cluster, next to a bare loop over libjpeg-turbo on the
// same files:
//
//   bench_images FOLDER [--rounds N]
//
// The loop (bench/imaging/image_baseline.h) has the files in memory and one thread. The cluster is
// a dispatcher and one worker with one compute thread in this process, a client that streams
// image_folder, decode_image, random_resized_crop to 224, normalize, batch 64 from it over loopback
// gRPC; its time is all CPU time of the process during an epoch: reading, steps, batches,
// transport, heartbeats and client. Rounds alternate between the loop, the cluster without fused
// decoding and the cluster with it; the first of each is warm-up and is dropped. Prints JSON
// {"images": n, "loop": [..], "unfused": [..], "fused": [..]} in images per CPU second.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/imaging/image_baseline.h"
#include "client/client.h"
#include "common/status.h"
#include "embedded/embedded_cluster.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/imaging/decode.h"
#include "pipeline/ops/image_crop.h"

namespace headrace::bench {
namespace {

constexpr int64_t kSize = 224;
constexpr int64_t kBatch = 64;

double ProcessSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::vector<std::string> ReadTree(const std::string& folder) {
  std::vector<std::string> jpegs = ReadJpegs(folder);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    for (std::string& jpeg : ReadJpegs(entry.path().string())) jpegs.push_back(std::move(jpeg));
  }
  return jpegs;
}

absl::StatusOr<std::vector<Region>> DrawParts(std::span<const std::string> jpegs, uint64_t epoch) {
  std::vector<Region> parts;
  for (size_t i = 0; i < jpegs.size(); ++i) {
    HR_ASSIGN_OR_RETURN(const ImageHeader header, PeekImage(jpegs[i]));
    RandomStream random({.seed = 1, .epoch = epoch, .step = 0}, i, 0);
    parts.push_back(ResizedCropRule().Draw(header.height, header.width, random));
  }
  return parts;
}

v1::PipelineDef Pipeline(const std::string& folder, bool fused) {
  PipelineBuilder builder(fused ? "images-fused" : "images-unfused");
  builder.Read({folder}, "image_folder")
      .Step("decode_image", {{"field", "image"}})
      .Step("random_resized_crop", {{"field", "image"}, {"size", List({kSize, kSize})}})
      .Step("normalize", {{"field", "image"},
                          {"mean", List({0.485, 0.456, 0.406})},
                          {"std", List({0.229, 0.224, 0.225})}})
      .Step("batch", {{"size", kBatch}});
  if (!fused) builder.WithoutPass("fuse_decode");
  return builder.Build();
}

// One epoch's CPU seconds; `images` is how many must come.
absl::StatusOr<double> EpochSeconds(Loader& loader, size_t images) {
  const double begin = ProcessSeconds();
  HR_RETURN_IF_ERROR(loader.StartEpoch());
  uint64_t records = 0;
  while (true) {
    HR_ASSIGN_OR_RETURN(const std::optional<Element> batch, loader.Next(absl::Minutes(2)));
    if (!batch) break;
    records += batch->records();
  }
  const double seconds = ProcessSeconds() - begin;
  if (records != images) return DataLoss("{} images came of {}", records, images);
  return seconds;
}

absl::Status Measure(const std::string& folder, int rounds) {
  const std::vector<std::string> jpegs = ReadTree(folder);
  if (jpegs.empty()) return NotFound("{}: no .JPEG, .jpeg or .jpg files", folder);
  EmbeddedOptions options;
  options.worker.compute_threads = 1;
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<EmbeddedCluster> cluster,
                      EmbeddedCluster::Start(options, std::make_shared<const Catalog>()));
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(cluster->address()));
  StreamOptions stream;
  stream.job = "unfused";
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> unfused,
                      client->Stream(Pipeline(folder, false), stream));
  stream.job = "fused";
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> fused,
                      client->Stream(Pipeline(folder, true), stream));
  ImageLoop loop(kSize);
  const auto images = static_cast<double>(jpegs.size());
  nlohmann::json out = {{"images", jpegs.size()},
                        {"loop", nlohmann::json::array()},
                        {"unfused", nlohmann::json::array()},
                        {"fused", nlohmann::json::array()}};
  for (int round = 0; round <= rounds; ++round) {
    HR_ASSIGN_OR_RETURN(const std::vector<Region> parts,
                        DrawParts(jpegs, static_cast<uint64_t>(round)));
    const double bare = loop.Run(jpegs, parts).images_per_second();
    HR_ASSIGN_OR_RETURN(const double apart, EpochSeconds(*unfused, jpegs.size()));
    HR_ASSIGN_OR_RETURN(const double together, EpochSeconds(*fused, jpegs.size()));
    if (round == 0) continue;  // warm-up
    out["loop"].push_back(bare);
    out["unfused"].push_back(images / apart);
    out["fused"].push_back(images / together);
  }
  fused->Close(absl::Seconds(1));
  unfused->Close(absl::Seconds(1));
  std::printf("%s\n", out.dump().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace headrace::bench

int main(int argc, char** argv) {
  std::string folder;
  int rounds = 7;
  CLI::App app("a cluster's images per CPU second next to a bare loop's");
  app.add_option("folder", folder)->required();
  app.add_option("--rounds", rounds);
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = headrace::bench::Measure(folder, rounds);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_images: %s\n", std::string(status.message()).c_str());
  return 1;
}
