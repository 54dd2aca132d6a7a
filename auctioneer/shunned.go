package main

import (
	"fmt"
	"time"

	rpc "github.com/lightninglabs/pool/auctioneerrpc"
)

// Spoiled says which streams failed an attempt at a batch, and how.
type Spoiled struct {
	Step    string
	Rejects map[*Stream]*rpc.OrderMatchReject
	Silent  []*Stream
}

func (s *Spoiled) Error() string {
	text := s.Step + ":"
	for stream, reject := range s.Rejects {
		text += fmt.Sprintf(" stream %d rejects (%v: %s);", stream.id,
			reject.ReasonCode, reject.Reason)
	}
	for _, stream := range s.Silent {
		text += fmt.Sprintf(" stream %d is silent;", stream.id)
	}
	return text[:len(text)-1]
}

// Shunned remembers for a while who spoiled a batch: pairs of orders that do
// not go together, and traders that did not answer. It is forgotten with the
// process, and belongs to the auction's lock.
type Shunned struct {
	pairs map[Pair]time.Time
	keys  map[Key]time.Time
}

func newShunned() *Shunned {
	return &Shunned{pairs: map[Pair]time.Time{}, keys: map[Key]time.Time{}}
}

// apart returns the pairs that are kept apart now, and forgets the others.
func (s *Shunned) apart(now time.Time) map[Pair]bool {
	apart := map[Pair]bool{}
	for pair, until := range s.pairs {
		if now.Before(until) {
			apart[pair] = true
		} else {
			delete(s.pairs, pair)
		}
	}
	return apart
}

// aside says whether a key is left out now.
func (s *Shunned) aside(key Key, now time.Time) bool {
	return now.Before(s.keys[key])
}

// shun keeps apart what spoiled a batch.
func (a *Auction) shun(d *Draft, spoiled *Spoiled) {
	a.mu.Lock()
	defer a.mu.Unlock()
	until := a.now().Add(a.terms.Apart)
	for _, m := range d.Clearing.Matches {
		for stream, reject := range spoiled.Rejects {
			if a.takesPart(stream, m) && names(reject, m) {
				a.shunned.pairs[Pair{m.Ask.Nonce, m.Bid.Nonce}] = until
			}
		}
		for _, stream := range spoiled.Silent {
			for _, key := range []Key{
				m.Ask.trader(), m.Bid.trader(), m.Bid.channelKey,
			} {
				if a.crowd.proved(stream, key) {
					a.shunned.keys[key] = until
				}
			}
		}
	}
}

func (a *Auction) takesPart(stream *Stream, m Match) bool {
	if stream.sidecar {
		return a.crowd.proved(stream, m.Bid.channelKey)
	}
	return a.crowd.proved(stream, m.Ask.trader()) ||
		a.crowd.proved(stream, m.Bid.trader())
}

// names says whether a rejection is about a match. It names the other side's
// orders, or none, and then it means all.
func names(reject *rpc.OrderMatchReject, m Match) bool {
	if len(reject.RejectedOrders) == 0 {
		return true
	}
	_, ask := reject.RejectedOrders[m.Ask.Nonce.Hex()]
	_, bid := reject.RejectedOrders[m.Bid.Nonce.Hex()]
	return ask || bid
}
