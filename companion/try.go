package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// What a policy drops never answers.
	tryPatience = 3 * time.Second
	// Policies hold a pod, and let others in to it, a while after it has begun: with
	// kube-router 0.3 s to 1.8 s.
	policyPatience = 8 * time.Second
)

// try prints for each HOST:PORT whether a connection to it is made from here, once
// policies had time to know this pod. It sends nothing. An address that refuses is one
// that policies let through, unless they refuse.
func try(out io.Writer, after time.Duration, addresses []string) {
	time.Sleep(after)
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
