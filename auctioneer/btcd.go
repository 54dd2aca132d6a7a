package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/btcsuite/btcd/btcjson"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
)

const (
	// callTimeout is for one question; btcd answers within milliseconds.
	callTimeout = 10 * time.Second

	// answerLimit bounds what is read of an answer: no block is ever asked for.
	answerLimit = 16 << 20
)

// Btcd is the chain as btcd's JSON-RPC tells of it.
type Btcd struct {
	url, user, password string
	client              *http.Client
}

// dialBtcd reads the certificate and the credentials; nothing is sent yet.
// The credentials are one line, user:password, in a file that is ours alone:
// arguments of a program can be read by everybody on the machine.
func dialBtcd(address, certificate, credentials string) (*Btcd, error) {
	pem, err := os.ReadFile(certificate)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", certificate)
	}
	line, err := readPrivate(credentials)
	if err != nil {
		return nil, err
	}
	user, password, found := strings.Cut(strings.TrimSpace(string(line)), ":")
	if !found {
		return nil, fmt.Errorf("%s should hold user:password", credentials)
	}
	return &Btcd{
		url: "https://" + address, user: user, password: password,
		client: &http.Client{
			Timeout: callTimeout,
			Transport: &http.Transport{
				Proxy:           nil, // not even one from the environment
				TLSClientConfig: &tls.Config{RootCAs: roots},
			},
		},
	}, nil
}

// verify makes sure that btcd answers, is on the network we think it is on,
// and can find transactions.
func (b *Btcd) verify(ctx context.Context, params *chaincfg.Params) error {
	var first string
	if err := b.call(ctx, &first, "getblockhash", 0); err != nil {
		return err
	}
	if first != params.GenesisHash.String() {
		return fmt.Errorf("btcd is not on %s", params.Name)
	}
	err := b.call(ctx, nil, "getrawtransaction", chainhash.Hash{}.String(), 1)
	if err != nil && strings.Contains(err.Error(), "txindex") {
		return errors.New("btcd must run with --txindex")
	}
	return nil
}

// Height returns the number of the newest block.
func (b *Btcd) Height(ctx context.Context) (uint32, error) {
	var height uint32
	return height, b.call(ctx, &height, "getblockcount")
}

// Output returns an unspent output. btcd does not take off what waiting
// transactions spend.
func (b *Btcd) Output(ctx context.Context, at wire.OutPoint) (*wire.TxOut,
	int64, error) {

	var found *btcjson.GetTxOutResult
	err := b.call(ctx, &found, "gettxout", at.Hash.String(), at.Index, true)
	if err != nil || found == nil {
		return nil, 0, err
	}
	value, err := btcutil.NewAmount(found.Value)
	if err != nil {
		return nil, 0, err
	}
	script, err := hex.DecodeString(found.ScriptPubKey.Hex)
	if err != nil {
		return nil, 0, err
	}
	return wire.NewTxOut(int64(value), script), found.Confirmations, nil
}

// Transaction returns a transaction, waiting or in a block.
func (b *Btcd) Transaction(ctx context.Context, txid chainhash.Hash) (
	*wire.MsgTx, int64, error) {

	var found btcjson.TxRawResult
	err := b.call(ctx, &found, "getrawtransaction", txid.String(), 1)
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Code == btcjson.ErrRPCNoTxInfo {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	raw, err := hex.DecodeString(found.Hex)
	if err != nil {
		return nil, 0, err
	}
	tx, err := parseTx(raw)
	return tx, int64(found.Confirmations), err
}

// Send broadcasts a transaction; one that btcd has already is fine.
func (b *Btcd) Send(ctx context.Context, tx *wire.MsgTx) error {
	err := b.call(ctx, nil, "sendrawtransaction",
		hex.EncodeToString(txBytes(tx)), true)
	if !refused(err) {
		return err
	}
	known, _, lookup := b.Transaction(ctx, tx.TxHash())
	switch {
	case lookup != nil:
		return lookup
	case known != nil:
		return nil
	}
	return err
}

// call asks one question. An answer that is an error becomes a Refusal;
// every other error means that the answer is not known.
func (b *Btcd) call(ctx context.Context, into any, method string,
	params ...any) error {

	if params == nil {
		params = []any{}
	}
	question, err := json.Marshal(map[string]any{
		"jsonrpc": "1.0", "id": 1, "method": method, "params": params,
	})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(
		ctx, http.MethodPost, b.url, bytes.NewReader(question),
	)
	if err != nil {
		return err
	}
	request.SetBasicAuth(b.user, b.password)
	response, err := b.client.Do(request)
	if err != nil {
		return fmt.Errorf("btcd does not answer: %w", err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return fmt.Errorf("btcd does not answer: %w", err)
	}
	if response.StatusCode == http.StatusUnauthorized {
		return errors.New("btcd refuses the credentials")
	}
	var answer struct {
		Result json.RawMessage   `json:"result"`
		Error  *btcjson.RPCError `json:"error"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("btcd answers %s with %d bytes that are not JSON",
			response.Status, len(raw))
	}
	if answer.Error != nil {
		return &Refusal{Code: answer.Error.Code, Reason: fmt.Sprintf("%s: %s",
			method, answer.Error.Message)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, into)
}
