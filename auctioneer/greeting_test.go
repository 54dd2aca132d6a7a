package main

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/lightninglabs/pool/account"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

type line struct {
	rpc.ChannelAuctioneer_SubscribeBatchAuctionClient

	t *testing.T
}

func (h *house) line() line {
	connection, err := grpc.NewClient(h.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	h.must(err)
	h.t.Cleanup(func() { _ = connection.Close() })
	stream, err := rpc.NewChannelAuctioneerClient(
		connection).SubscribeBatchAuction(context.Background())
	h.must(err)
	return line{stream, h.t}
}

// greet goes through the handshake with one key, signed with another.
func (l line) greet(named Key, with *btcec.PrivateKey,
	nonce [32]byte) *rpc.ServerAuctionMessage {

	commit := account.CommitAccount(named, [32]byte{1})
	_ = l.Send(&rpc.ClientAuctionMessage{
		Msg: &rpc.ClientAuctionMessage_Commit{
			Commit: &rpc.AccountCommitment{
				CommitHash: commit[:], BatchVersion: 58,
			},
		},
	})
	challenge, err := l.Recv()
	if err != nil {
		return nil
	}
	var words [32]byte
	copy(words[:], challenge.GetChallenge().Challenge)
	proof := account.AuthHash(commit, words)
	digest := sha256.Sum256(proof[:])
	_ = l.Send(&rpc.ClientAuctionMessage{
		Msg: &rpc.ClientAuctionMessage_Subscribe{
			Subscribe: &rpc.AccountSubscription{
				TraderKey: named[:], CommitNonce: nonce[:],
				AuthSig: ecdsa.Sign(with, digest[:]).Serialize(),
			},
		},
	})
	answer, err := l.Recv()
	if err != nil {
		return nil
	}
	return answer
}

func TestAKeyIsProvedBeforeAStreamSpeaksForIt(t *testing.T) {
	s := newSale(t, 2, 2)
	victim := keyOf(s.buying.TraderKey.PubKey)
	owner := s.bidder.lnd.private(s.buying.TraderKey.KeyLocator)
	thief := s.asker.lnd.private(s.selling.TraderKey.KeyLocator)

	if answer := s.line().greet(victim, thief, [32]byte{1}); answer != nil {
		t.Fatalf("a foreign signature got %v", answer)
	}
	if answer := s.line().greet(victim, owner, [32]byte{2}); answer != nil {
		t.Fatalf("another nonce than committed to got %v", answer)
	}
	newest, _ := s.auction.crowd.newestOf(victim)
	if answer := s.line().greet(victim, owner,
		[32]byte{1}); answer.GetSuccess() == nil {

		t.Fatalf("the owner got %v", answer)
	}
	eventually(t, "the newest stream speaks for the account", func() bool {
		now, _ := s.auction.crowd.newestOf(victim)
		return now != newest
	})
	// What is signed once is worth nothing the second time.
	stream := s.line()
	if answer := stream.greet(keyOf(thief.PubKey()), owner,
		[32]byte{1}); answer != nil {

		t.Fatalf("got %v", answer)
	}
}

func TestNobodyRecoversAnAccountWithoutAGreeting(t *testing.T) {
	s := newSale(t, 2, 2)
	stream := s.line()
	key := keyOf(s.buying.TraderKey.PubKey)
	s.must(stream.Send(&rpc.ClientAuctionMessage{
		Msg: &rpc.ClientAuctionMessage_Recover{
			Recover: &rpc.AccountRecovery{TraderKey: key[:]},
		},
	}))
	if answer, err := stream.Recv(); err == nil {
		t.Fatalf("got %v", answer)
	}
}

func TestBrokenGreetingsEndTheStreamAndNothingElse(t *testing.T) {
	s := newSale(t, 2, 2)
	for _, broken := range []*rpc.ClientAuctionMessage{
		{Msg: &rpc.ClientAuctionMessage_Commit{
			Commit: &rpc.AccountCommitment{CommitHash: []byte("short")},
		}},
		{Msg: &rpc.ClientAuctionMessage_Subscribe{
			Subscribe: &rpc.AccountSubscription{},
		}},
		{Msg: &rpc.ClientAuctionMessage_Recover{
			Recover: &rpc.AccountRecovery{TraderKey: []byte{4}},
		}},
	} {
		stream := s.line()
		s.must(stream.Send(broken))
		if answer, err := stream.Recv(); err == nil {
			t.Fatalf("got %v", answer)
		}
	}
	// Answers that nobody asked for, and messages that say nothing, are let
	// pass: they may be late.
	stream := s.line()
	s.must(stream.Send(&rpc.ClientAuctionMessage{}))
	s.must(stream.Send(accepted([33]byte{2})))
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
}

func TestEverybodyIsToldWhenTheAuctionStops(t *testing.T) {
	s := newSale(t, 2, 2)
	done := make(chan struct{})
	go func() {
		s.auction.crowd.farewell(time.Minute)
		close(done)
	}()
	<-done // both have hung up
	s.restart()
	s.backAgain()
	if result := s.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
}
