package httpreport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/protocol"
)

// maxDirective bounds a reply, in bytes; a directive has a few hundred.
const maxDirective = 64 << 10

// HTTPReporter reports to a controller over HTTP. Several goroutines may use it.
type HTTPReporter struct {
	url, token string
	client     *http.Client
}

// NewReporter returns a reporter to the controller whose API is at apiURL, as in "http://127.0.0.1:9325". It sends the
// bearer token, so plain http is allowed only to a loopback address.
func NewReporter(apiURL, token string) (*HTTPReporter, error) {
	u, err := url.Parse(apiURL)
	if err != nil {
		return nil, fmt.Errorf("report to the controller: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "":
		return nil, fmt.Errorf("report to the controller: found the URL %q, one like https://host:port is allowed",
			u.Redacted())
	case u.Scheme == "http" && !trouble.Loopback(u.Hostname()):
		return nil, fmt.Errorf("report to the controller: found %s, http is allowed to this machine only; use https",
			apiURL)
	case token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("report to the controller: found no usable token; give the one the controller printed")
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		MaxIdleConns: 2, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: worker.ReportTimeout,
	}
	if trouble.Loopback(u.Hostname()) {
		transport.Proxy = nil
	}
	return &HTTPReporter{
		url: u.JoinPath("v1", "reports").String(), token: token,
		client: &http.Client{
			Transport:     transport,
			Timeout:       worker.ReportTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Report sends r and returns the controller's reply. It gives up after 80 seconds.
func (h *HTTPReporter) Report(ctx context.Context, r protocol.Report) (protocol.Directive, error) {
	var d protocol.Directive
	body, err := json.Marshal(r)
	if err != nil {
		return d, fmt.Errorf("report to %s: %w", h.url, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return d, fmt.Errorf("report to %s: %w", h.url, err)
	}
	request.Header.Set("Authorization", "Bearer "+h.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := h.client.Do(request)
	if err != nil {
		return d, fmt.Errorf("report to the controller: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxDirective+1))
	switch {
	case err != nil:
		return d, fmt.Errorf("report to %s: read the reply: %w", h.url, err)
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return d, fmt.Errorf("report to %s: the controller refused the token (%s); give the one it printed", h.url,
			response.Status)
	case response.StatusCode != http.StatusOK:
		return d, fmt.Errorf("report to %s: the controller answered %s: %s", h.url, response.Status,
			trouble.Excerpt(reply))
	case len(reply) > maxDirective:
		return d, fmt.Errorf("report to %s: the reply has more than %d bytes", h.url, maxDirective)
	}
	if err := json.Unmarshal(reply, &d); err != nil {
		return protocol.Directive{}, fmt.Errorf("report to %s: the reply is no directive: %w", h.url, err)
	}
	switch d.Ask {
	case protocol.Work, protocol.Drain, protocol.Leave:
		return d, nil
	}
	return protocol.Directive{}, fmt.Errorf(
		"report to %s: found the ask %q, work, drain or leave is allowed", h.url, d.Ask)
}
