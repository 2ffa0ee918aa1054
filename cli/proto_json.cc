#include "cli/proto_json.h"

#include <string>

namespace headrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

nlohmann::json Item(const Message& m, const Reflection& r, const FieldDescriptor* f, int i) {
  const bool repeated = f->is_repeated();
  switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return repeated ? r.GetRepeatedBool(m, f, i) : r.GetBool(m, f);
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? r.GetRepeatedInt32(m, f, i) : r.GetInt32(m, f);
    case FieldDescriptor::CPPTYPE_INT64:
      return repeated ? r.GetRepeatedInt64(m, f, i) : r.GetInt64(m, f);
    case FieldDescriptor::CPPTYPE_UINT32:
      return repeated ? r.GetRepeatedUInt32(m, f, i) : r.GetUInt32(m, f);
    case FieldDescriptor::CPPTYPE_UINT64:
      return repeated ? r.GetRepeatedUInt64(m, f, i) : r.GetUInt64(m, f);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return repeated ? r.GetRepeatedFloat(m, f, i) : r.GetFloat(m, f);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return repeated ? r.GetRepeatedDouble(m, f, i) : r.GetDouble(m, f);
    case FieldDescriptor::CPPTYPE_ENUM:
      return repeated ? r.GetRepeatedEnum(m, f, i)->name() : r.GetEnum(m, f)->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return repeated ? r.GetRepeatedString(m, f, i) : r.GetString(m, f);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(repeated ? r.GetRepeatedMessage(m, f, i) : r.GetMessage(m, f));
  }
  return nullptr;
}

}  // namespace

nlohmann::json ToJson(const Message& message) {
  nlohmann::json out = nlohmann::json::object();
  const Reflection& r = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* f = message.GetDescriptor()->field(i);
    if (f->is_repeated()) {
      nlohmann::json items = nlohmann::json::array();
      for (int k = 0; k < r.FieldSize(message, f); ++k) items.push_back(Item(message, r, f, k));
      out[f->name()] = std::move(items);
    } else if (f->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || r.HasField(message, f)) {
      out[f->name()] = Item(message, r, f, 0);
    }
  }
  return out;
}

}  // namespace headrace
