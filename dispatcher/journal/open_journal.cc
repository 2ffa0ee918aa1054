#include "dispatcher/journal/open_journal.h"

#include "common/logging/logging.h"
#include "common/status.h"
#include "dispatcher/journal/file_journal.h"
#include "dispatcher/journal/memory_journal.h"

namespace headrace {

ConfigSpec<JournalConfig> JournalSection() {
  using J = JournalConfig;
  ConfigSpec<J> spec;
  spec.Field("driver", &J::driver,
             "file: jobs outlive the dispatcher's process; memory: they end with it",
             OneOf({"file", "memory"}))
      .Field("directory", &J::directory, "where `file` keeps what the dispatcher must not forget")
      .Field(
          "snapshot_after", &J::snapshot_after,
          "so many bytes of events, and as many as the last snapshot had, are followed by another",
          AtLeast(MiB(1)))
      .Check([](const J& j) {
        return j.driver == "file" && j.directory.empty()
                   ? InvalidArgument("directory: the journal driver file needs one")
                   : absl::OkStatus();
      });
  return spec;
}

absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(const JournalConfig& config,
                                                     const JournalMetrics& metrics) {
  if (config.driver == "memory") {
    LogInfo("journal: memory: jobs end with this process");
    return std::make_unique<MemoryJournal>();
  }
  FileJournal::Options options;
  options.directory = config.directory;
  options.snapshot_after = config.snapshot_after;
  return FileJournal::Open(options, metrics);
}

}  // namespace headrace
