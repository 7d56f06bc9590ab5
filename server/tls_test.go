package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-scale/muster/server"
)

// certificate writes a certificate for the given host, signed by itself, and its key.
func certificate(t *testing.T, host string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host},
		DNSNames:  []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: bytes}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, _ := x509.ParseCertificate(der)
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

func TestBeyondLoopbackThereIsTLSOrNothing(t *testing.T) {
	const host = "muster.example.com"
	cert, key, pool := certificate(t, host)
	l, err := server.ListenTLS("127.0.0.1:0", cert, key)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- server.Serve(ctx, l,
			server.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) })))
	}()
	get := func(scheme string, config *tls.Config) (int, error) {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 5 * time.Second}
		defer c.CloseIdleConnections()
		resp, err := c.Get(scheme + "://" + l.Addr().String() + "/")
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		return resp.StatusCode, nil
	}
	if code, err := get("https", &tls.Config{RootCAs: pool, ServerName: host}); code != http.StatusOK {
		t.Errorf("with TLS: %d, %v", code, err)
	}
	if code, err := get("http", nil); err == nil && code == http.StatusOK {
		t.Error("it answered without TLS")
	}
	if _, err := get("https", &tls.Config{RootCAs: pool, ServerName: host, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("it accepted TLS 1.1")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := server.ListenTLS("127.0.0.1:0", cert, cert); err == nil {
		t.Error("a certificate passed as its own key")
	}
}
