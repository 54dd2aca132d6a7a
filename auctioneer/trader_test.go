package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/pool/account"
	"github.com/lightninglabs/pool/auctioneer"
	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"github.com/lightninglabs/pool/clientdb"
	"github.com/lightninglabs/pool/order"
	"github.com/lightninglabs/pool/sidecar"
	"github.com/lightninglabs/pool/terms"
	"github.com/lightningnetwork/lnd/keychain"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// trader is a poold without its RPC: pool's own client, database, order manager
// and batch verifier, on a fake lnd. Only the opening of channels is left out.
type trader struct {
	t       *testing.T
	name    string
	address string
	lnd     *fakeLnd
	signer  *fakeSigner
	db      *clientdb.DB
	process *process

	mu        sync.Mutex
	onPrepare func(*order.Batch) error // an error rejects
	onSign    func(*order.Batch) error // an error rejects
	deaf      bool                     // does not hear the end of a batch
	finalized int
}

// process is what a trader loses when it restarts.
type process struct {
	client  *auctioneer.Client
	manager order.Manager
	side    *auctioneer.Client // for sidecar channels
	pending *order.Batch       // on the sidecar side
	crash   chan error
	quit    chan struct{}
	done    sync.WaitGroup
}

// rejection names orders of the other side that a trader does not want.
type rejection map[string]*rpc.OrderReject

func (rejection) Error() string { return "some orders are rejected" }

func newTrader(t *testing.T, name, address string) *trader {
	lnd := newFakeLnd(name)
	db, err := clientdb.New(t.TempDir(), clientdb.DBFilename)
	if err != nil {
		t.Fatal(err)
	}
	tr := &trader{
		t: t, name: name, address: address, lnd: lnd,
		signer: newFakeSigner(lnd), db: db,
	}
	tr.start()
	t.Cleanup(func() {
		tr.stop()
		_ = db.Close()
	})
	return tr
}

// start begins a new process, under an identity of its own.
func (tr *trader) start() {
	manager := order.NewManager(&order.ManagerConfig{
		Store: tr.db, AcctStore: accountStore{tr.db}, Lightning: fakeNode{lnd: tr.lnd},
		Wallet: tr.lnd, Signer: tr.signer,
		BatchVersion: order.LatestBatchVersion,
	})
	if err := manager.Start(); err != nil {
		tr.t.Fatal(err)
	}
	identity := fmt.Sprintf("LSATID %p %s", manager, tr.name)
	p := &process{
		client: tr.dial(identity, false), side: tr.dial(identity, true),
		manager: manager, crash: make(chan error, 1),
		quit: make(chan struct{}),
	}
	tr.process = p
	p.done.Add(2)
	go tr.listen(p)
	go tr.listenSide(p)
}

func (tr *trader) dial(identity string, side bool) *auctioneer.Client {
	tell := func(ctx context.Context) context.Context {
		return metadata.AppendToOutgoingContext(ctx, "authorization", identity)
	}
	client, err := auctioneer.NewClient(&auctioneer.Config{
		ServerAddress: tr.address, Insecure: true, Signer: tr.signer,
		MinBackoff: 20 * time.Millisecond, MaxBackoff: 50 * time.Millisecond,
		BatchSource: tr.db, BatchCleaner: cleaner{tr.db},
		BatchVersion: order.LatestBatchVersion, ConnectSidecar: side,
		GenUserAgent: func(context.Context) string { return "test" },
		DialOpts: []grpc.DialOption{
			grpc.WithUnaryInterceptor(func(ctx context.Context, method string,
				request, answer any, to *grpc.ClientConn,
				invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {

				return invoke(tell(ctx), method, request, answer, to,
					options...)
			}),
			grpc.WithStreamInterceptor(func(ctx context.Context,
				desc *grpc.StreamDesc, to *grpc.ClientConn, method string,
				stream grpc.Streamer, options ...grpc.CallOption) (
				grpc.ClientStream, error) {

				return stream(tell(ctx), desc, to, method, options...)
			}),
		},
	})
	if err != nil {
		tr.t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		tr.t.Fatal(err)
	}
	return client
}

func (tr *trader) stop() {
	if tr.process == nil {
		return
	}
	close(tr.process.quit)
	_ = tr.process.client.Stop()
	_ = tr.process.side.Stop()
	tr.process.manager.Stop()
	tr.process.done.Wait()
	tr.process = nil
}

// listen does what poold's RPC server does with what comes from the auction.
func (tr *trader) listen(p *process) {
	defer p.done.Done()
	for {
		select {
		case message := <-p.client.FromServerChan:
			if message == nil {
				continue
			}
			if err := tr.handle(p, message); err != nil {
				p.crash <- err
				return
			}
		case err := <-p.client.StreamErrChan:
			if err != nil {
				_ = p.client.HandleServerShutdown(err)
			}
		case <-p.quit:
			return
		}
	}
}

func (tr *trader) handle(p *process,
	message *rpc.ServerAuctionMessage) error {

	switch words := message.Msg.(type) {
	case *rpc.ServerAuctionMessage_Prepare:
		batch, err := order.ParseRPCBatch(words.Prepare)
		if err != nil {
			return err
		}
		if p.manager.HasPendingBatch() {
			if err := tr.db.DeletePendingBatch(); err != nil {
				return err
			}
		}
		err = p.manager.OrderMatchValidate(batch, words.Prepare.BatchHeightHint)
		if err == nil {
			err = tr.hook(func() func(*order.Batch) error {
				return tr.onPrepare
			}, batch)
		}
		if err != nil {
			return p.client.SendAuctionMessage(rejected(batch.ID, err))
		}
		return p.client.SendAuctionMessage(accepted(batch.ID))

	case *rpc.ServerAuctionMessage_Sign:
		batch := p.manager.PendingBatch()
		var err error
		batch.ServerNonces, batch.PreviousOutputs, err = order.ParseRPCSign(
			words.Sign,
		)
		if err != nil {
			return err
		}
		err = tr.hook(func() func(*order.Batch) error { return tr.onSign },
			batch)
		if err != nil {
			return p.client.SendAuctionMessage(rejected(batch.ID, err))
		}
		signatures, nonces, err := p.manager.BatchSign()
		if err != nil {
			return p.client.SendAuctionMessage(rejected(batch.ID, err))
		}
		return p.client.SendAuctionMessage(signed(batch.ID, signatures, nonces))

	case *rpc.ServerAuctionMessage_Finalize:
		if p.manager.PendingBatch() == nil {
			return errors.New("this would have crashed poold")
		}
		tr.mu.Lock()
		defer tr.mu.Unlock()
		if tr.deaf {
			return nil
		}
		tr.finalized++
		return p.manager.BatchFinalize(order.BatchID(words.Finalize.BatchId))
	}
	return fmt.Errorf("poold does not expect %T", message.Msg)
}

func (tr *trader) hook(pick func() func(*order.Batch) error,
	batch *order.Batch) error {

	tr.mu.Lock()
	hook := pick()
	tr.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(batch)
}

func (tr *trader) set(change func(*trader)) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	change(tr)
}

// listenSide does what poold's sidecar acceptor does.
func (tr *trader) listenSide(p *process) {
	defer p.done.Done()
	for {
		var message *rpc.ServerAuctionMessage
		select {
		case message = <-p.side.FromServerChan:
		case <-p.quit:
			return
		}
		var err error
		switch words := message.GetMsg().(type) {
		case *rpc.ServerAuctionMessage_Prepare:
			p.pending, err = order.ParseRPCBatch(words.Prepare)
			if err == nil {
				err = p.side.SendAuctionMessage(accepted(p.pending.ID))
			}
		case *rpc.ServerAuctionMessage_Sign:
			err = p.side.SendAuctionMessage(signed(p.pending.ID, nil, nil))
		case *rpc.ServerAuctionMessage_Finalize:
			p.pending = nil
		}
		if err != nil {
			p.crash <- err
			return
		}
	}
}

func accepted(id order.BatchID) *rpc.ClientAuctionMessage {
	return &rpc.ClientAuctionMessage{Msg: &rpc.ClientAuctionMessage_Accept{
		Accept: &rpc.OrderMatchAccept{BatchId: id[:]},
	}}
}

func rejected(id order.BatchID, why error) *rpc.ClientAuctionMessage {
	reject := &rpc.OrderMatchReject{BatchId: id[:], Reason: why.Error()}
	var partial rejection
	if errors.As(why, &partial) {
		reject.ReasonCode = rpc.OrderMatchReject_PARTIAL_REJECT
		reject.RejectedOrders = partial
	}
	return &rpc.ClientAuctionMessage{Msg: &rpc.ClientAuctionMessage_Reject{
		Reject: reject,
	}}
}

func signed(id order.BatchID, signatures order.BatchSignature,
	nonces order.AccountNonces) *rpc.ClientAuctionMessage {

	sign := &rpc.OrderMatchSign{
		BatchId: id[:], AccountSigs: map[string][]byte{},
		TraderNonces: map[string][]byte{},
	}
	for trader, signature := range signatures {
		sign.AccountSigs[Key(trader).Hex()] = signature
	}
	for trader, nonce := range nonces {
		sign.TraderNonces[Key(trader).Hex()] = nonce[:]
	}
	return &rpc.ClientAuctionMessage{Msg: &rpc.ClientAuctionMessage_Sign{
		Sign: sign,
	}}
}

// reserve begins an account.
func (tr *trader) reserve(value btcutil.Amount, version account.Version,
	expiry uint32) *account.Account {

	ctx := context.Background()
	trader, err := tr.lnd.DeriveNextKey(ctx, 220)
	tr.must(err)
	reservation, err := tr.process.client.ReserveAccount(ctx, value, expiry,
		trader.PubKey, version)
	tr.must(err)
	secret, err := tr.signer.DeriveSharedKey(ctx, reservation.AuctioneerKey,
		&trader.KeyLocator)
	tr.must(err)
	return &account.Account{
		Value: value, Expiry: expiry, TraderKey: trader,
		AuctioneerKey: reservation.AuctioneerKey,
		BatchKey:      reservation.InitialBatchKey, Secret: secret,
		State: account.StateOpen, Version: version, LatestTx: &wire.MsgTx{
			TxIn: []*wire.TxIn{{}}, // enough to be written and read
		},
	}
}

// open opens an account all the way, and greets the auction for it.
func (tr *trader) open(chain *fakeChain, value btcutil.Amount,
	version account.Version) *account.Account {

	acct := tr.reserve(value, version, chain.height+10_000)
	out, err := acct.Output()
	tr.must(err)
	acct.OutPoint = chain.pay(out)
	ctx := context.Background()
	tr.must(tr.process.client.InitAccount(ctx, acct))
	tr.must(tr.db.AddAccount(acct))
	chain.mine()
	tr.must(tr.process.client.StartAccountSubscription(ctx, acct.TraderKey))
	return acct
}

// stored returns the account as the trader has it now.
func (tr *trader) stored(acct *account.Account) *account.Account {
	now, err := tr.db.Account(acct.TraderKey.PubKey)
	tr.must(err)
	return now
}

// reopen notes that the trader has seen a confirmation.
func (tr *trader) reopen(acct *account.Account) {
	tr.must(tr.db.UpdateAccount(tr.stored(acct),
		account.StateModifier(account.StateOpen)))
}

func kit(acct *account.Account, rate uint32, units,
	minimum order.SupplyUnit) order.Kit {

	var preimage [32]byte
	copy(preimage[:], fmt.Sprintf("%d %p %d", rate, acct, units))
	kit := *order.NewKitWithPreimage(preimage)
	kit.Version = order.VersionChannelType
	kit.FixedRate = rate
	kit.Units, kit.UnitsUnfulfilled, kit.MinUnitsMatch = units, units, minimum
	kit.Amt = units.ToSatoshis()
	kit.LeaseDuration = 2016
	kit.MaxBatchFeeRate = 1000
	kit.AcctKey = keyOf(acct.TraderKey.PubKey)
	return kit
}

func (tr *trader) ask(acct *account.Account, rate uint32,
	units order.SupplyUnit) *order.Ask {

	ask := &order.Ask{Kit: kit(acct, rate, units, 1)}
	tr.must(tr.submit(acct, ask))
	return ask
}

func (tr *trader) bid(acct *account.Account, rate uint32,
	units order.SupplyUnit) *order.Bid {

	bid := &order.Bid{
		Kit: kit(acct, rate, units, units), MinNodeTier: order.NodeTier0,
	}
	tr.must(tr.submit(acct, bid))
	return bid
}

func (tr *trader) submit(acct *account.Account, o order.Order) error {
	ctx := context.Background()
	params, err := tr.process.manager.PrepareOrder(ctx, o, acct,
		&terms.AuctioneerTerms{
			OrderExecBaseFee: 1, OrderExecFeeRate: 1000,
			LeaseDurationBuckets: map[uint32]rpc.DurationBucketState{2016: 1},
		})
	if err != nil {
		return err
	}
	return tr.process.client.SubmitOrder(ctx, o, params)
}

// bidFor buys a channel for somebody else, who waits for it.
func (tr *trader) bidFor(acct *account.Account, other *trader, rate uint32,
	units order.SupplyUnit, balance btcutil.Amount) *order.Bid {

	ctx := context.Background()
	ticket, err := sidecar.NewTicket(units.ToSatoshis(), balance, 2016,
		acct.TraderKey.PubKey, true, false, false)
	tr.must(err)
	tr.must(sidecar.SignOffer(ctx, ticket, acct.TraderKey.KeyLocator,
		tr.signer))
	channelKey, err := other.lnd.DeriveNextKey(ctx, 0)
	tr.must(err)
	node := other.lnd.node()
	nodeKey, err := node.point()
	tr.must(err)
	ticket.State = sidecar.StateRegistered
	ticket.Recipient = &sidecar.Recipient{
		NodePubKey: nodeKey, MultiSigPubKey: channelKey.PubKey,
		MultiSigKeyIndex: channelKey.Index,
	}
	bid := &order.Bid{
		Kit: kit(acct, rate, units, units), MinNodeTier: order.NodeTier0,
		SelfChanBalance: balance, SidecarTicket: ticket,
	}
	tr.must(tr.submit(acct, bid))
	other.must(other.process.side.StartAccountSubscription(ctx,
		&keychain.KeyDescriptor{
			KeyLocator: channelKey.KeyLocator, PubKey: channelKey.PubKey,
		}))
	return bid
}

func (tr *trader) must(err error) {
	tr.t.Helper()
	if err != nil {
		tr.t.Fatalf("%s: %v", tr.name, err)
	}
}

// state returns an order's state and what is left of it, as the trader has it.
func (tr *trader) state(o order.Order) (order.State, order.SupplyUnit) {
	stored, err := tr.db.GetOrder(o.Nonce())
	tr.must(err)
	return stored.Details().State, stored.Details().UnitsUnfulfilled
}

type accountStore struct{ *clientdb.DB }

func (s accountStore) PendingBatch() error {
	_, err := s.PendingBatchSnapshot()
	return err
}

type cleaner struct{ *clientdb.DB }

func (cleaner) RemovePendingBatchArtifacts(
	map[order.Nonce][]*order.MatchedOrder, *wire.MsgTx) error {

	return nil
}
