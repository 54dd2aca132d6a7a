package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyPrivateChainsCanBeServed(t *testing.T) {
	for _, name := range []string{
		"mainnet", "bitcoin", "main", "testnet", "testnet3", "testnet4",
		"signet", "", "SIMNET",
	} {
		_, err := networkByName(name)
		if err == nil || !strings.Contains(err.Error(), "refused") {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, params := range networks {
		if params.Name != name || params.Bech32HRPSegwit == "bc" ||
			params.Bech32HRPSegwit == "tb" {

			t.Fatalf("%s is %s", name, params.Name)
		}
	}
}

func TestOptionsThatMakeNoSenseAreRefusedInOneLine(t *testing.T) {
	needed := []string{
		"-home", "h", "-btcd-cert", "c", "-btcd-credentials", "f",
	}
	for _, wrong := range [][]string{
		{"-network", "mainnet"}, {"-batch-fee", "253"}, {"extra"},
		{"-durations", "2016,never"}, {"-durations", "100"},
		{"-max-account", "1"}, {"-every", "-1s"}, {"-fee-rate", "-1"},
		{"-home", ""},
	} {
		_, err := parseOptions(append(needed[:len(needed):len(needed)],
			wrong...), io.Discard)
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%v: %v", wrong, err)
		}
	}
	options, err := parseOptions(needed, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if options.params.Name != "simnet" || len(options.terms.Durations) != 8 ||
		options.terms.BatchFee != 500 || options.terms.Every != 0 {

		t.Fatalf("%+v", options)
	}
}

func TestRunFailsInOneLineBeforeItOpensAPort(t *testing.T) {
	home := t.TempDir()
	certificate := filepath.Join(home, "rpc.cert")
	credentials := filepath.Join(home, "credentials")
	write := func(path, content string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	arguments := []string{
		"-home", home, "-btcd-cert", certificate, "-btcd", "127.0.0.1:1",
		"-btcd-credentials", credentials,
	}
	want := func(part string) {
		t.Helper()
		err := run(arguments, io.Discard)
		if err == nil || !strings.Contains(err.Error(), part) ||
			strings.Contains(err.Error(), "\n") {

			t.Fatalf("%v", err)
		}
	}
	want("rpc.cert: no such file")
	write(certificate, "not a certificate", 0o644)
	want("holds no certificate")
	backend := newFakeBtcd(t)
	write(certificate, backend.certificate, 0o644)
	want("credentials: no such file")
	write(credentials, "user:password", 0o644)
	want("chmod 600")
	write(credentials, "nothing", 0o600)
	want("should hold user:password")
	write(credentials, "alice:lighthouse\n", 0o600)
	want("btcd does not answer")
	arguments = append(arguments, "-btcd", backend.address)
	backend.answer("getblockhash", `"00"`)
	want("btcd is not on simnet")
	unlock, err := lock(filepath.Join(home, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	want("another auctioneer works in")
}
