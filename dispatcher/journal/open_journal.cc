#include "dispatcher/journal/open_journal.h"

#include "common/logging/logging.h"
#include "common/status.h"
#include "dispatcher/journal/file_journal.h"
#include "dispatcher/journal/memory_journal.h"

namespace headrace {
namespace {

ConfigSpec<TlsFiles> TlsSection() {
  ConfigSpec<TlsFiles> tls;
  tls.Field("cert", &TlsFiles::cert, "PEM file of the dispatcher's certificate, with its chain")
      .Field("key", &TlsFiles::key, "PEM file of its private key")
      .Field("ca", &TlsFiles::ca,
             "PEM file of the authorities that etcd is checked by; empty: the system's");
  return tls;
}

}  // namespace

ConfigSpec<JournalConfig> JournalSection() {
  using J = JournalConfig;
  ConfigSpec<J> spec;
  spec.Field(
          "driver", &J::driver,
          "file: jobs outlive the dispatcher's process; etcd: several dispatchers share them, one "
          "leads; memory: they end with the process",
          OneOf({"file", "etcd", "memory"}))
      .Field("directory", &J::directory, "where `file` keeps what the dispatcher must not forget")
      .Field(
          "snapshot_after", &J::snapshot_after,
          "so many bytes of events, and as many as the last snapshot had, are followed by another",
          AtLeast(MiB(1)))
      .Field("endpoints", &J::endpoints, "members of `etcd`: host:port, or https://host:port")
      .Field("prefix", &J::prefix,
             "where in `etcd` everything lies: one of its own for each cluster of Headrace")
      .Field("lease_ttl", &J::lease_ttl,
             "a leader that `etcd` does not hear of for that long is replaced",
             Between(absl::Seconds(2), absl::Minutes(1)))
      .Field("compact_history", &J::compact_history,
             "`etcd` is told to forget old revisions, of all its keys, after each snapshot")
      .Section("tls", &J::tls, TlsSection(), "certificates for https:// endpoints")
      .Check([](const J& j) {
        if (j.driver == "file" && j.directory.empty()) {
          return InvalidArgument("directory: the journal driver file needs one");
        }
        if (j.driver != "etcd") return absl::OkStatus();
        if (j.endpoints.empty()) {
          return InvalidArgument("endpoints: the journal driver etcd needs at least one");
        }
        if (j.prefix.empty() || j.prefix.ends_with('/')) {
          return InvalidArgument("prefix: '{}' is empty or ends in a slash", j.prefix);
        }
        return absl::OkStatus();
      });
  return spec;
}

absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(const JournalConfig& config,
                                                     const JournalMetrics& metrics) {
  if (config.driver == "memory") {
    LogInfo("journal: memory: jobs end with this process");
    return std::make_unique<MemoryJournal>();
  }
  if (config.driver != "file") return Internal("no journal {} of a lone dispatcher", config.driver);
  FileJournal::Options options;
  options.directory = config.directory;
  options.snapshot_after = config.snapshot_after;
  return FileJournal::Open(options, metrics);
}

}  // namespace headrace
