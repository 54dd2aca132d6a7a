package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/lightningnetwork/lnd/lnwallet/chainfee"
)

// minBatchFee is the lowest fee rate of a batch. What the traders pay does not
// cover every byte of it, so that the relay's own minimum would be too low.
const minBatchFee chainfee.SatPerKWeight = 500

// version is what -version prints.
const version = "0.1.0"

// errVersion ends the program once the version is told.
var errVersion = errors.New("auctioneer version " + version)

// Options are what the command line says.
type Options struct {
	home, listen, control string
	params                *chaincfg.Params
	btcd, btcdCertificate string
	btcdCredentials       string
	terms                 Terms
}

// parseOptions reads the command line. No secret is ever on it.
func parseOptions(arguments []string, output io.Writer) (*Options, error) {
	flags := flag.NewFlagSet("auctioneer", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // a mistake gets one line, not a page
	o := &Options{}
	text := func(into *string, name, value, usage string) {
		flags.StringVar(into, name, value, usage)
	}
	text(&o.home, "home", "", "folder for keys and state (required)")
	network := flags.String("network", "simnet", "simnet or regtest")
	text(&o.listen, "listen", "127.0.0.1:12010", "where traders connect")
	text(&o.control, "control", "127.0.0.1:12011",
		"where GET /status and POST /tick are answered; loopback only")
	text(&o.btcd, "btcd", "127.0.0.1:18556", "btcd's RPC address")
	text(&o.btcdCertificate, "btcd-cert", "", "btcd's rpc.cert (required)")
	text(&o.btcdCredentials, "btcd-credentials", "",
		"file with user:password for btcd, mode 0600 (required)")
	maxAccount := flags.Int64("max-account", 1_000_000_000,
		"largest account, in sat")
	baseFee := flags.Int64("base-fee", 1, "execution fee a match, in sat")
	feeRate := flags.Int64("fee-rate", 1000,
		"execution fee in millionths of the amount")
	batchFee := flags.Int64("batch-fee", int64(minBatchFee),
		"miner's fee of a batch, in sat/kw")
	durations := flags.String("durations",
		"2016,4032,6048,8064,12096,16128,24192,52416",
		"lengths of leases, in blocks")
	renewal := flags.Uint("renewal", 3024,
		"blocks an account lives at least after a batch; 0: as before")
	flags.DurationVar(&o.terms.Apart, "apart", 2*time.Minute,
		"how long orders that spoiled a batch are kept apart")
	flags.DurationVar(&o.terms.Every, "every", 0,
		"time between batches; 0: only by POST /tick")
	told := flags.Bool("version", false, "print the version")
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(output)
		flags.PrintDefaults()
	}
	if err != nil {
		return nil, err
	}
	if *told {
		return nil, errVersion
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not understood", flags.Arg(0))
	}
	for name, value := range map[string]string{
		"-home": o.home, "-btcd-cert": o.btcdCertificate,
		"-btcd-credentials": o.btcdCredentials,
	} {
		if value == "" {
			return nil, fmt.Errorf("%s is required", name)
		}
	}
	if o.params, err = networkByName(*network); err != nil {
		return nil, err
	}
	if o.terms.Durations, err = parseDurations(*durations); err != nil {
		return nil, err
	}
	if *maxAccount < int64(minAccount) || *baseFee < 0 || *feeRate < 0 {
		return nil, errors.New("-max-account, -base-fee and -fee-rate: out " +
			"of range")
	}
	if *batchFee < int64(minBatchFee) {
		return nil, fmt.Errorf("-batch-fee %d is under %d sat/kw", *batchFee,
			int64(minBatchFee))
	}
	if o.terms.Every < 0 || o.terms.Apart < 0 {
		return nil, errors.New("-every and -apart cannot be negative")
	}
	o.terms.MaxAccount = btcutil.Amount(*maxAccount)
	o.terms.BaseFee, o.terms.FeeRate = btcutil.Amount(*baseFee),
		btcutil.Amount(*feeRate)
	o.terms.BatchFee = chainfee.SatPerKWeight(*batchFee)
	o.terms.Renewal = uint32(*renewal)
	return o, nil
}

func parseDurations(text string) ([]uint32, error) {
	var durations []uint32
	for _, word := range strings.Split(text, ",") {
		blocks, err := strconv.ParseUint(strings.TrimSpace(word), 10, 32)
		if err != nil || blocks == 0 || blocks%144 != 0 {
			return nil, fmt.Errorf("-durations: %q is not a number of days' "+
				"blocks", word)
		}
		durations = append(durations, uint32(blocks))
	}
	return durations, nil
}
