package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/lightninglabs/pool/account"
)

// State is everything that must outlive the process. Once published it is
// never changed: Update works on a copy.
type State struct {
	Network string `json:"network"`

	// NextBatch is the ID of the next batch. It rises by the curve's base
	// point with each batch that becomes final, and only then.
	NextBatch Key `json:"next_batch"`

	// Attempts counts every try at a batch: each needs a txid of its own.
	Attempts uint32 `json:"attempts"`

	// Sequence numbers orders, so that the earlier of two equals goes first.
	Sequence uint64 `json:"sequence"`

	Accounts map[Key]Account `json:"accounts"`
	Orders   map[Nonce]Order `json:"orders"`
	Batches  []Batch         `json:"batches"`
}

// Batch is a batch that is final: signed by all, broadcast until it confirms.
type Batch struct {
	ID        Key            `json:"id"`
	Txid      chainhash.Hash `json:"txid"`
	Tx        Blob           `json:"tx"`
	Height    uint32         `json:"height"`
	Made      time.Time      `json:"made"`
	Confirmed bool           `json:"confirmed"`
	Snapshot  Blob           `json:"snapshot"` // BatchSnapshotResponse
	Accounts  []Key          `json:"accounts"`

	// Signers are the identities of the poolds that signed, and Heard those
	// of them that were told the end. See conclude.
	Signers []string `json:"signers"`
	Heard   []string `json:"heard,omitempty"`
}

// unheard returns, for each running poold that has not heard the end of a batch
// it signed, the newest such batch.
func (s *State) unheard() map[string]Batch {
	unheard := map[string]Batch{}
	for _, batch := range s.Batches {
		for _, identity := range batch.Signers {
			if !slices.Contains(batch.Heard, identity) {
				unheard[identity] = batch
			}
		}
	}
	return unheard
}

func (s *State) clone() *State {
	next := *s
	next.Accounts = maps.Clone(s.Accounts)
	next.Orders = maps.Clone(s.Orders)
	next.Batches = slices.Clone(s.Batches)
	return &next
}

// Store keeps the state in one file.
type Store struct {
	path    string
	writing sync.Mutex
	current atomic.Pointer[State]
}

// openStore reads the state, or begins a new one for the network.
func openStore(path, network string) (*Store, error) {
	store := &Store{path: path}
	leftovers, err := filepath.Glob(filepath.Join(
		filepath.Dir(path), "."+filepath.Base(path)+".*",
	))
	if err != nil {
		return nil, err
	}
	for _, leftover := range leftovers { // of a crash while writing
		if err := os.Remove(leftover); err != nil {
			return nil, err
		}
	}
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		state, err := newState(network)
		store.current.Store(state)
		return store, err
	case err != nil:
		return nil, err
	}
	state := &State{}
	if err := json.Unmarshal(raw, state); err != nil {
		return nil, fmt.Errorf("%s cannot be read as state: %w", path, err)
	}
	if state.Network != network {
		return nil, fmt.Errorf("%s belongs to %s, not to %s", path,
			state.Network, network)
	}
	for nonce, o := range state.Orders {
		if state.Orders[nonce], err = o.parsed(); err != nil {
			return nil, fmt.Errorf("%s: order %s: %w", path, nonce, err)
		}
	}
	store.current.Store(state)
	return store, nil
}

// newState begins where every pool auction begins, so that a trader can find
// its accounts on the chain with nothing but its seed and our key.
func newState(network string) (*State, error) {
	first := Key{}
	err := first.UnmarshalText([]byte(account.InitialBatchKey))
	return &State{
		Network:   network,
		NextBatch: first,
		Accounts:  map[Key]Account{},
		Orders:    map[Nonce]Order{},
	}, err
}

// View returns the state as it is now; nobody changes what it returns.
func (s *Store) View() *State { return s.current.Load() }

// Update changes the state, and returns when the change is on the disk. When
// the change is refused or cannot be written, nothing has changed.
func (s *Store) Update(change func(*State) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	next := s.View().clone()
	if err := change(next); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(next, "", " ")
	if err != nil {
		return err
	}
	if err := writeDurably(s.path, raw); err != nil {
		return fmt.Errorf("the state cannot be saved: %w", err)
	}
	s.current.Store(next)
	return nil
}
