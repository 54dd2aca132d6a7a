package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
)

// lnd writes its own node into channel.db: a bbolt file, the bucket graph-node, the key
// source. nodes/lnd/identity.py reads the same where nodes are on the platform's machine, and
// says why a file may be read that somebody else is writing.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2
	pageHeader  = 16 // id, flags, elements, pages that follow
	metaSize    = 64 // from the magic to the checksum
	elementSize = 16
	isBranch    = 0x01
	isLeaf      = 0x02
	mostPages   = 64 // that follow a page; and how deep a tree is
	keySize     = 33
)

var errNoKey = errors.New("no key is there, or it is being written")

// graphFile is lnd's channel.db, of which one value is read once it has changed.
type graphFile struct {
	path string
	seen mark
	key  string
}

// graphOf returns where lnd has its channel.db: in a folder named as its backup's, after
// the chain.
func graphOf(home, backup string) string {
	chain := filepath.Base(filepath.Dir(backup))
	return filepath.Join(home, "data", "graph", chain, "channel.db")
}

// read returns the node's public key; "" before lnd has one.
func (g *graphFile) read() string {
	there, err := os.Lstat(g.path)
	if err != nil || g.key != "" && markOf(there) == g.seen {
		return g.key
	}
	file, found, err := openFile(g.path)
	if err != nil {
		return g.key
	}
	defer file.Close()
	if key := publicKey(file, found.Size()); key != "" {
		g.key, g.seen = key, markOf(found)
	}
	return g.key
}

// publicKey returns the key of lnd's own node in hex; "" where there is none.
func publicKey(file io.ReaderAt, size int64) string {
	it := bolt{file: file, size: size}
	value, err := it.value("graph-node", "source")
	if err != nil || len(value) != keySize || value[0] != 2 && value[0] != 3 {
		return ""
	}
	return hex.EncodeToString(value)
}

// bolt is a bbolt file that somebody else may be writing.
type bolt struct {
	file io.ReaderAt
	size int64
	page int64
}

// value returns the value of a key in a bucket of the first level.
func (b *bolt) value(bucket, key string) ([]byte, error) {
	first, err := b.read(pageHeader, metaSize)
	if err != nil {
		return nil, err
	}
	b.page = int64(binary.LittleEndian.Uint32(first[8:]))
	if b.page < 1<<9 || b.page > 1<<16 || b.page&(b.page-1) != 0 {
		return nil, errNoKey
	}
	root, err := b.root()
	if err != nil {
		return nil, err
	}
	found, err := b.find(root, bucket)
	if err != nil {
		return nil, err
	}
	if len(found) < elementSize {
		return nil, errNoKey
	}
	inside := found[elementSize:] // a small one
	if below := binary.LittleEndian.Uint64(found); below != 0 {
		if inside, err = b.at(below); err != nil {
			return nil, err
		}
	}
	return b.find(inside, key)
}

// root returns the page that the newest meta page leads to.
func (b *bolt) root() ([]byte, error) {
	var newest, root uint64
	known := false
	for number := range int64(2) {
		meta, err := b.read(number*b.page+pageHeader, metaSize)
		if err != nil {
			continue
		}
		sum := fnv.New64a()
		sum.Write(meta[:metaSize-8])
		if binary.LittleEndian.Uint32(meta) != boltMagic ||
			binary.LittleEndian.Uint32(meta[4:]) != boltVersion ||
			int64(binary.LittleEndian.Uint32(meta[8:])) != b.page ||
			binary.LittleEndian.Uint64(meta[56:]) != sum.Sum64() {
			continue
		}
		if change := binary.LittleEndian.Uint64(meta[48:]); !known || change > newest {
			known, newest, root = true, change, binary.LittleEndian.Uint64(meta[16:])
		}
	}
	if !known {
		return nil, errNoKey
	}
	return b.at(root)
}

// at returns a page, with those that follow it.
func (b *bolt) at(number uint64) ([]byte, error) {
	if number >= uint64(b.size/b.page) {
		return nil, errNoKey
	}
	header, err := b.read(int64(number)*b.page, pageHeader)
	if err != nil {
		return nil, err
	}
	more := binary.LittleEndian.Uint32(header[12:])
	if more > mostPages {
		return nil, errNoKey
	}
	return b.read(int64(number)*b.page, (int64(more)+1)*b.page)
}

// find returns the value of a key below a page.
func (b *bolt) find(page []byte, key string) ([]byte, error) {
	for range mostPages {
		if len(page) < pageHeader {
			return nil, errNoKey
		}
		flags := binary.LittleEndian.Uint16(page[8:])
		count := int(binary.LittleEndian.Uint16(page[10:]))
		if flags&isLeaf != 0 {
			return valueOf(page, count, key)
		}
		if flags&isBranch == 0 || count == 0 {
			return nil, errNoKey
		}
		below, err := belowOf(page, count, key)
		if err != nil {
			return nil, err
		}
		if page, err = b.at(below); err != nil {
			return nil, err
		}
	}
	return nil, errNoKey
}

func valueOf(page []byte, count int, key string) ([]byte, error) {
	for number := range count {
		at := pageHeader + number*elementSize
		element, err := part(page, at, elementSize)
		if err != nil {
			return nil, err
		}
		where := at + int(binary.LittleEndian.Uint32(element[4:]))
		length := int(binary.LittleEndian.Uint32(element[8:]))
		name, err := part(page, where, length)
		if err != nil {
			return nil, err
		}
		if string(name) == key {
			return part(page, where+length, int(binary.LittleEndian.Uint32(element[12:])))
		}
	}
	return nil, errNoKey
}

// belowOf returns the page below a branch that would have the key.
func belowOf(page []byte, count int, key string) (uint64, error) {
	var below uint64
	for number := range count {
		at := pageHeader + number*elementSize
		element, err := part(page, at, elementSize)
		if err != nil {
			return 0, err
		}
		where := at + int(binary.LittleEndian.Uint32(element))
		name, err := part(page, where, int(binary.LittleEndian.Uint32(element[4:])))
		if err != nil {
			return 0, err
		}
		if number > 0 && string(name) > key {
			break
		}
		below = binary.LittleEndian.Uint64(element[8:])
	}
	return below, nil
}

func part(page []byte, at, length int) ([]byte, error) {
	if at < 0 || length < 0 || at > len(page) || length > len(page)-at {
		return nil, errNoKey
	}
	return page[at : at+length], nil
}

func (b *bolt) read(at, length int64) ([]byte, error) {
	content := make([]byte, length)
	_, err := b.file.ReadAt(content, at)
	return content, err
}
