#include "client/python/src/pipeline_binding.h"

#include <pybind11/stl.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "client/python/src/status.h"
#include "client/python/src/values.h"
#include "pipeline/formats/dataset/dataset.h"
#include "pipeline/graph/graph.h"
#include "pipeline/graph/text/printers.h"
#include "pipeline/graph/yaml/yaml_reader.h"

namespace py = pybind11;

namespace headrace::python {
namespace {

// The workers' working directory is not the trainer's.
std::string AbsolutePath(const std::string& path) {
  if (path.find("://") != std::string::npos) return path;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

// The schema of the source's records, from the files where the format needs one.
std::optional<Schema> SourceSchema(const v1::Source& source, const Catalog& catalog) {
  const std::unique_ptr<FileSystem> files = NewLocalFileSystem();
  absl::StatusOr<Schema> schema = RecordSchemaOf(source, catalog.formats, *files);
  if (schema.ok()) return *std::move(schema);
  // Wrong words are told at once; files that cannot be seen from this machine may well be there for
  // the workers.
  if (absl::IsInvalidArgument(schema.status())) Raise(schema.status());
  const absl::StatusOr<const FormatSpec*> spec = FormatOf(source, catalog.formats);
  if (!spec.ok()) return std::nullopt;
  absl::StatusOr<std::unique_ptr<Format>> format = (*spec)->make(source.params());
  if (!format.ok()) return std::nullopt;
  schema = (*format)->RecordSchema(*files, {});
  if (!schema.ok()) return std::nullopt;
  return *std::move(schema);
}

// What pickling keeps.
py::bytes ToBytes(const Pipeline& pipeline) { return pipeline.def().SerializeAsString(); }
Pipeline FromBytes(const std::string& bytes) {
  v1::PipelineDef def;
  if (!def.ParseFromString(bytes))
    Raise(absl::InvalidArgumentError("these bytes are no pipeline of this version of headrace"));
  return Pipeline(std::move(def), SharedCatalog());
}

std::vector<FormatWords> Words(const FormatRegistry& formats) {
  std::vector<FormatWords> words;
  for (const FormatSpec* spec : formats.All())
    words.push_back({spec->name, spec->help, spec->params, spec->extensions});
  return words;
}

Pipeline Read(const std::vector<std::string>& files, const std::string& format,
              const py::dict& params, const std::string& location) {
  v1::PipelineDef def;
  for (const std::string& file : files) def.mutable_source()->add_files(AbsolutePath(file));
  def.mutable_source()->set_format(format);
  *def.mutable_source()->mutable_params() = ToValueMap(params);
  def.mutable_source()->set_location(location);
  return Pipeline(std::move(def), SharedCatalog());
}

Pipeline FromYaml(const std::string& text, const std::string& name) {
  const std::shared_ptr<const Catalog> catalog = SharedCatalog();
  const std::vector<FormatWords> formats = Words(catalog->formats);
  const std::vector<std::string> passes = catalog->passes.names();
  v1::PipelineDef def =
      ValueOrRaise(ReadYaml(text, name, YamlWords{catalog->ops, formats, passes}));
  for (std::string& file : *def.mutable_source()->mutable_files()) file = AbsolutePath(file);
  return Pipeline(std::move(def), catalog);
}

py::list Steps() {
  py::list out;
  for (const OpSpec* spec : SharedCatalog()->ops.All()) {
    if (spec->internal || spec->name.starts_with("_")) continue;
    py::list params;
    for (const ParamSpec* p : PythonOrder(*spec)) {
      py::dict param;
      param["name"] = p->name;
      param["type"] = std::string(Name(p->type));
      param["required"] = p->required;
      param["help"] = p->help;
      params.append(param);
    }
    py::dict step;
    step["name"] = spec->name;
    step["help"] = spec->help;
    step["params"] = params;
    step["map_param"] = spec->map_param;
    out.append(step);
  }
  return out;
}

}  // namespace

std::shared_ptr<const Catalog> SharedCatalog() {
  static const std::shared_ptr<const Catalog> catalog = std::make_shared<Catalog>();
  return catalog;
}

py::list FieldList(const Schema& schema) {
  py::list out;
  for (const Field& field : schema.fields()) {
    py::object dims = py::none();
    if (field.shape.has_rank()) {
      py::list known;
      for (int64_t dim : field.shape.dims())
        known.append(dim < 0 ? py::object(py::none()) : py::object(py::int_(dim)));
      dims = py::tuple(known);
    }
    out.append(py::make_tuple(field.name, std::string(Name(field.dtype)), dims));
  }
  return out;
}

Pipeline::Pipeline(v1::PipelineDef def, std::shared_ptr<const Catalog> catalog)
    : def_(std::move(def)),
      catalog_(std::move(catalog)),
      source_schema_(SourceSchema(def_.source(), *catalog_)) {
  Check();
}

void Pipeline::Check() const {
  if (source_schema_) RaiseIfError(Graph::Build(def_, *source_schema_, catalog_->ops).status());
}

Pipeline Pipeline::With(const std::string& op, const py::dict& params,
                        const std::string& location) const {
  Pipeline longer = *this;
  v1::Step* step = longer.def_.add_steps();
  step->set_op(op);
  step->set_location(location);
  *step->mutable_params() = ToValueMap(params);
  longer.Check();
  return longer;
}

Pipeline Pipeline::WithOptions(const py::dict& options) const {
  Pipeline out = *this;
  for (const auto& [key, value] : options) {
    const std::string name = py::str(key);
    if (name == "name") {
      out.def_.set_name(value.cast<std::string>());
    } else if (name == "seed") {
      out.def_.set_seed(value.cast<uint64_t>());
    } else if (name == "on_error") {
      const std::string policy = value.cast<std::string>();
      if (policy != "fail" && policy != "skip")
        throw py::value_error("on_error: 'fail' or 'skip', not '" + policy + "'");
      out.def_.mutable_errors()->set_on_error(policy == "skip" ? v1::ON_ERROR_SKIP
                                                               : v1::ON_ERROR_FAIL);
    } else if (name == "max_errors" && py::isinstance<py::float_>(value)) {
      out.def_.mutable_errors()->set_max_error_fraction(value.cast<double>());
    } else if (name == "max_errors") {
      out.def_.mutable_errors()->set_max_errors(value.cast<uint64_t>());
    } else {
      throw py::type_error("unknown option '" + name +
                           "' (known: name, seed, on_error, max_errors)");
    }
  }
  return out;
}

py::object Pipeline::schema() const {
  if (!source_schema_) return py::none();
  const Graph graph = ValueOrRaise(Graph::Build(def_, *source_schema_, catalog_->ops));
  return FieldList(*graph.output_schema());
}

std::string Pipeline::yaml() const { return ValueOrRaise(PrintYaml(def_, catalog_->ops)); }
std::string Pipeline::python() const { return ValueOrRaise(PrintPython(def_, catalog_->ops)); }
std::string Pipeline::fingerprint() const {
  if (!source_schema_)
    Raise(absl::FailedPreconditionError(
        "the files cannot be seen from here, so the pipeline is not checked yet"));
  return ValueOrRaise(Graph::Build(def_, *source_schema_, catalog_->ops)).fingerprint();
}

void BindPipeline(py::module_& module) {
  py::class_<Pipeline>(module, "Pipeline")
      .def("with_step", &Pipeline::With)
      .def("with_options", &Pipeline::WithOptions)
      .def("schema", &Pipeline::schema)
      .def("yaml", &Pipeline::yaml)
      .def("python", &Pipeline::python)
      .def("fingerprint", &Pipeline::fingerprint)
      .def("to_bytes", &ToBytes)
      .def_static("from_bytes", &FromBytes);
  module.def("read", &Read);
  module.def("from_yaml", &FromYaml);
  module.def("steps", &Steps);
}

}  // namespace headrace::python
