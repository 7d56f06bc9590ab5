package sigv4

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// Constants of the protocol. maxSkew is the largest difference of clocks that AWS accepts.
const (
	algorithm  = "AWS4-HMAC-SHA256"
	dateFormat = "20060102T150405Z"
	maxSkew    = 15 * time.Minute
	sqsService = "sqs"
	terminator = "aws4_request"
	useKeys    = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to the key pair of this queue; its server prints " +
		"them as export lines."
)

// Verifier checks signatures made with one key pair. It is safe for concurrent use once its fields are
// set; only the cached signing key changes.
type Verifier struct {
	// AccessKeyID names the key pair.
	AccessKeyID string
	// SecretAccessKey is the secret of the pair.
	SecretAccessKey string
	// AnyCredentials accepts any signature, and unsigned requests.
	AnyCredentials bool
	// Now returns the present, with which dates of signatures are compared.
	Now func() time.Time

	// last is the signing key used last.
	last atomic.Pointer[signingKey]
}

// Claim is the identity that a request states, with what Verify needs to check it. A nil claim is not
// checked.
type Claim struct {
	// Region is the region for which the request is signed.
	Region string

	secret, date, scope, day string
	headers                  []string
	signature                []byte
	lasts                    time.Duration // validity of a signature in the URL; 0 for one in a header
}

// Read returns the claim of r and refuses it if the head alone shows that it cannot be valid. The claim
// is nil with AnyCredentials.
func (v *Verifier) Read(r *http.Request) (*Claim, error) {
	if v.AnyCredentials {
		return nil, nil
	}
	header := r.Header.Get("Authorization")
	if query := r.URL.Query(); header == "" && query.Get("X-Amz-Signature") != "" {
		return v.presigned(r, query)
	}
	if header == "" {
		return nil, protocol.Forbidden("MissingAuthenticationToken", "The request is not signed. %s", useKeys)
	}
	fields, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return nil, protocol.Forbidden("IncompleteSignature", "The Authorization header must begin with %s.", algorithm)
	}
	var credential, signed, signature string
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "Credential":
			credential = value
		case "SignedHeaders":
			signed = value
		case "Signature":
			signature = value
		}
	}
	return v.claimOf(r, &Claim{date: r.Header.Get("X-Amz-Date")}, credential, signed, signature)
}

// maxPresigned is the longest validity of a signature in a URL, as at AWS.
const maxPresigned = 7 * 24 * time.Hour

// presigned reads a signature in the URL.
func (v *Verifier) presigned(r *http.Request, query url.Values) (*Claim, error) {
	if query.Get("X-Amz-Algorithm") != algorithm {
		return nil, protocol.Forbidden("IncompleteSignature", "X-Amz-Algorithm must be %s.", algorithm)
	}
	lasts, err := strconv.Atoi(query.Get("X-Amz-Expires"))
	if err != nil || lasts < 1 || lasts > int(maxPresigned/time.Second) {
		return nil, protocol.Forbidden("IncompleteSignature", "X-Amz-Expires must be 1 to %d seconds.",
			int(maxPresigned/time.Second))
	}
	c := &Claim{date: query.Get("X-Amz-Date"), lasts: time.Duration(lasts) * time.Second}
	return v.claimOf(r, c, query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"),
		query.Get("X-Amz-Signature"))
}

// claimOf completes and checks a claim that has its date. The access key is compared in constant time,
// so that its characters cannot be guessed one by one.
func (v *Verifier) claimOf(r *http.Request, c *Claim, credential, signed, signature string) (*Claim, error) {
	parts := strings.Split(credential, "/")
	mac, err := hex.DecodeString(signature)
	if len(parts) != 5 || err != nil || len(mac) != sha256.Size || signed == "" {
		return nil, protocol.Forbidden("IncompleteSignature",
			"The signature must have a credential key/day/region/%s/%s, signed headers and 64 hex digits.", sqsService,
			terminator)
	}
	if !hmac.Equal([]byte(parts[0]), []byte(v.AccessKeyID)) {
		return nil, protocol.Forbidden("InvalidClientTokenId", "The access key %s is not known here. %s",
			protocol.Quote(parts[0]), useKeys)
	}
	c.secret, c.scope, c.day, c.Region = v.SecretAccessKey, strings.Join(parts[1:], "/"), parts[1], parts[2]
	c.headers, c.signature = strings.Split(signed, ";"), mac
	if parts[3] != sqsService || parts[4] != terminator {
		return nil, protocol.Forbidden("SignatureDoesNotMatch",
			"The credential is for %s; it must be for service %s, ending in %s.", protocol.Quote(c.scope), sqsService,
			terminator)
	}
	return c, c.check(r, v.Now())
}

// check validates the date, and that the headers that decide about the request are signed. An unsigned
// X-Amz-Target could be replaced on the way, and with it the action.
func (c *Claim) check(r *http.Request, now time.Time) error {
	at, err := time.Parse(dateFormat, c.date)
	if err != nil {
		return protocol.Forbidden("IncompleteSignature", "The X-Amz-Date header must be a time like %s; found %s.",
			dateFormat, protocol.Quote(c.date))
	}
	if age := now.Sub(at); c.lasts > 0 && age > c.lasts {
		return protocol.Forbidden("AccessDenied", "The signature of %s has expired after %v.", c.date, c.lasts)
	} else if c.lasts == 0 && age > maxSkew || age < -maxSkew {
		return protocol.Forbidden("SignatureDoesNotMatch",
			"The signature is of %s and it is now %s; at most 15 minutes may lie between. Set the clock of the caller.",
			c.date, now.UTC().Format(dateFormat))
	}
	if c.day != c.date[:8] {
		return protocol.Forbidden("SignatureDoesNotMatch", "The credential is for day %s but X-Amz-Date is %s.",
			protocol.Quote(c.day), c.date)
	}
	if !slices.Contains(c.headers, "host") {
		return protocol.Forbidden("SignatureDoesNotMatch", "The Host header must be signed.")
	}
	for _, name := range c.headers {
		if name != "host" && name != "content-length" && len(r.Header.Values(name)) == 0 {
			return protocol.Forbidden("SignatureDoesNotMatch", "The header %s is signed, and missing.",
				protocol.Quote(name))
		}
	}
	for name := range r.Header {
		if name := strings.ToLower(name); (name == "x-amz-target" || name == "x-amz-date") &&
			!slices.Contains(c.headers,
				name) {
			return protocol.Forbidden("SignatureDoesNotMatch", "The header %s must be signed.", name)
		}
	}
	return nil
}

// Verify checks the signature of a claim over the request and its body. A nil claim passes.
func (v *Verifier) Verify(c *Claim, r *http.Request, body []byte) error {
	if c == nil {
		return nil
	}
	sum := sha256.Sum256(body)
	payload := hex.EncodeToString(sum[:])
	if given := r.Header.Get("X-Amz-Content-Sha256"); given != "" && given != payload {
		return protocol.Forbidden("SignatureDoesNotMatch", "X-Amz-Content-Sha256 is not the hash of the body.")
	}
	request := sha256.Sum256([]byte(c.canonical(r, payload)))
	text := algorithm + "\n" + c.date + "\n" + c.scope + "\n" + hex.EncodeToString(request[:])
	if !hmac.Equal(sign(c.key(&v.last), text), c.signature) {
		return protocol.Forbidden("SignatureDoesNotMatch",
			"The signature does not match: the secret key is another one, or the request was changed on its way. %s",
			useKeys)
	}
	return nil
}

// signingKey is the key derived from a secret for one day and region.
type signingKey struct {
	secret, day, region string
	key                 []byte
}

// key returns the signing key of c. The last one is kept: most callers share day and region, and a new
// key costs four HMACs.
func (c *Claim) key(last *atomic.Pointer[signingKey]) []byte {
	if k := last.Load(); k != nil && k.secret == c.secret && k.day == c.day && k.region == c.Region {
		return k.key
	}
	key := []byte("AWS4" + c.secret)
	for _, part := range []string{c.day, c.Region, sqsService, terminator} {
		key = sign(key, part)
	}
	last.Store(&signingKey{c.secret, c.day, c.Region, key})
	return key
}

// sign returns the HMAC-SHA-256 of text.
func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// canonical returns the canonical request that was signed. The path is escaped twice, as every service
// but S3 does.
func (c *Claim) canonical(r *http.Request, payload string) string {
	var b strings.Builder
	b.WriteString(r.Method + "\n" + escape(max(r.URL.EscapedPath(), "/"), true) + "\n" + c.canonicalQuery(r) + "\n")
	for _, name := range c.headers {
		b.WriteString(name + ":" + headerValue(r, name) + "\n")
	}
	b.WriteString("\n" + strings.Join(c.headers, ";") + "\n" + payload)
	return b.String()
}

// headerValue returns the canonical value of a signed header: spaces collapsed, several values joined
// by commas. net/http keeps Host and Content-Length outside of the headers.
func headerValue(r *http.Request, name string) string {
	switch name {
	case "host":
		return r.Host
	case "content-length":
		return strconv.FormatInt(r.ContentLength, 10)
	}
	values := slices.Clone(r.Header.Values(name))
	for i, v := range values {
		values[i] = strings.Join(strings.Fields(v), " ")
	}
	return strings.Join(values, ",")
}

// canonicalQuery returns the canonical query string. It sorts by name, then by value. Sorting the
// joined pairs would put Tag.10= before Tag.1=, since digits come before the equals sign.
func (c *Claim) canonicalQuery(r *http.Request) string {
	var pairs [][2]string
	for name, values := range r.URL.Query() {
		if c.lasts > 0 && name == "X-Amz-Signature" {
			continue
		}
		for _, value := range values {
			pairs = append(pairs, [2]string{escape(name, false), escape(value, false)})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int {
		return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1],
			b[1]))
	})
	var b strings.Builder
	for i, pair := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(pair[0] + "=" + pair[1])
	}
	return b.String()
}

// escape percent-encodes all but unreserved characters; in a path it also keeps slashes.
func escape(s string, path bool) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '~',
			c == '/' && path:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}
