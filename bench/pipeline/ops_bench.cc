// What the steps between the source and the trainer cost per row of 1 KiB. `memcpy` is the floor:
// the same bytes, copied once into fresh memory.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <vector>

#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

constexpr size_t kRowBytes = 1024;
constexpr size_t kRows = 64;

// Blocks of 64 rows whose bytes lie in a buffer of `buffer` bytes, used in turn.
class Source {
 public:
  explicit Source(Field field, size_t buffer = 8 << 20)
      : bytes_(buffer, std::byte{1}),
        schema_(std::make_shared<const Schema>(std::vector<Field>{field})) {
    shape_ = field.shape;
  }
  Block Next() {
    Block block(schema_);
    block.Reserve(kRows);
    for (size_t row = 0; row < kRows; ++row) {
      if (at_ + kRowBytes > bytes_.size()) at_ = 0;
      const Cell cell{bytes_.data() + at_, kRowBytes, shape_};
      at_ += kRowBytes;
      block.AppendRow({Run{.split = 0, .first = index_++, .count = 1}}, {&cell, 1});
    }
    return block;
  }
  const SchemaPtr& schema() const { return schema_; }

 private:
  std::vector<std::byte> bytes_;
  SchemaPtr schema_;
  Shape shape_;
  size_t at_ = 0;
  uint64_t index_ = 0;
};

v1::ValueMap Param(const std::string& name, int64_t value) {
  v1::ValueMap map;
  v1::NamedValue* entry = map.add_entries();
  entry->set_name(name);
  *entry->mutable_value() = ToValue(value);
  return map;
}

std::unique_ptr<Op> MakeBound(const std::string& name, const v1::ValueMap& params,
                              const Schema& input) {
  OpRegistry registry;
  RegisterAll_ops(registry);
  auto op = (*registry.Find(name))->make(params);
  if (!op.ok() || !(*op)->Bind(input).ok()) std::abort();
  return *std::move(op);
}

void CountRows(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kRows * kRowBytes));
  state.counters["ns_per_row"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kRows) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

const Field kTensor{"x", DType::kUInt8, {static_cast<int64_t>(kRowBytes)}};
const Field kText{"x", DType::kBytes, {}};

void BM_Memcpy(benchmark::State& state) {
  std::vector<std::byte> from(8 << 20, std::byte{1});
  size_t at = 0;
  for (auto _ : state) {
    Arena arena;
    std::byte* to = arena.Allocate(kRows * kRowBytes);
    for (size_t row = 0; row < kRows; ++row) {
      if (at + kRowBytes > from.size()) at = 0;
      std::memcpy(to + row * kRowBytes, from.data() + at, kRowBytes);
      at += kRowBytes;
    }
    benchmark::DoNotOptimize(to);
  }
  CountRows(state);
}
BENCHMARK(BM_Memcpy);

void BM_SourceBlock(benchmark::State& state) {
  Source source(kTensor);
  for (auto _ : state) benchmark::DoNotOptimize(source.Next());
  CountRows(state);
}
BENCHMARK(BM_SourceBlock);

void RunStage(benchmark::State& state, const Field& field, const std::string& name,
              const v1::ValueMap& params) {
  Source source(field);
  auto op = MakeBound(name, params, *source.schema());
  auto stage = dynamic_cast<const StatefulOp&>(*op).NewState({});
  const auto sink = [](Block block) { benchmark::DoNotOptimize(block.rows()); };
  for (auto _ : state) {
    if (!stage->Push(source.Next(), sink).ok()) std::abort();
  }
  CountRows(state);
}
void BM_SourceBatch(benchmark::State& state, const Field& field) {
  RunStage(state, field, "batch", Param("size", state.range(0)));
}
BENCHMARK_CAPTURE(BM_SourceBatch, tensor, kTensor)->Arg(64)->Arg(256)->Arg(100);
BENCHMARK_CAPTURE(BM_SourceBatch, text, kText)->Arg(64)->Arg(256)->Arg(100);

void BM_SourceShuffle(benchmark::State& state) {
  RunStage(state, kTensor, "shuffle", Param("buffer", state.range(0)));
}
BENCHMARK(BM_SourceShuffle)->Arg(1000)->Arg(10'000)->Arg(100'000);

}  // namespace
}  // namespace headrace

BENCHMARK_MAIN();
