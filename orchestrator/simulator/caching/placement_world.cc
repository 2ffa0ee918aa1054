#include "orchestrator/simulator/caching/placement_world.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

namespace headrace::orchestrate {
namespace {

constexpr double kMiB = 1024.0 * 1024.0, kGiB = 1024 * kMiB;
constexpr double kHour = 3600, kMonth = 30 * 24 * kHour;

StepProfile Step(std::string name, double cpu_seconds, double bytes_out) {
  StepProfile step;
  step.name = std::move(name);
  step.cpu_seconds = cpu_seconds;
  step.bytes_out = bytes_out;
  return step;
}

StepProfile Random(StepProfile step) {
  step.random = true;
  return step;
}

JobProfile Photographs(SeededRandom& r) {
  JobProfile job;
  job.source_bytes = r.LogUniform(20e3, 600e3);
  job.source_cpu_seconds = 30e-6;
  const double pixels = job.source_bytes * r.Uniform(6, 12);
  job.steps = {Step("decode_image", job.source_bytes * r.Uniform(30e-9, 90e-9), pixels)};
  if (r.Chance(0.5)) {
    job.steps.push_back(Step("resize", pixels * r.Uniform(1e-9, 4e-9), r.Uniform(150e3, 400e3)));
  }
  job.steps.push_back(Random(Step("random_crop", 300e-6, 150e3)));
  job.steps.push_back(Random(Step("color_jitter", r.Uniform(0, 2e-3), 150e3)));
  job.steps.push_back(Step("normalize", 100e-6, r.Chance(0.5) ? 602e3 : 151e3));
  return job;
}

JobProfile Text(SeededRandom& r) {
  JobProfile job;
  job.source_bytes = r.LogUniform(500, 30e3);
  job.source_cpu_seconds = 2e-6;
  job.steps = {
      Step("parse", job.source_bytes * r.Uniform(1e-9, 10e-9), job.source_bytes * 0.9),
      Step("clean", job.source_bytes * r.LogUniform(5e-9, 500e-9), job.source_bytes * 0.8),
      Step("tokenize", job.source_bytes * r.Uniform(20e-9, 200e-9), job.source_bytes * 0.6)};
  StepProfile pack = Step("pack", job.source_bytes * 2e-9, job.source_bytes * 0.7);
  pack.stateful = true;
  job.steps.push_back(pack);
  return job;
}

JobProfile Sound(SeededRandom& r) {
  JobProfile job;
  job.source_bytes = r.LogUniform(50e3, 1e6);
  job.source_cpu_seconds = 30e-6;
  const double samples = job.source_bytes * r.Uniform(3, 8);
  job.steps = {
      Step("decode_audio", samples * 5e-9, samples),
      Step("resample", samples * r.Uniform(5e-9, 20e-9), samples * 0.4),
      Step("mel_spectrogram", samples * r.Uniform(5e-9, 20e-9), samples * r.Uniform(0.1, 0.4))};
  const double mel = job.steps.back().bytes_out;
  job.steps.push_back(Random(Step("mask", mel * 2e-9, mel)));
  return job;
}

JobProfile Clips(SeededRandom& r) {
  JobProfile job;
  job.source_bytes = r.LogUniform(0.5e6, 8e6);
  job.source_cpu_seconds = 100e-6;
  const double frames = job.source_bytes * r.Uniform(5, 20);
  job.steps = {Step("decode_video", job.source_bytes * r.Uniform(40e-9, 120e-9), frames),
               Step("resize", frames * 2e-9, frames * r.Uniform(0.05, 0.3))};
  const double small = job.steps.back().bytes_out;
  job.steps.push_back(Random(Step("random_crop", small * 1e-9, small * 0.6)));
  job.steps.push_back(Step("normalize", small * 1e-9, small * 2.4));
  return job;
}

TierProfile Memory(double capacity) {
  TierProfile tier;
  tier.name = "memory";
  tier.read_bytes_per_second = 8 * kGiB;
  tier.write_bytes_per_second = 6 * kGiB;
  tier.per_worker = true;
  tier.capacity_bytes = capacity;
  tier.price_per_byte_second = 3.0 / 1e9 / kMonth;
  tier.read_cpu_seconds = 3e-6;
  tier.codec_seconds_per_byte = 0.05e-9;
  return tier;
}

TierProfile Disk(SeededRandom& r) {
  TierProfile tier;
  tier.name = "disk";
  tier.kind = TierKind::kDisk;
  tier.read_bytes_per_second = r.LogUniform(0.5, 4) * kGiB;
  tier.write_bytes_per_second = tier.read_bytes_per_second * r.Uniform(0.3, 0.8);
  tier.per_worker = true;
  tier.capacity_bytes = r.LogUniform(100, 8000) * kGiB;
  tier.price_per_byte_second = 0.10 / 1e9 / kMonth;
  tier.read_cpu_seconds = 8e-6;
  tier.codec_seconds_per_byte = 0.15e-9;
  return tier;
}

TierProfile Store(SeededRandom& r) {
  TierProfile tier;
  tier.name = "store";
  tier.kind = TierKind::kShared;
  tier.read_bytes_per_second = r.LogUniform(0.2, 10) * kGiB;
  tier.write_bytes_per_second = tier.read_bytes_per_second * r.Uniform(0.2, 0.6);
  tier.over_network = true;
  tier.capacity_bytes = r.LogUniform(2, 100) * 1024 * kGiB;
  tier.price_per_byte_second = 0.15 / 1e9 / kMonth;
  tier.read_cpu_seconds = r.LogUniform(20e-6, 200e-6);
  tier.codec_seconds_per_byte = 0.3e-9;
  return tier;
}

void GiveKeys(JobProfile& job, uint64_t seed) {
  SeededRandom keys(seed);
  job.prefix_keys.clear();
  for (size_t i = 0; i <= job.steps.size(); ++i) job.prefix_keys.push_back(keys.Next());
}

double Epochs(SeededRandom& r) {
  if (r.Chance(0.15)) return 1;
  return std::round(r.LogUniform(2, 90));
}

// Another job over the same dataset that has the first `common` steps of `job`.
JobProfile Sharer(const JobProfile& job, size_t common, SeededRandom& r) {
  JobProfile other = job;
  other.job = "second";
  for (size_t i = common; i < other.steps.size(); ++i) {
    other.steps[i].cpu_seconds *= r.LogUniform(0.5, 2);
    other.prefix_keys[i + 1] = r.Next();
  }
  other.epochs_left = Epochs(r);
  other.queued = r.Chance(0.4);
  other.trainer_price = r.LogUniform(2, 30) / kHour;
  other.demand = job.demand * r.LogUniform(0.3, 3);
  return other;
}

}  // namespace

PlacementWorld MakeWorld(uint64_t seed) {
  SeededRandom r(seed);
  PlacementWorld world;
  world.name = fmt::format("world {}", seed);
  ClusterProfile& cluster = world.truth.cluster;
  cluster.tiers = {Memory(r.LogUniform(8, 1024) * kGiB), Disk(r), Store(r)};
  cluster.source_bytes_per_second = r.LogUniform(0.05, 4) * kGiB;
  cluster.worker_cores = std::round(r.LogUniform(4, 32));
  cluster.network_bytes_per_second = r.LogUniform(1, 3) * kGiB;
  cluster.worker_price = cluster.worker_cores * 0.05 / kHour;
  cluster.max_workers = static_cast<int>(std::round(r.LogUniform(2, 32)));
  const size_t kind = r.Below(4);
  JobProfile job = kind == 0   ? Photographs(r)
                   : kind == 1 ? Text(r)
                   : kind == 2 ? Sound(r)
                               : Clips(r);
  job.job = "first";
  job.rows = std::round(r.LogUniform(20, 2000) * kGiB / job.source_bytes);
  job.epochs_left = Epochs(r);
  job.trainer_price = r.LogUniform(2, 30) / kHour;
  GiveKeys(job, seed ^ 0xfeed);
  world.efficiency = r.Uniform(0.8, 0.95);
  cluster.efficiency = world.efficiency;
  job.demand = 1e18;
  const double most = PredictEpochWith(job, cluster, {}, cluster.max_workers).rows_per_second;
  job.demand = most * r.LogUniform(0.2, 10);
  world.row_variation = r.Uniform(0.3, 1.5);
  world.rows_measured = std::round(r.LogUniform(300, 3000));
  world.truth.jobs = {job};
  if (r.Chance(0.5)) {
    const auto cuts = LegalCuts(job);
    world.truth.jobs.push_back(Sharer(job, r.Below(cuts.size()), r));
  }
  for (const JobProfile& each : world.truth.jobs) {
    const auto cuts = LegalCuts(each);
    world.marker.push_back(cuts[r.Below(cuts.size())]);
  }
  return world;
}

PlacementQuestion Measure(const PlacementWorld& world, uint64_t seed) {
  SeededRandom r(seed ^ 0x5eed);
  PlacementQuestion seen = world.truth;
  seen.cluster.efficiency = 0.9;
  for (JobProfile& job : seen.jobs) {
    for (StepProfile& step : job.steps) {
      step.rows_measured = world.rows_measured;
      const double error = world.row_variation / std::sqrt(world.rows_measured);
      const double spread = world.row_variation * step.cpu_seconds;
      step.cpu_seconds *= std::max(0.1, 1 + error * r.Normal());
      step.cpu_variance = spread * spread * r.Noise(0.1);
      step.bytes_out *= 1 + 0.5 * error * r.Normal();
    }
    job.demand *= r.Noise(world.noise);
    job.demand_error = world.noise;
  }
  for (TierProfile& tier : seen.cluster.tiers) {
    tier.bandwidth_error = 2 * world.noise;
    tier.read_bytes_per_second *= r.Noise(tier.bandwidth_error);
    tier.write_bytes_per_second *= r.Noise(tier.bandwidth_error);
    tier.read_cpu_seconds *= r.Noise(0.2);
  }
  seen.cluster.source_bandwidth_error = 2 * world.noise;
  seen.cluster.source_bytes_per_second *= r.Noise(seen.cluster.source_bandwidth_error);
  return seen;
}

std::vector<PlacementWorld> NamedWorlds() {
  SeededRandom r(7);
  PlacementWorld base;
  ClusterProfile& cluster = base.truth.cluster;
  cluster.tiers = {Memory(256 * kGiB), Disk(r), Store(r)};
  cluster.tiers[1].read_bytes_per_second = 2 * kGiB;
  cluster.tiers[1].capacity_bytes = 2000 * kGiB;
  cluster.tiers[2].read_bytes_per_second = 4 * kGiB;
  cluster.tiers[2].capacity_bytes = 20000 * kGiB;
  cluster.source_bytes_per_second = 1 * kGiB;
  cluster.worker_cores = 8;
  cluster.network_bytes_per_second = 2 * kGiB;
  cluster.worker_price = 0.4 / kHour;
  cluster.max_workers = 8;
  JobProfile photos;
  photos.job = "photographs";
  photos.rows = 1.28e6;
  photos.source_bytes = 110e3;
  photos.source_cpu_seconds = 30e-6;
  photos.steps = {Step("decode_image", 6e-3, 900e3), Step("resize", 1.5e-3, 200e3),
                  Random(Step("random_crop", 0.3e-3, 150e3)), Step("normalize", 0.2e-3, 602e3)};
  photos.epochs_left = 90;
  photos.demand = 12000;
  photos.trainer_price = 25 / kHour;
  GiveKeys(photos, 11);
  base.truth.jobs = {photos};
  base.marker = {0};

  std::vector<PlacementWorld> worlds(8, base);
  worlds[0].name = "an image job that waits";
  worlds[1].name = "bound by the accelerator";
  worlds[1].truth.jobs[0].demand = 700;
  worlds[2].name = "two jobs share the decode alone";
  worlds[2].truth.jobs.push_back(photos);
  worlds[2].truth.jobs[1].job = "second";
  worlds[2].truth.jobs[1].steps[1].cpu_seconds = 0.2e-3;
  worlds[2].truth.jobs[1].prefix_keys[2] = 99;
  worlds[2].truth.cluster.tiers[1].capacity_bytes = 1200 * kGiB;
  worlds[2].truth.cluster.tiers[2].capacity_bytes = 0;
  worlds[2].truth.cluster.tiers[0].capacity_bytes = 0;
  worlds[2].truth.jobs[0].steps[1].bytes_out = worlds[2].truth.jobs[1].steps[1].bytes_out = 800e3;
  worlds[2].marker = {0, 0};
  worlds[3].name = "rows below 0.4 MB, a slow store";
  worlds[3].truth.cluster.tiers[0].capacity_bytes = 0;
  worlds[3].truth.cluster.tiers[1].capacity_bytes = 0;
  worlds[3].truth.cluster.tiers[2].read_bytes_per_second = 50 * kMiB;
  worlds[3].truth.cluster.tiers[2].write_bytes_per_second = 25 * kMiB;
  worlds[4].name = "a dataset of twice the capacity";
  worlds[4].truth.cluster.tiers[0].capacity_bytes = 128e9;
  worlds[4].truth.cluster.tiers[1].capacity_bytes = 0;
  worlds[4].truth.cluster.tiers[2].capacity_bytes = 0;
  worlds[5].name = "the store's bandwidth halved";
  worlds[5].truth.cluster.tiers[0].capacity_bytes = 0;
  worlds[5].truth.cluster.tiers[1].capacity_bytes = 0;
  worlds[5].truth.cluster.tiers[2].read_bytes_per_second = 1 * kGiB;
  worlds[5].truth.cluster.tiers[2].write_bytes_per_second = 0.5 * kGiB;
  worlds[6].name = "one epoch left";
  worlds[6].truth.jobs[0].epochs_left = 1;
  worlds[7].name = "a random crop before a deterministic resize";
  worlds[7].truth.jobs[0].steps = {Step("decode_image", 6e-3, 900e3),
                                   Random(Step("random_crop", 0.3e-3, 500e3)),
                                   Step("resize", 4e-3, 150e3), Step("normalize", 0.2e-3, 602e3)};
  return worlds;
}

}  // namespace headrace::orchestrate
