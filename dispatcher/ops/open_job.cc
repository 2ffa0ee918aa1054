// OpenJob: creates a job or joins the running one of that name. Idempotent by client_uid.
#include <algorithm>
#include <limits>
#include <utility>

#include "common/status.h"
#include "dispatcher/ops/claim.h"
#include "dispatcher/ops/difference.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/steps.h"
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

// A lane costs a task on a worker and a stream on each client.
constexpr uint32_t kMostOrderedLanes = 4096;

// The plan, and the schema of the part of a batch that one of `world_size` ranks gets.
void AddOrdered(const Job& job, uint32_t world_size, v1::OpenJobReply& reply) {
  *reply.mutable_ordered() = *job.dataset->ordered;
  const int64_t ranks = std::max(1u, world_size);
  for (v1::FieldDef& field : *reply.mutable_schema()->mutable_fields()) {
    if (field.dims_size() != 0 && field.dims(0) > 0) field.set_dims(0, field.dims(0) / ranks);
  }
}

absl::Status CheckRank(const v1::OpenJobRequest& request) {
  const uint32_t ranks = std::max(1u, request.options().world_size());
  if (request.options().ordering() != v1::ORDERING_DETERMINISTIC || request.rank() < ranks) {
    return absl::OkStatus();
  }
  return InvalidArgument("rank {} of {}: ranks count from 0; set world_size to how many there are",
                         request.rank(), ranks);
}

absl::Status CheckParts(const v1::JobOptions& options, const v1::OrderedPlan& plan) {
  const uint64_t ranks = std::max(1u, options.world_size());
  if (plan.batch_rows() % ranks == 0) return absl::OkStatus();
  return InvalidArgument(
      "ordering deterministic cuts each global batch into equal parts: a batch of {} rows does "
      "not divide among {} ranks",
      plan.batch_rows(), ranks);
}

absl::Status CheckOrdered(const v1::JobOptions& options, const ResolvedPipeline& resolved) {
  if (options.ordering() != v1::ORDERING_DETERMINISTIC) return absl::OkStatus();
  HR_RETURN_IF_ERROR(resolved.ordered.status());
  if (options.sharding() != v1::SHARDING_UNSPECIFIED &&
      options.sharding() != v1::SHARDING_DYNAMIC) {
    return InvalidArgument(
        "ordering deterministic deals the splits out itself: leave sharding at dynamic, not {}",
        ShardingName(options.sharding()));
  }
  if (options.visitation() != v1::VISITATION_UNSPECIFIED &&
      options.visitation() != v1::VISITATION_EXACTLY_ONCE) {
    return InvalidArgument(
        "ordering deterministic delivers each record exactly once: leave visitation at "
        "exactly_once");
  }
  if (options.uneven() != v1::UNEVEN_UNSPECIFIED && options.uneven() != v1::UNEVEN_FREE) {
    return InvalidArgument(
        "ordering deterministic gives all ranks the same number of batches by itself: leave uneven "
        "at free");
  }
  HR_RETURN_IF_ERROR(CheckParts(options, *resolved.ordered));
  if (options.ordered_lanes() > kMostOrderedLanes) {
    return OutOfRange("ordered_lanes is {}, over {}", options.ordered_lanes(), kMostOrderedLanes);
  }
  return absl::OkStatus();
}

v1::OpenJobReply ReplyFor(const OpContext& context, const Job& job, ClientId client) {
  v1::OpenJobReply reply;
  reply.set_job(job.id.value);
  reply.set_client(client.value);
  reply.set_fingerprint(job.fingerprint);
  reply.set_job_name(job.name);
  reply.set_next_epoch(job.epoch.has_value() ? job.epoch->number() : job.next_epoch);
  if (job.dataset != nullptr) {
    *reply.mutable_schema() = job.dataset->schema;
    reply.set_batched(job.dataset->batched);
    reply.set_splits(job.dataset->splits.size());
    reply.set_dataset_version(job.dataset->version);
    const Client* found = context.state().clients().Find(client);
    if (job.dataset->ordered.has_value()) AddOrdered(job, found->world_size, reply);
  }
  reply.set_incarnation(job.incarnation);
  reply.set_cluster(context.state().cluster());
  reply.set_client_timeout_milliseconds(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(context.config.client_timeout)));
  return reply;
}

absl::StatusOr<v1::OpenJobReply> Join(OpContext& context, const v1::OpenJobRequest& request,
                                      JobId job) {
  if (std::ssize(context.state().clients().all()) >= context.config.limits.max_clients) {
    return ResourceExhausted("{} clients are connected already (limits.max_clients)",
                             context.config.limits.max_clients);
  }
  // It may be of another number of ranks: those go on from a checkpoint (RestoreJob).
  const JobData& data = *context.state().jobs().Find(job)->dataset;
  if (data.ordered.has_value()) HR_RETURN_IF_ERROR(CheckParts(request.options(), *data.ordered));
  const ClientId client = context.state().next_client();
  v1::Event event;
  v1::ClientJoined& joined = *event.mutable_client_joined();
  joined.set_client(client.value);
  joined.set_job(job.value);
  joined.set_uid(request.client_uid());
  joined.set_rank(request.rank());
  joined.set_host(request.client_host());
  joined.set_world_size(request.options().world_size());
  context.changes.Make(std::move(event));
  context.liveness.Saw(client, context.now);
  return ReplyFor(context, *context.state().jobs().Find(job), client);
}

absl::Status Taken(const Job& job, const std::string& difference) {
  return AlreadyExists("job '{}' is running and differs: {}", job.name, difference);
}

// Words of the wire that came before what they stand for.
absl::Status CheckServed(const v1::JobOptions& options) {
  if (!options.sharing() && !options.coordinated()) return absl::OkStatus();
  return InvalidArgument("{} is not served by this dispatcher: leave it out",
                         options.sharing() ? "sharing" : "coordinated");
}

void OpenNew(OpContext& context, const v1::OpenJobRequest& request, const std::string& name,
             ResolvedPipeline resolved, SplitPieces pieces) {
  while (pieces.columns.size() > 1) {
    v1::Event listed;
    *listed.mutable_splits_listed()->mutable_splits() = std::move(pieces.columns.front());
    pieces.columns.pop_front();
    context.changes.Make(std::move(listed));
  }
  v1::Event event;
  v1::JobOpened& opened = *event.mutable_job_opened();
  opened.set_job(context.state().next_job().value);
  opened.set_name(name);
  *opened.mutable_pipeline() = request.pipeline();
  *opened.mutable_options() = request.options();
  opened.set_fingerprint(resolved.fingerprint);
  opened.set_dataset_version(resolved.dataset_version);
  *opened.mutable_splits() = std::move(pieces.columns.front());
  *opened.mutable_source_schema() = std::move(resolved.source_schema);
  *opened.mutable_schema() = std::move(resolved.schema);
  opened.set_batched(resolved.batched);
  opened.set_passes(resolved.passes);
  opened.set_single_task(resolved.single_task);
  opened.set_shard_hint(resolved.shard_hint);
  // Never the same again, also when a dispatcher without memory counts jobs from 1: the uid is
  // random.
  opened.set_incarnation(request.client_uid() ^ 0x9E3779B97F4A7C15ull ^ opened.job());
  if (request.options().ordering() == v1::ORDERING_DETERMINISTIC) {
    *opened.mutable_ordered() = *resolved.ordered;
  }
  context.changes.Make(std::move(event));
}

}  // namespace

SplitPieces PiecesOf(const SplitList& splits) {
  SplitPieces pieces{splits.size(), {}};
  size_t at = 0;
  do {
    at = splits.Encode(at, pieces.columns.emplace_back());
  } while (at < splits.size());
  return pieces;
}

absl::StatusOr<std::optional<v1::OpenJobReply>> OpenKnownJob(OpContext& context,
                                                             const v1::OpenJobRequest& request) {
  if (request.client_uid() == 0) return InvalidArgument("client_uid is missing");
  HR_RETURN_IF_ERROR(CheckRank(request));
  if (const Client* client = context.state().clients().FindByUid(request.client_uid())) {
    const Job* job = context.state().jobs().Find(client->job);
    if (request.job_name().empty() || request.job_name() == job->name) {
      context.liveness.Saw(client->id, context.now);
      return ReplyFor(context, *job, client->id);
    }
    return InvalidArgument("client uid {} has job '{}' open already", request.client_uid(),
                           job->name);
  }
  if (request.job_name().empty()) return std::nullopt;
  const Job* job = context.state().jobs().FindRunning(request.job_name());
  if (job == nullptr ||
      job->pipeline.SerializeAsString() != request.pipeline().SerializeAsString()) {
    return std::nullopt;
  }
  const std::string difference = OptionsDifference(request.options(), job->options);
  if (!difference.empty()) return Taken(*job, difference);
  HR_ASSIGN_OR_RETURN(v1::OpenJobReply reply, Join(context, request, job->id));
  return reply;
}

absl::StatusOr<v1::OpenJobReply> OpenResolvedJob(OpContext& context,
                                                 const v1::OpenJobRequest& request,
                                                 ResolvedPipeline resolved, SplitPieces pieces) {
  // Another call may have opened it in the meantime.
  HR_ASSIGN_OR_RETURN(std::optional<v1::OpenJobReply> known, OpenKnownJob(context, request));
  if (known.has_value()) return *std::move(known);

  if (const Job* job = context.state().jobs().FindRunning(request.job_name());
      job != nullptr && !request.job_name().empty()) {
    if (job->fingerprint != resolved.fingerprint) {
      const std::string difference = PipelineDifference(request.pipeline(), job->pipeline);
      return Taken(*job, difference.empty() ? "another pipeline" : difference);
    }
    if (job->dataset->version != resolved.dataset_version) {
      return Taken(*job, fmt::format("the dataset's files changed since it began (version {} now, "
                                     "{} then); give the job another name",
                                     resolved.dataset_version, job->dataset->version));
    }
    const std::string difference = OptionsDifference(request.options(), job->options);
    if (!difference.empty()) return Taken(*job, difference);
    return Join(context, request, job->id);
  }

  const DispatcherLimits& limits = context.config.limits;
  if (static_cast<int64_t>(context.state().jobs().running()) >= limits.max_jobs) {
    return ResourceExhausted("{} jobs are running already (limits.max_jobs)", limits.max_jobs);
  }
  if (static_cast<int64_t>(pieces.count) > limits.max_splits ||
      pieces.count > std::numeric_limits<uint32_t>::max()) {
    return OutOfRange(
        "the dataset has {} splits, over {} (limits.max_splits); make splits larger "
        "(target_split_bytes)",
        pieces.count, limits.max_splits);
  }
  if (request.options().static_slots() > limits.max_static_slots) {
    return OutOfRange("static_slots is {}, over {} (limits.max_static_slots)",
                      request.options().static_slots(), limits.max_static_slots);
  }
  if (request.options().sharding() == v1::SHARDING_STATIC_HINT && resolved.shards_batches) {
    return InvalidArgument(
        "sharding static_hint: the 'shard' step must come before the step that makes batches");
  }
  HR_RETURN_IF_ERROR(CheckServed(request.options()));
  HR_RETURN_IF_ERROR(CheckClaim(request.options()));
  HR_RETURN_IF_ERROR(CheckOrdered(request.options(), resolved));
  JobData shape;
  shape.single_task = resolved.single_task;
  shape.shard_hint = resolved.shard_hint;
  shape.batched = resolved.batched;
  HR_RETURN_IF_ERROR(CheckUneven(request.options(), shape));
  HR_RETURN_IF_ERROR(MakePolicy(request.options().sharding(), shape)->Check(shape));
  const JobId job = context.state().next_job();
  const std::string name =
      request.job_name().empty() ? fmt::format("job-{}", job.value) : request.job_name();
  OpenNew(context, request, name, std::move(resolved), std::move(pieces));
  return Join(context, request, job);
}

}  // namespace headrace::dispatch
