package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A file beside lnd's names the copy that a volume holds.
const (
	arriving = ".arriving" // the next copy replaces it
	arrived  = ".arrived"  // lnd is started with it: no copy replaces it
)

// notCopied is what a volume has beside lnd's files.
var notCopied = map[string]bool{"lost+found": true, arriving: true, arrived: true}

// errInUse is of a caller who was suspended while another one went on.
var errInUse = errors.New("the volume holds another copy, or a node's data")

// receive replaces the copy that is arriving, and never what lnd is started with.
func receive(folder, copy string, from io.Reader) error {
	there, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	holds, copied := false, false
	for _, each := range there {
		switch {
		case each.Name() == arrived:
			return errInUse
		case each.Name() == arriving:
			copied = true
		case !notCopied[each.Name()]:
			holds = true
		}
	}
	if holds && !copied {
		return errInUse
	}
	// Named before anything is deleted: whoever settles the earlier copy finds it gone.
	if err := markArriving(folder, copy); err != nil {
		return err
	}
	if err := empty(folder); err != nil {
		return err
	}
	return unpack(folder, from)
}

// settle keeps a copy for good, if the volume holds that one.
func settle(folder, copy string) error {
	from, to := filepath.Join(folder, arriving), filepath.Join(folder, arrived)
	if there, err := os.ReadFile(to); err == nil && string(there) == copy {
		return syncFolder(folder)
	}
	there, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && string(there) != copy) {
		return errInUse
	}
	if err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(folder)
}

// markArriving notes durably which copy arrives.
func markArriving(folder, copy string) error {
	file, err := os.OpenFile(filepath.Join(folder, arriving), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteString(copy); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return syncFolder(folder)
}

// empty deletes what an earlier try has left.
func empty(folder string) error {
	there, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, each := range there {
		if notCopied[each.Name()] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, each.Name())); err != nil {
			return err
		}
	}
	return nil
}
