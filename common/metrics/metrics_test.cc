#include "common/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/metrics/process_metrics.h"
#include "common/status.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricsTest, EveryKindIsShownWithItsLabels) {
  Metrics metrics("worker");
  metrics.AddCounter("headrace_elements_total", "elements made", {{"step", "batch"}})->Add(3);
  metrics.AddSecondsCounter("headrace_step_seconds_total", "CPU time of a step")
      ->Add(absl::Milliseconds(1500));
  metrics.AddGauge("headrace_queue_fill_ratio", "fill of the output queue")->Set(0.25);
  Histogram* h = metrics.AddHistogram("headrace_append_seconds", "journal append", {0.1, 1});
  h->Observe(absl::Milliseconds(50));
  h->Observe(0.1);
  h->Observe(0.5);
  h->Observe(7);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("# HELP headrace_elements_total elements made\n"
                              "# TYPE headrace_elements_total counter\n"
                              "headrace_elements_total{role=\"worker\",step=\"batch\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("headrace_step_seconds_total{role=\"worker\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("headrace_queue_fill_ratio{role=\"worker\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("headrace_append_seconds_count{role=\"worker\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("headrace_append_seconds_bucket{role=\"worker\",le=\"0.1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("headrace_append_seconds_bucket{role=\"worker\",le=\"1\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("headrace_append_seconds_bucket{role=\"worker\",le=\"+Inf\"} 4\n"));
}

TEST(MetricsTest, TheSameNameAndLabelsAreOneSeries) {
  Metrics metrics;
  Counter* a = metrics.AddCounter("headrace_x_total", "x", {{"job", "1"}, {"step", "s"}});
  EXPECT_EQ(a, metrics.AddCounter("headrace_x_total", "x", {{"step", "s"}, {"job", "1"}}));
  EXPECT_NE(a, metrics.AddCounter("headrace_x_total", "x", {{"job", "2"}, {"step", "s"}}));
}

TEST(MetricsTest, LabelValuesAreEscaped) {
  Metrics metrics;
  metrics.AddCounter("headrace_x_total", "x", {{"job", "a\"b\\c\nd"}})->Add();
  EXPECT_THAT(metrics.Text(), HasSubstr(R"(headrace_x_total{job="a\"b\\c\nd"} 1)"));
}

TEST(MetricsTest, AFunctionIsAskedWhileItsHandleLives) {
  Metrics metrics;
  double bytes = 7;
  auto handle = metrics.AddGaugeFunction("headrace_held_bytes", "held", {}, [&] { return bytes; });
  EXPECT_THAT(metrics.Text(), HasSubstr("headrace_held_bytes 7\n"));
  bytes = 8;
  EXPECT_THAT(metrics.Text(), HasSubstr("headrace_held_bytes 8\n"));
  handle.reset();
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("headrace_held_bytes 8")));
  handle = metrics.AddGaugeFunction("headrace_held_bytes", "held", {}, [] { return 9.0; });
  EXPECT_THAT(metrics.Text(), HasSubstr("headrace_held_bytes 9\n"));
}

TEST(MetricsTest, AnEndedJobsSeriesGo) {
  Metrics metrics;
  metrics.AddCounter("headrace_x_total", "x", {{"job", "old"}})->Add();
  metrics.AddCounter("headrace_x_total", "x", {{"job", "new"}})->Add();
  metrics.Remove("job", "old");
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("old")));
  EXPECT_THAT(metrics.Text(), HasSubstr("headrace_x_total{job=\"new\"} 1\n"));
}

TEST(MetricsTest, AnUnboundedLabelStopsBeingShown) {
  Metrics metrics;
  for (size_t i = 0; i < Metrics::kMaxSeriesPerName; ++i) {
    metrics.AddCounter("headrace_x_total", "x", {{"job", std::to_string(i)}});
  }
  testing::internal::CaptureStderr();
  Counter* hidden = metrics.AddCounter("headrace_x_total", "x", {{"job", "one_more"}});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a label is not bounded"));
  ASSERT_NE(hidden, nullptr);
  hidden->Add();
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("one_more")));
}

TEST(MetricsTest, ManyThreadsCountExactly) {
  Metrics metrics;
  Histogram* histogram = metrics.AddHistogram("headrace_size_bytes", "sizes", SizeBuckets());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          metrics.AddCounter("headrace_x_total", "x")->Add(2);
          histogram->Observe(2048.0);
        }
      });
    }
    for (int i = 0; i < 10; ++i) (void)metrics.Text();
  }
  EXPECT_EQ(metrics.AddCounter("headrace_x_total", "x")->value(), 8000);
  EXPECT_EQ(histogram->Counts()[1], 4000u);
  EXPECT_EQ(histogram->sum(), 4000 * 2048.0);
}

TEST(MetricsTest, NamesListWhatIsThere) {
  Metrics metrics;
  metrics.AddGauge("headrace_b_bytes", "b");
  metrics.AddCounter("headrace_a_total", "a", {{"step", "s"}, {"job", "1"}});
  const std::vector<Metrics::Name> names = metrics.Names();
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].name, "headrace_a_total");
  EXPECT_THAT(names[0].labels, testing::ElementsAre("job", "step"));
  EXPECT_EQ(names[1].kind, MetricKind::kGauge);
}

TEST(ProcessMetricsTest, EveryRoleShowsItsProcess) {
  Metrics metrics("worker");
  const ProcessMetrics process = AddProcessMetrics(metrics);
  EXPECT_THAT(
      metrics.Text(),
      testing::ContainsRegex("headrace_process_resident_bytes\\{role=\"worker\"\\} [1-9][0-9]*"));
  EXPECT_EQ(metrics.Names().size(), 4u);
}

TEST(MetricNamesTest, TheRulesHold) {
  const auto counter = [](std::string_view n) { return CheckMetric(MetricKind::kCounter, n, {}); };
  const auto gauge = [](std::string_view n) { return CheckMetric(MetricKind::kGauge, n, {}); };
  EXPECT_TRUE(counter("headrace_elements_total").ok());
  EXPECT_TRUE(gauge("headrace_cache_bytes").ok());
  EXPECT_FALSE(counter("elements_total").ok());
  EXPECT_FALSE(counter("headrace_elements").ok());
  EXPECT_FALSE(gauge("headrace_elements_total").ok());
  EXPECT_FALSE(gauge("headrace_Cache_bytes").ok());
  EXPECT_FALSE(gauge("headrace_wait_ms").ok());
  EXPECT_FALSE(counter("headrace_wait_milliseconds_total").ok());
  EXPECT_FALSE(gauge("headrace_cache_mb").ok());
  EXPECT_FALSE(gauge("headrace_stall_percent").ok());
  EXPECT_FALSE(gauge("headrace__x").ok());
  EXPECT_FALSE(gauge("headrace_x_count").ok());
  EXPECT_TRUE(gauge("headrace_items").ok());  // "ms" is a word of its own only
  const auto label = [](const char* l) {
    return CheckMetric(MetricKind::kGauge, "headrace_x", {{l, "v"}});
  };
  EXPECT_TRUE(label("job").ok());
  EXPECT_FALSE(label("path").ok());
  EXPECT_FALSE(label("Job").ok());
  EXPECT_FALSE(label("le").ok());
}

TEST(MetricNamesDeathTest, AWrongNameIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Metrics metrics;
#ifdef NDEBUG
  EXPECT_NE(metrics.AddCounter("headrace_wrong", "x"), nullptr);
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("headrace_wrong")));
#else
  EXPECT_DEATH(metrics.AddCounter("headrace_wrong", "x"), "counters end in _total");
#endif
}

}  // namespace
}  // namespace headrace
