package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lightninglabs/pool/account"
)

// busyWriter is set in the child process of the test that kills it.
const busyWriter = "AUCTIONEER_TEST_WRITES"

func TestMain(m *testing.M) {
	if path := os.Getenv(busyWriter); path != "" {
		writeForEver(path)
	}
	os.Exit(m.Run())
}

func writeForEver(path string) {
	store, err := openStore(path, "simnet")
	if err != nil {
		panic(err)
	}
	for {
		err := store.Update(func(s *State) error {
			s.Attempts++
			s.Accounts[Key{2, byte(s.Attempts)}] = Account{
				Status: Open, LatestTx: make([]byte, 10_000),
			}
			return nil
		})
		if err != nil {
			panic(err)
		}
	}
}

func TestAStateThatIsKilledWhileWritingIsWholeAndNotOlderThanBefore(
	t *testing.T) {

	path := filepath.Join(t.TempDir(), "state.json")
	var before uint32
	for round := range 15 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), busyWriter+"="+path)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the child writes", func() bool {
			raw, err := os.ReadFile(path)
			return err == nil && json.Valid(raw) &&
				attempts(t, raw) > before+1
		})
		time.Sleep(time.Duration(round) * time.Millisecond / 3)
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		store, err := openStore(path, "simnet")
		if err != nil {
			t.Fatalf("after kill %d: %v", round, err)
		}
		after := store.View().Attempts
		if after <= before {
			t.Fatalf("%d became %d", before, after)
		}
		before = after
	}
	leftovers, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(leftovers) != 0 {
		t.Fatalf("%v, %v", leftovers, err)
	}
}

func attempts(t *testing.T, raw []byte) uint32 {
	var state State
	if err := json.Unmarshal(raw, &state); err != nil {
		t.Fatal(err)
	}
	return state.Attempts
}

func TestAChangeThatIsRefusedOrCannotBeWrittenHasNotHappened(t *testing.T) {
	folder := t.TempDir()
	store, err := openStore(filepath.Join(folder, "state.json"), "simnet")
	if err != nil {
		t.Fatal(err)
	}
	add := func(s *State) error {
		s.Attempts++
		s.Accounts[Key{2}] = Account{Status: Open}
		s.Batches = append(s.Batches, Batch{})
		return nil
	}
	refuse := func(s *State) error {
		_ = add(s)
		return errors.New("no")
	}
	if store.Update(refuse) == nil {
		t.Fatal("the refusal was lost")
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if store.Update(add) == nil {
		t.Fatal("it was written to a folder that is not there")
	}
	if s := store.View(); s.Attempts != 0 || len(s.Accounts) != 0 ||
		len(s.Batches) != 0 {

		t.Fatalf("%+v", s)
	}
}

func TestAStateBelongsToOneNetwork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	store, err := openStore(path, "simnet")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Update(func(*State) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(path, "regtest"); err == nil ||
		!strings.Contains(err.Error(), "belongs to simnet") {

		t.Fatalf("%v", err)
	}
}

func TestANewStateBeginsWhereEveryPoolAuctionBegins(t *testing.T) {
	store, err := openStore(filepath.Join(t.TempDir(), "state.json"), "simnet")
	if err != nil {
		t.Fatal(err)
	}
	if got := store.View().NextBatch.Hex(); got != account.InitialBatchKey {
		t.Fatal(got)
	}
}

func TestKeysAreRandomPrivateAndNeverReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	if _, err := loadKeys(path, false); err == nil ||
		!strings.Contains(err.Error(), "missing") {

		t.Fatalf("%v", err)
	}
	first, err := loadKeys(path, true)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	again, err := loadKeys(path, true)
	if err != nil || !again.Auctioneer.PubKey().IsEqual(
		first.Auctioneer.PubKey()) {

		t.Fatalf("%v", err)
	}
	other, err := loadKeys(filepath.Join(t.TempDir(), "keys.json"), true)
	if err != nil || other.Auctioneer.PubKey().IsEqual(
		first.Auctioneer.PubKey()) ||
		first.Auctioneer.PubKey().IsEqual(first.Revenue.PubKey()) {

		t.Fatalf("%v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := loadKeys(path, true); err == nil ||
		!strings.Contains(err.Error(), "chmod 600") {

		t.Fatalf("%v", err)
	}
	for _, broken := range []string{"", "{}", `{"auctioneer": "00"}`} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadKeys(path, true); err == nil {
			t.Fatalf("%q was taken for keys", broken)
		}
	}
}
