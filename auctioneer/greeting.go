package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"

	"github.com/lightninglabs/pool/account"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/order"
)

// greetingsLimit bounds the greetings that a stream begins and never ends.
const greetingsLimit = 1000

// greeting is a handshake under way: the trader has committed to a key that it
// has not named yet, and we have given it something to sign.
type greeting struct {
	challenge [32]byte
	version   order.BatchVersion
}

// SubscribeBatchAuction is the stream for the accounts of a trader.
func (a *Auction) SubscribeBatchAuction(
	pipe rpc.ChannelAuctioneer_SubscribeBatchAuctionServer) error {

	return a.listen(pipe, false)
}

// SubscribeSidecar is the stream for recipients of sidecar channels. No account
// stands behind their keys.
func (a *Auction) SubscribeSidecar(
	pipe rpc.ChannelAuctioneer_SubscribeSidecarServer) error {

	return a.listen(pipe, true)
}

// listen reads a stream until it ends. On it we send nothing but answers to
// greetings and batches: a poold that gets any other message shuts down.
func (a *Auction) listen(pipe bidirectional, sidecar bool) error {
	stream := a.crowd.join(pipe, sidecar)
	defer a.crowd.leave(stream)
	begun := map[[32]byte]greeting{}
	for {
		message, err := pipe.Recv()
		if err != nil {
			return err
		}
		switch words := message.Msg.(type) {
		case *rpc.ClientAuctionMessage_Commit:
			err = a.challenge(stream, begun, words.Commit)
		case *rpc.ClientAuctionMessage_Subscribe:
			err = a.subscribe(stream, begun, words.Subscribe)
		case *rpc.ClientAuctionMessage_Recover:
			err = a.recover(pipe.Context(), stream, words.Recover)
		default:
			if !a.crowd.answered(stream, message) {
				log.Printf("stream %d: an answer came that nobody waits "+
					"for", stream.id)
			}
		}
		if err != nil {
			log.Printf("stream %d: %v", stream.id, err)
			return err
		}
	}
}

// challenge answers the first step of a greeting. The client finds its own
// greeting again by the hash it sent.
func (a *Auction) challenge(stream *Stream, begun map[[32]byte]greeting,
	commit *rpc.AccountCommitment) error {

	a.crowd.greets(stream)
	var hash, nonce [32]byte
	if len(commit.CommitHash) != len(hash) {
		return invalid("a commitment has %d bytes", len(hash))
	}
	if len(begun) >= greetingsLimit {
		return invalid("too many greetings begun")
	}
	copy(hash[:], commit.CommitHash)
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	challenge := account.AuthChallenge(hash, nonce)
	begun[hash] = greeting{challenge, order.BatchVersion(commit.BatchVersion)}
	return stream.send(&rpc.ServerAuctionMessage{
		Msg: &rpc.ServerAuctionMessage_Challenge{
			Challenge: &rpc.ServerChallenge{
				Challenge: challenge[:], CommitHash: hash[:],
			},
		},
	})
}

// subscribe answers the last step: the trader has named its key and proved it.
func (a *Auction) subscribe(stream *Stream, begun map[[32]byte]greeting,
	words *rpc.AccountSubscription) error {

	a.crowd.greets(stream)
	key, err := parseKey(words.TraderKey)
	if err != nil {
		return invalid("trader key: %v", err)
	}
	var nonce [32]byte
	copy(nonce[:], words.CommitNonce)
	hash := account.CommitAccount(key, nonce)
	open, ok := begun[hash]
	if !ok {
		return invalid("the greeting does not fit its commitment")
	}
	delete(begun, hash)
	proof := account.AuthHash(hash, open.challenge)
	if err := checkSignature(proof[:], words.AuthSig, key); err != nil {
		return invalid("greeting of %s: %v", key, err)
	}
	if !stream.sidecar {
		refusal, err := a.refuseGreeting(stream.pipe.Context(), key)
		if refusal != nil || err != nil {
			if err == nil {
				err = stream.send(refusal)
			}
			return err
		}
	}
	// Success first: once the stream speaks for the key a batch may follow.
	err = stream.send(&rpc.ServerAuctionMessage{
		Msg: &rpc.ServerAuctionMessage_Success{
			Success: &rpc.SubscribeSuccess{TraderKey: key[:]},
		},
	})
	if err != nil {
		return err
	}
	a.crowd.speaksFor(stream, key, open.version)
	kind := "account"
	if stream.sidecar {
		kind = "recipient"
	}
	log.Printf("stream %d: speaks for %s %s, batch version %d", stream.id,
		kind, key, open.version)
	return nil
}

// refuseGreeting returns what to tell a trader whose account we do not have,
// or nothing. Recovery finds the accounts of a lost database this way.
func (a *Auction) refuseGreeting(ctx context.Context, key Key) (
	*rpc.ServerAuctionMessage, error) {

	known, ok := a.store.View().Accounts[key]
	refusal := &rpc.SubscribeError{TraderKey: key[:]}
	switch {
	case !ok:
		refusal.Error = "account not found"
		refusal.ErrorCode = rpc.SubscribeError_ACCOUNT_DOES_NOT_EXIST
	case known.Status == Reserved:
		height, err := a.chain.Height(ctx)
		if err != nil {
			return nil, unavailable(err)
		}
		refusal.Error = "the account was reserved and never paid in"
		refusal.ErrorCode = rpc.SubscribeError_INCOMPLETE_ACCOUNT_RESERVATION
		refusal.AccountReservation = known.wire(a.keys, height)
	default:
		return nil, nil
	}
	return &rpc.ServerAuctionMessage{
		Msg: &rpc.ServerAuctionMessage_Error{Error: refusal},
	}, nil
}

// recover tells a trader that lost its database what its account is.
func (a *Auction) recover(ctx context.Context, stream *Stream,
	words *rpc.AccountRecovery) error {

	a.crowd.greets(stream)
	key, err := parseKey(words.TraderKey)
	if err != nil {
		return invalid("trader key: %v", err)
	}
	if !a.crowd.proved(stream, key) {
		return fmt.Errorf("account %s asks for recovery without a greeting", key)
	}
	if err := a.refresh(ctx, key); err != nil {
		return err
	}
	height, err := a.chain.Height(ctx)
	if err != nil {
		return unavailable(err)
	}
	known := a.store.View().Accounts[key]
	log.Printf("account %s: recovered by its trader, %s", key, known.Status)
	return stream.send(&rpc.ServerAuctionMessage{
		Msg: &rpc.ServerAuctionMessage_Account{
			Account: known.wire(a.keys, height),
		},
	})
}
