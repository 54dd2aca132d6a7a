package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"path/filepath"
	"testing"
)

// tests/nodes/lnd/test_identity.py reads the same files, and a real lnd's.
const (
	keyInTheGraph = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
	anotherKey    = "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
	pageSize      = 4096
)

func raw(parts ...any) []byte {
	var made bytes.Buffer
	for _, each := range parts {
		if err := binary.Write(&made, binary.LittleEndian, each); err != nil {
			panic(err)
		}
	}
	return made.Bytes()
}

func aPage(content []byte) []byte {
	return append(content, make([]byte, pageSize-len(content))...)
}

func aMeta(number, root, change uint64) []byte {
	told := raw(uint32(boltMagic), uint32(boltVersion), uint32(pageSize), uint32(0),
		root, uint64(0), uint64(0), uint64(9), change)
	sum := fnv.New64a()
	sum.Write(told)
	header := raw(number, uint16(4), uint16(0), uint32(0))
	return bytes.Join([][]byte{header, told, raw(sum.Sum64())}, nil)
}

// aLeaf is a page with one element, or what is inside a small bucket.
func aLeaf(number uint64, name string, value []byte) []byte {
	header := raw(number, uint16(isLeaf), uint16(1), uint32(0))
	element := raw(uint32(0), uint32(elementSize), uint32(len(name)), uint32(len(value)))
	return bytes.Join([][]byte{header, element, []byte(name), value}, nil)
}

func aBranch(number, below uint64, name string) []byte {
	header := raw(number, uint16(isBranch), uint16(1), uint32(0))
	element := raw(uint32(elementSize), uint32(len(name)), below)
	return bytes.Join([][]byte{header, element, []byte(name)}, nil)
}

func aBucket(t *testing.T, key string) []byte {
	value, err := hex.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	return append(raw(uint64(0), uint64(0)), aLeaf(0, "source", value)...)
}

func aFile(pages ...[]byte) []byte {
	var made []byte
	for _, each := range pages {
		made = append(made, aPage(each)...)
	}
	return made
}

// aGraph has its key below a branch, as large ones do.
func aGraph(t *testing.T) []byte {
	value, err := hex.DecodeString(keyInTheGraph)
	if err != nil {
		t.Fatal(err)
	}
	return aFile(
		aMeta(0, 2, 1), aMeta(1, 2, 2),
		aBranch(2, 3, "graph-node"),
		aLeaf(3, "graph-node", raw(uint64(4), uint64(0))),
		aBranch(4, 5, "source"),
		aLeaf(5, "source", value),
	)
}

func keyOf(content []byte) string {
	return publicKey(bytes.NewReader(content), int64(len(content)))
}

func TestTheNewestOfBothMetasCounts(t *testing.T) {
	old, new := aMeta(0, 2, 7), aMeta(1, 3, 8)
	first := aLeaf(2, "graph-node", aBucket(t, keyInTheGraph))
	second := aLeaf(3, "graph-node", aBucket(t, anotherKey))
	if found := keyOf(aFile(old, new, first, second)); found != anotherKey {
		t.Fatal(found)
	}
	torn := bytes.Clone(new)
	torn[len(torn)-1] ^= 1
	if found := keyOf(aFile(old, torn, first, second)); found != keyInTheGraph {
		t.Fatal("half written: " + found)
	}
	if found := keyOf(aFile(torn, torn, first, second)); found != "" {
		t.Fatal(found)
	}
}

func TestAKeyIsFoundBelowBranches(t *testing.T) {
	if found := keyOf(aGraph(t)); found != keyInTheGraph {
		t.Fatal(found)
	}
}

func TestWhatIsNoDatabaseHasNoKeyAndEndsNothing(t *testing.T) {
	whole := aGraph(t)
	for at := range whole {
		keyOf(whole[:at])
		torn := bytes.Clone(whole)
		torn[at] ^= 0xff
		keyOf(torn)
	}
	if keyOf(nil) != "" || keyOf(bytes.Repeat([]byte("x"), 3*pageSize)) != "" {
		t.Fatal("it has a key")
	}
}

func TestTheGraphIsInTheChainsFolder(t *testing.T) {
	home := "/home/lnd/.lnd"
	backup := filepath.Join(home, "data/chain/bitcoin/simnet/channel.backup")
	if found := graphOf(home, backup); found != home+"/data/graph/simnet/channel.db" {
		t.Fatal(found)
	}
}
