// The worker's allocator. Batches are tens of megabytes and come and go all the time; glibc maps
// and unmaps each, and the page faults cost more than filling them (docs/design/011-allocator.md).
// jemalloc keeps freed pages for a while instead, big ones too.
extern "C" {
// Read by jemalloc when it starts; MALLOC_CONF in the environment wins.
const char* malloc_conf =
    "oversize_threshold:0,dirty_decay_ms:10000,muzzy_decay_ms:10000,background_thread:false";
}
