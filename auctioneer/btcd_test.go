package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/btcsuite/btcd/chaincfg"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
)

// fakeBtcd answers JSON-RPC as btcd does, with what it is told.
type fakeBtcd struct {
	address, certificate string

	mu      sync.Mutex
	answers map[string]string
	asked   []string
}

func newFakeBtcd(t *testing.T) *fakeBtcd {
	backend := &fakeBtcd{answers: map[string]string{}}
	server := httptest.NewTLSServer(http.HandlerFunc(backend.serve))
	t.Cleanup(server.Close)
	backend.address = strings.TrimPrefix(server.URL, "https://")
	backend.certificate = string(pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: server.Certificate().Raw,
	}))
	return backend
}

// answer sets the result of a method; text beginning with ! is an error.
func (b *fakeBtcd) answer(method, result string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[method] = result
}

func (b *fakeBtcd) serve(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if user != "alice" || password != "lighthouse" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var question struct {
		Method string `json:"method"`
		Params []any  `json:"params"`
	}
	if json.NewDecoder(r.Body).Decode(&question) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, question.Method)
	result := b.answers[question.Method]
	if reason, failed := strings.CutPrefix(result, "!"); failed {
		_, _ = fmt.Fprintf(w, `{"result":null,"error":%s,"id":1}`, reason)
		return
	}
	_, _ = fmt.Fprintf(w, `{"result":%s,"error":null,"id":1}`, result)
}

func dialFake(t *testing.T, backend *fakeBtcd, credentials string) *Btcd {
	folder := t.TempDir()
	certificate := filepath.Join(folder, "rpc.cert")
	file := filepath.Join(folder, "credentials")
	for path, content := range map[string]string{
		certificate: backend.certificate, file: credentials,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chain, err := dialBtcd(backend.address, certificate, file)
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

func TestBtcdsAnswersAreToldFromItsSilence(t *testing.T) {
	ctx := context.Background()
	backend := newFakeBtcd(t)
	chain := dialFake(t, backend, "alice:lighthouse\n")

	backend.answer("getblockcount", "458")
	if height, err := chain.Height(ctx); err != nil || height != 458 {
		t.Fatalf("%d, %v", height, err)
	}

	backend.answer("gettxout", "null")
	if out, _, err := chain.Output(ctx, wire.OutPoint{}); out != nil ||
		err != nil {

		t.Fatalf("%v, %v", out, err)
	}
	backend.answer("gettxout", `{"value": 0.04788755, "confirmations": 3,
		"scriptPubKey": {"hex": "0014"}}`)
	out, confirmations, err := chain.Output(ctx, wire.OutPoint{})
	if err != nil || out.Value != 4788755 || confirmations != 3 {
		t.Fatalf("%v, %d, %v", out, confirmations, err)
	}

	// Not known is nil; any other error is one.
	unknown := `!{"code": -5, "message": "No information available"}`
	backend.answer("getrawtransaction", unknown)
	if tx, _, err := chain.Transaction(ctx, chainhash.Hash{}); tx != nil ||
		err != nil {

		t.Fatalf("%v, %v", tx, err)
	}
	backend.answer("getrawtransaction", `!{"code": -1, "message": "broken"}`)
	if _, _, err := chain.Transaction(ctx, chainhash.Hash{}); err == nil {
		t.Fatal("an error was taken for an unknown transaction")
	}

	// A refusal is one unless the transaction is there all the same.
	tx := wire.NewMsgTx(2)
	tx.AddTxIn(&wire.TxIn{})
	backend.answer("getrawtransaction", unknown)
	backend.answer("sendrawtransaction", `!{"code": -26, "message": "spent"}`)
	if err := chain.Send(ctx, tx); !refused(err) ||
		!strings.Contains(err.Error(), "spent") {

		t.Fatalf("%v", err)
	}
	backend.answer("getrawtransaction", fmt.Sprintf(
		`{"hex": "%s", "confirmations": 1}`, hex.EncodeToString(txBytes(tx))))
	if err := chain.Send(ctx, tx); err != nil {
		t.Fatal(err)
	}
	backend.answer("getrawtransaction", `!{"code": -1, "message": "broken"}`)
	if err := chain.Send(ctx, tx); err == nil || chain == nil {
		t.Fatal("what is not known was taken for known")
	}

	backend.answer("getblockcount", "nonsense")
	if _, err := chain.Height(ctx); err == nil || refused(err) {
		t.Fatalf("%v", err)
	}
	if _, err := dialFake(t, backend, "mallory:guess").Height(
		ctx); err == nil || refused(err) {

		t.Fatalf("%v", err)
	}
}

func TestBtcdMustBeOnOurNetworkAndFindTransactions(t *testing.T) {
	ctx := context.Background()
	backend := newFakeBtcd(t)
	chain := dialFake(t, backend, "alice:lighthouse")
	params := &chaincfg.RegressionNetParams
	backend.answer("getblockhash", `"`+params.GenesisHash.String()+`"`)
	backend.answer("getrawtransaction", `!{"code": -5, "message":
		"The transaction index must be enabled (specify --txindex)"}`)
	if err := chain.verify(ctx, params); err == nil ||
		!strings.Contains(err.Error(), "--txindex") {

		t.Fatalf("%v", err)
	}
	backend.answer("getrawtransaction", `!{"code": -5, "message": "none"}`)
	if err := chain.verify(ctx, params); err != nil {
		t.Fatal(err)
	}
	if err := chain.verify(ctx, &chaincfg.SimNetParams); err == nil {
		t.Fatal("regtest was taken for simnet")
	}
}
