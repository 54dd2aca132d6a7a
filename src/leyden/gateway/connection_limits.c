// How many connections one source, and one node, may have at a time: a proxy-wasm filter.
//
// Envoy counts connections of a filter chain, not of a source. This filter does: it runs
// once when a whitelist has let a connection in, and once at its end, and never sees a
// byte of what is said. It counts in gauges, the one thing that Envoy's threads share
// which is cheap to change. Each has a number, under which every thread finds it again:
//   - 2^16 for sources, by the hash of the address (of an IPv6 address the first 64 bits,
//     for a whole /64 is one customer), so that no number of sources fills the memory;
//   - 2^20 for nodes, by the hash of the name, for both ports together.
// The VM's configuration is two little-endian 32-bit numbers: the limits.
//
// `python -m tests.gateway.connection_limits` makes connection_limits.wasm of this file;
// a test compares the two.

#include <stdint.h>

#define HOST(name) __attribute__((import_module("env"), import_name(#name))) extern
#define CALLBACK(name) __attribute__((export_name(#name)))
#define LENGTH(text) (sizeof(text) - 1)

enum { GAUGE = 1, DOWNSTREAM = 2, VM_CONFIGURATION = 6 };
enum { SOURCE_BITS = 16, NODE_BITS = 20, LATEST_BITS = 16 };

HOST(proxy_get_property)
uint32_t get_property(const char *path, uint32_t length, char **value, uint32_t *size);
HOST(proxy_get_buffer_bytes)
uint32_t get_buffer(uint32_t kind, uint32_t start, uint32_t length, char **value,
                    uint32_t *size);
HOST(proxy_define_metric)
uint32_t define_metric(uint32_t kind, const char *name, uint32_t length, uint32_t *id);
HOST(proxy_increment_metric) uint32_t increment_metric(uint32_t id, int64_t by);
HOST(proxy_get_metric) uint32_t get_metric(uint32_t id, uint64_t *value);
HOST(proxy_close_stream) uint32_t close_stream(uint32_t kind);

// Each gauge's id at the host plus one; 0 if this thread has not defined it yet.
static uint32_t sources[1 << SOURCE_BITS];
static uint32_t nodes[1 << NODE_BITS];

static struct {
  uint32_t context, source, node;
} latest[1 << LATEST_BITS];

static uint64_t per_source, per_node;

// What the host hands over is used before the callback returns: nothing is ever freed,
// each call starts at the bottom again.
static _Alignas(8) char heap[60 * 1024];
static uint32_t used;

CALLBACK(proxy_on_memory_allocate) void *allocate(uint32_t size) {
  char *at = heap + used;
  if (size > sizeof heap - used) // an address and a name take a few hundred bytes
    __builtin_trap();
  used += (size + 7) & ~7u;
  return at;
}

CALLBACK(proxy_abi_version_0_2_1) void abi_version(void) {}
CALLBACK(proxy_on_context_create) void context_create(uint32_t id, uint32_t parent) {}

CALLBACK(proxy_on_vm_start) uint32_t vm_start(uint32_t context, uint32_t size) {
  char *value;
  uint32_t length;
  used = 0;
  if (size != 8 || get_buffer(VM_CONFIGURATION, 0, size, &value, &length))
    return 0;
  per_source = ((uint32_t *)value)[0];
  per_node = ((uint32_t *)value)[1];
  return 1;
}

// Fetch a property; an absent one is empty.
static const char *property(const char *path, uint32_t length, uint32_t *size) {
  char *value = heap;
  *size = 0;
  used = 0;
  get_property(path, length, &value, size);
  return value;
}

static uint32_t hash(const char *text, uint32_t size, int bits) { // FNV-1a, folded
  uint32_t found = 0x811c9dc5;
  for (uint32_t at = 0; at < size; at++)
    found = (found ^ (uint8_t)text[at]) * 16777619;
  return (found ^ found >> bits) & ((1u << bits) - 1);
}

// 192.0.2.1:4711 is a source up to its colon; [2001:db8:1:2:3:4:5:6]:4711 up to its
// fourth, or to where the zeros begin, which is no later.
static uint32_t source(void) {
  static const char PATH[] = "source\0address";
  uint32_t size, end = 0, colons = 0;
  const char *address = property(PATH, LENGTH(PATH), &size);
  int v6 = size > 0 && address[0] == '[';
  for (; end < size; end++)
    if (address[end] == ':' &&
        (!v6 || ++colons == 4 || (end + 1 < size && address[end + 1] == ':')))
      break;
  return hash(address, end, SOURCE_BITS);
}

// Envoy has made a name lower case, and with a dot at its end it is the same name.
static uint32_t node(void) {
  static const char PATH[] = "connection\0requested_server_name";
  uint32_t size;
  const char *name = property(PATH, LENGTH(PATH), &size);
  if (size > 0 && name[size - 1] == '.')
    size--;
  return hash(name, size, NODE_BITS);
}

// Find the host's id of a gauge. Its name is a letter, and one from a to p for each four
// bits of its number.
static uint32_t gauge(uint32_t *known, char letter, uint32_t number) {
  char name[6] = {letter};
  uint32_t *id = known + number;
  if (*id == 0) {
    for (int at = 5; at > 0; at--, number >>= 4)
      name[at] = 'a' + (number & 15);
    if (define_metric(GAUGE, name, sizeof name, id))
      __builtin_trap();
    ++*id;
  }
  return *id - 1;
}

static uint32_t source_gauge(void) { return gauge(sources, 's', source()); }
static uint32_t node_gauge(void) { return gauge(nodes, 'n', node()); }

// Add to a gauge and return what it is then, or a little more when another thread was at
// it too: a limit may bite one too early, never too late.
static uint64_t add(uint32_t id, int64_t by) {
  uint64_t value;
  if (increment_metric(id, by) || get_metric(id, &value))
    __builtin_trap();
  return value;
}

// Return 0 to go on, 1 to go no further.
CALLBACK(proxy_on_new_connection) uint32_t new_connection(uint32_t context) {
  uint32_t at = context % (1 << LATEST_BITS);
  uint32_t from = source_gauge(), to = node_gauge();
  latest[at].context = context;
  latest[at].source = from;
  latest[at].node = to;
  // Both are counted, whichever is over its limit: both are counted down at the end.
  int over = add(from, 1) > per_source;
  over |= add(to, 1) > per_node;
  if (over)
    close_stream(DOWNSTREAM);
  return over;
}

// Called once for every connection, those refused here and those cut by Envoy included.
// Asking the host costs more than all the rest, so it is asked again only where 2^16
// others have come since.
CALLBACK(proxy_on_downstream_connection_close)
void connection_closed(uint32_t context, uint32_t by) {
  uint32_t at = context % (1 << LATEST_BITS);
  int known = latest[at].context == context;
  add(known ? latest[at].source : source_gauge(), -1);
  add(known ? latest[at].node : node_gauge(), -1);
}
