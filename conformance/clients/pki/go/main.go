// What Go says about a certificate: pki ROOT ISSUING CERTIFICATE CRL-OF-ISSUING HOST
package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(0)
	}
}

func read(path string) []byte {
	bytes, err := os.ReadFile(path)
	check(err)
	return bytes
}

func certificate(path string) *x509.Certificate {
	block, _ := pem.Decode(read(path))
	parsed, err := x509.ParseCertificate(block.Bytes)
	check(err)
	return parsed
}

func main() {
	root, issuing, leaf := certificate(os.Args[1]), certificate(os.Args[2]), certificate(os.Args[3])
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root)
	between.AddCert(issuing)
	_, err := leaf.Verify(x509.VerifyOptions{
		DNSName: os.Args[5], Roots: roots, Intermediates: between,
	})
	check(err)
	list, err := x509.ParseRevocationList(read(os.Args[4]))
	check(err)
	check(list.CheckSignatureFrom(issuing))
	for _, entry := range list.RevokedCertificateEntries {
		if entry.SerialNumber.Cmp(leaf.SerialNumber) == 0 {
			fmt.Printf("revoked, reason %d\n", entry.ReasonCode)
			return
		}
	}
	fmt.Println("good")
}
