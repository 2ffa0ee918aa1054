#include "dispatcher/journal/store_options.h"

#include <cstdarg>
#include <cstdio>
#include <memory>

#include "common/logging/logging.h"
#include "common/status.h"
#include "rocksdb/env.h"
#include "rocksdb/table.h"

namespace headrace {
namespace {

// The store's own words, of which there are many, go where ours go.
class StoreLog final : public rocksdb::Logger {
 public:
  StoreLog() : Logger(rocksdb::InfoLogLevel::ERROR_LEVEL) {}
  void Logv(const char* format, va_list args) override {
    char line[1024];
    std::vsnprintf(line, sizeof(line), format, args);
    LogError("journal store: {}", line);
  }
  using Logger::Logv;
};

}  // namespace

rocksdb::Options StoreOptions() {
  rocksdb::Options options;
  options.paranoid_checks = true;
  // Cuts a last record that is not whole, refuses every other damage it sees; what it cannot see,
  // DurableMark and the numbers of the events do.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  // After an error the dispatcher stops: nothing is to be tried again behind its back.
  options.max_bgerror_resume_count = 0;
  options.write_buffer_size = 32 << 20;
  options.max_write_buffer_number = 4;
  options.max_background_jobs = 2;
  options.allow_fallocate = false;  // 35 MiB ahead, on whatever small volume this is
  options.max_open_files = 256;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.compression = rocksdb::kNoCompression;
  options.info_log = std::make_shared<StoreLog>();
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;
  table.no_block_cache = true;  // everything is read once, at the start
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::ReadOptions SequentialRead() {
  rocksdb::ReadOptions read;
  read.verify_checksums = true;
  read.fill_cache = false;
  read.readahead_size = 2 << 20;
  return read;
}

absl::Status FromStore(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsNoSpace()) return ResourceExhausted("{}", status.ToString());
  if (status.IsCorruption()) return DataLoss("{}", status.ToString());
  return Internal("{}", status.ToString());
}

}  // namespace headrace
