// `headrace._native.Pipeline`: a PipelineDef that is checked with each step. headrace/_pipeline.py
// gives it its Python face.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "element/schema.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/catalog/catalog.h"

namespace headrace::python {

// Made when the module is imported, kept by its bindings.
std::shared_ptr<const Catalog> SharedCatalog();

// (name, dtype, dims) of each field; None for dims of unknown rank, and for a dimension that
// varies.
pybind11::list FieldList(const Schema& schema);

class Pipeline {
 public:
  Pipeline(v1::PipelineDef def, std::shared_ptr<const Catalog> catalog);

  const v1::PipelineDef& def() const { return def_; }
  // A longer pipeline. Raises PipelineError when the step does not fit, in the caller's line.
  Pipeline With(const std::string& op, const pybind11::dict& params,
                const std::string& location) const;
  Pipeline WithOptions(const pybind11::dict& options) const;
  // (name, dtype, dims or None) of what leaves the last step; None when the files cannot be seen
  // from here.
  pybind11::object schema() const;
  std::string yaml() const;
  std::string python() const;
  std::string fingerprint() const;

 private:
  void Check() const;

  v1::PipelineDef def_;
  std::shared_ptr<const Catalog> catalog_;
  std::optional<Schema> source_schema_;  // nothing: unknown here, the dispatcher will check
};

void BindPipeline(pybind11::module_& module);

}  // namespace headrace::python
