// What a journal shows Prometheus: headrace_journal_*. Handed to a driver when it is opened;
// outlives it.
#pragma once

#include "common/metrics/metrics.h"

namespace headrace {

struct JournalMetrics {
  explicit JournalMetrics(Metrics& metrics)
      : append(metrics.AddHistogram("headrace_journal_append_seconds",
                                    "Time to write a group of events, before it is made durable",
                                    LatencyBuckets())),
        fsync(metrics.AddHistogram("headrace_journal_fsync_seconds",
                                   "Time to make a group of events durable", LatencyBuckets())),
        events(metrics.AddCounter("headrace_journal_events_total", "Events made durable")),
        bytes(metrics.AddCounter("headrace_journal_bytes_total", "Bytes of those events")),
        snapshots(metrics.AddCounter("headrace_journal_snapshots_total", "Snapshots kept")),
        snapshot_seconds(metrics.AddSecondsCounter("headrace_journal_snapshot_seconds_total",
                                                   "Time spent on snapshots")),
        snapshot_bytes(
            metrics.AddGauge("headrace_journal_snapshot_bytes", "Size of the last snapshot")),
        replay_seconds(metrics.AddGauge("headrace_journal_replay_seconds",
                                        "How long the replay at the start took")) {}

  Histogram* append;
  Histogram* fsync;
  Counter* events;
  Counter* bytes;
  Counter* snapshots;
  SecondsCounter* snapshot_seconds;
  Gauge* snapshot_bytes;
  Gauge* replay_seconds;
};

}  // namespace headrace
