package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// tryPatience is how long a connection may take: what a policy drops never answers.
const tryPatience = 3 * time.Second

// try prints for each HOST:PORT whether a connection to it is made from here. It sends
// nothing. An address that refuses is one that policies let through, unless they refuse.
func try(out io.Writer, addresses []string) {
	made := make([]bool, len(addresses))
	var all sync.WaitGroup
	for number, address := range addresses {
		all.Add(1)
		go func() {
			defer all.Done()
			made[number] = connects(address)
		}()
	}
	all.Wait()
	for number, address := range addresses {
		word := "closed"
		if made[number] {
			word = "open"
		}
		fmt.Fprintf(out, "%s %s\n", address, word)
	}
}

func connects(address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), tryPatience)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	connection.Close()
	return true
}
