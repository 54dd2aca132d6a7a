package main

import (
	"context"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const suffix = ".macaroon"

// watcher looks at lnd's home, and knows what the platform has of it.
type watcher struct {
	home  string
	file  backupFile
	log   logFile
	graph graphFile
	run   string // another one each time this program starts

	walked   time.Time
	reported time.Time
	removed  int // macaroons, in this run
	told     int // of them, how many the platform knows of
	disk     int64
	tail     []byte // of the log, until the platform has it
	key      string // the node's public key
	keyTold  string
}

// look reads what is new.
func (w *watcher) look(now time.Time, everything bool) {
	if err := w.log.read(); err != nil {
		log.Printf("the log is not read: %v", err)
	}
	if everything || now.Sub(w.walked) >= walkEvery {
		w.walk()
		w.key = w.graph.read()
		w.walked = now
	}
}

// report sends what the platform does not have; nil where there is nothing to send.
func (w *watcher) report(ctx context.Context, now time.Time, to *platform, everything bool) error {
	content, mark, err := w.file.news()
	if err != nil {
		log.Printf("the channel backup is not read: %v", err)
	}
	due := everything || now.Sub(w.reported) >= reportEvery
	news := w.log.news(due)
	if !due && content == nil && news == nil && w.tail == nil &&
		w.removed == w.told && w.key == w.keyTold && w.log.began {
		return nil
	}
	told := report{
		Run:              w.run,
		ChannelBackup:    content,
		MacaroonsRemoved: w.removed,
		Disk:             w.disk,
		Height:           w.log.height,
		Log:              news,
		LogTail:          w.tail,
		PublicKey:        w.key,
	}
	got, err := to.send(ctx, told)
	if err != nil {
		return err
	}
	w.reported, w.told, w.tail, w.keyTold = now, told.MacaroonsRemoved, nil, told.PublicKey
	if content != nil {
		w.file.taken = mark
	}
	switch {
	case !w.log.began:
		w.log.begin(got.Log)
	case news != nil && got.Log != nil && got.Log.is(news.Until):
		w.log.taken(news.Until)
	case news != nil:
		w.log.begin(got.Log) // it has another place: what it does not have is read again
	}
	return nil
}

func (p place) is(other place) bool {
	return p.Inode == other.Inode && p.Offset == other.Offset && string(p.Head) == string(other.Head)
}

// walk deletes macaroons, links among them, and adds up what the home takes.
func (w *watcher) walk() {
	var disk int64
	err := filepath.WalkDir(w.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // it went while we looked
		}
		if strings.HasSuffix(strings.ToLower(entry.Name()), suffix) {
			if os.Remove(path) == nil {
				w.removed++
			}
			return nil
		}
		if found, err := entry.Info(); err == nil {
			if known, ok := found.Sys().(*syscall.Stat_t); ok {
				disk += known.Blocks * 512
			}
		}
		return nil
	})
	if err == nil {
		w.disk = disk
	}
}
