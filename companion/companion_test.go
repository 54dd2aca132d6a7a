package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const complaint = "2026-03-01 12:00:00.000 [ERR] GRPH: out of order block: " +
	"expecting height=9, got height=7"

// yard is an lnd's home, a platform that takes reports, and a watcher between them.
type yard struct {
	*testing.T
	home, folder string
	watch        *watcher
	to           *platform
	got          []report
	tokens       []string
	kept         *place // what the platform has of the log
	refuses      bool
	forgets      bool // it takes a report, and its answer is lost
}

func newYard(t *testing.T) *yard {
	y := &yard{T: t, home: t.TempDir(), folder: t.TempDir()}
	server := httptest.NewTLSServer(http.HandlerFunc(y.take))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: server.Certificate().Raw,
	})
	y.write(filepath.Join(y.folder, "ca.pem"), string(authority))
	y.write(filepath.Join(y.folder, "name"), "example.com")
	y.write(filepath.Join(y.folder, "url"), server.URL)
	y.write(filepath.Join(y.folder, "token"), "token-1\n")
	y.to = &platform{folder: y.folder, node: "harbour-light-1"}
	y.begin()
	return y
}

// begin starts the program anew.
func (y *yard) begin() {
	y.watch = &watcher{
		home: y.home,
		file: backupFile{path: filepath.Join(y.home, "channel.backup")},
		log:  logFile{path: filepath.Join(y.home, "lnd.log")},
		run:  time.Now().String(),

		graph: graphFile{path: filepath.Join(y.home, "channel.db")},
	}
}

func (y *yard) take(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/nodes/harbour-light-1/report" {
		y.Errorf("asked for %s", r.URL.Path)
	}
	if y.refuses {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	var told report
	if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
		y.Error(err)
	}
	y.got = append(y.got, told)
	y.tokens = append(y.tokens, r.Header.Get("Authorization"))
	if told.Log != nil && (told.Log.Since == nil) == (y.kept == nil) &&
		(y.kept == nil || told.Log.Since.is(*y.kept)) {
		y.kept = &told.Log.Until
	} else if told.Log != nil {
		y.got[len(y.got)-1].Log = nil // those lines it has, or will be told again
	}
	if y.forgets {
		http.Error(w, "lost", http.StatusBadGateway)
		return
	}
	json.NewEncoder(w).Encode(struct {
		answer
		Pause int `json:"pause"` // of a platform to come
	}{answer{Log: y.kept}, 21})
}

// report looks once, walks, and reports.
func (y *yard) report() error {
	y.watch.walked = time.Time{}
	y.watch.look(time.Now(), false)
	return y.watch.report(context.Background(), time.Now(), y.to, false)
}

func (y *yard) reports(times int) {
	y.Helper()
	for range times {
		if err := y.report(); err != nil {
			y.Fatal(err)
		}
	}
}

func (y *yard) write(path, content string) {
	y.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		y.Fatal(err)
	}
}

func (y *yard) append(content string) {
	y.Helper()
	file, err := os.OpenFile(filepath.Join(y.home, "lnd.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		y.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(content); err != nil {
		y.Fatal(err)
	}
}

func (y *yard) lines() []string {
	var all []string
	for _, each := range y.got {
		if each.Log != nil {
			all = append(all, each.Log.Lines...)
		}
	}
	return all
}

func (y *yard) backups() []string {
	var all []string
	for _, each := range y.got {
		if each.ChannelBackup != nil {
			all = append(all, string(each.ChannelBackup))
		}
	}
	return all
}

func TestEachBackupIsReportedOnce(t *testing.T) {
	y := newYard(t)
	y.reports(2)
	for _, content := range []string{"one channel", "two channels"} {
		y.write(filepath.Join(y.home, "new"), content)
		if err := os.Rename(filepath.Join(y.home, "new"), filepath.Join(y.home, "channel.backup")); err != nil {
			t.Fatal(err)
		}
		y.reports(2)
	}
	if found := strings.Join(y.backups(), ", "); found != "one channel, two channels" {
		t.Fatal(found)
	}
}

func TestWhatIsNotTakenIsReportedAgain(t *testing.T) {
	y := newYard(t)
	y.reports(1)
	y.refuses = true
	y.write(filepath.Join(y.home, "channel.backup"), "one channel")
	y.write(filepath.Join(y.home, "admin.macaroon"), "secret")
	y.append(complaint + "\n")
	if y.report() == nil || y.report() == nil {
		t.Fatal("it was taken")
	}
	if _, err := os.Stat(filepath.Join(y.home, "admin.macaroon")); err == nil {
		t.Fatal("a macaroon waits for the platform")
	}
	y.refuses = false
	y.reports(2)
	if len(y.backups()) != 1 || len(y.lines()) != 1 {
		t.Fatal(y.got)
	}
	if last := y.got[len(y.got)-1]; last.MacaroonsRemoved != 1 || last.Disk == 0 {
		t.Fatal(last)
	}
}

func TestLinesWhoseAnswerWasLostAreToldOnce(t *testing.T) {
	y := newYard(t)
	y.reports(1)
	y.append(complaint + "\n")
	y.forgets = true
	if y.report() == nil {
		t.Fatal("it was answered")
	}
	y.forgets = false
	y.reports(3)
	if len(y.lines()) != 1 {
		t.Fatal(y.lines())
	}
}

func TestOnlyWholeLinesOfLndCount(t *testing.T) {
	y := newYard(t)
	y.reports(1)
	y.append(complaint[:40])
	y.reports(1)
	y.append(complaint[40:] + "\n" + "alias=" + complaint + "\n" + complaint + " more\n")
	y.append("2026-03-01 12:00:00.000 [INF] NTFN: New block: height=812, sha=" +
		strings.Repeat("ab", 32) + "\n")
	y.reports(1)
	if len(y.lines()) != 1 || y.got[len(y.got)-1].Height != 812 {
		t.Fatal(y.got)
	}
}

func TestALogThatIsRotatedIsReadToItsEnd(t *testing.T) {
	y := newYard(t)
	y.append("the first line of the first file, as lnd says it\n")
	y.reports(2)
	y.append(complaint + "\n")
	if err := os.Rename(filepath.Join(y.home, "lnd.log"), filepath.Join(y.home, "lnd.log.1")); err != nil {
		t.Fatal(err)
	}
	y.append("the first line of the second file, as lnd says it\n" + complaint + "\n")
	y.reports(2)
	if len(y.lines()) != 2 {
		t.Fatal(y.lines())
	}
}

func TestAProgramThatBeginsAnewReadsOn(t *testing.T) {
	y := newYard(t)
	y.append(complaint + "\n")
	y.reports(2)
	y.begin()
	y.reports(2)
	y.append(complaint + "\n")
	y.reports(1)
	if len(y.lines()) != 2 {
		t.Fatal(y.lines())
	}
}

func TestALineWithoutAnEndTakesNoMemory(t *testing.T) {
	y := newYard(t)
	y.append(strings.Repeat("x", 3*mostLine) + complaint + "\n" + complaint + "\n")
	y.reports(2)
	if len(y.lines()) != 1 {
		t.Fatal(y.lines())
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	y := newYard(t)
	y.reports(1)
	other := filepath.Join(y.folder, "token")
	if err := os.Symlink(other, filepath.Join(y.home, "channel.backup")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(y.home, "a.macaroon")); err != nil {
		t.Fatal(err)
	}
	y.reports(1)
	if len(y.backups()) != 0 {
		t.Fatal("a link was read")
	}
	if _, err := os.Stat(other); err != nil {
		t.Fatal("what a link led to is gone")
	}
}

func TestATokenIsReadEachTimeAndGoesToThePlatformAlone(t *testing.T) {
	y := newYard(t)
	y.reports(1)
	y.write(filepath.Join(y.folder, "token"), "token-2")
	y.write(filepath.Join(y.home, "channel.backup"), "one channel")
	y.reports(1)
	if found := strings.Join(y.tokens, ", "); found != "Bearer token-1, Bearer token-2" {
		t.Fatal(found)
	}
	y.write(filepath.Join(y.folder, "name"), "somebody.else")
	y.write(filepath.Join(y.home, "channel.backup"), "two channels")
	if err := y.report(); err == nil || !strings.Contains(err.Error(), "somebody.else") {
		t.Fatal(err)
	}
	if len(y.tokens) != 2 {
		t.Fatal("a token went to somebody else")
	}
}

func TestWhatAnswersIsOpen(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	open := strings.TrimPrefix(server.URL, "http://")
	var out strings.Builder
	try(&out, 0, []string{open, "127.0.0.1:1"})
	if out.String() != open+" open\n127.0.0.1:1 closed\n" {
		t.Fatal(out.String())
	}
}

func TestPoliciesGetTimeToKnowAPod(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(server.URL, "http://")
	time.AfterFunc(50*time.Millisecond, server.Close) // as a policy does
	var out strings.Builder
	try(&out, 300*time.Millisecond, []string{address})
	if out.String() != address+" closed\n" {
		t.Fatal(out.String())
	}
}

func TestPausesGrowAndEnd(t *testing.T) {
	if pause(0) != lookEvery || pause(1) <= pause(0) || pause(100) != longestPause {
		t.Fatal(pause(0), pause(1), pause(100))
	}
}

func TestWhatLndLeftAtItsEndIsReported(t *testing.T) {
	y := newYard(t)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	y.write(filepath.Join(y.home, "channel.backup"), "the last")
	y.append("the last words\n")
	loop(ctx, y.watch, y.to)
	if len(y.backups()) != 1 || string(y.got[0].LogTail) != "the last words\n" {
		t.Fatal(y.got)
	}
}

func TestTheTailOfALogHasWholeLinesAndIsSentOnce(t *testing.T) {
	y := newYard(t)
	y.append(strings.Repeat("x", mostTail) + "\n" + strings.Repeat("y", mostTail-2) + "\n")
	y.watch.tail = y.watch.log.tail()
	if len(y.watch.tail) != mostTail-1 || strings.Contains(string(y.watch.tail), "x") {
		t.Fatal(len(y.watch.tail))
	}
	y.refuses = true
	if y.report() == nil {
		t.Fatal("it was taken")
	}
	y.refuses = false
	y.reports(2)
	if len(y.got[0].LogTail) != mostTail-1 || y.got[1].LogTail != nil {
		t.Fatal(y.got)
	}
}

func TestTheNodesKeyIsReportedOnceLndHasWrittenItDown(t *testing.T) {
	y := newYard(t)
	y.reports(2)
	y.write(filepath.Join(y.home, "channel.db"), string(aGraph(t)))
	y.reports(2)
	if len(y.got) != 2 || y.got[0].PublicKey != "" || y.got[1].PublicKey != keyInTheGraph {
		t.Fatal(y.got)
	}
}
