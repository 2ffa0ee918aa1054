#include "pipeline/graph/pipeline_builder.h"

#include "fmt/core.h"

namespace headrace {
namespace {

void Fill(const Params& params, v1::ValueMap& out) {
  for (const NamedParam& param : params) {
    v1::NamedValue* entry = out.add_entries();
    entry->set_name(param.name);
    *entry->mutable_value() = param.value.value();
  }
}

std::string Location(const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const size_t slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
  return fmt::format("{}:{}", file, where.line());
}

}  // namespace

Param List(const std::vector<Param>& items) {
  v1::Value out;
  out.mutable_list();
  for (const Param& item : items) *out.mutable_list()->add_items() = item.value();
  return Param(std::move(out));
}

Param Map(const Params& entries) {
  v1::Value out;
  Fill(entries, *out.mutable_map());
  return Param(std::move(out));
}

PipelineBuilder& PipelineBuilder::Read(const std::vector<std::string>& files, std::string format,
                                       const Params& params, std::source_location where) {
  v1::Source* source = def_.mutable_source();
  for (const std::string& file : files) source->add_files(file);
  source->set_format(std::move(format));
  if (!params.empty()) Fill(params, *source->mutable_params());
  source->set_location(Location(where));
  return *this;
}

PipelineBuilder& PipelineBuilder::Step(std::string op, const Params& params,
                                       std::source_location where) {
  v1::Step* step = def_.add_steps();
  step->set_op(std::move(op));
  if (!params.empty()) Fill(params, *step->mutable_params());
  step->set_location(Location(where));
  return *this;
}

PipelineBuilder& PipelineBuilder::Seed(uint64_t seed) {
  def_.set_seed(seed);
  return *this;
}

PipelineBuilder& PipelineBuilder::FailOnErrors() {
  def_.mutable_errors()->set_on_error(v1::ON_ERROR_FAIL);
  return *this;
}

PipelineBuilder& PipelineBuilder::SkipErrors(uint64_t max_errors, double max_error_fraction) {
  def_.mutable_errors()->set_on_error(v1::ON_ERROR_SKIP);
  def_.mutable_errors()->set_max_errors(max_errors);
  def_.mutable_errors()->set_max_error_fraction(max_error_fraction);
  return *this;
}

PipelineBuilder& PipelineBuilder::WithoutPass(std::string pass) {
  def_.add_disabled_passes(std::move(pass));
  return *this;
}

}  // namespace headrace
