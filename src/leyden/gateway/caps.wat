;; How many connections one source, and one node, may have at a time.
;;
;; Envoy counts connections of a filter chain, not of a source. This filter does: it
;; runs once when a connection has been let in by a whitelist, and once at its end, and
;; never sees a byte of what is said. It counts in gauges, the one thing that Envoy's
;; threads share which is cheap to change. Each has a number, under which every thread
;; finds it again:
;;   - 2^16 for sources, by the hash of the address (of an IPv6 address the first 64
;;     bits, for a whole /64 is one customer), so that no number of sources fills the
;;     memory;
;;   - 2^20 for nodes, by the hash of the name, for both doors together.
;; The VM's configuration is two little-endian 32-bit numbers: the caps.
;;
;; caps.wasm is this file through any WAT compiler; a test compares the two.
(module
  (import "env" "proxy_get_property"
    (func $property (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_get_buffer_bytes"
    (func $buffer (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_define_metric"
    (func $define (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_increment_metric"
    (func $increment (param i32 i64) (result i32)))
  (import "env" "proxy_get_metric" (func $read (param i32 i32) (result i32)))
  (import "env" "proxy_close_stream" (func $close (param i32) (result i32)))

  ;; The first page:
  ;;   0 a pointer from the host   4 its length   8 a gauge's number at the host
  ;;   16 a gauge's value   24 a gauge's name   32, 64 paths   1024 what the host gives
  ;; then, four bytes a gauge, its number at the host plus one, 0 if not defined here:
  ;; a quarter of a MiB for sources, four MiB for nodes; then, sixteen bytes each, what
  ;; the latest 2^16 connections were counted in.
  (memory (export "memory") 85)
  (global $sources i32 (i32.const 0x10000))
  (global $nodes i32 (i32.const 0x50000))
  (global $latest i32 (i32.const 0x450000))
  (data (i32.const 32) "source\00address")
  (data (i32.const 64) "connection\00requested_server_name")
  (global $heap (mut i32) (i32.const 1024))
  (global $per_source (mut i64) (i64.const 0))
  (global $per_node (mut i64) (i64.const 0))

  (func (export "proxy_abi_version_0_2_1"))

  ;; What the host gives us here is used before we return: nothing is ever freed, each
  ;; call starts at the bottom again.
  (func (export "proxy_on_memory_allocate") (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $heap))
    (global.set $heap
      (i32.add (local.get $at)
        (i32.and (i32.add (local.get $size) (i32.const 15)) (i32.const -8))))
    (if (result i32) (i32.gt_u (global.get $heap) (i32.const 0x10000))
      (then (unreachable)) ;; an address and a name take a few hundred bytes
      (else (local.get $at))))

  (func (export "proxy_on_vm_start") (param $root i32) (param $size i32) (result i32)
    (global.set $heap (i32.const 1024))
    (if (i32.or (i32.ne (local.get $size) (i32.const 8))
          (call $buffer (i32.const 6) (i32.const 0) (i32.const 8)
            (i32.const 0) (i32.const 4)))
      (then (return (i32.const 0))))
    (global.set $per_source (i64.load32_u (i32.load (i32.const 0))))
    (global.set $per_node (i64.load32_u offset=4 (i32.load (i32.const 0))))
    (i32.const 1))

  (func (export "proxy_on_context_create") (param i32 i32))

  ;; Fetch a text into 0 (where) and 4 (how long); an absent one is empty.
  (func $text (param $path i32) (param $size i32)
    (global.set $heap (i32.const 1024))
    (i32.store (i32.const 4) (i32.const 0))
    (drop (call $property (local.get $path) (local.get $size)
      (i32.const 0) (i32.const 4))))

  ;; The FNV-1a hash of an address without its port, in 16 bits.
  (func $source (result i32)
    (local $at i32) (local $end i32) (local $char i32) (local $colons i32)
    (local $v6 i32) (local $hash i32)
    (call $text (i32.const 32) (i32.const 14))
    (local.set $at (i32.load (i32.const 0)))
    (local.set $end (i32.add (local.get $at) (i32.load (i32.const 4))))
    (local.set $hash (i32.const 0x811c9dc5))
    (if (i32.lt_u (local.get $at) (local.get $end))
      (then (local.set $v6 (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x5b)))))
    (block $hashed
      (loop $next
        (br_if $hashed (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $char (i32.load8_u (local.get $at)))
        (if (i32.eq (local.get $char) (i32.const 0x3a)) ;; a colon
          (then
            ;; 192.0.2.1:4711 ends at its only one
            (br_if $hashed (i32.eqz (local.get $v6)))
            ;; [2001:db8:1:2:3:4:5:6] after four groups, [2001:db8::1] where the zeros
            ;; begin, which is no later
            (local.set $colons (i32.add (local.get $colons) (i32.const 1)))
            (br_if $hashed (i32.eq (local.get $colons) (i32.const 4)))
            (br_if $hashed
              (i32.eq (i32.load8_u offset=1 (local.get $at)) (i32.const 0x3a)))))
        (local.set $hash
          (i32.mul (i32.xor (local.get $hash) (local.get $char))
            (i32.const 16777619)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (i32.and (i32.const 0xffff)
      (i32.xor (local.get $hash) (i32.shr_u (local.get $hash) (i32.const 16)))))

  ;; The same hash of a name, in 20 bits; Envoy has made it lower case, and with a dot at
  ;; its end it is the same name.
  (func $node (result i32)
    (local $at i32) (local $end i32) (local $hash i32)
    (call $text (i32.const 64) (i32.const 32))
    (local.set $at (i32.load (i32.const 0)))
    (local.set $end (i32.add (local.get $at) (i32.load (i32.const 4))))
    (local.set $hash (i32.const 0x811c9dc5))
    (if (i32.lt_u (local.get $at) (local.get $end))
      (then
        (if (i32.eq (i32.const 0x2e)
              (i32.load8_u (i32.sub (local.get $end) (i32.const 1))))
          (then (local.set $end (i32.sub (local.get $end) (i32.const 1)))))))
    (block $hashed
      (loop $next
        (br_if $hashed (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $hash
          (i32.mul
            (i32.xor (local.get $hash) (i32.load8_u (local.get $at)))
            (i32.const 16777619)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (i32.and (i32.const 0xfffff)
      (i32.xor (local.get $hash) (i32.shr_u (local.get $hash) (i32.const 20)))))

  ;; Find the host's number of a gauge; the first time, make its name of a letter and
  ;; five letters from a to p, one for each four bits.
  (func $gauge (param $table i32) (param $letter i32) (param $number i32) (result i32)
    (local $slot i32) (local $at i32)
    (local.set $slot
      (i32.add (local.get $table) (i32.shl (local.get $number) (i32.const 2))))
    (if (i32.eqz (i32.load (local.get $slot)))
      (then
        (i32.store8 (i32.const 24) (local.get $letter))
        (local.set $at (i32.const 29))
        (loop $next
          (i32.store8 (local.get $at)
            (i32.add (i32.const 0x61)
              (i32.and (local.get $number) (i32.const 15))))
          (local.set $number (i32.shr_u (local.get $number) (i32.const 4)))
          (local.set $at (i32.sub (local.get $at) (i32.const 1)))
          (br_if $next (i32.gt_u (local.get $at) (i32.const 24))))
        (if (call $define (i32.const 1) (i32.const 24) (i32.const 6) (i32.const 8))
          (then (unreachable)))
        (i32.store (local.get $slot)
          (i32.add (i32.load (i32.const 8)) (i32.const 1)))))
    (i32.sub (i32.load (local.get $slot)) (i32.const 1)))

  ;; Add to a gauge and give what it is then, or a little more when another thread was
  ;; at it too: the cap may bite one too early, never too late.
  (func $add (param $gauge i32) (param $delta i64) (result i64)
    (if (i32.or
          (call $increment (local.get $gauge) (local.get $delta))
          (call $read (local.get $gauge) (i32.const 16)))
      (then (unreachable)))
    (i64.load (i32.const 16)))

  (func $source_gauge (result i32)
    (call $gauge (global.get $sources) (i32.const 0x73) (call $source)))
  (func $node_gauge (result i32)
    (call $gauge (global.get $nodes) (i32.const 0x6e) (call $node)))

  ;; 0: go on, 1: no further
  (func (export "proxy_on_new_connection") (param $context i32) (result i32)
    (local $source i32) (local $node i32) (local $at i32) (local $over i32)
    (local.set $source (call $source_gauge))
    (local.set $node (call $node_gauge))
    (local.set $at (call $place (local.get $context)))
    (i32.store (local.get $at) (local.get $context))
    (i32.store offset=4 (local.get $at) (local.get $source))
    (i32.store offset=8 (local.get $at) (local.get $node))
    (local.set $over
      (i32.or
        (i64.gt_u (call $add (local.get $source) (i64.const 1))
          (global.get $per_source))
        (i64.gt_u (call $add (local.get $node) (i64.const 1))
          (global.get $per_node))))
    (if (local.get $over) (then (drop (call $close (i32.const 2)))))
    (local.get $over))

  ;; Once for every connection, those we refused and those Envoy cut included. What the
  ;; host tells of it costs more than all the rest, so it is asked again only where
  ;; 2^16 others have come since.
  (func (export "proxy_on_downstream_connection_close") (param $context i32) (param i32)
    (local $at i32)
    (local.set $at (call $place (local.get $context)))
    (if (i32.ne (i32.load (local.get $at)) (local.get $context))
      (then
        (drop (call $add (call $source_gauge) (i64.const -1)))
        (drop (call $add (call $node_gauge) (i64.const -1))))
      (else
        (drop (call $add (i32.load offset=4 (local.get $at)) (i64.const -1)))
        (drop (call $add (i32.load offset=8 (local.get $at)) (i64.const -1))))))

  (func $place (param $context i32) (result i32)
    (i32.add (global.get $latest)
      (i32.shl (i32.and (local.get $context) (i32.const 0xffff)) (i32.const 4))))
)
