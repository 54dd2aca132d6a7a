package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	answerPatience = 10 * time.Second
	mostAnswer     = 64 << 10
)

// place is how far a log was read: which file, by its first bytes, and up to where.
type place struct {
	Inode  uint64 `json:"inode"`
	Offset int64  `json:"offset"`
	Head   []byte `json:"head"`
}

// logNews are the lines that matter between two places of the log.
type logNews struct {
	Since *place   `json:"since"`
	Until place    `json:"until"`
	Lines []string `json:"lines"`
}

// report is what the platform is told. It may be older than this program, or newer: it
// ignores what it does not know, as this program does, and new fields are optional.
type report struct {
	Run              string   `json:"run"`
	ChannelBackup    []byte   `json:"channel_backup,omitempty"`
	MacaroonsRemoved int      `json:"macaroons_removed"`
	Disk             int64    `json:"disk"`
	Height           int64    `json:"height"`
	Log              *logNews `json:"log,omitempty"`
	LogTail          []byte   `json:"log_tail,omitempty"`
	PublicKey        string   `json:"public_key,omitempty"`
}

// answer is what the platform says: how far the log counts as read.
type answer struct {
	Log *place `json:"log"`
}

// platform is where reports go. What leads there is read each time: tokens are renewed
// every hour, and the rest may change while a node runs.
type platform struct {
	folder string
	node   string
}

// send reports, and returns once that was taken.
func (p *platform) send(ctx context.Context, told report) (answer, error) {
	var got answer
	body, err := json.Marshal(told)
	if err != nil {
		return got, err
	}
	address, err := p.read("url")
	if err != nil {
		return got, err
	}
	token, err := p.read("token")
	if err != nil {
		return got, err
	}
	client, err := p.client()
	if err != nil {
		return got, err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	target := strings.TrimSuffix(address, "/") + "/nodes/" + url.PathEscape(p.node) + "/report"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return got, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return got, err
	}
	if response.StatusCode != http.StatusOK {
		return got, fmt.Errorf("the platform answers %s: %.200s", response.Status, said)
	}
	return got, json.Unmarshal(said, &got)
}

func (p *platform) client() (*http.Client, error) {
	trusted, err := os.ReadFile(filepath.Join(p.folder, "ca.pem"))
	if err != nil {
		return nil, err
	}
	name, err := p.read("name")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(trusted) {
		return nil, errors.New("ca.pem: no certificate in it")
	}
	return &http.Client{
		// Nobody between, and no other address: the token goes to the platform alone.
		Transport: &http.Transport{
			Proxy:             nil,
			DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{
				RootCAs:    roots,
				ServerName: name,
				MinVersion: tls.VersionTLS12,
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}, nil
}

func (p *platform) read(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(p.folder, name))
	return strings.TrimSpace(string(content)), err
}
