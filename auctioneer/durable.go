package main

import (
	"errors"
	"os"
	"path/filepath"
)

// writeDurably replaces a file so that a crash at any moment, even a power
// cut, leaves the old content or the new, never a mixture and never nothing.
func writeDurably(path string, content []byte) error {
	folder := filepath.Dir(path)
	temporary, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content) // CreateTemp has made it 0600
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	// The new name is only safe once its folder is on the disk too.
	opened, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
