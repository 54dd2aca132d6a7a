package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
)

const (
	headSize   = 32
	mostLine   = 1 << 20 // a line that long is none of lnd's
	mostLines  = 10      // of one report; one is told to the node's owner
	mostTail   = 64 << 10
	mostAtOnce = 16 << 20
)

// A peer can put words into other lines (aliases, errors): a line counts in full alone.
const stamp = `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} `

var (
	outOfOrder = regexp.MustCompile(`^` + stamp + `\[ERR\] GRPH: out of order block: ` +
		`expecting height=\d{1,10}, got height=\d{1,10}$`)
	height = regexp.MustCompile(`^` + stamp + `\[INF\] (?:` +
		`NTFN: New block: height=(\d{1,9}), sha=[0-9a-f]{64}|` +
		`LTND: Chain backend is fully synced! (?:rev="" )?end_height=(\d{1,9}))`)
	telltales = [][]byte{[]byte("out of order block: "), []byte("[INF] NTFN: New block: "),
		[]byte("fully synced! ")}
)

// logFile follows lnd's log, over files that lnd rotates: it keeps the one open that it
// reads, so that nothing is missed while it runs.
type logFile struct {
	path   string
	began  bool   // whether the platform has said where to begin
	since  *place // how far the platform has it
	file   *os.File
	at     int64 // the end of the last whole line that was read
	inode  uint64
	head   []byte
	skips  bool // within a line that is too long
	lines  []string
	height int64
}

// begin reads on from the place that the platform has kept; nil is the beginning.
func (l *logFile) begin(since *place) {
	l.close()
	l.began, l.since, l.lines = true, since, nil
}

// taken notes that the platform has the log up to here.
func (l *logFile) taken(until place) {
	l.since, l.lines = &until, nil
}

// read reads what is new, up to an amount.
func (l *logFile) read() error {
	if !l.began {
		return nil
	}
	for moved := false; ; moved = true {
		if l.file == nil {
			if err := l.open(moved); err != nil {
				if errors.Is(err, os.ErrNotExist) {
					return nil // lnd has not begun, or is between two files
				}
				return err
			}
		}
		// Looked at before the rest is read: a file that was moved grows no more.
		there, err := os.Lstat(l.path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		whole, failed := l.readOn()
		if failed != nil || !whole || err != nil || inodeOf(there) == l.inode {
			return failed
		}
		l.close()
	}
}

// place returns how far the log was read.
func (l *logFile) place() place {
	return place{Inode: l.inode, Offset: l.at, Head: l.head}
}

// news returns what the platform does not have yet, where it is worth telling.
func (l *logFile) news(everything bool) *logNews {
	if !l.began || l.file == nil {
		return nil
	}
	until := l.place()
	same := l.since != nil && l.since.Inode == until.Inode && bytes.Equal(l.since.Head, until.Head)
	if same && l.since.Offset == until.Offset {
		return nil
	}
	if !everything && same && len(l.lines) == 0 {
		return nil // the place alone goes with the next report
	}
	return &logNews{Since: l.since, Until: until, Lines: append([]string{}, l.lines...)}
}

// open opens the log where the platform has it, or from its beginning on.
func (l *logFile) open(whole bool) error {
	file, found, err := openFile(l.path)
	if err != nil {
		return err
	}
	head := make([]byte, headSize)
	read, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		file.Close()
		return err
	}
	l.file, l.inode, l.head, l.at, l.skips = file, inodeOf(found), head[:read], 0, false
	switch since := l.since; {
	case since == nil || whole:
	case since.Offset < 0:
		l.at, l.skips = found.Size(), true
	case len(since.Head) > 0 && bytes.HasPrefix(l.head, since.Head) && found.Size() >= since.Offset:
		l.at = since.Offset
	}
	return nil
}

// tail returns the last lines of the log, whichever run of lnd has written them.
func (l *logFile) tail() []byte {
	file, found, err := openFile(l.path)
	if err != nil {
		return nil // there is none, or none of lnd's
	}
	defer file.Close()
	from := max(0, found.Size()-mostTail)
	content, err := io.ReadAll(io.NewSectionReader(file, from, mostTail))
	if err != nil {
		return nil
	}
	if from > 0 {
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	return content
}

func (l *logFile) close() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// readOn reads whole lines, and returns whether it came to the end; it stays before a
// line that is not whole.
func (l *logFile) readOn() (bool, error) {
	if len(l.head) < headSize {
		head := make([]byte, headSize)
		read, err := l.file.ReadAt(head, 0)
		if err != nil && err != io.EOF {
			return false, err
		}
		l.head = head[:read]
	}
	buffer := make([]byte, 64<<10)
	var left []byte
	for total := 0; total < mostAtOnce; {
		read, err := l.file.ReadAt(buffer, l.at+int64(len(left)))
		total += read
		left = append(left, buffer[:read]...)
		end := bytes.LastIndexByte(left, '\n') + 1
		if end > 0 {
			l.take(left[:end])
			l.at += int64(end)
			left = append(left[:0], left[end:]...)
		}
		if len(left) > mostLine {
			l.at += int64(len(left))
			l.skips, left = true, left[:0]
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func (l *logFile) take(content []byte) {
	for _, line := range bytes.SplitAfter(content, []byte("\n")) {
		if l.skips {
			l.skips = len(line) == 0
			continue
		}
		if !mayMatter(line) {
			continue
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if outOfOrder.Match(line) && len(l.lines) < mostLines {
			l.lines = append(l.lines, string(line))
		} else if found := height.FindSubmatch(line); found != nil {
			digits := append(append([]byte{}, found[1]...), found[2]...)
			if number, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
				l.height = number
			}
		}
	}
}

func mayMatter(line []byte) bool {
	for _, each := range telltales {
		if bytes.Contains(line, each) {
			return true
		}
	}
	return false
}
