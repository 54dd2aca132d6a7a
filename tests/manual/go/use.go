// A customer's program: who am I, which nodes are there, order a channel, follow what happens.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"net/http"
	"os"

	"example.org/use/leyden"
)

func check(isRight bool, what string) {
	if !isRight {
		log.Fatal(what)
	}
}

func told[Answer any](answer *Answer, body []byte, err error) *Answer {
	if err != nil {
		log.Fatal(err)
	}
	check(answer != nil, string(body))
	return answer
}

func main() {
	ctx := context.Background()
	api, err := leyden.NewClientWithResponses(os.Args[1], leyden.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Args[2])
			return nil
		}))
	check(err == nil, "the client")

	key, err := api.KeysShowWithResponse(ctx)
	account := told(key.JSON200, key.Body, err)
	platform, err := api.PlatformShowWithResponse(ctx)
	check(len(told(platform.JSON200, platform.Body, err).Networks) > 0, "a network")
	failed := leyden.NodesListParamsStatus("failed")
	nodes, err := api.NodesListWithResponse(
		ctx, account.OrganizationId, &leyden.NodesListParams{Status: &failed})
	check(len(told(nodes.JSON200, nodes.Body, err).Nodes) == 0, "no node has failed")

	refused, err := api.FlowQuoteWithResponse(ctx, leyden.ChannelWish{Capacity: 7})
	problem := told(refused.JSON400, refused.Body, err)
	check(*problem.Code == "invalid_request", "the code of an error")
	check(*problem.Field == "capacity", "the field of an error")
	check(refused.HTTPResponse.Header.Get("Request-Id") != "", "the id of a request")

	latest := "latest"
	start, err := api.EventsListWithResponse(ctx, &leyden.EventsListParams{After: &latest})
	cursor := told(start.JSON200, start.Body, err).NextCursor
	wish := leyden.ChannelWish{Capacity: 1_000_000}
	quoted, err := api.FlowQuoteWithResponse(ctx, wish)
	quote := told(quoted.JSON200, quoted.Body, err)
	once := rand.Text()
	ordered, err := api.FlowCreateWithResponse(
		ctx, &leyden.FlowCreateParams{IdempotencyKey: &once}, wish)
	order := told(ordered.JSON200, ordered.Body, err)
	check(order.TotalFee == quote.TotalFee, "the price of a quote")

	seen, wait := "", 10
	for seen == "" {
		listed, err := api.EventsListWithResponse(
			ctx, &leyden.EventsListParams{Cursor: &cursor, Wait: &wait})
		page := told(listed.JSON200, listed.Body, err)
		for _, each := range page.Events {
			event, err := each.ValueByDiscriminator()
			check(err == nil, "the type of an event")
			if created, is := event.(leyden.OrderCreatedEvent); is {
				seen = created.Data.OrderId
			}
		}
		cursor = page.NextCursor
	}
	check(seen == order.OrderId, "the event of the order")
	fmt.Println(account.OrganizationName)
}
