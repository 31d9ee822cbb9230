// Opens what the REST API encrypts, and encrypts for it, with go-jose: JSON lines.
// Argument: a file of JSON with keys and messages. What was encrypted is told as `sealed`.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-jose/go-jose/v4"
)

type message struct {
	Name string          `json:"name"`
	Alg  string          `json:"alg"`
	Kid  string          `json:"kid"`
	Key  jose.JSONWebKey `json:"key"`
	JWE  json.RawMessage `json:"jwe"`
}

type given struct {
	Text       string            `json:"text"`
	Encrypted  []json.RawMessage `json:"encrypted"`
	Recipients []json.RawMessage `json:"recipients"`
}

type told struct {
	Step   string          `json:"step"`
	Passed bool            `json:"passed"`
	Why    string          `json:"why,omitempty"`
	Sealed json.RawMessage `json:"sealed,omitempty"`
}

func main() {
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var all given
	if err := json.Unmarshal(file, &all); err != nil {
		panic(err)
	}
	tell := func(verb string, raw json.RawMessage, act func(message) (json.RawMessage, error)) {
		// go-jose has no key of X25519: such a message is not for it.
		var one message
		if json.Unmarshal(raw, &one) != nil {
			return
		}
		sealed, err := act(one)
		step := told{Step: verb + " " + one.Name, Passed: err == nil, Sealed: sealed}
		if err != nil {
			step.Why = err.Error()
		}
		line, _ := json.Marshal(step)
		fmt.Println(string(line))
	}
	for _, raw := range all.Encrypted {
		tell("decrypt", raw, func(one message) (json.RawMessage, error) {
			algorithms := []jose.KeyAlgorithm{jose.KeyAlgorithm(one.Alg)}
			sealed, err := jose.ParseEncrypted(string(one.JWE), algorithms, []jose.ContentEncryption{jose.A256GCM})
			if err != nil {
				return nil, err
			}
			opened, err := sealed.Decrypt(one.Key.Key)
			if err == nil && string(opened) != all.Text {
				err = fmt.Errorf("another plaintext")
			}
			return nil, err
		})
	}
	for _, raw := range all.Recipients {
		tell("encrypt", raw, func(one message) (json.RawMessage, error) {
			recipient := jose.Recipient{Algorithm: jose.KeyAlgorithm(one.Alg), Key: one.Key.Key, KeyID: one.Kid}
			encrypter, err := jose.NewEncrypter(jose.A256GCM, recipient, nil)
			if err != nil {
				return nil, err
			}
			sealed, err := encrypter.Encrypt([]byte(all.Text))
			if err != nil {
				return nil, err
			}
			return json.RawMessage(sealed.FullSerialize()), nil
		})
	}
}
