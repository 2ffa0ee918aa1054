#include "pipeline/udf/job.h"

#include <algorithm>
#include <numeric>

#include "common/status.h"

namespace headrace::udf {
namespace {

// Where a row's output is.
struct Place {
  const Answer* answer = nullptr;  // null: failed
  size_t first = 0;                // row out
  int64_t count = 0;
};

std::vector<Place> Places(const Job& job, Block& block) {
  std::vector<Place> places(job.block.rows());
  for (const auto& [rows, answer] : job.answered) {
    size_t first = 0, error = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t status = answer.status[i];
      if (status < 0) {
        block.Fail(rows[i], InvalidArgument("{}", answer.errors[error++]));
        continue;
      }
      places[rows[i]] = {&answer, first, status};
      first += static_cast<size_t>(status);
    }
  }
  for (const auto& [row, status] : job.failed) block.Fail(row, status);
  return places;
}

Cell CellOf(const Block& in, const ColumnPlan::Output& output, const Place& place, size_t row,
            size_t part) {
  if (!output.returned) return in.column(output.at)[row];
  const Answer::Column& column = place.answer->columns[output.at];
  return column.unchanged ? in.column(*output.input)[row] : column.cells[place.first + part];
}

// A cell that came in goes out again in an output's field, which may be declared more narrowly.
void Admit(Block& block, const ColumnPlan& plan, size_t field, size_t row, const Cell& cell) {
  const Field& declared = plan.schema->fields()[field];
  if (declared.shape.Admits(cell.shape)) return;
  block.Fail(row, InvalidArgument("returned '{}' as it was, of shape {}, which is declared as {}",
                                  declared.name, cell.shape.ToString(), declared.shape.ToString()));
}

// Every row was answered, in one piece, and has one row out.
bool Whole(const Job& job) {
  return job.answered.size() == 1 && job.failed.empty() &&
         job.answered[0].first.size() == job.block.rows() && job.answered[0].second.errors.empty();
}

// MapColumns for a job that is whole: columns go as they are.
void TakeColumns(Job& job) {
  Block& block = job.block;
  const ColumnPlan& plan = job.delivery->plan();
  Answer& answer = job.answered[0].second;
  std::vector<std::vector<Cell>> columns(plan.outputs.size());
  for (size_t f = 0; f < columns.size(); ++f) {
    const ColumnPlan::Output& output = plan.outputs[f];
    if (output.returned && !answer.columns[output.at].unchanged) {
      columns[f] = std::move(answer.columns[output.at].cells);
      continue;
    }
    // The column of the field's own name, so no other field takes it.
    columns[f] = std::move(block.column(*output.input));
    for (size_t row = 0; !output.fits && row < block.rows(); ++row)
      Admit(block, plan, f, row, columns[f][row]);
  }
  block.columns() = std::move(columns);
}

void MapColumns(Job& job, const std::vector<Place>& places) {
  Block& block = job.block;
  std::vector<std::vector<Cell>> columns(job.delivery->plan().outputs.size());
  for (size_t f = 0; f < columns.size(); ++f) {
    const ColumnPlan::Output& output = job.delivery->plan().outputs[f];
    columns[f].resize(block.rows());
    for (size_t row = 0; row < block.rows(); ++row) {
      if (output.returned && places[row].answer == nullptr) continue;
      columns[f][row] = CellOf(block, output, places[row], row, 0);
      if (output.returned && block.live(row))
        Admit(block, job.delivery->plan(), f, row, columns[f][row]);
    }
  }
  block.columns() = std::move(columns);
}

Block CutRows(Job& job, const std::vector<Place>& places) {
  Block out(job.delivery->plan().schema);
  const Block& in = job.block;
  std::vector<Cell> cells(job.delivery->plan().outputs.size());
  for (size_t row = 0; row < in.rows(); ++row) {
    if (!in.live(row)) continue;
    const Place& place = places[row];
    for (int64_t part = 0; part < place.count; ++part) {
      for (size_t f = 0; f < cells.size(); ++f)
        cells[f] =
            CellOf(in, job.delivery->plan().outputs[f], place, row, static_cast<size_t>(part));
      Run run = in.provenance(row).front();
      run.part = static_cast<uint32_t>(part);
      run.parts = static_cast<uint32_t>(place.count);
      out.AppendRow({run}, cells);
    }
    if (place.count == 0) AppendRun(out.settled(), in.provenance(row).front());
  }
  return out;
}

}  // namespace

absl::StatusOr<ColumnPlan> ColumnPlan::Make(const Schema& input,
                                            const std::vector<std::string>& fields,
                                            FunctionSpec& spec) {
  ColumnPlan plan;
  for (const std::string& name : fields) {
    HR_ASSIGN_OR_RETURN(const size_t at, input.Require(name));
    if (std::find(plan.inputs.begin(), plan.inputs.end(), at) != plan.inputs.end())
      return InvalidArgument("fields: '{}' is named twice", name);
    plan.inputs.push_back(at);
  }
  if (fields.empty()) {
    for (size_t at = 0; at < input.size(); ++at) plan.inputs.push_back(at);
  }
  spec.inputs.clear();
  for (const size_t at : plan.inputs) spec.inputs.push_back(input[at]);
  if (spec.outputs.empty() && spec.kind != FunctionKind::kFilter) spec.outputs = spec.inputs;

  Schema out;
  std::vector<bool> placed(spec.outputs.size());
  for (size_t at = 0; at < input.size(); ++at) {
    const bool given = std::find(plan.inputs.begin(), plan.inputs.end(), at) != plan.inputs.end();
    if (!given || spec.kind == FunctionKind::kFilter) {
      plan.outputs.push_back({false, at, at, true});
      out.Add(input[at]);
      continue;
    }
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      if (spec.outputs[i].name != input[at].name) continue;
      plan.outputs.push_back({true, i, at, spec.outputs[i].shape == input[at].shape});
      out.Add(spec.outputs[i]);
      placed[i] = true;
    }
  }
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    if (placed[i]) continue;
    if (out.Find(spec.outputs[i].name) != Schema::kNone) {
      return InvalidArgument("returns: '{}' is there already, and is not among `fields`",
                             spec.outputs[i].name);
    }
    plan.outputs.push_back({true, i, std::nullopt});
    out.Add(spec.outputs[i]);
  }
  plan.schema = std::make_shared<const Schema>(std::move(out));
  return plan;
}

void Delivery::Deliver(const AsyncSession::Done& done, absl::StatusOr<AsyncResult> result) {
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    ++running_;
  }
  done(std::move(result));
  absl::MutexLock lock(&mutex_);
  --running_;
}

void Delivery::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  const auto quiet = [this] {
    mutex_.AssertReaderHeld();
    return running_ == 0;
  };
  mutex_.Await(absl::Condition(&quiet));
}

Job::Job(Block b, AsyncSession::Done d, std::shared_ptr<Delivery> session)
    : block(std::move(b)), done(std::move(d)), delivery(std::move(session)) {
  Rows all(block.rows());
  std::iota(all.begin(), all.end(), 0u);
  todo.push_back(std::move(all));
}

AsyncResult Assemble(Job& job, const FunctionSpec& spec) {
  Block& block = job.block;
  if (spec.kind == FunctionKind::kMap && Whole(job)) {
    TakeColumns(job);
    return {std::move(block), job.cpu_nanos};
  }
  const std::vector<Place> places = Places(job, block);
  if (spec.kind == FunctionKind::kFlatMap) {
    Block out = CutRows(job, places);
    block.Compact();  // what failed moves to its lists
    out.settled().insert(out.settled().end(), block.settled().begin(), block.settled().end());
    out.failures() = std::move(block.failures());
    out.arena().Adopt(block.arena_ptr(), block.arena().bytes());
    return {std::move(out), job.cpu_nanos};
  }
  if (spec.kind == FunctionKind::kMap) {
    MapColumns(job, places);
  } else {
    for (size_t row = 0; row < block.rows(); ++row) {
      if (block.live(row) && places[row].count == 0) block.Filter(row);
    }
  }
  return {std::move(block), job.cpu_nanos};
}

}  // namespace headrace::udf
