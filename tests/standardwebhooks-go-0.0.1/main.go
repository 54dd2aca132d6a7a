// Verifies what it reads with the public library: a secret, headers and a body.
package main

import (
	"encoding/json"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	var sent struct {
		Secret  string
		Headers map[string]string
		Body    string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&sent); err != nil {
		panic(err)
	}
	webhook, err := standardwebhooks.NewWebhook(sent.Secret)
	if err != nil {
		panic(err)
	}
	headers := http.Header{}
	for name, value := range sent.Headers {
		headers.Set(name, value)
	}
	if err := webhook.Verify([]byte(sent.Body), headers); err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
}
