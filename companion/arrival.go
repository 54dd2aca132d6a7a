package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// arriving is a file beside lnd's: the volume has a copy that is not complete yet.
const arriving = ".arriving"

// notCopied is what a volume has beside lnd's files.
var notCopied = map[string]bool{"lost+found": true, arriving: true}

// errInUse is of a caller who was suspended while another one went on.
var errInUse = errors.New("the volume has a node's data")

// receive replaces an incomplete copy, and never what lnd is started with.
func receive(folder string, from io.Reader) error {
	mark := filepath.Join(folder, arriving)
	there, err := entries(folder)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(mark); len(there) > 0 && errors.Is(err, fs.ErrNotExist) {
		return errInUse
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	if err := durable(folder); err != nil {
		return err
	}
	for _, each := range there {
		if err := os.RemoveAll(filepath.Join(folder, each)); err != nil {
			return err
		}
	}
	return unpack(folder, from)
}

// complete makes a copy durable, whoever wrote it, and keeps it for good.
func complete(folder string) error {
	err := filepath.WalkDir(folder, func(where string, entry fs.DirEntry, err error) error {
		switch {
		case entry != nil && notCopied[entry.Name()] && entry.IsDir():
			return fs.SkipDir
		case err != nil:
			return err
		case entry.IsDir() || entry.Type().IsRegular():
			return durable(where)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(folder, arriving)); err != nil {
		return err
	}
	return durable(folder)
}

// entries lists what there is in a folder of lnd's files.
func entries(folder string) ([]string, error) {
	all, err := os.ReadDir(folder)
	var found []string
	for _, each := range all {
		if !notCopied[each.Name()] {
			found = append(found, each.Name())
		}
	}
	return found, err
}
