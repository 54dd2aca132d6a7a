package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tests/nodes/runtimes/test_copies.py has the same: both sides compute it.
const digestOfTwo = "ed65c6a6477bc0ab9de1d962660dbb1ca4f7566b9b3af8d625a5d3cb11d5448d"

func twoFiles(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"a": "light", "data/b c": "harbour"} {
		where := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(where), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(where, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	return folder
}

func call(t *testing.T, home, method, path, token string, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(method, path, body)
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	copier(home, "secret").ServeHTTP(answer, request)
	return answer
}

func put(t *testing.T, to string, archive []byte) int {
	t.Helper()
	return call(t, to, "PUT", "/archive", "secret", bytes.NewReader(archive)).Code
}

func archiveOf(t *testing.T, home string) []byte {
	t.Helper()
	return call(t, home, "GET", "/archive", "secret", nil).Body.Bytes()
}

func TestACopyIsEqualAndTakesThePlaceOfAnIncompleteOne(t *testing.T) {
	from, to := twoFiles(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(to, "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	archive := archiveOf(t, from)
	if code := put(t, to, archive[:514]); code != http.StatusInternalServerError {
		t.Fatal(code)
	}
	if err := os.WriteFile(filepath.Join(to, "old"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := put(t, to, archive); code != http.StatusOK {
		t.Fatal(code)
	}
	for _, home := range []string{from, to} {
		told := call(t, home, "GET", "/content", "secret", nil).Body.String()
		if !strings.Contains(told, digestOfTwo) || !strings.Contains(told, `"size":12`) {
			t.Fatal(told)
		}
	}
	for _, gone := range []string{"old", "link"} {
		if _, err := os.Lstat(filepath.Join(to, gone)); !os.IsNotExist(err) {
			t.Fatal(gone, err)
		}
	}
	if !bytes.Equal(archive, archiveOf(t, to)) {
		t.Fatal("the archive of a copy is another one")
	}
}

func TestWhatLndIsStartedWithIsNotReplaced(t *testing.T) {
	archive := archiveOf(t, twoFiles(t))
	copied := t.TempDir()
	if code := put(t, copied, archive); code != http.StatusOK {
		t.Fatal(code)
	}
	for range 2 {
		if code := call(t, copied, "POST", "/complete", "secret", nil).Code; code != http.StatusOK {
			t.Fatal(code)
		}
	}
	for _, home := range []string{copied, twoFiles(t)} {
		before := call(t, home, "GET", "/content", "secret", nil).Body.String()
		if code := put(t, home, archiveOf(t, t.TempDir())); code != http.StatusConflict {
			t.Fatal(code)
		}
		if after := call(t, home, "GET", "/content", "secret", nil).Body.String(); after != before {
			t.Fatal(after)
		}
		if _, err := os.Lstat(filepath.Join(home, arriving)); !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// waiter is told of the first byte that is sent.
type waiter struct {
	*httptest.ResponseRecorder
	told chan struct{}
}

func (w *waiter) Write(content []byte) (int, error) {
	if w.Body.Len() == 0 {
		close(w.told)
	}
	return w.ResponseRecorder.Write(content)
}

func TestWhoWaitsForLongIsToldMeanwhile(t *testing.T) {
	answer := &waiter{httptest.NewRecorder(), make(chan struct{})}
	if !tellWhile(answer, time.Millisecond, func() { <-answer.told }) {
		t.Fatal("nothing was told")
	}
	if !answer.Flushed || strings.TrimSpace(answer.Body.String()) != "" {
		t.Fatal(answer.Body.String())
	}
	answer = &waiter{httptest.NewRecorder(), make(chan struct{})}
	if tellWhile(answer, time.Hour, func() {}) {
		t.Fatal("there was no need")
	}
}

func TestNobodyElseIsServed(t *testing.T) {
	home := twoFiles(t)
	for _, token := range []string{"", "secre", "other"} {
		if answer := call(t, home, "GET", "/archive", token, nil); answer.Code != http.StatusUnauthorized {
			t.Fatal(token, answer.Code)
		}
	}
	if answer := call(t, home, "GET", "/v1/state", "secret", nil); answer.Code != http.StatusNotFound {
		t.Fatal(answer.Code)
	}
}
