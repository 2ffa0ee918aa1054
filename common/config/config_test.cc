#include "common/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/status.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct DiskConfig {
  std::string path = "/var/cache/headrace";
  ByteCount limit = GiB(10);
  bool operator==(const DiskConfig&) const = default;
};
struct CacheConfig {
  ByteCount memory = GiB(1);
  DiskConfig disk;
  bool operator==(const CacheConfig&) const = default;
};
struct WorkerConfig {
  std::string listen = "0.0.0.0:5051";
  std::string log_format = "text";
  bool direct_io = false;
  int threads = 4;
  int64_t max_jobs = 1000;
  double fraction = 0.5;
  absl::Duration heartbeat = absl::Seconds(1);
  std::vector<std::string> roots;
  CacheConfig cache;
  bool operator==(const WorkerConfig&) const = default;
};

ConfigSpec<WorkerConfig> Spec() {
  ConfigSpec<DiskConfig> disk;
  disk.Field("path", &DiskConfig::path, "folder of the disk tier")
      .Field("limit", &DiskConfig::limit, "bytes kept on disk");
  ConfigSpec<CacheConfig> cache;
  cache.Field("memory", &CacheConfig::memory, "bytes kept in memory", AtLeast(MiB(1)))
      .Section("disk", &CacheConfig::disk, disk, "the disk tier")
      .Check([](const CacheConfig& c) {
        if (c.disk.limit < c.memory) return InvalidArgument("disk.limit is smaller than memory");
        return absl::OkStatus();
      });
  ConfigSpec<WorkerConfig> spec("worker");
  spec.Field("listen", &WorkerConfig::listen, "address:port to serve on")
      .Field("log_format", &WorkerConfig::log_format, "how log lines look", OneOf({"text", "json"}))
      .Field("direct_io", &WorkerConfig::direct_io, "read past the page cache")
      .Field("threads", &WorkerConfig::threads, "compute threads", AtLeast(1))
      .Field("max_jobs", &WorkerConfig::max_jobs, "jobs at once", AtLeast(1))
      .Field("fraction", &WorkerConfig::fraction, "share of the machine", Between(0.0, 1.0))
      .Field("heartbeat", &WorkerConfig::heartbeat, "time between heartbeats")
      .Field("roots", &WorkerConfig::roots, "folders that pipelines may read")
      .Section("cache", &WorkerConfig::cache, cache, "what is kept between epochs");
  return spec;
}

absl::StatusOr<WorkerConfig> FromYaml(const std::string& yaml) {
  return Spec().Load({.path = "configs/worker.yaml", .yaml = yaml});
}
std::string Error(const absl::StatusOr<WorkerConfig>& loaded) {
  return loaded.ok() ? "OK" : OneLine(loaded.status());
}

TEST(ConfigTest, NothingGivenMeansDefaults) {
  EXPECT_EQ(FromYaml("").value(), WorkerConfig{});
  EXPECT_EQ(FromYaml("# only a comment\ncache:\n  # memory: 1GiB\n").value(), WorkerConfig{});
}

TEST(ConfigTest, EveryTypeIsRead) {
  const WorkerConfig config = FromYaml(R"(
listen: "[::1]:0"
direct_io: true
threads: 8
max_jobs: 5000000000
fraction: 0.25
heartbeat: 500ms
roots: [/data, "s3://bucket/train"]
cache:
  memory: 64MiB
  disk: {limit: 1.5TiB}
)")
                                  .value();
  EXPECT_EQ(config.listen, "[::1]:0");
  EXPECT_TRUE(config.direct_io);
  EXPECT_EQ(config.threads, 8);
  EXPECT_EQ(config.max_jobs, 5'000'000'000);
  EXPECT_EQ(config.fraction, 0.25);
  EXPECT_EQ(config.heartbeat, absl::Milliseconds(500));
  EXPECT_THAT(config.roots, ElementsAre("/data", "s3://bucket/train"));
  EXPECT_EQ(config.cache.memory, MiB(64));
  EXPECT_EQ(config.cache.disk.limit, GiB(1536));
  EXPECT_EQ(config.cache.disk.path, DiskConfig{}.path);
}

TEST(ConfigTest, AFlagBeatsTheEnvironmentBeatsTheFileBeatsTheDefault) {
  ConfigInput input{.path = "w.yaml", .yaml = "threads: 2\nmax_jobs: 2\nfraction: 0.2\n"};
  input.env = {{"HEADRACE_WORKER_MAX_JOBS", "3"},
               {"HEADRACE_WORKER_FRACTION", "0.3"},
               {"HEADRACE_WORKER_CACHE_DISK_PATH", "/fast"},
               {"HEADRACE_WORKER_ROOTS", "/a, /b"},
               {"HEADRACE_DISPATCHER_LISTEN", "another role's"},
               {"HEADRACE_FAULTS", "nobody's"}};
  input.flags = {{"fraction", "0.1"}, {"fraction", "0.4"}};
  const WorkerConfig config = Spec().Load(input).value();
  EXPECT_EQ(config.heartbeat, absl::Seconds(1));
  EXPECT_EQ(config.threads, 2);
  EXPECT_EQ(config.max_jobs, 3);
  EXPECT_EQ(config.fraction, 0.4);
  EXPECT_EQ(config.cache.disk.path, "/fast");
  EXPECT_THAT(config.roots, ElementsAre("/a", "/b"));
}

TEST(ConfigTest, AnUnknownKeyIsNamedWithItsLineAndTheNearestOne) {
  EXPECT_EQ(Error(FromYaml("threads: 1\n\nlisen: x\n")),
            "INVALID_ARGUMENT: configs/worker.yaml:3: unknown key 'lisen'; did you mean 'listen'?");
  EXPECT_THAT(Error(FromYaml("cache:\n  memroy: 1GiB\n")),
              HasSubstr(":2: unknown key 'memroy' in section 'cache'; did you mean 'memory'?"));
  EXPECT_THAT(Error(FromYaml("memory: 1GiB\n")),
              HasSubstr(":1: unknown key 'memory'; 'memory' belongs in section 'cache'"));
  EXPECT_THAT(Error(FromYaml("cache: {listen: x}\n")), HasSubstr("belongs at the top level"));
  ConfigInput input;
  input.env = {{"HEADRACE_WORKER_LISEN", "x"}};
  EXPECT_THAT(Error(Spec().Load(input)),
              HasSubstr("environment: unknown variable 'HEADRACE_WORKER_LISEN'; did you mean "
                        "'HEADRACE_WORKER_LISTEN'?"));
  input.env.clear();
  input.flags = {{"cache.memroy", "1GiB"}};
  EXPECT_THAT(Error(Spec().Load(input)),
              HasSubstr("unknown flag --cache.memroy; did you mean '--cache.memory'?"));
}

TEST(ConfigTest, VariablesThatKubernetesSetsForServicesAreNotOurs) {
  ConfigInput input;
  input.env = {{"HEADRACE_WORKER_SERVICE_HOST", "10.0.0.1"},
               {"HEADRACE_WORKER_SERVICE_PORT_GRPC", "5051"},
               {"HEADRACE_WORKER_PORT", "tcp://10.0.0.1:5051"},
               {"HEADRACE_WORKER_PORT_5051_TCP_ADDR", "10.0.0.1"}};
  EXPECT_EQ(Spec().Load(input).value(), WorkerConfig{});
}

TEST(ConfigTest, AWrongTypeSaysWhereWhatWasExpectedAndFound) {
  EXPECT_EQ(Error(FromYaml("\nthreads: ten\n")),
            "INVALID_ARGUMENT: configs/worker.yaml:2: threads: expected an integer, found 'ten'");
  EXPECT_THAT(Error(FromYaml("heartbeat: 5\n")), HasSubstr("expected a duration such as 500ms"));
  EXPECT_THAT(Error(FromYaml("cache:\n  memory: big\n")),
              HasSubstr(":2: cache.memory: expected a number of bytes such as 64MiB, found 'big'"));
  EXPECT_THAT(Error(FromYaml("cache: 3\n")), HasSubstr("cache: expected a section, found '3'"));
  EXPECT_THAT(Error(FromYaml("listen: [a]\n")), HasSubstr("expected text, found a list"));
  EXPECT_THAT(Error(FromYaml("listen: {a: b}\n")), HasSubstr("expected text, found a section"));
  EXPECT_THAT(Error(FromYaml("roots:\n")), HasSubstr("expected a list, found nothing"));
  EXPECT_THAT(Error(FromYaml("- a\n- b\n")), HasSubstr("expected keys and values, found a list"));
  ConfigInput input;
  input.env = {{"HEADRACE_WORKER_DIRECT_IO", "1"}};
  EXPECT_THAT(
      Error(Spec().Load(input)),
      HasSubstr("environment: HEADRACE_WORKER_DIRECT_IO: expected true or false, found '1'"));
  input.env.clear();
  input.flags = {{"threads", "x"}};
  EXPECT_THAT(Error(Spec().Load(input)), HasSubstr("--threads: expected an integer, found 'x'"));
}

TEST(ConfigTest, RulesAndChecksAreErrorsOfTheirPlace) {
  EXPECT_THAT(Error(FromYaml("threads: 0\n")),
              HasSubstr("worker.yaml:1: threads: expected at least 1, found '0'"));
  EXPECT_THAT(Error(FromYaml("fraction: 2\n")), HasSubstr("expected between 0 and 1, found '2'"));
  EXPECT_THAT(Error(FromYaml("log_format: xml\n")),
              HasSubstr("expected one of text, json, found 'xml'"));
  EXPECT_THAT(Error(FromYaml("cache: {memory: 4KiB}\n")), HasSubstr("expected at least 1MiB"));
  EXPECT_THAT(Error(FromYaml("cache: {memory: 20GiB}\n")),
              HasSubstr("cache: disk.limit is smaller than memory"));
}

TEST(ConfigTest, WhatIsPrintedLoadsAgainToTheSame) {
  WorkerConfig config;
  config.listen = "[::1]:0";
  config.log_format = "json";
  config.threads = 7;
  config.fraction = 0.1;
  config.heartbeat = absl::Milliseconds(1500);
  config.roots = {"/data", "s3://b/p", "- odd: \"name\" # \\ \n", "", "null", "~", "true", "*.x"};
  config.cache.memory = ByteCount{1536 << 10};
  config.cache.disk.path = "/with space";
  const std::string yaml = Spec().Print(config);
  EXPECT_EQ(FromYaml(yaml).value(), config) << yaml;
  EXPECT_EQ(FromYaml(Spec().Print({})).value(), WorkerConfig{});
  EXPECT_THAT(yaml, HasSubstr("# address:port to serve on (text)\nlisten: \"[::1]:0\"\n"));
  EXPECT_THAT(yaml, HasSubstr("\ncache:\n  # bytes kept in memory (bytes, at least 1MiB)\n"
                              "  memory: 1536KiB\n"));
}

TEST(ConfigTest, KeysListWhatCanBeSet) {
  const std::vector<ConfigKey> keys = Spec().Keys();
  ASSERT_EQ(keys.size(), 11u);
  EXPECT_EQ(keys[0].path, "listen");
  EXPECT_EQ(keys[0].env, "HEADRACE_WORKER_LISTEN");
  EXPECT_EQ(keys[0].default_value, "0.0.0.0:5051");
  EXPECT_EQ(keys[10].path, "cache.disk.limit");
  EXPECT_EQ(keys[10].env, "HEADRACE_WORKER_CACHE_DISK_LIMIT");
  EXPECT_EQ(keys[10].default_value, "10GiB");
}

TEST(ConfigTest, FilesAreReadAndMissingOnesNamed) {
  const std::string path = testing::TempDir() + "/config_test.yaml";
  std::ofstream(path) << "threads: 3\n";
  const ConfigInput input = ReadConfigFile(path).value();
  EXPECT_EQ(Spec().Load(input)->threads, 3);
  const absl::Status missing = ReadConfigFile("/nonexistent.yaml").status();
  EXPECT_EQ(OneLine(missing), "NOT_FOUND: open /nonexistent.yaml: No such file or directory");
  std::filesystem::resize_file(path, 2 << 20);
  EXPECT_THAT(OneLine(ReadConfigFile(path).status()), HasSubstr("larger than 1 MiB"));
  std::filesystem::remove(path);
  EXPECT_FALSE(ReadConfigFile(testing::TempDir()).ok());
}

TEST(ConfigTest, TheEnvironmentIsThisProcesss) {
  ASSERT_EQ(setenv("HEADRACE_WORKER_THREADS", "9", 1), 0);
  ConfigInput input;
  input.env = HeadraceEnvironment();
  EXPECT_EQ(Spec().Load(input)->threads, 9);
  ASSERT_EQ(unsetenv("HEADRACE_WORKER_THREADS"), 0);
}

}  // namespace
}  // namespace headrace
