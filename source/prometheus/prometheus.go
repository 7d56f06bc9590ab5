package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster"
)

// Signal is the meaning of a number for a queue.
type Signal string

// The signals. Counts are of messages, ages and durations in seconds.
const (
	Backlog    Signal = "backlog"
	InFlight   Signal = "in_flight"
	Delayed    Signal = "delayed"
	OldestAge  Signal = "oldest_age"
	Processing Signal = "processing"
)

// Options say what a [Source] measures. Queue, URL and at least one query are required.
type Options struct {
	// Queue is the name of the measured queue in observations.
	Queue string
	// URL is the address of the server; its API is below that path.
	URL string
	// Token is sent as a bearer token; empty for none.
	Token string
	// Interval is the server's scrape interval, by which its numbers lag behind.
	Interval time.Duration
	// Queries are PromQL queries by signal.
	Queries map[Signal]string
	// Base measures the signals without a query; nil leaves them unknown.
	Base muster.Source
	// HTTP makes the requests; nil means a default client.
	HTTP *http.Client
}

const (
	// timeout bounds one query, maxAnswer its answer in bytes.
	timeout   = 5 * time.Second
	maxAnswer = 1 << 20
)

// Source measures by queries. It implements [muster.Source]. Several goroutines may use it.
type Source struct {
	o    Options
	http *http.Client
	api  string
}

var _ muster.Source = (*Source)(nil)

// New returns the source. It makes no call.
func New(o Options) (*Source, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || len(o.Queries) == 0 {
		return nil, fmt.Errorf("measure %s by Prometheus: found the URL %q and %d queries, needed are a URL and one "+
			"query", o.Queue, o.URL,
			len(o.Queries))
	}
	s := &Source{o: o, http: o.HTTP, api: strings.TrimSuffix(o.URL, "/") + "/api/v1/query"}
	if s.http == nil {
		// A redirect could send the token to another server.
		refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		s.http = &http.Client{Timeout: timeout, CheckRedirect: refuse}
	}
	return s, nil
}

// Observe implements [muster.Source]. Signals without a query or a base are unknown.
func (s *Source) Observe(ctx context.Context) (muster.QueueObservation, error) {
	q := s.base(ctx)
	shown := q.Published.Value()
	for signal, query := range s.o.Queries {
		sample := s.sample(ctx, query)
		switch signal {
		case Backlog:
			q.Backlog = sample
		case InFlight:
			q.InFlight = sample
		case Delayed:
			q.Delayed = sample
		case OldestAge:
			q.OldestAge = sample
		case Processing:
			shown.ProcessingMean = sample
		}
	}
	if shown != (muster.Published{}) {
		q.Published = &shown
	}
	q.LateSeconds = max(q.LateSeconds, s.o.Interval.Seconds())
	return q, ctx.Err()
}

// base returns the observation to which the queries are added.
func (s *Source) base(ctx context.Context) muster.QueueObservation {
	why := "no query was stated for it"
	if s.o.Base != nil {
		q, err := s.o.Base.Observe(ctx)
		if err == nil {
			return q
		}
		why = err.Error()
	}
	none := muster.Unknown(time.Now().UTC().Round(0), why)
	return muster.QueueObservation{Queue: s.o.Queue, Backlog: none, InFlight: none, Delayed: none, OldestAge: none}
}

// sample makes a query for one number.
func (s *Source) sample(ctx context.Context, query string) muster.Sample {
	a, err := s.ask(ctx, query)
	at := time.Now().UTC().Round(0) // samples carry the instant they were received
	if err != nil {
		return muster.Unknown(at, err.Error())
	}
	v, reason := a.number()
	if reason != "" {
		return muster.Unknown(at, reason)
	}
	return muster.Measured(at, v)
}

// answer is an answer of the API.
type answer struct {
	Status, Error string
	Warnings      []string
	Data          struct {
		ResultType string
		Result     json.RawMessage
	}
}

// ask makes one query.
func (s *Source) ask(ctx context.Context, query string) (answer, error) {
	form := url.Values{"query": {query}, "timeout": {timeout.String()}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.api, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, fmt.Errorf("ask Prometheus: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s.o.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.o.Token)
	}
	response, err := s.http.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // the URL is said once
		}
		return answer{}, fmt.Errorf("ask Prometheus at %s: %w", s.o.URL, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	var a answer
	switch decoded := json.Unmarshal(text, &a); {
	case err != nil:
		return answer{}, fmt.Errorf("ask Prometheus at %s: %w", s.o.URL, err)
	case decoded == nil && a.Error != "":
		return answer{}, fmt.Errorf("Prometheus does not compute it: %s", a.Error)
	case response.StatusCode != http.StatusOK:
		return answer{}, fmt.Errorf("Prometheus at %s answers %s", s.o.URL, response.Status)
	case decoded != nil || a.Status != "success":
		return answer{}, fmt.Errorf("what is at %s does not answer as Prometheus does", s.o.URL)
	case len(a.Warnings) > 0:
		return answer{}, fmt.Errorf("Prometheus warns: %s", strings.Join(a.Warnings, "; "))
	}
	return a, nil
}

// number returns the number of an answer, or why there is none.
func (a answer) number() (v float64, reason string) {
	var point [2]any
	switch a.Data.ResultType {
	case "scalar":
		if err := json.Unmarshal(a.Data.Result, &point); err != nil {
			return 0, "Prometheus gave a scalar that cannot be read"
		}
	case "vector":
		var series []struct{ Value [2]any }
		if err := json.Unmarshal(a.Data.Result, &series); err != nil {
			return 0, "Prometheus gave series that cannot be read"
		}
		if len(series) == 0 {
			return 0, "no series: what the query names is absent or stale"
		}
		if len(series) > 1 {
			return 0, fmt.Sprintf("%d series where one is meant: put a sum(...) or max(...) around the query",
				len(series))
		}
		point = series[0].Value
	default:
		return 0, fmt.Sprintf("the query gives a %s, allowed are a scalar and a vector of one series",
			a.Data.ResultType)
	}
	text, _ := point[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Sprintf("the query gives %q, which is no number", text)
	case v < 0:
		return 0, fmt.Sprintf("the query gives %s, which is below zero", text)
	}
	return v, ""
}
