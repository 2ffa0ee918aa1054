// What every step owes, whatever it does. Runs over all registered names, so a new file is tested
// at once.
#include <cctype>

#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

std::vector<std::string> AllNames() {
  OpRegistry registry;
  RegisterAll_ops(registry);
  std::vector<std::string> names;
  for (const OpSpec* spec : registry.All()) names.push_back(spec->name);
  return names;
}

// A value of the right type for a parameter, so that Make gets as far as it can.
v1::Value AnyValue(ParamType type) {
  switch (type) {
    case ParamType::kBool:
      return ToValue(true);
    case ParamType::kInt:
      return ToValue(int64_t{1});
    case ParamType::kFloat:
      return ToValue(1.0);
    case ParamType::kString:
      return ToValue(std::string("x"));
    case ParamType::kIntList:
      return ToValue(std::vector<int64_t>{1, 1});
    case ParamType::kFloatList:
      return ToValue(std::vector<double>{1.0});
    case ParamType::kStringList:
      return ToValue(std::vector<std::string>{"x"});
    case ParamType::kStringMap:
      return ToValue(StringMap{{"x", "int64"}});
  }
  return {};
}

class OpContractTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    RegisterAll_ops(registry_);
    auto found = registry_.Find(GetParam());
    ASSERT_TRUE(found.ok());
    spec_ = *found;
    for (const ParamSpec& param : spec_->params) {
      if (!param.required) continue;
      v1::NamedValue* entry = required_.add_entries();
      entry->set_name(param.name);
      *entry->mutable_value() = AnyValue(param.type);
    }
  }

  OpRegistry registry_;
  const OpSpec* spec_ = nullptr;
  v1::ValueMap required_;  // every required parameter, with a value of its type
};

TEST_P(OpContractTest, TheNameIsSnakeCase) {
  const std::string& name = spec_->name;
  // Internal steps are marked by an underscore in front.
  ASSERT_EQ(name[0] == '_', spec_->internal);
  EXPECT_TRUE(std::islower(static_cast<unsigned char>(name[spec_->internal ? 1 : 0])));
  for (char c : name)
    EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) || std::isdigit(c) || c == '_') << name;
}

TEST_P(OpContractTest, TheStepAndEachParameterHaveHelp) {
  EXPECT_GT(spec_->help.size(), 10u);
  EXPECT_EQ(spec_->help.back(), '.');
  EXPECT_EQ(spec_->help.find('\n'), std::string::npos);
  for (const ParamSpec& param : spec_->params) EXPECT_GT(param.help.size(), 5u) << param.name;
}

TEST_P(OpContractTest, ShortSpellingsNameAParameter) {
  for (const std::string& name : {spec_->map_param, spec_->bare_param}) {
    if (name.empty()) continue;
    bool found = false;
    for (const ParamSpec& param : spec_->params) found = found || param.name == name;
    EXPECT_TRUE(found) << name;
  }
}

TEST_P(OpContractTest, AMissingRequiredParameterIsNamed) {
  for (int left_out = 0; left_out < required_.entries_size(); ++left_out) {
    v1::ValueMap given;
    for (int i = 0; i < required_.entries_size(); ++i) {
      if (i != left_out) *given.add_entries() = required_.entries(i);
    }
    const auto made = spec_->make(given);
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(MessageOf(made), testing::HasSubstr(required_.entries(left_out).name()));
  }
}

TEST_P(OpContractTest, AnUnknownParameterIsNamed) {
  v1::ValueMap given = required_;
  v1::NamedValue* entry = given.add_entries();
  entry->set_name("no_such_parameter");
  *entry->mutable_value() = ToValue(true);
  EXPECT_THAT(MessageOf(spec_->make(given)), testing::HasSubstr("no_such_parameter"));
}

TEST_P(OpContractTest, AnEmptySchemaIsBoundOrRefusedWithWords) {
  auto op = spec_->make(required_);
  if (!op.ok()) {
    EXPECT_EQ(op.status().code(), absl::StatusCode::kInvalidArgument);
    return;
  }
  const auto out = (*op)->Bind(Schema());
  if (!out.ok()) {
    EXPECT_EQ(out.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(out.status().message().empty());
  }
}

// A schema of every type under the name that AnyValue gives, and one under the usual names.
std::vector<Schema> Schemas() {
  std::vector<Schema> out;
  for (int type = 1; type <= 14; ++type) {
    const auto dtype = static_cast<DType>(type);
    for (const Shape& shape : {Shape(), Shape{3}, Shape{-1}, Shape{-1, -1, 3},
                               Shape{1, 1, 1, 1, 1, 1}, Shape::Unknown()}) {
      out.push_back(Schema({{"x", dtype, shape}, {"record", DType::kBytes, {}}}));
    }
  }
  return out;
}

TEST_P(OpContractTest, AnEmptyBlockGivesAnEmptyBlock) {
  size_t bound = 0;
  for (const Schema& input : Schemas()) {
    auto op = spec_->make(required_);
    if (!op.ok()) continue;
    auto out = (*op)->Bind(input);
    if (!out.ok()) continue;
    ++bound;
    Block block(std::make_shared<const Schema>(input));
    if (const auto* stateless = dynamic_cast<const StatelessOp*>(op->get())) {
      ASSERT_TRUE(stateless->Run(block, {}).ok());
      block.Compact();
      EXPECT_EQ(block.rows(), 0u);
      EXPECT_EQ(block.columns().size(), out->size());
      continue;
    }
    auto state = dynamic_cast<const StatefulOp&>(**op).NewState({});
    const auto expect_empty = [&out](Block emitted) {
      EXPECT_EQ(emitted.rows(), 0u);
      EXPECT_EQ(emitted.columns().size(), out->size());
      EXPECT_TRUE(emitted.settled().empty());
    };
    ASSERT_TRUE(state->Push(std::move(block), expect_empty).ok());
    ASSERT_TRUE(state->Finish(expect_empty).ok());
  }
  RecordProperty("schemas_bound", static_cast<int>(bound));
}

TEST_P(OpContractTest, ABlockOfEndedRecordsKeepsThem) {
  for (const Schema& input : Schemas()) {
    auto op = spec_->make(required_);
    if (!op.ok() || !(*op)->Bind(input).ok()) continue;
    const auto* stateful = dynamic_cast<const StatefulOp*>(op->get());
    if (stateful == nullptr) continue;
    Block block(std::make_shared<const Schema>(input));
    const headrace::Run run{.split = 2, .first = 5, .count = 1};
    block.FailRecord(run, DataLoss("damaged"));
    Runs settled;
    size_t failures = 0;
    const auto collect = [&](Block emitted) {
      settled.insert(settled.end(), emitted.settled().begin(), emitted.settled().end());
      failures += emitted.failures().size();
    };
    auto state = stateful->NewState({});
    ASSERT_TRUE(state->Push(std::move(block), collect).ok());
    ASSERT_TRUE(state->Finish(collect).ok());
    EXPECT_EQ(settled, Runs{run});
    EXPECT_EQ(failures, 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpContractTest, testing::ValuesIn(AllNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace headrace::op_test
