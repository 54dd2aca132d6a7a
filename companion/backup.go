package main

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// lnd's backup has 100 bytes for each channel and some for itself.
const mostBackup = 4 << 20

// mark tells one content of a file from another.
type mark struct {
	inode   uint64
	size    int64
	written time.Time
}

// backupFile is lnd's channel.backup, which lnd replaces whole.
type backupFile struct {
	path  string
	taken mark // of what the platform has
}

// news returns the backup where the platform does not have it yet.
func (b *backupFile) news() ([]byte, mark, error) {
	there, err := os.Lstat(b.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, mark{}, nil
	}
	if err != nil || markOf(there) == b.taken {
		return nil, mark{}, err
	}
	file, found, err := openFile(b.path)
	if err != nil {
		return nil, mark{}, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, mostBackup+1))
	if err != nil {
		return nil, mark{}, err
	}
	if len(content) > mostBackup {
		return nil, mark{}, errors.New("channel.backup is larger than 4 MiB")
	}
	return content, markOf(found), nil
}

// openFile opens a file that is one: no link, no folder, no pipe.
func openFile(path string) (*os.File, os.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	found, err := file.Stat()
	if err == nil && !found.Mode().IsRegular() {
		err = errors.New(path + ": not a regular file")
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, found, nil
}

func markOf(found os.FileInfo) mark {
	return mark{inode: inodeOf(found), size: found.Size(), written: found.ModTime()}
}

func inodeOf(found os.FileInfo) uint64 {
	if known, ok := found.Sys().(*syscall.Stat_t); ok {
		return known.Ino & (1<<63 - 1) // as databases count
	}
	return 0
}
