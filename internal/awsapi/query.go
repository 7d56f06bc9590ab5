package awsapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// maxQueryAnswer bounds the answer to a Query call, in bytes.
const maxQueryAnswer = 64 << 10

// QueryError is a refusal by a service that speaks the Query protocol.
type QueryError struct {
	// Status is the HTTP status; Code and Message are those of the service, and may be empty.
	Status        int
	Code, Message string
}

// Error implements error.
func (e *QueryError) Error() string {
	return fmt.Sprintf("%s (HTTP %d): %s", cmp.Or(e.Code, "refused"), e.Status, cmp.Or(e.Message, "no message"))
}

// Final tells whether the same call would be refused again: the fault is the caller's, and no throttling.
func (e *QueryError) Final() bool {
	return e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests &&
		!strings.Contains(e.Code, "Throttl") && !strings.Contains(e.Code, "Expired")
}

// Query makes one call in the Query protocol of AWS, signed as of now, and returns the body of the answer. The form
// holds the action, the version of the API and the parameters. It is for a service of which one action is needed: a
// client of the SDK adds hundreds of kilobytes to the program. The call counts against the limit of the account and is
// not retried. A refusal is a [*QueryError].
func (a *Account) Query(ctx context.Context, now time.Time, service, region string, form url.Values) ([]byte, error) {
	cfg, err := a.Region(region)
	if err != nil {
		return nil, err
	}
	if err := a.bucket.Wait(ctx); err != nil {
		return nil, cmp.Or(ctx.Err(), errLimited)
	}
	body := form.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint(service, cfg.Region), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	if cfg.Credentials == nil {
		return nil, &NoCredentialsError{errors.New("none are configured")}
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(ctx, keys, req, hex.EncodeToString(hash[:]), service, cfg.Region,
		now.UTC()); err != nil {
		return nil, err
	}
	resp, err := cfg.HTTPClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxQueryAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, &QueryError{Status: resp.StatusCode, Code: element(answer, "Code"),
			Message: element(answer, "Message")}
	}
	return answer, nil
}

// endpoint returns the URL of a service: that of AWS_ENDPOINT_URL_SERVICE or AWS_ENDPOINT_URL, or else Amazon's. The
// profiles of the AWS tools are not searched for one.
func endpoint(service, region string) string {
	if other := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_"+strings.ToUpper(service)),
		os.Getenv("AWS_ENDPOINT_URL")); other != "" {
		return strings.TrimSuffix(other, "/") + "/"
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return "https://" + service + "." + region + "." + domain + "/"
}

// element returns the text of the first XML element of a name, empty for none, at most 500 bytes.
func element(text []byte, name string) string {
	_, rest, _ := strings.Cut(string(text), "<"+name+">")
	inner, _, found := strings.Cut(rest, "</"+name+">")
	if !found {
		return ""
	}
	return inner[:min(len(inner), 500)]
}
