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
)

// tests/runtimes/test_copies.py has the same: both sides compute it.
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
	(&copier{home: home, token: "secret"}).ServeHTTP(answer, request)
	return answer
}

func TestACopyIsEqualAndTakesThePlaceOfWhatWasThere(t *testing.T) {
	from, to := twoFiles(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(to, "old"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	archive := call(t, from, "GET", "/archive", "secret", nil)
	if put := call(t, to, "PUT", "/archive", "secret", archive.Body); put.Code != http.StatusOK {
		t.Fatal(put.Body)
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

func TestACopyThatIsCutShortIsRefused(t *testing.T) {
	archive := call(t, twoFiles(t), "GET", "/archive", "secret", nil).Body.Bytes()
	to := t.TempDir()
	answer := call(t, to, "PUT", "/archive", "secret", bytes.NewReader(archive[:514]))
	if answer.Code != http.StatusInternalServerError {
		t.Fatal(answer.Code)
	}
}
