// Drives a KMIP server with kmip-go: one line for each step that worked. Arguments: address ca cert key version [url].
package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ovh/kmip-go"
	"github.com/ovh/kmip-go/kmipclient"
	"github.com/ovh/kmip-go/kmipclient/kmiphttp"
	"github.com/ovh/kmip-go/payloads"
)

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func hold(isSo bool, what string) {
	if !isSo {
		check(fmt.Errorf("not so: %s", what))
	}
}

func refused(err error, what string) {
	hold(err != nil, what+" was not refused")
	fmt.Println("refused:", what)
}

var versions = map[string]kmip.ProtocolVersion{
	"1.0": kmip.V1_0, "1.1": kmip.V1_1, "1.2": kmip.V1_2, "1.3": kmip.V1_3, "1.4": kmip.V1_4,
}

func main() {
	address, ca, cert, key, version := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	options := []kmipclient.Option{
		kmipclient.WithRootCAFile(ca),
		kmipclient.WithClientCertFiles(cert, key),
	}
	if spoken, known := versions[version]; known {
		options = append(options, kmipclient.EnforceVersion(spoken))
	}
	if strings.HasPrefix(version, "https-") {
		formats := map[string]kmiphttp.WireFormat{
			"https-ttlv": kmiphttp.WireTTLV, "https-xml": kmiphttp.WireXML, "https-json": kmiphttp.WireJSON,
		}
		options = append(options, kmiphttp.WithTransport("/kmip", kmiphttp.WithWireFormat(formats[version])))
	}
	client := must(kmipclient.Dial(address, options...))
	defer client.Close()
	spoken := client.Version()
	fmt.Println("dial", spoken)
	crypt := spoken.ProtocolVersionMinor >= 2

	query := must(client.Query().Operations().Objects().ServerInformation().Exec())
	hold(len(query.Operations) > 10, "Query lists operations")
	fmt.Println("query")

	name := "kmip-go " + version
	created := must(client.Create().
		AES(256, kmip.CryptographicUsageEncrypt|kmip.CryptographicUsageDecrypt).
		WithName(name).
		Exec())
	id := created.UniqueIdentifier
	must(client.Activate(id).Exec())
	fmt.Println("create and activate")

	located := must(client.Locate().WithName(name).WithObjectType(kmip.ObjectTypeSymmetricKey).Exec())
	hold(len(located.UniqueIdentifier) == 1 && located.UniqueIdentifier[0] == id, "Locate finds it by name")
	fmt.Println("locate")

	all := must(client.GetAttributes(id).Exec())
	hold(len(all.Attribute) > 5, "it has attributes")
	list := must(client.GetAttributeList(id).Exec())
	hold(len(list.AttributeName) > 5, "it lists them")
	must(client.AddAttribute(id, kmip.AttributeNameContactInformation, "keys@example.com").Exec())
	must(client.ModifyAttribute(id, kmip.AttributeNameContactInformation, "more@example.com").Exec())
	got := must(client.GetAttributes(id, kmip.AttributeNameContactInformation).Exec())
	hold(got.Attribute[0].AttributeValue.(string) == "more@example.com", "ModifyAttribute")
	must(client.DeleteAttribute(id, kmip.AttributeNameContactInformation).Exec())
	fmt.Println("attributes")

	plain := []byte("attack at dawn")
	if crypt {
		sealed := must(client.Encrypt(id).WithCryptographicParameters(kmip.AES_GCM).Data(plain).Exec())
		open := client.Decrypt(id).WithCryptographicParameters(kmip.AES_GCM).WithIvCounterNonce(sealed.IVCounterNonce)
		if len(sealed.AuthenticatedEncryptionTag) > 0 {
			open = open.WithAuthTag(sealed.AuthenticatedEncryptionTag)
		}
		hold(bytes.Equal(must(open.Data(sealed.Data).Exec()).Data, plain), "GCM")
		broken := append([]byte{}, sealed.Data...)
		broken[0] ^= 1
		_, err := open.Data(broken).Exec()
		refused(err, "a changed ciphertext")
		cbc := must(client.Encrypt(id).WithCryptographicParameters(kmip.AES_CBC_PKCS5).Data(plain).Exec())
		back := must(client.Decrypt(id).WithCryptographicParameters(kmip.AES_CBC_PKCS5).WithIvCounterNonce(cbc.IVCounterNonce).Data(cbc.Data).Exec())
		hold(bytes.Equal(back.Data, plain), "CBC")
		fmt.Println("encrypt and decrypt")
	}

	if spoken.ProtocolVersionMinor >= 4 {
		pair := must(client.CreateKeyPair().
			RSA(2048, kmip.CryptographicUsageSign, kmip.CryptographicUsageVerify).
			Common().WithAttribute(kmip.AttributeNameActivationDate, time.Now().Add(-time.Minute)).
			Exec())
		signer := must(client.Signer(context.Background(), pair.PrivateKeyUniqueIdentifier, ""))
		digest := sha256.Sum256(plain)
		signature := must(signer.Sign(rand.Reader, digest[:], crypto.SHA256))
		check(rsa.VerifyPKCS1v15(signer.Public().(*rsa.PublicKey), crypto.SHA256, digest[:], signature))
		fmt.Println("sign as a crypto.Signer")
	}

	secret := must(client.Register().SecretString(kmip.SecretDataTypePassword, "open sesame").Exec())
	object := must(client.Get(secret.UniqueIdentifier).Exec())
	hold(must(object.Object.(*kmip.SecretData).Data()) != nil, "the secret comes back")
	fmt.Println("register and get")

	batch := must(client.Batch(context.Background(),
		&payloads.CreateRequestPayload{
			ObjectType: kmip.ObjectTypeSymmetricKey,
			TemplateAttribute: kmip.TemplateAttribute{Attribute: []kmip.Attribute{
				{AttributeName: kmip.AttributeNameCryptographicAlgorithm, AttributeValue: kmip.CryptographicAlgorithmAES},
				{AttributeName: kmip.AttributeNameCryptographicLength, AttributeValue: int32(128)},
				{AttributeName: kmip.AttributeNameCryptographicUsageMask, AttributeValue: kmip.CryptographicUsageEncrypt},
			}},
		},
		&payloads.GetRequestPayload{},
	))
	for _, payload := range must(batch.Unwrap()) {
		hold(payload != nil, "each item of the batch")
	}
	fmt.Println("batch with the ID placeholder")

	rekeyed := must(client.Rekey(id).Exec())
	must(client.ObtainLease(id).Exec())
	must(client.Archive(id).Exec())
	must(client.Recover(id).Exec())
	hold(rekeyed.UniqueIdentifier != id, "ReKey makes another key")
	fmt.Println("rekey, lease, archive, recover")

	_, err := client.Destroy(rekeyed.UniqueIdentifier).Exec()
	refused(err, "destroying an active key")
	must(client.Revoke(rekeyed.UniqueIdentifier).WithRevocationReasonCode(kmip.RevocationReasonCodeCessationOfOperation).Exec())
	must(client.Destroy(rekeyed.UniqueIdentifier).Exec())
	fmt.Println("revoke and destroy")
	fmt.Println("done")
}
