package sigv4

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"pgregory.net/rapid"
)

var (
	signingKeys = aws.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE",
		SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	signingTime = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
)

// atSigning is a verifier at the time of signing.
func atSigning() *Verifier {
	return &Verifier{
		AccessKeyID: signingKeys.AccessKeyID, SecretAccessKey: signingKeys.SecretAccessKey,
		Now: func() time.Time { return signingTime },
	}
}

// unsigned draws a request: any path, query, headers and body that HTTP can carry.
func unsigned(t *rapid.T) (*http.Request, []byte) {
	text := rapid.StringN(0, 12, 40)
	path := "/"
	if rapid.Bool().Draw(t, "with a path") {
		path += strings.Join(rapid.SliceOfN(text, 0, 3).Draw(t, "path"), "/")
	}
	u := &url.URL{Scheme: "http",
		Host: rapid.SampledFrom([]string{"localhost:9324", "127.0.0.1", "[::1]:9324", "Sqs.Localhost"}).Draw(t,
			"host"), Path: path}
	query := url.Values{}
	names := rapid.OneOf(text, rapid.SampledFrom([]string{"Tag.1", "Tag.10", "Tag", "Tag-a", "Action", "a", "A"}))
	for range rapid.IntRange(0, 5).Draw(t, "parameters") {
		query.Add(names.Draw(t, "name"), text.Draw(t, "value"))
	}
	u.RawQuery = query.Encode()
	body := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "body")
	r, err := http.NewRequest(rapid.SampledFrom([]string{http.MethodPost, http.MethodGet}).Draw(t, "method"),
		u.String(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if r.Method == http.MethodGet {
		r.Body, r.ContentLength, body = http.NoBody, 0, nil
	}
	r.Header.Set("Content-Type",
		rapid.SampledFrom([]string{"application/x-amz-json-1.0",
			"application/x-www-form-urlencoded; charset=utf-8"}).Draw(t, "type"))
	r.Header.Set("User-Agent", "test")
	if rapid.Bool().Draw(t, "with a target") {
		r.Header.Set("X-Amz-Target", "AmazonSQS."+rapid.StringMatching(`[A-Za-z]{1,10}`).Draw(t, "target"))
	}
	if rapid.Bool().Draw(t, "with a hash") {
		r.Header.Set("X-Amz-Content-Sha256", sha256Hex(body))
	}
	// Tabs are left out: the SDKs do not agree on what they are signed as.
	value := rapid.OneOf(rapid.StringMatching(`[ -~]{0,12}`), rapid.StringMatching(`[ é世a-c]{0,8}`))
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		r.Header.Add(rapid.SampledFrom([]string{"X-Amz-Meta-A", "X-Amz-Meta-B", "X-Other", "If-Match"}).Draw(t,
			"header"), value.Draw(t, "header value"))
	}
	return r, body
}

func sha256Hex(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// signed signs a request with the SDK, in its headers or in its URL, and
// returns the bytes that go over the wire.
func signed(t *rapid.T, r *http.Request, body []byte) []byte {
	credentials := signingKeys
	if rapid.Bool().Draw(t, "with a session") {
		credentials.SessionToken = rapid.StringMatching(`[A-Za-z0-9+/=]{1,30}`).Draw(t, "session")
	}
	region := rapid.SampledFrom([]string{"us-east-1", "eu-west-1", "elsewhere"}).Draw(t, "region")
	if rapid.Bool().Draw(t, "in the URL") {
		query := r.URL.Query()
		query.Set("X-Amz-Expires", "300")
		r.URL.RawQuery = query.Encode()
		uri, header, err := v4.NewSigner().PresignHTTP(t.Context(), credentials, r, sha256Hex(body), sqsService, region,
			signingTime)
		if err != nil {
			t.Fatal(err)
		}
		if r.URL, err = url.Parse(uri); err != nil {
			t.Fatal(err)
		}
		delete(header, "Host")
		delete(header, "Content-Length")
		r.Header = header // the others are in the URL now
	} else if err := v4.NewSigner().SignHTTP(t.Context(), credentials, r, sha256Hex(body), sqsService, region,
		signingTime); err != nil {
		t.Fatal(err)
	}
	var wire bytes.Buffer
	if err := r.Write(&wire); err != nil {
		t.Fatal(err)
	}
	return wire.Bytes()
}

// arrive reads a request as a server does and checks its signature.
func (v *Verifier) arrive(wire []byte) (*http.Request, []byte, error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(wire)))
	if err != nil {
		return nil, nil, err
	}
	claim, err := v.Read(r)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = v.Verify(claim, r, body)
	}
	return r, body, err
}

// TestWhatTheSDKSignsIsAccepted is the SDK's signer against this verifier.
func TestWhatTheSDKSignsIsAccepted(t *testing.T) {
	v := atSigning()
	rapid.Check(t, func(t *rapid.T) {
		r, body := unsigned(t)
		wire := signed(t, r, body)
		if _, got, err := v.arrive(wire); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("body %q, %v\n%s", got, err, wire)
		}
	})
}

// meaning returns everything of a request that the endpoint uses.
func meaning(r *http.Request, body []byte) string {
	query := r.URL.Query()
	query.Del("X-Amz-Signature")
	var b strings.Builder
	fmt.Fprintln(&b, r.Method, r.Host, r.URL.Path, query.Encode(), r.ContentLength, hex.EncodeToString(body))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if strings.HasPrefix(name, "X-Amz-") || name == "Content-Type" {
			var values []string
			for _, v := range r.Header[name] {
				values = append(values, strings.Join(strings.FieldsFunc(v, func(c rune) bool { return c == ' ' }), " "))
			}
			fmt.Fprintln(&b, name, strings.Join(values, ","))
		}
	}
	return b.String()
}

// TestAFlippedBitIsNoticed flips bits of signed requests, one at a time.
// What is still accepted must mean the same: the case of a header's name, a
// header that is not signed, a space that does not count.
func TestAFlippedBitIsNoticed(t *testing.T) {
	v := atSigning()
	same, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if all > 50_000 {
			return // these are enough
		}
		r, body := unsigned(t)
		wire := signed(t, r, body)
		r, _, err := v.arrive(wire)
		if err != nil {
			t.Fatal(err)
		}
		want := meaning(r, body)
		// One bit of each byte, another one in the next request.
		for i := all % 8; i < 8*len(wire); i += 9 {
			all++
			wire[i/8] ^= 1 << (i % 8)
			if got, body, err := v.arrive(wire); err == nil {
				same++
				if m := meaning(got, body); m != want {
					t.Fatalf("bit %d of byte %d was flipped, and the request is accepted:\n%s\nit means\n%s\ninstead "+
						"of\n%s", i%8, i/8, wire, m, want)
				}
			}
			wire[i/8] ^= 1 << (i % 8)
		}
	})
	if same == 0 || same > all/4 {
		t.Errorf("of %d flipped bits %d changed nothing", all, same)
	}
	t.Logf("%d bits were flipped, %d of them changed nothing", all, same)
}
