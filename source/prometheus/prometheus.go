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
	"github.com/muster-scale/muster/kind"
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
	Queries map[kind.Quantity]string
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

// Observe implements [muster.Source]. Quantities without a query are those of the base, or unknown without one.
func (s *Source) Observe(ctx context.Context) (muster.QueueObservation, error) {
	q := kind.ObserveBase(ctx, s.o.Base, s.o.Queue, "no query was stated for it", time.Now)
	for quantity, query := range s.o.Queries {
		quantity.Put(&q, s.sample(ctx, query))
	}
	q.LateSeconds = max(q.LateSeconds, s.o.Interval.Seconds())
	return q, ctx.Err()
}

// sample makes a query for one number.
func (s *Source) sample(ctx context.Context, query string) muster.Sample {
	a, err := s.query(ctx, query)
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

// query sends one query to the API for instant queries, by POST, because a query may be longer than a URL may be. An
// answer with a warning is refused: it may have only part of the series.
func (s *Source) query(ctx context.Context, query string) (answer, error) {
	form := url.Values{"query": {query}, "timeout": {timeout.String()}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.api, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, fmt.Errorf("query Prometheus: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s.o.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.o.Token)
	}
	response, err := s.http.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // the message below has the URL already
		}
		return answer{}, fmt.Errorf("query Prometheus at %s: %w", s.o.URL, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	var a answer
	switch decoded := json.Unmarshal(text, &a); {
	case err != nil:
		return answer{}, fmt.Errorf("query Prometheus at %s: %w", s.o.URL, err)
	case decoded == nil && a.Error != "":
		return answer{}, fmt.Errorf("Prometheus refuses the query: %s", a.Error)
	case response.StatusCode != http.StatusOK:
		return answer{}, fmt.Errorf("Prometheus at %s answers %s", s.o.URL, response.Status)
	case decoded != nil || a.Status != "success":
		return answer{}, fmt.Errorf("the server at %s does not answer as Prometheus does", s.o.URL)
	case len(a.Warnings) > 0:
		return answer{}, fmt.Errorf("Prometheus warns: %s", strings.Join(a.Warnings, "; "))
	}
	return a, nil
}

// number returns the number of an answer, or the reason why there is none. An absent series is unknown, never zero: no
// worker stops because a target vanished.
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
