package main

import (
	"context"
	"log"
	"time"

	rpc "github.com/lightninglabs/pool/auctioneerrpc"
)

// round puts one question to each stream and returns all the answers, if all
// are what was wanted. Else it says who spoiled the batch: after everybody has
// answered or run out of time, so that nobody is in the middle of this attempt
// when the next begins.
func (a *Auction) round(ctx context.Context, step string, d *Draft,
	questions map[*Stream]*rpc.ServerAuctionMessage, limit time.Duration,
	wanted func(*rpc.ClientAuctionMessage) bool) (
	map[*Stream]*rpc.ClientAuctionMessage, error) {

	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	spoiled := &Spoiled{
		Step: step, Rejects: map[*Stream]*rpc.OrderMatchReject{},
	}
	coming := map[*Stream]<-chan *rpc.ClientAuctionMessage{}
	for stream, question := range questions {
		answer, err := a.crowd.ask(stream, question)
		if err != nil {
			spoiled.Silent = append(spoiled.Silent, stream)
			continue
		}
		coming[stream] = answer
	}
	answers := map[*Stream]*rpc.ClientAuctionMessage{}
	for stream, answer := range coming {
		words := await(ctx, answer, stream.gone)
		answers[stream] = words
		switch {
		case words.GetReject() != nil:
			spoiled.Rejects[stream] = words.GetReject()
		case words == nil || !wanted(words):
			spoiled.Silent = append(spoiled.Silent, stream)
		}
	}
	if len(spoiled.Rejects)+len(spoiled.Silent) > 0 {
		return nil, spoiled
	}
	log.Printf("batch %s: %s: %d streams agree", d.ID, step, len(answers))
	return answers, nil
}

// await returns the answer, or nothing when it will not come in time.
func await(ctx context.Context, answer <-chan *rpc.ClientAuctionMessage,
	gone <-chan struct{}) *rpc.ClientAuctionMessage {

	select {
	case words := <-answer:
		return words
	case <-gone:
	case <-ctx.Done():
	}
	// Somebody else may have used up the time; this one has answered.
	select {
	case words := <-answer:
		return words
	default:
		return nil
	}
}
