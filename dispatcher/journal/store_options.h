// How the journal uses RocksDB. Only for the files of this folder.
#pragma once

#include "absl/status/status.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"

namespace headrace {

rocksdb::Options StoreOptions();
// From front to back, once, every checksum looked at.
rocksdb::ReadOptions SequentialRead();
// RESOURCE_EXHAUSTED: no space; DATA_LOSS: damaged; INTERNAL: what else the store or the system
// says.
absl::Status FromStore(const rocksdb::Status& status);

}  // namespace headrace
