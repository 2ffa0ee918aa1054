// Images a worker makes in one CPU second, next to a bare loop over libjpeg-turbo on the same
// files:
//
//   bench_images FOLDER [--rounds N]
//
// The loop (bench/imaging/image_baseline.h) reads the files and fills batches with one thread; it
// has nobody to send them to. The worker is a process of its own with one compute thread; a
// dispatcher and a client in this process have it run image_folder, decode_image,
// random_resized_crop to 224, normalize, batch 64. Its time is all CPU time of its process during
// an epoch: reading, steps, batches, transport and heartbeats; what the dispatcher and the client
// take is theirs. Rounds alternate between the loop, the worker without fused decoding and the
// worker with it; the first of each is warm-up and is dropped. Prints JSON
// {"images": n, "loop": [..], "unfused": [..], "fused": [..]} in images per CPU second.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/synchronization/mutex.h"
#include "bench/imaging/image_baseline.h"
#include "client/client.h"
#include "common/metrics/metrics.h"
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

// A worker in a process of its own that says how much CPU time it has used. Forked before this
// process has threads.
class WorkerProcess {
 public:
  WorkerProcess() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    pid_ = fork();
    if (pid_ < 0) std::abort();
    socket_ = ends[pid_ == 0 ? 1 : 0];
    close(ends[pid_ == 0 ? 0 : 1]);
    if (pid_ == 0) _exit(Serve());
  }
  ~WorkerProcess() {
    close(socket_);  // it ends when it reads that
    waitpid(pid_, nullptr, 0);
  }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  absl::Status Join(const std::string& dispatcher) {
    if (send(socket_, dispatcher.data(), dispatcher.size(), MSG_NOSIGNAL) < 0)
      return Internal("the worker's process is gone");
    return Seconds().status();
  }
  absl::StatusOr<double> Seconds() {
    double seconds = 0;
    if (send(socket_, "?", 1, MSG_NOSIGNAL) != 1 ||
        recv(socket_, &seconds, sizeof(seconds), 0) != sizeof(seconds)) {
      return Internal("the worker's process is gone; its messages are above");
    }
    return seconds;
  }

 private:
  int Serve() const {
    char text[256];
    const ssize_t size = recv(socket_, text, sizeof(text), 0);
    if (size <= 0) return 0;
    WorkerConfig config;
    config.dispatcher.assign(text, static_cast<size_t>(size));
    config.listen = "127.0.0.1:0";
    config.compute_threads = 1;
    const Catalog catalog;
    Metrics metrics("worker");
    const auto worker = StartWorker(config, catalog, &metrics, CancellationToken());
    if (!worker.ok()) {
      std::fprintf(stderr, "worker: %s\n", std::string(worker.status().message()).c_str());
      return 1;
    }
    while (recv(socket_, text, sizeof(text), 0) == 1) {
      const double seconds = ProcessSeconds();
      if (send(socket_, &seconds, sizeof(seconds), MSG_NOSIGNAL) < 0) break;
    }
    return 0;
  }

  int socket_;
  pid_t pid_;
};

std::vector<Region> DrawParts(std::span<const ImageHeader> headers, uint64_t epoch) {
  std::vector<Region> parts;
  for (size_t i = 0; i < headers.size(); ++i) {
    const ImageHeader& header = headers[i];
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

// The worker's CPU seconds of one epoch; `images` is how many must come.
absl::StatusOr<double> EpochSeconds(WorkerProcess& worker, Loader& loader, size_t images) {
  HR_ASSIGN_OR_RETURN(const double begin, worker.Seconds());
  HR_RETURN_IF_ERROR(loader.StartEpoch());
  uint64_t records = 0;
  while (true) {
    HR_ASSIGN_OR_RETURN(const std::optional<Element> batch, loader.Next(absl::Minutes(2)));
    if (!batch) break;
    records += batch->records();
  }
  HR_ASSIGN_OR_RETURN(const double end, worker.Seconds());
  if (records != images) return DataLoss("{} images came of {}", records, images);
  return end - begin;
}

absl::Status Measure(WorkerProcess& worker, const std::string& folder, int rounds) {
  const std::vector<std::string> paths = ListJpegs(folder);
  if (paths.empty()) return NotFound("{}: no .JPEG, .jpeg or .jpg files", folder);
  std::vector<ImageHeader> headers;
  for (const std::string& path : paths) {
    HR_ASSIGN_OR_RETURN(const ImageHeader header, PeekImage(ReadFile(path)));
    headers.push_back(header);
  }
  DispatcherConfig config;
  config.listen = "127.0.0.1:0";
  config.journal.driver = "memory";  // nothing is left behind where the benchmark runs
  const Catalog catalog;
  Metrics metrics("dispatcher");
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Dispatcher> dispatcher,
                      StartDispatcher(config, catalog, {}, &metrics));
  HR_RETURN_IF_ERROR(worker.Join(dispatcher->address()));
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(dispatcher->address()));
  StreamOptions stream;
  stream.job = "unfused";
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> unfused,
                      client->Stream(Pipeline(folder, false), stream));
  stream.job = "fused";
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> fused,
                      client->Stream(Pipeline(folder, true), stream));
  ImageLoop loop(kSize, kBatch);
  const auto images = static_cast<double>(paths.size());
  nlohmann::json out = {{"images", paths.size()},
                        {"loop", nlohmann::json::array()},
                        {"unfused", nlohmann::json::array()},
                        {"fused", nlohmann::json::array()}};
  for (int round = 0; round <= rounds; ++round) {
    const std::vector<Region> parts = DrawParts(headers, static_cast<uint64_t>(round));
    const double bare = loop.RunFiles(paths, parts).images_per_second();
    HR_ASSIGN_OR_RETURN(const double apart, EpochSeconds(worker, *unfused, paths.size()));
    HR_ASSIGN_OR_RETURN(const double together, EpochSeconds(worker, *fused, paths.size()));
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
  // As cli/main.cc sets it in what ships.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  headrace::bench::WorkerProcess worker;  // before anything here starts a thread
  const absl::Status status = headrace::bench::Measure(worker, folder, rounds);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_images: %s\n", std::string(status.message()).c_str());
  return 1;
}
