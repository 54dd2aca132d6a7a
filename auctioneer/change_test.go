package main

import (
	"context"
	"testing"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/btcutil/txsort"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/lndclient"
	"github.com/lightninglabs/pool/account"
	"github.com/lightninglabs/pool/poolscript"
	"github.com/lightningnetwork/lnd/input"
	"github.com/lightningnetwork/lnd/keychain"
)

// purse is where the traders' lnds keep their own coins in these tests.
var purse = keychain.KeyLocator{Family: 84}

func (tr *trader) purseScript() []byte {
	hash := btcutil.Hash160(
		tr.lnd.private(purse).PubKey().SerializeCompressed(),
	)
	script, err := txscript.NewScriptBuilder().AddOp(txscript.OP_0).
		AddData(hash).Script()
	tr.must(err)
	return script
}

// withdraw asks for a change that takes coins out of the account.
func (tr *trader) withdraw(acct *account.Account, amount btcutil.Amount) (
	*account.Account, *wire.MsgTx) {

	after, tx, err := tr.change(acct, nil,
		[]*wire.TxOut{wire.NewTxOut(int64(amount), tr.purseScript())},
		account.ValueModifier(acct.Value-amount-1000))
	tr.must(err)
	return after, tx
}

// change makes the transaction of a change, as poold's account manager does,
// with the auctioneer's half of the signatures. Without modifiers it closes.
func (tr *trader) change(acct *account.Account, deposit *wire.OutPoint,
	outputs []*wire.TxOut, modifiers ...account.Modifier) (*account.Account,
	*wire.MsgTx, error) {

	ctx := context.Background()
	current, err := acct.Output()
	tr.must(err)
	spent := map[wire.OutPoint]*wire.TxOut{acct.OutPoint: current}
	tx := wire.NewMsgTx(2)
	tx.AddTxIn(&wire.TxIn{PreviousOutPoint: acct.OutPoint})
	var inputs []*wire.TxIn
	if deposit != nil {
		inputs = []*wire.TxIn{{PreviousOutPoint: *deposit}}
		tx.AddTxIn(inputs[0])
		spent[*deposit] = wire.NewTxOut(1_000_000, tr.purseScript())
	}
	for _, out := range outputs {
		tx.AddTxOut(out)
	}
	after := acct.Copy()
	var next *wire.TxOut
	if len(modifiers) > 0 {
		modifiers = append(modifiers, account.IncrementBatchKey())
		after = acct.Copy(modifiers...)
		next, err = after.Output()
		tr.must(err)
		tx.AddTxOut(next)
	}
	txsort.InPlaceSort(tx)
	position, previous := 0, make([]*wire.TxOut, len(tx.TxIn))
	for i, in := range tx.TxIn {
		previous[i] = spent[in.PreviousOutPoint]
		if in.PreviousOutPoint == acct.OutPoint {
			position = i
		}
	}
	if next != nil {
		index, _ := poolscript.LocateOutputScript(tx, next.PkScript)
		after.OutPoint = wire.OutPoint{Hash: tx.TxHash(), Index: index}
	}

	if acct.Version == account.VersionInitialNoVersion {
		theirs, _, err := tr.process.client.ModifyAccount(ctx, acct, inputs,
			outputs, modifiers, nil, previous)
		if err != nil {
			return nil, nil, err
		}
		script, err := poolscript.AccountWitnessScript(acct.Expiry,
			acct.TraderKey.PubKey, acct.AuctioneerKey, acct.BatchKey,
			acct.Secret)
		tr.must(err)
		ours, err := tr.signer.SignOutputRaw(ctx, tx,
			[]*lndclient.SignDescriptor{{
				KeyDesc: *acct.TraderKey,
				SingleTweak: poolscript.TraderKeyTweak(acct.BatchKey,
					acct.Secret, acct.TraderKey.PubKey),
				WitnessScript: script, Output: current,
				HashType: txscript.SigHashAll, InputIndex: position,
			}}, previous)
		tr.must(err)
		tx.TxIn[position].Witness = poolscript.SpendMultiSig(script,
			append(ours[0], byte(txscript.SigHashAll)), theirs)
	} else {
		session, _, err := poolscript.TaprootMuSig2SigningSession(ctx,
			acct.Version.ScriptVersion(), acct.Expiry,
			acct.TraderKey.PubKey, acct.BatchKey, acct.Secret,
			acct.AuctioneerKey, tr.signer, &acct.TraderKey.KeyLocator, nil)
		tr.must(err)
		partial, nonces, err := tr.process.client.ModifyAccount(ctx, acct,
			inputs, outputs, modifiers, session.PublicNonce[:], previous)
		if err != nil {
			return nil, nil, err
		}
		var theirs poolscript.MuSig2Nonces
		copy(theirs[:], nonces)
		var half [input.MuSig2PartialSigSize]byte
		copy(half[:], partial)
		whole, err := poolscript.TaprootMuSig2Sign(ctx, position, session,
			tr.signer, tx, previous, &theirs, &half)
		tr.must(err)
		tx.TxIn[position].Witness = poolscript.SpendMuSig2Taproot(whole)
	}
	for i, in := range tx.TxIn {
		if i == position {
			continue
		}
		in.Witness, err = txscript.WitnessSignature(tx,
			txscript.NewTxSigHashes(tx, fetcher(tx, previous)), i,
			previous[i].Value, previous[i].PkScript, txscript.SigHashAll,
			tr.lnd.private(purse), true)
		tr.must(err)
	}
	return after, tx, nil
}

// agree makes sure that trader and auction have the same account.
func (h *house) agree(theirs *account.Account, want Status) {
	h.t.Helper()
	ours := h.account(keyOf(theirs.TraderKey.PubKey))
	if ours.Status != want || want != Closed && (theirs.Value != ours.Value ||
		theirs.OutPoint != ours.OutPoint || theirs.Expiry != ours.Expiry ||
		theirs.Version != ours.Version ||
		keyOf(theirs.BatchKey) != ours.BatchKey) {

		h.t.Fatalf("%+v is not %+v", theirs, ours)
	}
}

func TestAnAccountOfAnyVersionTakesEveryChange(t *testing.T) {
	for version := account.VersionInitialNoVersion; version <=
		account.VersionMuSig2V100RC2; version++ {

		t.Run(version.String(), func(t *testing.T) {
			h := newHouse(t)
			tr := newTrader(t, "alice", h.address)
			acct := tr.open(h.chain, 1_000_000, version)
			ctx := context.Background()
			apply := func(after *account.Account, tx *wire.MsgTx, err error) {
				t.Helper()
				tr.must(err)
				h.agree(acct, Signed) // nothing has happened yet
				h.must(h.chain.Send(ctx, tx))
				h.must(h.auction.look(ctx, false))
				h.agree(after, PendingUpdate)
				h.block()
				h.agree(after, Open)
				acct = after
			}
			h.block()
			after, tx := tr.withdraw(acct, 300_000)
			apply(after, tx, nil)
			coin := h.chain.pay(wire.NewTxOut(1_000_000, tr.purseScript()))
			h.block()
			apply(tr.change(acct, &coin, nil,
				account.ValueModifier(acct.Value+999_000)))
			apply(tr.change(acct, nil, nil,
				account.ValueModifier(acct.Value-1000),
				account.ExpiryModifier(acct.Expiry+144)))
			apply(tr.change(acct, nil, nil,
				account.ValueModifier(acct.Value-1000),
				account.VersionModifier(account.VersionMuSig2V100RC2)))
			_, tx, err := tr.change(acct, nil, []*wire.TxOut{
				wire.NewTxOut(int64(acct.Value)-1000, tr.purseScript()),
			})
			tr.must(err)
			h.must(h.chain.Send(ctx, tx))
			h.block()
			h.agree(acct, Closed)
		})
	}
}

func TestAChangeThatIsNeverBroadcastLeavesTheAccountAsItWas(t *testing.T) {
	h := newHouse(t)
	tr := newTrader(t, "alice", h.address)
	acct := tr.open(h.chain, 1_000_000, account.VersionMuSig2V100RC2)
	after, tx := tr.withdraw(acct, 300_000)
	h.agree(acct, Signed)
	if _, _, err := tr.change(acct, nil, nil,
		account.ValueModifier(900_000)); err == nil {

		t.Fatal("two changes were signed at once")
	}
	h.later(changeGrace)
	h.block()
	h.agree(acct, Open)

	// The trader still has our signature, and may use it any time later.
	h.restart()
	h.must(h.chain.Send(context.Background(), tx))
	h.block()
	h.agree(after, Open)
}

func TestAChangeMadeBehindABatchsBackWins(t *testing.T) {
	s := newSale(t, 2, 2)
	after, tx := s.bidder.withdraw(s.buying, 300_000)
	s.later(changeGrace)
	s.block()
	s.agree(s.buying, Open)
	// The batch is on its way when the old change is broadcast after all.
	s.chain.onSend = func() bool {
		s.chain.onSend = nil
		s.must(s.chain.Send(context.Background(), tx))
		return true
	}
	if _, err := s.tryTick(); !refused(err) {
		t.Fatalf("%v", err)
	}
	s.block()
	s.agree(after, Open)
	if batches := s.auction.store.View().Batches; len(batches) != 0 {
		t.Fatalf("%+v", batches)
	}
}

func TestAnOpenOrderEndsWithItsAccount(t *testing.T) {
	s := newSale(t, 2, 2)
	_, tx, err := s.bidder.change(s.buying, nil, []*wire.TxOut{
		wire.NewTxOut(999_000, s.bidder.purseScript()),
	})
	s.bidder.must(err)
	s.must(s.chain.Send(context.Background(), tx))
	s.block()
	if o := s.auction.store.View().Orders[Nonce(s.bid.Nonce())]; o.open() {
		t.Fatalf("%v is open", o)
	}
	if result := s.tick(); result.Txid != nil {
		t.Fatalf("%+v", result)
	}
}

func TestAnExpiredAccountTakesNoPartAndMayLeaveByItself(t *testing.T) {
	s := newSale(t, 2, 2)
	s.chain.set(func(c *fakeChain) { c.height += 10_000 })
	if result := s.tick(); result.Txid != nil {
		t.Fatalf("%+v", result)
	}
	late := kit(s.buying, 2999, 1, 1)
	if err := s.bidder.submit(s.buying, askOf(late)); err == nil {
		t.Fatal("an expired account gave an order")
	}
	// It is renewed with our signature, or spent without.
	_, _, err := s.asker.change(s.selling, nil, nil,
		account.ValueModifier(9_000_000),
		account.ExpiryModifier(s.chain.height+1000))
	s.asker.must(err)
	s.chain.set(func(c *fakeChain) { c.spent[s.buying.OutPoint] = true })
	s.block()
	s.agree(s.buying, Closed)
}

func TestAnAccountIsRenewedByABatch(t *testing.T) {
	h := newHouse(t)
	asker := newTrader(t, "asker", h.address)
	bidder := newTrader(t, "bidder", h.address)
	selling := asker.open(h.chain, 10_000_000, account.VersionMuSig2V100RC2)
	short := bidder.reserve(1_000_000, account.VersionMuSig2V100RC2,
		h.chain.height+200)
	out, err := short.Output()
	bidder.must(err)
	short.OutPoint = h.chain.pay(out)
	ctx := context.Background()
	bidder.must(bidder.process.client.InitAccount(ctx, short))
	bidder.must(bidder.db.AddAccount(short))
	h.block()
	bidder.must(bidder.process.client.StartAccountSubscription(ctx,
		short.TraderKey))
	asker.ask(selling, 1000, 10)
	bidder.bid(short, 1000, 10)
	height := h.chain.height
	if result := h.tick(); result.Txid == nil {
		t.Fatalf("%+v", result)
	}
	eventually(t, "the trader has renewed too", func() bool {
		return bidder.stored(short).Expiry == height+testTerms.Renewal
	})
	// The asker's was longer than that, and is not shortened.
	if got := h.account(keyOf(selling.TraderKey.PubKey)).Expiry; got !=
		selling.Expiry {

		t.Fatalf("%d became %d", selling.Expiry, got)
	}
	eventually(t, "both agree", func() bool {
		return bidder.stored(short).OutPoint == h.account(
			keyOf(short.TraderKey.PubKey)).OutPoint
	})
}

func TestAnAccountThatIsNotPaidAsAgreedNeverOpens(t *testing.T) {
	h := newHouse(t)
	tr := newTrader(t, "alice", h.address)
	ctx := context.Background()
	acct := tr.reserve(1_000_000, account.VersionMuSig2V100RC2,
		h.chain.height+1000)
	out, err := acct.Output()
	tr.must(err)
	out.Value--
	acct.OutPoint = h.chain.pay(out)
	tr.must(tr.process.client.InitAccount(ctx, acct))
	tr.must(tr.process.client.InitAccount(ctx, acct)) // as after a restart
	h.block()
	h.agree(acct, PendingOpen)

	// Nor does one with a script of the trader's own making.
	other := tr.reserve(1_000_000, account.VersionMuSig2V100RC2,
		h.chain.height+1000)
	other.Secret[0]++
	if err := tr.process.client.InitAccount(ctx, other); err == nil {
		t.Fatal("a foreign script was accepted")
	}
}

func TestAnAccountNeedsASizeAndAVersionThatWeKeep(t *testing.T) {
	h := newHouse(t)
	tr := newTrader(t, "alice", h.address)
	key, err := tr.lnd.DeriveNextKey(context.Background(), 220)
	tr.must(err)
	for _, wrong := range []struct {
		value   btcutil.Amount
		expiry  uint32
		version account.Version
	}{
		{99_999, 5000, 2}, {1_000_000_001, 5000, 2}, {100_000, 5000, 3},
		{100_000, 1000, 2},
	} {
		_, err := tr.process.client.ReserveAccount(context.Background(),
			wrong.value, wrong.expiry, key.PubKey, wrong.version)
		if err == nil {
			t.Fatalf("%+v was accepted", wrong)
		}
	}
}
