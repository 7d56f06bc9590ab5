package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/notice"
)

// Webhook sends notices to a URL. It is safe for use by several goroutines.
type Webhook struct {
	config Config
	dir    string
	client *http.Client
}

// maxAnswer bounds how much of an answer is read, in bytes.
const maxAnswer = 4 << 10

// Send implements [notice.Channel]. The answer is the status with the beginning of the body.
func (w *Webhook) Send(ctx context.Context, n incident.Notice) (answer string, err error) {
	target, err := notice.Secret(w.config.URL, notice.Under(w.dir, w.config.URLFile))
	if err != nil {
		return "", err
	}
	// A URL from a file is checked here, because Verify reads no file.
	if target = cmp.Or(target, pagerDutyURL); !secure(target) {
		return "", fmt.Errorf("POST the notice: found a URL that is not allowed in %s, allowed is one over https, or "+
			"over http to this machine: %w", w.config.URLFile, notice.ErrRefused)
	}
	key, err := notice.Secret(w.config.Key, notice.Under(w.dir, w.config.KeyFile))
	if err != nil {
		return "", err
	}
	body, err := Body(w.config.Format, key, n)
	if err != nil {
		return "", err
	}
	secrets := []string{target, key}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return "", notice.Spare(bare(err), secrets...)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "muster")
	// These come last, so that a configuration may replace the two above.
	for _, text := range w.config.Headers {
		name, value, _ := header(text)
		req.Header.Set(name, value)
		secrets = append(secrets, value)
	}
	answer, err = w.post(req)
	return answer, notice.Spare(err, secrets...)
}

// post sends a request and judges the answer.
func (w *Webhook) post(req *http.Request) (string, error) {
	where := "POST the notice to " + req.URL.Host
	resp, err := w.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("%s: %w", where, bare(err))
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // a cut answer is an answer
	said := resp.Status
	if line := incident.Line(string(text), 200); line != "" {
		said += ": " + line
	}
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return said, nil
	// These answers may change; all others say that the request itself is wrong.
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests ||
		code >= 500:
		return "", fmt.Errorf("%s: it answered %s", where, said)
	}
	return "", fmt.Errorf("%s: it answered %s: %w", where, said, notice.ErrRefused)
}

// bare returns an error of package net/http without the URL, which may be a secret.
func bare(err error) error {
	if with, ok := errors.AsType[*url.Error](err); ok {
		return with.Err
	}
	return err
}

// Body returns the body of a request in a format. The routing key is for PagerDuty.
func Body(format, key string, n incident.Notice) ([]byte, error) {
	switch format {
	case Slack:
		return json.Marshal(map[string]string{"text": slackText(n)})
	case PagerDuty:
		return json.Marshal(pagerDutyEvent(key, n))
	}
	return json.Marshal(n)
}

// slackText renders a notice for Slack, where three characters have a meaning of their own.
func slackText(n incident.Notice) string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	i := n.Incident
	text := fmt.Sprintf("*%s* on %s: %s", n.Event, escape.Replace(n.Host), escape.Replace(i.Sentence))
	if i.Command != "" {
		text += "\n`" + escape.Replace(strings.ReplaceAll(i.Command, "`", "'")) + "`"
	}
	return text
}

// event is an event of PagerDuty, version 2.
type event struct {
	RoutingKey string `json:"routing_key"`
	Action     string `json:"event_action"`
	// DedupKey is the same for the opening and the end of an incident, so that the end resolves it.
	DedupKey string   `json:"dedup_key"`
	Client   string   `json:"client"`
	Payload  *payload `json:"payload,omitempty"`
}

// payload describes the incident. Its class is the kind, its component the fleet.
type payload struct {
	Summary   string            `json:"summary"`
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	Timestamp string            `json:"timestamp"`
	Component string            `json:"component,omitzero"`
	Class     string            `json:"class"`
	Details   incident.Incident `json:"custom_details"`
}

// maxKey bounds the deduplication key of PagerDuty.
const maxKey = 255

func pagerDutyEvent(key string, n incident.Notice) event {
	i := n.Incident
	e := event{RoutingKey: key, Action: "trigger", DedupKey: incident.Line(i.ID, maxKey), Client: "muster"}
	if n.Event == incident.Ended {
		e.Action = "resolve"
		return e
	}
	severity := "error"
	if n.Event == incident.Test {
		severity = "info"
	}
	e.Payload = &payload{Summary: n.Text, Source: cmp.Or(n.Host, "muster"), Severity: severity,
		Timestamp: i.BeganAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Component: i.Fleet, Class: string(i.Kind),
		Details: i}
	return e
}
