// Short ways to say requests to etcd.
#pragma once

#include <string>
#include <string_view>

#include "dispatcher/etcd/etcd_client.h"

namespace headrace {

inline etcd::Compare CreatedAt(const std::string& key, int64_t revision) {
  etcd::Compare compare;
  compare.set_target(etcd::Compare::CREATE);
  compare.set_key(key);
  compare.set_create_revision(revision);
  return compare;
}
inline etcd::Compare IsAbsent(const std::string& key) { return CreatedAt(key, 0); }
inline etcd::Compare HasValue(const std::string& key, std::string value) {
  etcd::Compare compare;
  compare.set_target(etcd::Compare::VALUE);
  compare.set_key(key);
  compare.set_value(std::move(value));
  return compare;
}

inline etcd::RequestOp Put(const std::string& key, std::string value, int64_t lease = 0) {
  etcd::RequestOp op;
  op.mutable_request_put()->set_key(key);
  op.mutable_request_put()->set_value(std::move(value));
  op.mutable_request_put()->set_lease(lease);
  return op;
}
inline etcd::RequestOp Get(const std::string& key) {
  etcd::RequestOp op;
  op.mutable_request_range()->set_key(key);
  return op;
}
// Keys of [first, end).
inline etcd::RequestOp Delete(const std::string& first, const std::string& end) {
  etcd::RequestOp op;
  op.mutable_request_delete_range()->set_key(first);
  op.mutable_request_delete_range()->set_range_end(end);
  return op;
}

// The end of the range of all keys that begin with `prefix`, whose last byte is not 0xff.
inline std::string EndOfPrefix(std::string prefix) {
  ++prefix.back();
  return prefix;
}

// What Get(key) answered: null where there is no such key. `index`: of the operation.
inline const etcd::KeyValue* KeyValueOf(const etcd::TxnResponse& response, int index) {
  if (index >= response.responses_size()) return nullptr;
  const etcd::RangeResponse& range = response.responses(index).response_range();
  return range.kvs_size() == 0 ? nullptr : &range.kvs(0);
}

}  // namespace headrace
