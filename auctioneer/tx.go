package main

import (
	"bytes"

	"github.com/btcsuite/btcd/wire"
)

func txBytes(tx *wire.MsgTx) []byte {
	var buffer bytes.Buffer
	_ = tx.Serialize(&buffer) // a buffer takes everything
	return buffer.Bytes()
}

func parseTx(raw []byte) (*wire.MsgTx, error) {
	tx := &wire.MsgTx{}
	return tx, tx.Deserialize(bytes.NewReader(raw))
}
