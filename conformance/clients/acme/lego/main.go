// Drives an ACME server with the library of lego. The first line of the input says how (see input); then a line of JSON
// goes out for each answer to a challenge that is to be published, and any line comes back once it is; and a line for each
// step that worked.
package main

import (
	"bufio"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-acme/lego/v5/acme"
	"github.com/go-acme/lego/v5/certcrypto"
	"github.com/go-acme/lego/v5/certificate"
	"github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/go-acme/lego/v5/challenge/tlsalpn01"
	"github.com/go-acme/lego/v5/lego"
	"github.com/go-acme/lego/v5/log"
	"github.com/go-acme/lego/v5/registration"
)

type input struct {
	Directory string `json:"directory"`
	Kid       string `json:"kid"`
	HmacKey   string `json:"hmac_key"`
}

type message struct {
	Publish string `json:"publish,omitempty"`
	Name    string `json:"name,omitempty"`
	Value   string `json:"value,omitempty"`
	Key     string `json:"key,omitempty"`
	Step    string `json:"step,omitempty"`
}

var lines = bufio.NewReader(os.Stdin)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func say(one message) {
	check(json.NewEncoder(os.Stdout).Encode(one))
}

func publish(one message) error {
	say(one)
	_, err := lines.ReadString('\n')
	return err
}

// One way to prove control, whose answers are published by the other side.
type publisher string

func (kind publisher) Present(_ context.Context, domain, token, keyAuth string) error {
	switch kind {
	case "http-01":
		return publish(message{Publish: "http-01", Name: token, Value: keyAuth})
	case "dns-01":
		info := dns01.GetChallengeInfo(context.Background(), domain, keyAuth)
		return publish(message{Publish: "dns-01", Name: info.FQDN, Value: info.Value})
	default:
		cert, key, err := tlsalpn01.ChallengeBlocks(domain, keyAuth)
		if err != nil {
			return err
		}
		return publish(message{Publish: "tls-alpn-01", Name: domain, Value: string(cert), Key: string(key)})
	}
}

func (kind publisher) CleanUp(context.Context, string, string, string) error { return nil }

type user struct {
	key     crypto.Signer
	account *acme.ExtendedAccount
}

func (one *user) GetEmail() string                       { return "ops@example.com" }
func (one *user) GetRegistration() *acme.ExtendedAccount { return one.account }
func (one *user) GetPrivateKey() crypto.Signer           { return one.key }

func newKey() crypto.Signer {
	return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
}

func main() {
	ctx := context.Background()
	// The output is for the other side.
	log.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	var in input
	check(json.Unmarshal(must(lines.ReadBytes('\n')), &in))
	owner := &user{key: newKey()}
	config := lego.NewConfig(owner)
	config.CADirURL = in.Directory
	client := must(lego.NewClient(config))
	owner.account = must(client.Registration.RegisterWithExternalAccountBinding(ctx, registration.RegisterEABOptions{
		TermsOfServiceAgreed: true, Kid: in.Kid, HmacEncoded: in.HmacKey,
	}))
	say(message{Step: "account"})

	obtain := func(names ...string) *certificate.Resource {
		return must(client.Certificate.Obtain(ctx, certificate.ObtainRequest{
			Domains: names, KeyType: certcrypto.EC256, Bundle: true,
		}))
	}
	check(client.Challenge.SetHTTP01Provider(publisher("http-01")))
	first := obtain("http.lego.test", "127.0.0.1")
	say(message{Step: "http-01", Value: string(first.Certificate)})
	client.Challenge.ResetSolvers()
	check(client.Challenge.SetTLSALPN01Provider(publisher("tls-alpn-01")))
	say(message{Step: "tls-alpn-01", Value: string(obtain("tls.lego.test").Certificate)})
	client.Challenge.ResetSolvers()
	// Its own look at the record would ask the resolvers of this machine.
	check(client.Challenge.SetDNS01Provider(publisher("dns-01"), dns01.PropagationWait(0, true)))
	say(message{Step: "dns-01", Value: string(obtain("*.lego.test").Certificate)})

	client.Challenge.ResetSolvers()
	check(client.Challenge.SetHTTP01Provider(publisher("http-01")))
	leaf := must(certcrypto.ParsePEMCertificate(first.Certificate))
	info := must(client.Certificate.GetRenewalInfo(ctx, leaf))
	if info.ShouldRenewAt(time.Now(), 0) != nil || info.ShouldRenewAt(leaf.NotAfter, 0) == nil {
		check(fmt.Errorf("not between now and the end: %v", info.SuggestedWindow))
	}
	say(message{Step: "renewal information"})
	again := must(client.Certificate.Renew(ctx, *first, &certificate.RenewOptions{Bundle: true, UseARICertID: true}))
	say(message{Step: "renew", Value: string(again.Certificate)})
	reason := acme.CRLReasonSuperseded
	check(client.Certificate.RevokeWithReason(ctx, first.Certificate, &reason))
	if client.Certificate.RevokeWithReason(ctx, first.Certificate, &reason) == nil {
		check(fmt.Errorf("a certificate was revoked twice"))
	}
	if must(client.Certificate.GetRenewalInfo(ctx, leaf)).ShouldRenewAt(time.Now(), 0) == nil {
		check(fmt.Errorf("a revoked certificate is not to be renewed now"))
	}
	say(message{Step: "revoke", Value: string(first.Certificate)})
	check(client.Registration.KeyRollover(ctx, newKey()))
	say(message{Step: "key rollover"})
	_ = must(client.Registration.QueryRegistration(ctx))
	check(client.Registration.DeleteRegistration(ctx))
	say(message{Step: "deactivate"})
}
