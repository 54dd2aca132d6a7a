// Command auctioneer runs an auction for channel leases on a private chain: the
// other side of Lightning Pool's poold. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// farewellPatience is how long traders may take to hang up when we stop.
const farewellPatience = 2 * time.Second

func main() {
	log.SetFlags(log.LstdFlags | log.Lmicroseconds | log.LUTC)
	err := run(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errVersion):
		fmt.Println(err)
	case err != nil:
		fmt.Fprintf(os.Stderr, "auctioneer: %v\n", err)
		os.Exit(1)
	}
}

// run serves until the process is told to stop.
func run(arguments []string, output io.Writer) error {
	options, err := parseOptions(arguments, output)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(
		context.Background(), syscall.SIGINT, syscall.SIGTERM,
	)
	defer stop()

	if err := os.MkdirAll(options.home, 0o700); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(options.home, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	store, err := openStore(
		filepath.Join(options.home, "state.json"), options.params.Name,
	)
	if err != nil {
		return err
	}
	keys, err := loadKeys(filepath.Join(options.home, "keys.json"),
		len(store.View().Accounts) == 0)
	if err != nil {
		return err
	}
	chain, err := dialBtcd(options.btcd, options.btcdCertificate,
		options.btcdCredentials)
	if err != nil {
		return err
	}
	if err := chain.verify(ctx, options.params); err != nil {
		return err
	}
	auction := newAuction(options.params, options.terms, keys, store, chain,
		time.Now)
	return serve(ctx, auction, options)
}

// serve opens both ports and runs until the context ends.
func serve(ctx context.Context, a *Auction, options *Options) error {
	listener, err := net.Listen("tcp", options.listen)
	if err != nil {
		return err
	}
	controls, web, err := serveControl(options.control, a.control())
	if err != nil {
		return err
	}
	server := newServer(a, newMail())
	go a.watch(ctx)
	go a.clearRegularly(ctx)
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	go func() { failed <- web.Serve(controls) }()
	log.Printf("auction on %s: traders at %s, control at %s",
		a.params.Name, listener.Addr(), controls.Addr())
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	// There is nothing that is not on the disk.
	a.crowd.farewell(farewellPatience)
	server.Stop()
	return errors.Join(err, web.Close())
}

func newServer(a *Auction, mail *Mail) *grpc.Server {
	server := grpc.NewServer(
		// poold pings every 10 s, also without a stream.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: 5 * time.Second, PermitWithoutStream: true,
		}),
		// A poold that is cut off must not look connected. But one on a busy
		// machine may be late by many seconds, and once its connection is broken
		// it never subscribes a sidecar ticket's recipient again.
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: 15 * time.Second, Timeout: time.Minute,
		}),
	)
	rpc.RegisterChannelAuctioneerServer(server, a)
	rpc.RegisterHashMailServer(server, mail)
	return server
}

// clearRegularly tries a batch each time the interval has passed. When nothing
// matches that costs nothing.
func (a *Auction) clearRegularly(ctx context.Context) {
	if a.terms.Every == 0 {
		return
	}
	for range ticks(ctx, a.terms.Every) {
		a.mu.Lock()
		a.nextClear = a.now().Add(a.terms.Every)
		a.mu.Unlock()
		if _, err := a.tick(ctx); err != nil && ctx.Err() == nil {
			log.Printf("no batch: %v", err)
		}
	}
}
