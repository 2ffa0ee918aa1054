// Which journal a dispatcher has: the driver that its config names, opened.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "dispatcher/journal/journal.h"
#include "dispatcher/journal/journal_config.h"
#include "dispatcher/journal/journal_metrics.h"

namespace headrace {

// Makes the directory where there is none. Errors name the directory and what to do; see the
// drivers. `metrics` outlives the journal.
absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(const JournalConfig& config,
                                                     const JournalMetrics& metrics);

}  // namespace headrace
