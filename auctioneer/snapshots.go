package main

import (
	"bytes"
	"context"
	"slices"

	rpc "github.com/lightninglabs/pool/auctioneerrpc"
	"google.golang.org/protobuf/proto"
)

// unknownBatch is a text that poold looks for: a batch it has signed and we do
// not know is one that is not final, and it goes on waiting.
const unknownBatch = "batch snapshot not found"

// snapshotsLimit is how many batches are told of in one answer.
const snapshotsLimit = 100

// BatchSnapshot tells of one batch, or of the newest.
//
// A poold that reconnects asks for a batch it has signed and got no end of.
// That is remembered, so that the end can be sent again.
func (a *Auction) BatchSnapshot(ctx context.Context,
	r *rpc.BatchSnapshotRequest) (*rpc.BatchSnapshotResponse, error) {

	batches := a.from(r.BatchId)
	if len(batches) == 0 {
		return nil, notFound(unknownBatch)
	}
	found := batches[len(batches)-1]
	identity := identityOf(ctx)
	if bytes.Equal(r.BatchId, found.ID[:]) &&
		slices.Contains(found.Signers, identity) {

		a.crowd.asked(identity, found.ID)
	}
	return found.snapshot()
}

// BatchSnapshots tells of several batches, the newest first.
func (a *Auction) BatchSnapshots(_ context.Context,
	r *rpc.BatchSnapshotsRequest) (*rpc.BatchSnapshotsResponse, error) {

	batches := a.from(r.StartBatchId)
	answer := &rpc.BatchSnapshotsResponse{}
	wanted := min(int(r.NumBatchesBack), snapshotsLimit)
	for i := len(batches) - 1; i >= 0 && len(answer.Batches) < wanted; i-- {
		snapshot, err := batches[i].snapshot()
		if err != nil {
			return nil, err
		}
		answer.Batches = append(answer.Batches, snapshot)
	}
	return answer, nil
}

// from returns the batches up to the one with that ID, or none. An ID of
// zeros means all.
func (a *Auction) from(id []byte) []Batch {
	batches := a.store.View().Batches
	if len(bytes.Trim(id, "\x00")) == 0 {
		return batches
	}
	for i := len(batches) - 1; i >= 0; i-- {
		if bytes.Equal(batches[i].ID[:], id) {
			return batches[:i+1]
		}
	}
	return nil
}

func (b Batch) snapshot() (*rpc.BatchSnapshotResponse, error) {
	snapshot := &rpc.BatchSnapshotResponse{}
	return snapshot, proto.Unmarshal(b.Snapshot, snapshot)
}
