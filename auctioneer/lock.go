package main

import (
	"fmt"
	"os"
	"syscall"
)

// lock makes sure that only one process works in a folder. The system takes
// the lock away with the process, however that ends.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("another auctioneer works in %s", path)
	}
	return func() { _ = file.Close() }, nil
}
