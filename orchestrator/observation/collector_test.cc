#include "orchestrator/observation/collector.h"

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

// A cluster with one job, one trainer and one worker that did so much so far.
v1::ObserveFleetReply Totals(double at, uint64_t elements, double step, double wait, double busy) {
  v1::ObserveFleetReply totals;
  totals.set_cluster(9);
  totals.set_at_seconds(at);
  v1::FleetJob& job = *totals.add_jobs();
  job.set_job(1);
  job.set_name("a");
  job.set_running(true);
  job.set_splits(10);
  job.set_splits_retired(5);
  v1::FleetClient& client = *job.add_clients();
  client.set_client(3);
  client.set_reads(true);
  client.set_measured(true);
  client.set_elements(elements);
  client.set_bytes(elements * 100);
  client.set_step_seconds(step);
  client.set_wait_seconds(wait);
  client.set_queue_fill(at > 105 ? 1 : 0.5);
  v1::FleetStep& decode = *job.add_tasks()->add_steps();
  decode.set_step("decode");
  decode.set_cpu_seconds(busy / 2);
  v1::FleetWorker& worker = *totals.add_workers();
  worker.set_worker(7);
  worker.set_state("ready");
  v1::WorkerLoad& load = *worker.mutable_load();
  load.set_threads(2);
  load.set_up_seconds(at - 50);
  load.set_busy_seconds(busy);
  v1::JobWork& work = *load.add_jobs();
  work.set_job(1);
  work.set_busy_seconds(busy);
  return totals;
}

TEST(CollectorTest, ATrainersOwnWorkersAreNotOfTheFleet) {
  v1::ObserveFleetReply totals = Totals(100, 1000, 50, 10, 30);
  v1::FleetWorker own = totals.workers(0);
  own.set_worker(8);
  own.add_tags("job=a");
  *totals.add_workers() = own;
  Collector collector;
  collector.Begin(totals);
  v1::ObserveFleetReply later = Totals(110, 1100, 59, 11, 35);
  own.mutable_load()->set_busy_seconds(38);
  own.mutable_load()->mutable_jobs(0)->set_busy_seconds(38);
  *later.add_workers() = own;
  const Observation seen = collector.End(later, 1);
  ASSERT_EQ(seen.workers.size(), 1u);
  EXPECT_EQ(seen.workers[0].worker, 7u);
  EXPECT_DOUBLE_EQ(seen.jobs[0].busy_seconds, 5);
}

TEST(CollectorTest, AJobsClaimIsAsItsOptionsSay) {
  v1::ObserveFleetReply totals = Totals(100, 1000, 50, 10, 30);
  v1::FleetJob& job = *totals.mutable_jobs(0);
  job.set_weight(3);
  job.set_priority(-2);
  job.set_least_workers(1.5);
  job.set_most_workers(4);
  Collector collector;
  collector.Begin(totals);
  totals.set_at_seconds(110);
  const JobObservation seen = collector.End(totals, 1).jobs.at(0);
  EXPECT_EQ(seen.weight, 3);
  EXPECT_EQ(seen.priority, -2);
  EXPECT_EQ(seen.min_workers, 1.5);
  EXPECT_EQ(seen.max_workers, 4);
}

TEST(CollectorTest, AWindowIsWhatCameInIt) {
  Collector collector;
  EXPECT_FALSE(collector.begun());
  collector.Begin(Totals(100, 1000, 50, 10, 30));
  const auto end = Totals(110, 1080, 58, 12, 45);
  EXPECT_DOUBLE_EQ(collector.Seconds(end), 10);
  const Observation seen = collector.End(end, 1);
  EXPECT_DOUBLE_EQ(seen.window_seconds, 10);
  EXPECT_EQ(seen.ready(), 1u);
  EXPECT_EQ(seen.workers_lost, 0u);
  const JobObservation& job = seen.jobs.at(0);
  EXPECT_EQ(job.clients, 1u);
  EXPECT_DOUBLE_EQ(job.elements_per_second, 8);
  EXPECT_DOUBLE_EQ(*job.demand, 10);
  EXPECT_DOUBLE_EQ(*job.stall, 0.2);
  EXPECT_DOUBLE_EQ(job.fetch_stall, 0);
  EXPECT_DOUBLE_EQ(job.prepare_stall, 0.2);
  EXPECT_DOUBLE_EQ(job.queue_fill, 0.75);  // of the two looks
  EXPECT_DOUBLE_EQ(job.bytes_per_element, 100);
  EXPECT_DOUBLE_EQ(job.busy_seconds, 15);
  EXPECT_DOUBLE_EQ(job.epoch_progress, 0.5);
  EXPECT_DOUBLE_EQ(job.steps.at(0).cpu_seconds, 7.5);
  EXPECT_DOUBLE_EQ(*seen.workers.at(0).busy, 0.75);
}

TEST(CollectorTest, WhoComesInTheWindowCountsFromTheFirstLook) {
  v1::ObserveFleetReply empty;
  empty.set_cluster(9);
  empty.set_at_seconds(100);
  Collector collector;
  collector.Begin(empty);
  collector.Look(Totals(102, 1000, 50, 10, 30));  // whatever it did before
  const Observation seen = collector.End(Totals(110, 1080, 58, 12, 45), 1);
  EXPECT_DOUBLE_EQ(seen.jobs.at(0).elements_per_second, 8);
  EXPECT_DOUBLE_EQ(seen.jobs.at(0).busy_seconds, 15);
  EXPECT_FALSE(seen.workers.at(0).busy.has_value());  // not up for the whole window
}

TEST(CollectorTest, CountsThatARestartedDispatcherDoesNotKnowYetAreNotZero) {
  Collector collector;
  auto begun = Totals(100, 0, 0, 0, 0);
  begun.mutable_jobs(0)->mutable_clients(0)->set_measured(false);
  begun.mutable_workers(0)->clear_load();
  collector.Begin(begun);
  const Observation seen = collector.End(Totals(110, 1'000'000, 5000, 100, 3000), 1);
  EXPECT_EQ(seen.jobs.at(0).elements_per_second, 0);
  EXPECT_EQ(seen.jobs.at(0).busy_seconds, 0);
}

TEST(CollectorTest, WhatWaitsToBeSentIsFetched) {
  Collector collector;
  auto looked = Totals(100, 1000, 50, 10, 30);
  looked.mutable_jobs(0)->mutable_clients(0)->set_queue_fill(0);
  collector.Begin(looked);
  looked = Totals(110, 1080, 58, 12, 45);
  looked.mutable_jobs(0)->mutable_clients(0)->set_queue_fill(0);
  looked.mutable_workers(0)->mutable_load()->mutable_jobs(0)->set_output_bytes(1);
  const Observation seen = collector.End(looked, 1);
  EXPECT_DOUBLE_EQ(seen.jobs.at(0).fetch_stall, 0.1);  // at one of two looks
  EXPECT_DOUBLE_EQ(seen.jobs.at(0).prepare_stall, 0.1);
}

TEST(CollectorTest, NobodyTookAnythingIsNotZero) {
  Collector collector;
  collector.Begin(Totals(100, 1000, 50, 10, 30));
  const Observation seen = collector.End(Totals(110, 1000, 50, 10, 30), 1);
  EXPECT_FALSE(seen.jobs.at(0).demand.has_value());
  EXPECT_FALSE(seen.jobs.at(0).stall.has_value());
}

TEST(CollectorTest, AnotherLifeOfTheDispatcherBeginsAnew) {
  Collector collector;
  collector.Begin(Totals(100, 1000, 50, 10, 30));
  auto other = Totals(110, 50, 5, 1, 2);
  other.set_cluster(10);
  EXPECT_EQ(collector.Seconds(other), 0);
  collector.Begin(other);
  EXPECT_DOUBLE_EQ(collector.Seconds(other), 0);
}

TEST(CollectorTest, LostWorkersAreCounted) {
  Collector collector;
  collector.Begin(Totals(100, 1000, 50, 10, 30));
  auto end = Totals(110, 1080, 58, 12, 45);
  end.set_workers_lost(2);
  EXPECT_EQ(collector.End(end, 1).workers_lost, 2u);
  auto later = Totals(120, 1080, 58, 12, 45);
  later.set_workers_lost(2);
  EXPECT_EQ(collector.End(later, 1).workers_lost, 0u);
}

TEST(CollectorTest, ATaskThatEndedInTheWindowDidSomethingToo) {
  Collector collector;
  collector.Begin(Totals(100, 1000, 50, 10, 30));
  collector.Look(Totals(104, 1040, 54, 10, 36));
  auto next = Totals(110, 1080, 58, 12, 45);
  next.mutable_jobs(0)->mutable_tasks(0)->set_task(99);
  next.mutable_jobs(0)->mutable_tasks(0)->clear_steps();
  const Observation seen = collector.End(next, 1);
  EXPECT_DOUBLE_EQ(seen.jobs.at(0).steps.at(0).cpu_seconds, 3);
}

TEST(CollectorTest, ATaskThatBeganInTheWindowCountsFromItsBeginning) {
  Collector collector;
  collector.Begin(Totals(100, 1000, 50, 10, 30));
  auto next = Totals(110, 1080, 58, 12, 45);
  next.mutable_jobs(0)->mutable_tasks(0)->set_task(99);
  EXPECT_DOUBLE_EQ(collector.End(next, 1).jobs.at(0).steps.at(0).cpu_seconds, 22.5);
  // One that is old, and was not told of so far (the dispatcher was restarted), does not.
  auto old = Totals(120, 1080, 58, 12, 60);
  old.mutable_jobs(0)->mutable_tasks(0)->set_task(50);
  EXPECT_DOUBLE_EQ(collector.End(old, 1).jobs.at(0).steps.at(0).cpu_seconds, 0);
}

TEST(CollectorTest, RecordsAreCountedOverTheEndOfAnEpoch) {
  const auto at = [](double seconds, uint64_t epoch, uint64_t done, uint64_t whole) {
    auto totals = Totals(seconds, 1000, 50, 10, 30);
    totals.mutable_jobs(0)->set_epoch(epoch);
    totals.mutable_jobs(0)->set_records_done(done);
    totals.mutable_jobs(0)->set_epoch_records(whole);
    return totals;
  };
  Collector collector;
  collector.Begin(at(100, 0, 300, 0));
  EXPECT_DOUBLE_EQ(collector.End(at(110, 0, 700, 0), 1).jobs.at(0).records, 400);
  const Observation over = collector.End(at(120, 1, 100, 1000), 1);
  EXPECT_DOUBLE_EQ(over.jobs.at(0).records, 400);
  EXPECT_DOUBLE_EQ(over.jobs.at(0).epoch_records, 1000);
  EXPECT_EQ(over.jobs.at(0).epoch, 1u);
}

TEST(CollectorTest, WhatTiersDidIsOfTheWindow) {
  const auto at = [](double seconds, uint64_t hits, double read) {
    auto totals = Totals(seconds, 1000, 50, 10, 30);
    v1::TierLoad& tier = *totals.mutable_workers(0)->mutable_load()->add_tiers();
    tier.set_tier("disk");
    tier.set_limit_bytes(1000);
    tier.set_hits(hits);
    tier.set_read_seconds(read);
    return totals;
  };
  Collector collector;
  collector.Begin(at(100, 5, 1));
  const Observation seen = collector.End(at(110, 9, 1.5), 1);
  ASSERT_EQ(seen.tiers.size(), 1u);
  EXPECT_EQ(seen.tiers[0].tier, "disk");
  EXPECT_DOUBLE_EQ(seen.tiers[0].capacity_bytes, 1000);
  EXPECT_DOUBLE_EQ(seen.tiers[0].hits, 4);
  EXPECT_DOUBLE_EQ(seen.tiers[0].read_seconds, 0.5);
}

}  // namespace
}  // namespace headrace::orchestrate
