package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"sync"

	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/sidecar"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// Bounds for what strangers can make us keep.
	boxesLimit   = 10_000
	boxLimit     = 256
	messageLimit = 64 << 10
)

// BoxID names a mailbox; both sides of a ticket know it from the ticket.
type BoxID [64]byte

// Mail is where the two sides of a sidecar ticket meet: boxes in memory, first
// in first out. After a loss both sides make their boxes again by themselves.
type Mail struct {
	rpc.UnimplementedHashMailServer

	mu    sync.Mutex
	boxes map[BoxID]*box
}

type box struct {
	messages [][]byte
	arrived  chan struct{} // closed and replaced when a message arrives
}

func newMail() *Mail { return &Mail{boxes: map[BoxID]*box{}} }

// NewCipherBox makes a box. One that exists is answered with AlreadyExists,
// which poold takes for success.
func (m *Mail) NewCipherBox(_ context.Context, r *rpc.CipherBoxAuth) (
	*rpc.CipherInitResp, error) {

	id, err := authorize(r)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.boxes[id] != nil {
		return nil, status.Error(codes.AlreadyExists, "the mailbox exists")
	}
	if _, err := m.open(id); err != nil {
		return nil, err
	}
	return &rpc.CipherInitResp{Resp: &rpc.CipherInitResp_Success{
		Success: &rpc.CipherSuccess{Desc: r.Desc},
	}}, nil
}

// DelCipherBox forgets a box and what is in it.
func (m *Mail) DelCipherBox(_ context.Context, r *rpc.CipherBoxAuth) (
	*rpc.DelCipherBoxResp, error) {

	id, err := authorize(r)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.boxes, id)
	return &rpc.DelCipherBoxResp{}, nil
}

// SendStream takes messages. The sender never reads our answer, so a box that
// is missing is made: else its message would be lost without a trace.
func (m *Mail) SendStream(stream rpc.HashMail_SendStreamServer) error {
	var last *rpc.CipherBoxDesc
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(last)
		}
		if err != nil {
			return err
		}
		last = message.Desc
		if err := m.put(message); err != nil {
			return err
		}
	}
}

func (m *Mail) put(message *rpc.CipherBox) error {
	id, err := boxID(message.Desc)
	if err != nil {
		return err
	}
	if len(message.Msg) > messageLimit {
		return invalid("a message has at most %d bytes", messageLimit)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	to, err := m.open(id)
	if err != nil {
		return err
	}
	if len(to.messages) >= boxLimit {
		return status.Error(codes.ResourceExhausted, "the mailbox is full")
	}
	to.messages = append(to.messages, message.Msg)
	close(to.arrived)
	to.arrived = make(chan struct{})
	return nil
}

// RecvStream hands out one message and ends. poold reads one for each call and
// then cancels; a second one in the same stream would be lost.
func (m *Mail) RecvStream(desc *rpc.CipherBoxDesc,
	stream rpc.HashMail_RecvStreamServer) error {

	id, err := boxID(desc)
	if err != nil {
		return err
	}
	for {
		message, arrived, err := m.take(id)
		if err != nil {
			return err
		}
		if message != nil {
			err := stream.Send(&rpc.CipherBox{Desc: desc, Msg: message})
			if err != nil {
				m.putBack(id, message)
			}
			return err
		}
		select {
		case <-arrived:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// take returns the oldest message, or what to wait for.
func (m *Mail) take(id BoxID) ([]byte, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from := m.boxes[id]
	if from == nil {
		return nil, nil, notFound("the mailbox does not exist")
	}
	if len(from.messages) == 0 {
		return nil, from.arrived, nil
	}
	message := from.messages[0]
	from.messages = from.messages[1:]
	return message, nil, nil
}

func (m *Mail) putBack(id BoxID, message []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if to := m.boxes[id]; to != nil {
		to.messages = append([][]byte{message}, to.messages...)
	}
}

// open returns a box, made if need be. The lock is held.
func (m *Mail) open(id BoxID) (*box, error) {
	if m.boxes[id] == nil {
		if len(m.boxes) >= boxesLimit {
			return nil, status.Error(codes.ResourceExhausted,
				"there are too many mailboxes")
		}
		m.boxes[id] = &box{arrived: make(chan struct{})}
	}
	return m.boxes[id], nil
}

func boxID(desc *rpc.CipherBoxDesc) (id BoxID, err error) {
	if copy(id[:], desc.GetStreamId()) != len(id) ||
		len(desc.GetStreamId()) != len(id) {

		return id, invalid("a mailbox is named by %d bytes", len(id))
	}
	return id, nil
}

// authorize accepts a signature of an account over the box, or a ticket whose
// offer is well signed.
func authorize(r *rpc.CipherBoxAuth) (BoxID, error) {
	id, err := boxID(r.Desc)
	if err != nil {
		return id, err
	}
	switch proof := r.Auth.(type) {
	case *rpc.CipherBoxAuth_AcctAuth:
		key, err := parseKey(proof.AcctAuth.GetAcctKey())
		if err != nil {
			return id, invalid("account key: %v", err)
		}
		err = checkSignature(id[:], proof.AcctAuth.GetStreamSig(), key)
		if err != nil {
			return id, status.Error(codes.PermissionDenied, err.Error())
		}
	case *rpc.CipherBoxAuth_SidecarAuth:
		if err := checkTicket(proof.SidecarAuth.GetTicket()); err != nil {
			return id, status.Error(codes.PermissionDenied, err.Error())
		}
	default:
		return id, invalid("a mailbox needs an account or a ticket")
	}
	return id, nil
}

func checkTicket(text string) error {
	ticket, err := sidecar.DecodeString(text)
	if err != nil {
		return errors.New("the ticket cannot be read")
	}
	offer := ticket.Offer
	if offer.SignPubKey == nil || offer.SigOfferDigest == nil {
		return errors.New("the ticket's offer is not signed")
	}
	digest, err := ticket.OfferDigest()
	if err != nil {
		return err
	}
	hash := sha256.Sum256(digest[:])
	if !offer.SigOfferDigest.Verify(hash[:], offer.SignPubKey) {
		return errors.New("the ticket's signature does not verify")
	}
	return nil
}
