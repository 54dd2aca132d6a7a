package main

import (
	"archive/tar"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// content is what a copy is compared by: see nodes/runtimes/copies.py.
type content struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// tellEvery is how often who waits for the content is told that it is on its way.
const tellEvery = 10 * time.Second

// copyHome serves until it is killed.
func copyHome(arguments []string) error {
	flags := flag.NewFlagSet("copy", flag.ContinueOnError)
	home := flags.String("home", "", "lnd's home")
	listen := flags.String("listen", "", "where to serve")
	certificate := flags.String("certificate", "", "the node's certificate")
	key := flags.String("key", "", "its key")
	token := flags.String("token", "", "the file with the token of the one caller")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	words, err := os.ReadFile(*token)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("the token is empty")
	}
	server := &http.Server{
		Addr:              *listen,
		Handler:           copier(*home, string(words)),
		ReadHeaderTimeout: 10 * time.Second,
	}
	return server.ListenAndServeTLS(*certificate, *key)
}

// copier serves the files of an lnd that does not run, to whoever has the token.
func copier(home, token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /content", func(w http.ResponseWriter, _ *http.Request) {
		var found content
		var err error
		told := tellWhile(w, tellEvery, func() { found, err = contentOf(home) })
		if err != nil && told {
			panic(http.ErrAbortHandler) // it is too late for another status
		}
		if err == nil {
			err = json.NewEncoder(w).Encode(found)
		}
		reply(w, err)
	})
	mux.HandleFunc("GET /archive", func(w http.ResponseWriter, _ *http.Request) {
		// What is cut short is seen by the reader: nothing ends the archive then.
		if err := pack(w, home); err != nil {
			panic(http.ErrAbortHandler)
		}
	})
	mux.HandleFunc("PUT /archive", func(w http.ResponseWriter, r *http.Request) {
		reply(w, receive(home, r.Body))
	})
	mux.HandleFunc("POST /complete", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, complete(home))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization")
		if subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+token)) != 1 {
			http.Error(w, "not allowed", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// tellWhile sends a space now and then while something takes long, and returns whether it
// did: a large volume on a slow disk takes more minutes than the platform waits in silence.
func tellWhile(w http.ResponseWriter, every time.Duration, work func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for told := false; ; told = true {
		select {
		case <-done:
			return told
		case <-ticker.C:
			_, _ = w.Write([]byte(" ")) // JSON may begin with it
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func reply(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errInUse):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// filesIn lists all regular files by their names in a folder, in the order of bytes.
func filesIn(folder string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(folder, func(where string, entry fs.DirEntry, err error) error {
		name, relative := filepath.Rel(folder, where)
		if relative != nil {
			return relative
		}
		if notCopied[name] {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() {
			found = append(found, filepath.ToSlash(name))
		}
		return nil
	})
	sort.Strings(found)
	return found, err
}

func contentOf(folder string) (content, error) {
	var made content
	names, err := filesIn(folder)
	if err != nil {
		return made, err
	}
	whole := sha256.New()
	for _, name := range names {
		file, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			return made, err
		}
		one := sha256.New()
		size, err := io.Copy(one, file)
		file.Close()
		if err != nil {
			return made, err
		}
		fmt.Fprintf(whole, "%x %d %s\n", one.Sum(nil), size, name)
		made.Size += size
	}
	made.Digest = hex.EncodeToString(whole.Sum(nil))
	return made, nil
}

func pack(to io.Writer, folder string) error {
	names, err := filesIn(folder)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(to)
	for _, name := range names {
		if err := packFile(archive, folder, name); err != nil {
			return err
		}
	}
	return archive.Close()
}

func packFile(archive *tar.Writer, folder, name string) error {
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer file.Close()
	there, err := file.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{
		Name:    name,
		Mode:    int64(there.Mode().Perm()),
		Size:    there.Size(),
		ModTime: there.ModTime().Truncate(time.Second),
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// unpack writes an archive into an empty folder.
func unpack(folder string, from io.Reader) error {
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(header.Name)
		if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
			return fmt.Errorf("the copy has a file with the name %q", header.Name)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		where := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(where), 0o700); err != nil {
			return err
		}
		if err := write(where, header, archive); err != nil {
			return err
		}
	}
}

func write(where string, header *tar.Header, from io.Reader) error {
	mode := fs.FileMode(header.Mode)&0o700 | 0o600
	file, err := os.OpenFile(where, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, from); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// durable makes a file or a folder survive a power cut.
func durable(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}
