// How many connections one source, and one node, may have at a time: a proxy-wasm filter.
//
// Envoy counts connections of a filter chain, not of a source. This filter does: it runs
// once when a whitelist has let a connection in, and once at its end, and never sees a
// byte of what is said. It counts in gauges, the one thing that Envoy's threads share
// which is cheap to change. Each has a number, under which every thread finds it again, and
// the hashes have a key that nobody outside knows:
//   - 2^16 for sources, by the hash of the address (of an IPv6 address the first 64 bits,
//     for a whole /64 is one customer), so that no number of sources fills the memory;
//   - 2^20 for nodes, by the hash of the name, for both ports together;
//   - 2^16 for peers, who name no node, by the hash of source and port together: so many
//     sources fill no memory, and one source leaves the others their places;
//   - 2^16 for the pace of sources: the time at which the next one would be in time.
// The VM's configuration is three little-endian 32-bit numbers: how many of a source, how
// many of a node (of a source at a node, for peers), and how many of a source may begin in
// a second (0: any number).
//
// `python -m tests.nodes.gateway.connection_limits` makes connection_limits.wasm of this file;
// a test compares the two.

#include <stdint.h>

#define HOST(name) __attribute__((import_module("env"), import_name(#name))) extern
#define CALLBACK(name) __attribute__((export_name(#name)))
#define LENGTH(text) (sizeof(text) - 1)

enum { GAUGE = 1, DOWNSTREAM = 2, VM_CONFIGURATION = 6 };
enum { SOURCE_BITS = 16, NODE_BITS = 20, LATEST_BITS = 16 };
enum { SECOND_US = 1000 * 1000, AHEAD_S = 10 }; // so many seconds' worth may come at once

HOST(proxy_get_property)
uint32_t get_property(const char *path, uint32_t length, char **value, uint32_t *size);
HOST(proxy_get_buffer_bytes)
uint32_t get_buffer(uint32_t kind, uint32_t start, uint32_t length, char **value,
                    uint32_t *size);
HOST(proxy_define_metric)
uint32_t define_metric(uint32_t kind, const char *name, uint32_t length, uint32_t *id);
HOST(proxy_increment_metric) uint32_t increment_metric(uint32_t id, int64_t by);
HOST(proxy_get_metric) uint32_t get_metric(uint32_t id, uint64_t *value);
HOST(proxy_record_metric) uint32_t record_metric(uint32_t id, uint64_t value);
HOST(proxy_get_current_time_nanoseconds) uint32_t get_time(uint64_t *ns);
HOST(proxy_close_stream) uint32_t close_stream(uint32_t kind);

// Each gauge's id at the host plus one; 0 if this thread has not defined it yet.
static uint32_t sources[1 << SOURCE_BITS];
static uint32_t nodes[1 << NODE_BITS];
static uint32_t peers[1 << SOURCE_BITS];
static uint32_t paces[1 << SOURCE_BITS];

static struct {
  uint32_t context, source, node;
} latest[1 << LATEST_BITS];

static uint64_t per_source, per_node, per_second;

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
  if (size != 12 || get_buffer(VM_CONFIGURATION, 0, size, &value, &length))
    return 0;
  per_source = ((uint32_t *)value)[0];
  per_node = ((uint32_t *)value)[1];
  per_second = ((uint32_t *)value)[2];
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

// "leyden hash key!" until `hash_key.py` puts a random one in its place, so that nobody
// can work out whose number they would share, and use up.
static const volatile uint64_t key[2] = {0x68206e656479656c, 0x2179656b20687361};

#define ROTATED(x, by) ((x) << (by) | (x) >> (64 - (by)))

static void rounds(uint64_t *v, int number) { // of SipHash
  while (number-- > 0) {
    v[0] += v[1], v[1] = ROTATED(v[1], 13) ^ v[0], v[0] = ROTATED(v[0], 32);
    v[2] += v[3], v[3] = ROTATED(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = ROTATED(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = ROTATED(v[1], 17) ^ v[2], v[2] = ROTATED(v[2], 32);
  }
}

static void absorb(uint64_t *v, uint64_t word) {
  v[3] ^= word;
  rounds(v, 2);
  v[0] ^= word;
}

// Hash a text, and what was found before it, which is 0 or another hash.
static uint32_t mixed(uint32_t found, const char *text, uint32_t size) { // SipHash-2-4
  uint64_t k0 = key[0] ^ found, k1 = key[1], word = 0;
  uint64_t v[4] = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
                   k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
  for (uint32_t at = 0; at < size; at++) {
    word |= (uint64_t)(uint8_t)text[at] << at % 8 * 8;
    if (at % 8 == 7) {
      absorb(v, word);
      word = 0;
    }
  }
  absorb(v, word | (uint64_t)size << 56);
  v[2] ^= 0xff;
  rounds(v, 4);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint32_t folded(uint32_t found, int bits) {
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
  return mixed(0, address, end);
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

static uint32_t source_gauge(uint32_t from) {
  return gauge(sources, 's', folded(from, SOURCE_BITS));
}

// Envoy has made a name lower case, and with a dot at its end it is the same name.
static uint32_t node_gauge(uint32_t from) {
  static const char NAME[] = "connection\0requested_server_name";
  static const char PORT[] = "destination\0port";
  uint32_t size;
  const char *told = property(NAME, LENGTH(NAME), &size);
  if (size == 0) {
    told = property(PORT, LENGTH(PORT), &size);
    return gauge(peers, 'q', folded(mixed(from, told, size), SOURCE_BITS));
  }
  if (told[size - 1] == '.')
    size--;
  return gauge(nodes, 'n', folded(mixed(0, told, size), NODE_BITS));
}

// Add to a gauge and return what it is then, or a little more when another thread was at
// it too: a limit may bite one too early, never too late.
static uint64_t add(uint32_t id, int64_t by) {
  uint64_t value;
  if (increment_metric(id, by) || get_metric(id, &value))
    __builtin_trap();
  return value;
}

// Tell whether a source begins connections too fast. Its gauge has the time at which its
// next one would be in time, if they came evenly; who is refused does not move it on.
static int hurries(uint32_t from) {
  uint64_t next, now;
  if (per_second == 0)
    return 0;
  uint32_t id = gauge(paces, 'p', folded(from, SOURCE_BITS));
  if (get_metric(id, &next) || get_time(&now))
    __builtin_trap();
  now /= 1000;
  if (next < now)
    next = now;
  if (next + SECOND_US / per_second > now + AHEAD_S * (uint64_t)SECOND_US)
    return 1;
  if (record_metric(id, next + SECOND_US / per_second))
    __builtin_trap();
  return 0;
}

// Return 0 to go on, 1 to go no further.
CALLBACK(proxy_on_new_connection) uint32_t new_connection(uint32_t context) {
  uint32_t at = context % (1 << LATEST_BITS);
  uint32_t caller = source();
  uint32_t from = source_gauge(caller), to = node_gauge(caller);
  latest[at].context = context;
  latest[at].source = from;
  latest[at].node = to;
  // Both are counted, whichever is over its limit: both are counted down at the end.
  int over = add(from, 1) > per_source;
  over |= add(to, 1) > per_node;
  if (!over)
    over = hurries(caller);
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
  uint32_t caller = known ? 0 : source();
  add(known ? latest[at].source : source_gauge(caller), -1);
  add(known ? latest[at].node : node_gauge(caller), -1);
}
