package placement

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/muster-scale/muster/worker"
)

const (
	imdsAddress = "http://169.254.169.254"
	// imdsTTL is the life of a token, in seconds: six hours, the longest.
	imdsTTL = "21600"
	// spotWarning is how long before an interruption EC2 announces it.
	spotWarning = 2 * time.Minute
)

// EC2Notices reads the notices in an instance's metadata, by IMDSv2: the interruption of a Spot instance, the
// recommendation to rebalance, and the target lifecycle state from the Auto Scaling group.
type EC2Notices struct {
	// Endpoint is the URL of the metadata service, by default http://169.254.169.254.
	Endpoint string
	// Every is the interval between two readings, by default 5 s.
	Every time.Duration
	// Client may be nil, for a client without a proxy.
	Client *http.Client
}

// Watch implements [Notices].
func (n EC2Notices) Watch(ctx context.Context, tell func(worker.Notice, error)) {
	s := newIMDSSession(n.Endpoint, n.Client)
	poll(ctx, cmp.Or(n.Every, worker.NoticeEvery), s.notice, tell)
}

// imdsSession reads metadata with a token that it renews.
type imdsSession struct {
	base   string
	client *http.Client
	token  string
	// interrupted is the notice of an interruption, and interruptedText its source: the remaining time counts from when
	// that was first read.
	interrupted     worker.Notice
	interruptedText string
}

func newIMDSSession(endpoint string, c *http.Client) *imdsSession {
	return &imdsSession{base: strings.TrimSuffix(cmp.Or(endpoint, imdsAddress), "/") + "/latest/",
		client: metadataClient(c)}
}

// notice returns the most urgent notice. A notice counts even if the rest could not be read.
func (s *imdsSession) notice(ctx context.Context) (worker.Notice, error) {
	var failures []error
	for _, place := range []struct {
		path string
		read func(now time.Time, header http.Header, text string) (worker.Notice, error)
	}{
		{"meta-data/spot/instance-action", s.interruption},
		{"meta-data/autoscaling/target-lifecycle-state", lifecycle},
		{"meta-data/events/recommendations/rebalance", rebalance},
	} {
		text, header, err := s.get(ctx, place.path)
		if err == nil && text != "" {
			var n worker.Notice
			if n, err = place.read(time.Now(), header, text); err == nil && n.Kind != "" {
				return n, nil
			}
		}
		if err != nil {
			failures = append(failures, err)
			if s.token == "" {
				break // the others would fail in the same way
			}
		}
	}
	return worker.Notice{}, errors.Join(failures...)
}

// get returns the value at a path, or an empty text when there is none. It renews an expired token.
func (s *imdsSession) get(ctx context.Context, path string) (string, http.Header, error) {
	for renewed := false; ; renewed = true {
		if s.token == "" {
			if err := s.renew(ctx); err != nil {
				return "", nil, err
			}
		}
		x := exchange{method: http.MethodGet, url: s.base + path,
			header: http.Header{"X-Aws-Ec2-Metadata-Token": {s.token}}}
		status, header, text, err := x.do(ctx, s.client, metadataTimeout)
		switch {
		case err != nil:
			return "", nil, err
		case status == http.StatusUnauthorized && !renewed:
			s.token = ""
		case status == http.StatusNotFound:
			return "", header, nil
		case status != http.StatusOK:
			return "", nil, fmt.Errorf("GET %s: status %d, want 200 or 404", x.url, status)
		default:
			return strings.TrimSpace(string(text)), header, nil
		}
	}
}

// renew gets a new token. A token answer does not cross more network hops than the instance allows, so it fails in a
// container with a network of its own.
func (s *imdsSession) renew(ctx context.Context) error {
	x := exchange{method: http.MethodPut, url: s.base + "api/token",
		header: http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {imdsTTL}}}
	status, _, text, err := x.do(ctx, s.client, metadataTimeout)
	switch {
	case err != nil:
		return fmt.Errorf("get a token of the instance metadata: %w; in a container the instance must allow 2 hops "+
			"(HttpPutResponseHopLimit), or the container use the host's network", err)
	case status != http.StatusOK || len(text) == 0:
		return fmt.Errorf("get a token of the instance metadata: PUT %s: status %d, want 200; 403 means that the "+
			"service is off", x.url, status)
	}
	s.token = string(text)
	return nil
}

// interruption reads the notice of a Spot interruption. The remaining time counts by the service's clock, if the answer
// shows it, because that of the instance may be wrong. It is at most two minutes.
func (s *imdsSession) interruption(now time.Time, header http.Header, text string) (worker.Notice, error) {
	if text == s.interruptedText {
		return s.interrupted, nil
	}
	var action struct {
		Action string    `json:"action"`
		Time   time.Time `json:"time"`
	}
	if err := json.Unmarshal([]byte(text), &action); err != nil || action.Time.IsZero() {
		// The announcement cannot be read, but the end is certainly near.
		action.Action, action.Time = "an action that cannot be read", now.Add(spotWarning)
	}
	theirs, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		theirs = now
	}
	left := min(max(0, action.Time.Sub(theirs)), spotWarning)
	if action.Action == "hibernate" {
		left = 0 // it begins at once
	}
	s.interruptedText = text
	s.interrupted = worker.Notice{Kind: worker.Interrupted, By: now.Add(left),
		Why: fmt.Sprintf("the Spot instance is interrupted (%s)", action.Action)}
	return s.interrupted, nil
}

// lifecycle reads the target lifecycle state of the instance.
func lifecycle(_ time.Time, _ http.Header, state string) (worker.Notice, error) {
	why := "the Auto Scaling group moves the instance to " + state
	switch {
	case state == "Terminated" || state == "Warmed:Terminated":
		return worker.Notice{Kind: worker.Ending, Waits: true, Why: why}, nil
	case strings.HasPrefix(state, "Warmed:") || state == "Standby":
		return worker.Notice{Kind: worker.OutOfService, Why: why}, nil
	}
	return worker.Notice{}, nil
}

// rebalance reads the recommendation to rebalance. It has no deadline: an interruption may follow, or not.
func rebalance(time.Time, http.Header, string) (worker.Notice, error) {
	return worker.Notice{Kind: worker.AtRisk, Why: "EC2 recommends to rebalance: the Spot instance may be interrupted"},
		nil
}
