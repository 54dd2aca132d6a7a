package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/order"
	"google.golang.org/grpc/metadata"
)

// quiet is how long a stream of accounts must have been silent before it gets a
// batch. A poold that reconnects greets for one account after the other, and a
// batch between two greetings stops it for good: the one reader it has would
// wait for the one worker it has, and that one for the reader.
const quiet = time.Second

// earlyLimit is how long a question may be ahead of its stream.
const earlyLimit = 10 * time.Second

// Crowd knows who is connected: which streams there are, and for whom each of
// them speaks.
type Crowd struct {
	now func() time.Time

	mu      sync.Mutex
	next    int
	streams map[int]*Stream

	// early are the questions about a batch that came before the stream of
	// the same poold: it opens the stream first, but both travel at once.
	early map[string]early
}

type early struct {
	batch Key
	at    time.Time
}

func newCrowd(now func() time.Time) *Crowd {
	return &Crowd{
		now: now, streams: map[int]*Stream{}, early: map[string]early{},
	}
}

// bidirectional is what both kinds of streams can do.
type bidirectional interface {
	Send(*rpc.ServerAuctionMessage) error
	Recv() (*rpc.ClientAuctionMessage, error)
	Context() context.Context
}

// Stream is one long-lived connection of one poold. It speaks for any number
// of accounts or, on the sidecar side, for the channel keys of recipients.
type Stream struct {
	id       int
	sidecar  bool
	identity string
	gone     chan struct{} // closed when the stream ends

	sending sync.Mutex
	pipe    bidirectional

	// The rest belongs to the crowd's lock.
	keys    map[Key]order.BatchVersion
	greeted time.Time // when the last word of a greeting was said
	waiting chan *rpc.ClientAuctionMessage
	asks    Key // the batch it came back with and wants the end of, or zeros
}

func (c *Crowd) join(pipe bidirectional, sidecar bool) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	stream := &Stream{
		id: c.next, sidecar: sidecar, pipe: pipe,
		identity: identityOf(pipe.Context()),
		gone:     make(chan struct{}),
		keys:     map[Key]order.BatchVersion{},
		greeted:  c.now(),
	}
	c.streams[stream.id] = stream
	if !sidecar {
		if asked, ok := c.early[stream.identity]; ok &&
			c.now().Sub(asked.at) < earlyLimit {

			stream.asks = asked.batch
		}
		delete(c.early, stream.identity)
	}
	return stream
}

func (c *Crowd) leave(stream *Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, stream.id)
	close(stream.gone)
}

// greets notes that a greeting is under way.
func (c *Crowd) greets(stream *Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream.greeted = c.now()
}

// speaksFor notes that the stream has proved to own a key.
func (c *Crowd) speaksFor(stream *Stream, key Key, version order.BatchVersion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream.keys[key] = version
	stream.greeted = c.now()
}

// ready returns the stream that speaks for a key, and the version it speaks,
// when it can take part in a batch now. Of several the newest counts: the
// older ones are dead and have not been noticed.
func (c *Crowd) ready(key Key, sidecar bool) (*Stream, order.BatchVersion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream := c.newest(key, sidecar)
	if stream == nil || stream.waiting != nil ||
		!sidecar && c.now().Sub(stream.greeted) < quiet {

		return nil, 0
	}
	return stream, stream.keys[key]
}

// proved says whether the stream has greeted for the key.
func (c *Crowd) proved(stream *Stream, key Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := stream.keys[key]
	return ok
}

func (c *Crowd) connected(key Key, sidecar bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest(key, sidecar) != nil
}

func (c *Crowd) newest(key Key, sidecar bool) *Stream {
	var newest *Stream
	for _, stream := range c.streams {
		_, speaks := stream.keys[key]
		if speaks && stream.sidecar == sidecar &&
			(newest == nil || stream.id > newest.id) {

			newest = stream
		}
	}
	return newest
}

// ask sends a message that the poold will answer with exactly one, and returns
// where the answer will be. A poold does one thing at a time, so it is never
// asked a second time before it has answered, even if nobody waits any more.
func (c *Crowd) ask(stream *Stream, message *rpc.ServerAuctionMessage) (
	<-chan *rpc.ClientAuctionMessage, error) {

	c.mu.Lock()
	if stream.waiting != nil {
		c.mu.Unlock()
		return nil, errors.New("it still owes an answer")
	}
	answer := make(chan *rpc.ClientAuctionMessage, 1)
	stream.waiting = answer
	c.mu.Unlock()
	return answer, stream.send(message)
}

// answered hands an answer to whoever asked, and says whether anybody did.
func (c *Crowd) answered(stream *Stream, answer *rpc.ClientAuctionMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stream.waiting == nil {
		return false
	}
	stream.waiting <- answer // never blocks: one answer to one question
	stream.waiting = nil
	return true
}

// asked notes, for a poold that has just come back, that it has signed a batch
// and wants to know what became of it. Later than that anybody may ask for
// batches out of curiosity.
func (c *Crowd) asked(identity string, batch Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var newest *Stream
	for _, stream := range c.streams {
		if stream.identity == identity && !stream.sidecar &&
			(newest == nil || stream.id > newest.id) {

			newest = stream
		}
	}
	switch {
	case identity == "":
	case newest == nil:
		c.early[identity] = early{batch, c.now()}
	case len(newest.keys) == 0:
		newest.asks = batch
	}
}

// greetedAll returns the streams of accounts that have done with greeting, and
// which batch each of them came back with.
func (c *Crowd) greetedAll() map[*Stream]Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	greeted := map[*Stream]Key{}
	for _, stream := range c.streams {
		if !stream.sidecar && len(stream.keys) > 0 && stream.waiting == nil &&
			c.now().Sub(stream.greeted) >= quiet {

			greeted[stream] = stream.asks
		}
	}
	return greeted
}

func (c *Crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams)
}

// farewell tells everybody that we stop, and waits for them to hang up, but not
// for long. It is the one way in which a recipient's side of poold comes back by
// itself: when its stream merely breaks, it waits for ever.
func (c *Crowd) farewell(patience time.Duration) {
	c.mu.Lock()
	streams := slices.Collect(maps.Values(c.streams))
	c.mu.Unlock()
	over := time.After(patience)
	for _, stream := range streams {
		_ = stream.send(&rpc.ServerAuctionMessage{
			Msg: &rpc.ServerAuctionMessage_Error{Error: &rpc.SubscribeError{
				Error:     "the auction stops",
				ErrorCode: rpc.SubscribeError_SERVER_SHUTDOWN,
			}},
		})
	}
	for _, stream := range streams {
		select {
		case <-stream.gone:
		case <-over:
			return
		}
	}
}

func (s *Stream) send(message *rpc.ServerAuctionMessage) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.pipe.Send(message)
}

// identityOf returns a name for the running poold behind a call. With
// --fakeauth it makes one up at each start, so that the same name means the
// same process, with the same memory. Only a digest is kept.
func identityOf(ctx context.Context) string {
	words := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(words) == 0 {
		return ""
	}
	digest := sha256.Sum256([]byte(words[0]))
	return hex.EncodeToString(digest[:])
}
