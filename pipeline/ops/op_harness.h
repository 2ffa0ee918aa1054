// For the tests of steps only: makes a step by its registered name, binds it, feeds it rows as the
// engine would, and checks what every step owes: rows follow the schema, and no record is lost or
// doubled on the way through.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/status.h"
#include "element/block.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/op_registry.h"

namespace headrace::op_test {

// --- Parameters: Params().Set("size", 4).Set("fields", {"a", "b"})
class Params {
 public:
  template <typename T>
  Params& Set(std::string name, T value) {
    v1::NamedValue* entry = map_.add_entries();
    entry->set_name(std::move(name));
    if constexpr (std::is_same_v<T, const char*>) {
      *entry->mutable_value() = ToValue(std::string(value));
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      *entry->mutable_value() = ToValue(static_cast<int64_t>(value));
    } else {
      *entry->mutable_value() = ToValue(value);
    }
    return *this;
  }
  Params& Set(std::string name, std::initializer_list<const char*> names) {
    return Set(std::move(name), std::vector<std::string>(names.begin(), names.end()));
  }
  const v1::ValueMap& map() const { return map_; }

 private:
  v1::ValueMap map_;
};

// A step with a bound input schema.
struct BoundStep {
  std::unique_ptr<Op> op;
  SchemaPtr input;
  SchemaPtr output;
};

inline absl::StatusOr<BoundStep> Build(std::string_view name, const Params& params, Schema input) {
  OpRegistry registry;
  RegisterAll_ops(registry);
  HR_ASSIGN_OR_RETURN(const OpSpec* spec, registry.Find(name));
  BoundStep step;
  HR_ASSIGN_OR_RETURN(step.op, spec->make(params.map()));
  step.input = std::make_shared<const Schema>(std::move(input));
  HR_ASSIGN_OR_RETURN(Schema out, step.op->Bind(*step.input));
  step.output = std::make_shared<const Schema>(std::move(out));
  return step;
}

// The message of an expected failure; "" and a test failure when it was OK.
template <typename T>
std::string MessageOf(const absl::StatusOr<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? "" : std::string(result.status().message());
}

// --- Rows: Block b = Rows(step.input, {{Num<int64_t>(3), Text("abc")}, ...});
using CellMaker = std::function<Cell(Arena&)>;

template <typename T>
CellMaker Num(T value) {
  return [value](Arena& arena) { return MakeScalarCell<T>(arena, value); };
}
template <typename T>
CellMaker Nums(std::vector<T> values, Shape shape) {
  return [values = std::move(values), shape](Arena& arena) {
    return MakeCell<T>(arena, std::span<const T>(values), shape);
  };
}
template <typename T>
CellMaker Nums(std::vector<T> values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  return Nums<T>(std::move(values), shape);
}
inline CellMaker Text(std::string value) {
  return [value = std::move(value)](Arena& arena) { return MakeBytesCell(arena, value); };
}
inline CellMaker Texts(std::vector<std::string> values, Shape shape) {
  return [values = std::move(values), shape](Arena& arena) {
    std::vector<std::string_view> views(values.begin(), values.end());
    return MakeBytesCell(arena, views, shape);
  };
}

// Rows of split `split`, records first, first+1, ...
inline Block Rows(const SchemaPtr& schema, const std::vector<std::vector<CellMaker>>& rows,
                  uint64_t first = 0, uint64_t split = 0) {
  Block block(schema);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<Cell> cells;
    for (const CellMaker& make : rows[i]) cells.push_back(make(block.arena()));
    block.AppendRow({RunOf({.split = split, .index = first + i})}, cells);
  }
  return block;
}
// Rows of one int64 scalar each.
inline Block Numbers(const SchemaPtr& schema, const std::vector<int64_t>& values,
                     uint64_t first = 0) {
  std::vector<std::vector<CellMaker>> rows;
  for (int64_t v : values) rows.push_back({Num<int64_t>(v)});
  return Rows(schema, rows, first);
}
template <typename T>
std::vector<T> Column(const Block& block, size_t field) {
  std::vector<T> out;
  for (const Cell& cell : block.column(field)) {
    for (T v : cell.as<T>()) out.push_back(v);
  }
  return out;
}
inline std::vector<std::string> TextColumn(const Block& block, size_t field) {
  std::vector<std::string> out;
  for (const Cell& cell : block.column(field)) {
    for (int64_t i = 0; i < cell.shape.items(); ++i)
      out.emplace_back(cell.string(static_cast<size_t>(i)));
  }
  return out;
}

// --- What every block owes.
inline void ExpectCellFits(const Field& field, const Cell& cell) {
  ASSERT_TRUE(field.shape.Admits(cell.shape))
      << field.name << " " << field.shape.ToString() << " has a cell " << cell.shape.ToString();
  ASSERT_TRUE(cell.shape.is_static());
  const auto items = static_cast<size_t>(cell.shape.items());
  if (field.dtype != DType::kBytes) {
    ASSERT_EQ(cell.bytes, items * ItemSize(field.dtype)) << field.name;
    ASSERT_EQ(reinterpret_cast<uintptr_t>(cell.data) % ItemSize(field.dtype), 0u) << field.name;
  } else if (cell.shape.rank() > 0) {
    ASSERT_GE(cell.bytes, (items + 1) * sizeof(int64_t)) << field.name;
    const auto* offsets = reinterpret_cast<const int64_t*>(cell.data);
    ASSERT_EQ(offsets[0], 0);
    for (size_t i = 0; i < items; ++i) ASSERT_LE(offsets[i], offsets[i + 1]);
    ASSERT_EQ(cell.bytes, (items + 1) * sizeof(int64_t) + static_cast<size_t>(offsets[items]));
  }
}
inline void ExpectFollowsSchema(const Block& block) {
  ASSERT_EQ(block.columns().size(), block.schema().size());
  for (size_t f = 0; f < block.schema().size(); ++f) {
    ASSERT_EQ(block.column(f).size(), block.rows()) << block.schema()[f].name;
    for (const Cell& cell : block.column(f)) ExpectCellFits(block.schema()[f], cell);
  }
}

using Runs = std::vector<Run>;  // inside a TEST, Run is gtest's

// Records (split, index, part, pass) and how often each was seen.
using Census = std::map<std::tuple<uint64_t, uint64_t, uint32_t, uint32_t>, int>;
inline void Count(const Run& run, Census& census) {
  for (uint64_t i = 0; i < run.count; ++i) ++census[{run.split, run.first + i, run.part, run.pass}];
}
inline void Count(const Block& block, Census& census) {
  for (size_t row = 0; row < block.rows(); ++row) {
    for (const Run& run : block.provenance(row)) Count(run, census);
  }
  for (const Run& run : block.settled()) Count(run, census);
}

// --- Running, as the engine does.
inline absl::Status RunStateless(const BoundStep& step, Block& block,
                                 const StepContext& context = {}) {
  Census before, after;
  Count(block, before);
  HR_RETURN_IF_ERROR(dynamic_cast<const StatelessOp&>(*step.op).Run(block, context));
  block.Compact();
  block.SetSchema(step.output);
  ExpectFollowsSchema(block);
  Count(block, after);
  EXPECT_EQ(before, after);
  return absl::OkStatus();
}

// One task's state of a stateful step. Everything emitted is in `out`; destruction checks that no
// record was lost.
class Stage {
 public:
  explicit Stage(const BoundStep& step, const StepContext& context = {})
      : state(dynamic_cast<const StatefulOp&>(*step.op).NewState(context)) {}
  ~Stage() { EXPECT_EQ(pushed_, emitted_) << "call Finish() before the end of the test"; }

  absl::Status Push(Block block) {
    Count(block, pushed_);
    return state->Push(std::move(block), [this](Block b) { Take(std::move(b)); });
  }
  absl::Status Finish() {
    HR_RETURN_IF_ERROR(state->Finish([this](Block b) { Take(std::move(b)); }));
    return absl::OkStatus();
  }
  // All failures so far.
  std::vector<RowFailure> failures() const {
    std::vector<RowFailure> all;
    for (const Block& b : out) all.insert(all.end(), b.failures().begin(), b.failures().end());
    return all;
  }
  // Emitted blocks that have rows.
  std::vector<const Block*> filled() const {
    std::vector<const Block*> blocks;
    for (const Block& b : out) {
      if (b.rows() > 0) blocks.push_back(&b);
    }
    return blocks;
  }

  std::unique_ptr<OpState> state;
  std::vector<Block> out;

 private:
  void Take(Block block) {
    ExpectFollowsSchema(block);
    Count(block, emitted_);
    out.push_back(std::move(block));
  }
  Census pushed_, emitted_;
};

}  // namespace headrace::op_test
