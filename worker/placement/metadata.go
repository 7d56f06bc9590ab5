package placement

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/muster-scale/muster/worker"
)

const (
	// metadataTimeout bounds one request to a metadata service, which is on the same machine.
	metadataTimeout = 2 * time.Second
	// maxMetadata bounds an answer, in bytes.
	maxMetadata = 256 << 10
)

// metadataClient returns c, or a client without a proxy: metadata is only valid on this machine.
func metadataClient(c *http.Client) *http.Client {
	if c != nil {
		return c
	}
	return &http.Client{
		Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// exchange is one request to a metadata service.
type exchange struct {
	method, url, body string
	header            http.Header
}

// do makes the request and returns the status, the header and the body of the answer.
func (x exchange) do(ctx context.Context, c *http.Client, timeout time.Duration) (int, http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, x.method, x.url, strings.NewReader(x.body))
	if err != nil {
		return 0, nil, nil, err
	}
	for name, values := range x.header {
		r.Header[name] = values
	}
	answer, err := c.Do(r)
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, nil, nil, fmt.Errorf("%s %s: no answer within %s", x.method, x.url, timeout)
	}
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxMetadata))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("%s %s: read the answer: %w", x.method, x.url, err)
	}
	return answer.StatusCode, answer.Header, text, nil
}

// poll calls once immediately and then at each interval, until ctx ends. It passes each change to tell, as
// [worker.Notices] requires: every failure, and a result only when it differs from the last one or follows a failure.
func poll(ctx context.Context, every time.Duration, once func(ctx context.Context) (worker.Notice, error),
	tell func(worker.Notice, error)) {
	var last worker.Notice
	quiet := false // true after a result that was passed on
	for {
		n, err := once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			tell(worker.Notice{}, err)
			quiet = false
		case !quiet || n != last:
			tell(n, nil)
			last, quiet = n, true
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
	}
}
