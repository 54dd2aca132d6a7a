// Command companion reports to the platform what an lnd leaves in its home. See README.md.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"
)

const (
	// A changed backup has 5 s to arrive.
	lookEvery = 2 * time.Second
	walkEvery = 10 * time.Second
	// Without news: disk use and height.
	reportEvery  = 5 * time.Minute
	longestPause = 15 * time.Second
	// Once lnd has ended and we are told to.
	lastPatience = 10 * time.Second
)

func main() {
	log.SetFlags(log.LstdFlags | log.LUTC)
	debug.SetGCPercent(50)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(arguments []string) error {
	if len(arguments) > 0 && arguments[0] == "try" {
		try(os.Stdout, policyPatience, arguments[1:])
		return nil
	}
	if len(arguments) > 0 && arguments[0] == "copy" {
		return copyHome(arguments[1:])
	}
	flags := flag.NewFlagSet("companion", flag.ContinueOnError)
	node := flags.String("node", "", "the id of the node")
	home := flags.String("home", "", "lnd's home")
	backup := flags.String("backup", "", "lnd's channel.backup")
	lndLog := flags.String("log", "", "lnd's log")
	from := flags.String("from", "", "the folder with url, name, ca.pem and token")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	for _, each := range []string{*node, *home, *backup, *lndLog, *from} {
		if each == "" {
			return errors.New("-node, -home, -backup, -log and -from are needed")
		}
	}
	number := make([]byte, 8)
	if _, err := rand.Read(number); err != nil {
		return err
	}
	watch := &watcher{
		home:  *home,
		file:  backupFile{path: *backup},
		log:   logFile{path: *lndLog},
		graph: graphFile{path: graphOf(*home, *backup)},
		run:   hex.EncodeToString(number),
	}
	// Before lnd begins: what one said that ended with its machine.
	watch.tail = watch.log.tail()
	platform := &platform{folder: filepath.Clean(*from), node: *node}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	loop(ctx, watch, platform)
	return nil
}

// loop reports news until it is told to stop, and then what lnd left at its end.
func loop(ctx context.Context, watch *watcher, to *platform) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failures := 0
	said := ""
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.Background(), lastPatience)
			defer cancel()
			watch.look(time.Now(), true)
			watch.tail = watch.log.tail()
			if err := watch.report(last, time.Now(), to, true); err != nil {
				log.Printf("the last report was not taken: %v", err)
			}
			return
		case <-timer.C:
		}
		now := time.Now()
		watch.look(now, false)
		err := watch.report(ctx, now, to, false)
		if err == nil {
			if said != "" {
				log.Print("the platform takes reports again")
			}
			failures, said = 0, ""
			timer.Reset(lookEvery)
			continue
		}
		if text := fmt.Sprint(err); text != said {
			log.Printf("not taken, and reported again: %s", text)
			said = text
		}
		timer.Reset(pause(failures))
		failures++
	}
}

// pause is how long to wait after so many failures in a row.
func pause(failures int) time.Duration {
	return min(lookEvery<<min(failures, 4), longestPause)
}
