package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/sidecar"
	"github.com/lightningnetwork/lnd/keychain"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

type post struct {
	rpc.HashMailClient

	t *testing.T
}

func newPost(t *testing.T) post {
	h := newHouse(t)
	connection, err := grpc.NewClient(h.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	h.must(err)
	t.Cleanup(func() { _ = connection.Close() })
	return post{rpc.NewHashMailClient(connection), t}
}

func boxed(n byte) *rpc.CipherBoxDesc {
	id := BoxID{n}
	return &rpc.CipherBoxDesc{StreamId: id[:]}
}

// signedBy proves a right to a box with an account key, as poold does.
func signedBy(name string, desc *rpc.CipherBoxDesc) *rpc.CipherBoxAuth {
	key := newFakeLnd(name).private(keychain.KeyLocator{Family: 220})
	digest := sha256.Sum256(desc.StreamId)
	return &rpc.CipherBoxAuth{
		Desc: desc,
		Auth: &rpc.CipherBoxAuth_AcctAuth{AcctAuth: &rpc.PoolAccountAuth{
			AcctKey:   key.PubKey().SerializeCompressed(),
			StreamSig: ecdsa.Sign(key, digest[:]).Serialize(),
		}},
	}
}

func (p post) send(desc *rpc.CipherBoxDesc, text string) error {
	stream, err := p.SendStream(context.Background())
	if err != nil {
		return err
	}
	err = stream.Send(&rpc.CipherBox{Desc: desc, Msg: []byte(text)})
	if err != nil {
		return err
	}
	_, err = stream.CloseAndRecv()
	return err
}

func (p post) take(ctx context.Context, desc *rpc.CipherBoxDesc) (string,
	error) {

	stream, err := p.RecvStream(ctx, desc)
	if err != nil {
		return "", err
	}
	message, err := stream.Recv()
	if err != nil {
		return "", err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		p.t.Fatalf("the stream goes on after one message: %v", err)
	}
	return string(message.Msg), nil
}

func TestMailIsHandedOutOneByOneInOrder(t *testing.T) {
	p := newPost(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := p.take(ctx, boxed(1)); status.Code(err) != codes.NotFound {
		t.Fatalf("%v", err)
	}
	if _, err := p.NewCipherBox(ctx, signedBy("alice", boxed(1))); err != nil {
		t.Fatal(err)
	}
	_, err := p.NewCipherBox(ctx, signedBy("alice", boxed(1)))
	if status.Code(err) != codes.AlreadyExists {
		t.Fatalf("%v", err)
	}
	for _, text := range []string{"first", "second"} {
		if err := p.send(boxed(1), text); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"first", "second"} {
		if got, err := p.take(ctx, boxed(1)); got != want || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
	// A reader that comes first waits.
	got := make(chan string)
	go func() {
		text, _ := p.take(ctx, boxed(1))
		got <- text
	}()
	if err := p.send(boxed(1), "third"); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "third" {
		t.Fatal(text)
	}
	if _, err := p.DelCipherBox(ctx, signedBy("alice", boxed(1))); err != nil {
		t.Fatal(err)
	}
	if _, err := p.take(ctx, boxed(1)); status.Code(err) != codes.NotFound {
		t.Fatalf("%v", err)
	}
}

func TestAMessageToAMissingBoxIsKept(t *testing.T) {
	p := newPost(t)
	if err := p.send(boxed(2), "early"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.take(context.Background(), boxed(2)); got != "early" ||
		err != nil {

		t.Fatalf("%q, %v", got, err)
	}
}

func TestAReaderThatLeavesTakesNothingWithIt(t *testing.T) {
	p := newPost(t)
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := p.NewCipherBox(ctx, signedBy("alice", boxed(3))); err != nil {
		t.Fatal(err)
	}
	left := make(chan error)
	go func() {
		_, err := p.take(ctx, boxed(3))
		left <- err
	}()
	cancel()
	if err := <-left; status.Code(err) != codes.Canceled {
		t.Fatalf("%v", err)
	}
	if err := p.send(boxed(3), "still here"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.take(context.Background(), boxed(3)); got != "still here" ||
		err != nil {

		t.Fatalf("%q, %v", got, err)
	}
}

func TestABoxIsMadeByAnAccountOrATicketAndByNobodyElse(t *testing.T) {
	p := newPost(t)
	ctx := context.Background()
	lnd := newFakeLnd("provider")
	at := keychain.KeyLocator{Family: 220, Index: 1}
	ticket, err := sidecar.NewTicket(1_000_000, 0, 2016,
		lnd.private(at).PubKey(), true, false, false)
	if err != nil {
		t.Fatal(err)
	}
	withTicket := func() *rpc.CipherBoxAuth {
		text, err := sidecar.EncodeToString(ticket)
		if err != nil {
			t.Fatal(err)
		}
		return &rpc.CipherBoxAuth{
			Desc: boxed(4), Auth: &rpc.CipherBoxAuth_SidecarAuth{
				SidecarAuth: &rpc.SidecarAuth{Ticket: text},
			},
		}
	}
	foreign := signedBy("alice", boxed(5))
	foreign.Desc = boxed(6)
	short := signedBy("alice", &rpc.CipherBoxDesc{StreamId: []byte("short")})
	for _, wrong := range []*rpc.CipherBoxAuth{
		{}, {Desc: boxed(4)}, withTicket(), foreign, short, {
			Desc: boxed(4), Auth: &rpc.CipherBoxAuth_SidecarAuth{
				SidecarAuth: &rpc.SidecarAuth{Ticket: "sidecar15o"},
			},
		},
	} {
		if _, err := p.NewCipherBox(ctx, wrong); err == nil {
			t.Fatalf("%v was accepted", wrong)
		}
	}
	if err := sidecar.SignOffer(ctx, ticket, at,
		newFakeSigner(lnd)); err != nil {

		t.Fatal(err)
	}
	if _, err := p.NewCipherBox(ctx, withTicket()); err != nil {
		t.Fatal(err)
	}
}

func TestMailHasBounds(t *testing.T) {
	mail := newMail()
	for range boxLimit {
		if err := mail.put(&rpc.CipherBox{Desc: boxed(1)}); err != nil {
			t.Fatal(err)
		}
	}
	if mail.put(&rpc.CipherBox{Desc: boxed(1)}) == nil {
		t.Fatal("a box took more than it holds")
	}
	if mail.put(&rpc.CipherBox{
		Desc: boxed(2), Msg: make([]byte, messageLimit+1),
	}) == nil {
		t.Fatal("a message was too large")
	}
	for i := range boxesLimit {
		id := BoxID{7, byte(i), byte(i >> 8)}
		_ = mail.put(&rpc.CipherBox{
			Desc: &rpc.CipherBoxDesc{StreamId: id[:]},
		})
	}
	if len(mail.boxes) != boxesLimit {
		t.Fatalf("there are %d boxes", len(mail.boxes))
	}
}
