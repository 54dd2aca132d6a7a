// An ACME server for tests, with the dependencies that it was released with.
module leyden.invalid/tests/pebble-2.9.0

go 1.24.0

require github.com/letsencrypt/pebble/v2 v2.9.0

require (
	github.com/go-jose/go-jose/v4 v4.1.3 // indirect
	github.com/letsencrypt/challtestsrv v1.3.2 // indirect
	github.com/miekg/dns v1.1.62 // indirect
	golang.org/x/mod v0.24.0 // indirect
	golang.org/x/net v0.40.0 // indirect
	golang.org/x/sync v0.14.0 // indirect
	golang.org/x/sys v0.33.0 // indirect
	golang.org/x/tools v0.33.0 // indirect
)
