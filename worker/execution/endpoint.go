package execution

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/internal/trouble"
)

const (
	// connectTimeout bounds connecting to the endpoint.
	connectTimeout = 5 * time.Second
	// defaultContentType is the default of Elastic Beanstalk's daemon.
	defaultContentType = "application/json"
)

// EndpointOptions describe an HTTP endpoint and its requests. URL is required.
type EndpointOptions struct {
	// URL is an http URL on this machine.
	URL string
	// Slots is how many requests run at once: 1 to MaxSlots, by default 1.
	Slots int
	// Batch is how many messages a request holds at most: 1 to 10, by default 1. Above 1, the body of a request is
	// JSON, and so is that of its answer.
	Batch int
	// ContentType is the content type of a message, by default application/json.
	ContentType string
	// Logger may be nil.
	Logger *slog.Logger
}

// Endpoint does the work by HTTP, as the worker environments of Elastic Beanstalk do. It POSTs each message to an
// endpoint on this machine, with the message's properties in headers. The answer 200 is success, any other a failure.
// docs/worker-protocol.md specifies it. It is not ready while nothing listens at the URL. Set [Options].DoBatch to its
// DoBatch and Options.Readiness to itself, and call Close after [Run]. Several goroutines may use it.
type Endpoint struct {
	o          EndpointOptions
	host       string
	log        *slog.Logger
	client     *http.Client
	dialer     *net.Dialer
	deliveries atomic.Int64
	up         atomic.Bool
	// hindered is why nothing can be reached, once that has lasted for some seconds; nil otherwise.
	hindered atomic.Pointer[error]
	// down requests a check of the endpoint.
	down    chan struct{}
	changed chan struct{}
	life    context.Context
	stop    context.CancelFunc
	checks  sync.WaitGroup
}

// errElsewhere refuses a connection to another machine, whatever a name resolves to.
var errElsewhere = errors.New("the address is not of this machine")

// NewEndpoint returns the endpoint and begins to check whether something listens there.
func NewEndpoint(ctx context.Context, o EndpointOptions) (*Endpoint, error) {
	o.Slots, o.Batch, o.ContentType = cmp.Or(o.Slots, 1), cmp.Or(o.Batch, 1), cmp.Or(o.ContentType, defaultContentType)
	u, err := url.Parse(o.URL)
	switch {
	case err != nil, u.Scheme != "http", u.Host == "", u.User != nil, u.Fragment != "":
		return nil, fmt.Errorf("work by HTTP: found the URL %q, one like http://127.0.0.1:8080/path is allowed", o.URL)
	case !trouble.Loopback(u.Hostname()):
		return nil, fmt.Errorf("work by HTTP: found the host %s, only this machine is allowed, because messages go "+
			"there unencrypted; use 127.0.0.1, [::1] or localhost", u.Hostname())
	case o.Slots < 1 || o.Slots > worker.MaxSlots:
		return nil, fmt.Errorf("work by HTTP: found %d slots, 1 to %d are allowed", o.Slots, worker.MaxSlots)
	case o.Batch < 1 || o.Batch > worker.MaxBatch:
		return nil, fmt.Errorf("work by HTTP: found a batch of %d messages, 1 to %d are allowed", o.Batch,
			worker.MaxBatch)
	case !headerText(o.ContentType):
		return nil, fmt.Errorf("work by HTTP: found the content type %q, one like text/plain is allowed", o.ContentType)
	}
	e := &Endpoint{
		o: o, host: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")),
		log:  cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		down: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		dialer: &net.Dialer{Timeout: connectTimeout, Control: refuseOtherMachines},
	}
	e.client = &http.Client{
		Transport: &http.Transport{
			// A new connection for each request: a reused one may have been closed, and then it would be unknown
			// whether the endpoint got the message.
			DialContext: e.dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	e.life, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	e.checks.Go(e.keepChecking)
	return e, nil
}

// refuseOtherMachines refuses a connection to another machine. It runs after the name was resolved, so a name of this
// machine that resolves to another address is refused, too.
func refuseOtherMachines(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !trouble.Loopback(host) {
		return fmt.Errorf("connect to %s: %w", address, errElsewhere)
	}
	return nil
}

// keepChecking keeps track of whether something listens. While nothing does, it checks again, with back-off.
func (e *Endpoint) keepChecking() {
	var fault trouble.Trouble
	fault.What = "reaching the endpoint"
	for failures := 0; ; {
		c, err := e.dialer.DialContext(e.life, "tcp", e.host)
		if e.life.Err() != nil {
			return
		}
		fault.See(e.log, time.Now(), err)
		var again <-chan time.Time
		if err == nil {
			_ = c.Close()
			failures = 0
		} else {
			failures++
			again = time.After(worker.ReceivePause(failures, rand.Float64()))
		}
		e.set(err == nil)
		e.setHindered(err, failures)
		select {
		case <-e.down:
		case <-again:
		case <-e.life.Done():
			return
		}
	}
}

// set records whether something listens.
func (e *Endpoint) set(up bool) {
	if e.up.Swap(up) != up {
		e.notify()
	}
}

// lasting is how many failed checks in a row are more than a slow start: a few seconds.
const lasting = 4

// setHindered records why nothing listens, once that is more than a slow start.
func (e *Endpoint) setHindered(err error, failures int) {
	switch {
	case err == nil:
		e.hindered.Store(nil)
	case failures == lasting:
		e.hindered.Store(&err)
		e.notify()
	}
}

// notify signals a change.
func (e *Endpoint) notify() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// Hindered implements [worker.Hindered]: it says why the endpoint cannot be reached.
func (e *Endpoint) Hindered() error {
	if err := e.hindered.Load(); err != nil {
		return fmt.Errorf("reach the endpoint at %s: %w", e.host, *err)
	}
	return nil
}

// Ready implements [Readiness]: it returns the number of slots while something listens, else 0.
func (e *Endpoint) Ready() int {
	if !e.up.Load() {
		return 0
	}
	return e.o.Slots
}

// Changed implements [Readiness].
func (e *Endpoint) Changed() <-chan struct{} { return e.changed }

// Close stops the checks of the endpoint. Call it when no request is running.
func (e *Endpoint) Close() {
	e.stop()
	e.checks.Wait()
}

// Do does the work for one message; see [Options].
func (e *Endpoint) Do(ctx context.Context, m worker.Message) error {
	return e.DoBatch(ctx, []worker.Message{m})[0]
}

// DoBatch does the work for several messages, in one request or, if Batch is 1, in one each; see [Options]. Messages
// that were not sent, because nothing listens, fail with [ErrNotBegun].
func (e *Endpoint) DoBatch(ctx context.Context, batch []worker.Message) []error {
	if e.o.Batch > 1 {
		return e.postBatch(ctx, batch)
	}
	errs := make([]error, len(batch))
	for i, m := range batch {
		header, err := e.header(m)
		if err == nil {
			var answer []byte
			if answer, err = e.post(ctx, header, []byte(m.Body), m.Node != nil); err == nil && m.Node != nil {
				err = m.Node.NameLines(ctx, answer)
			}
		}
		errs[i] = err
	}
	return errs
}

// header returns the headers for m.
func (e *Endpoint) header(m worker.Message) (http.Header, error) {
	h := http.Header{"Content-Type": {e.o.ContentType}}
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	set("X-Aws-Sqsd-Msgid", m.ID)
	set("X-Aws-Sqsd-Queue", m.Queue)
	set("X-Aws-Sqsd-Sender-Id", m.SenderID)
	if !m.FirstReceivedAt.IsZero() {
		set("X-Aws-Sqsd-First-Received-At", m.FirstReceivedAt.UTC().Format(time.RFC3339))
	}
	if m.ReceiveCount > 0 {
		set("X-Aws-Sqsd-Receive-Count", strconv.Itoa(m.ReceiveCount))
	}
	if m.Attempt > 0 {
		set("X-Muster-Attempt", strconv.Itoa(m.Attempt))
	}
	set("X-Muster-Idempotency-Key", m.Key())
	if m.Node != nil {
		m.Node.Header(h)
	}
	set("X-Muster-Sent-At", stamp(m.SentAt))
	set("X-Muster-Group", m.Group)
	if len(m.Attributes) > maxAttributes {
		return nil, fmt.Errorf("pass on the attributes of the message: found %d, at most %d are allowed",
			len(m.Attributes), maxAttributes)
	}
	for name, a := range m.Attributes {
		if kind, _, _ := strings.Cut(a.Type, "."); kind == "String" || kind == "Number" {
			set("X-Aws-Sqsd-Attr-"+name, a.Text)
		}
	}
	for name, values := range h {
		if !headerName.MatchString(name) || !headerText(values[0]) {
			return nil, fmt.Errorf("set the header %q for the endpoint: its name or value has a character that no "+
				"header can hold; send it in the body", name)
		}
	}
	return h, nil
}

// headerName matches an attribute name that SQS allows, with a prefix.
var headerName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// headerText tells whether s can be a header's value.
func headerText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// postBatch sends a batch in one request and reads which messages failed.
func (e *Endpoint) postBatch(ctx context.Context, batch []worker.Message) []error {
	n := int64(len(batch))
	deliveries := deliveryNames(e.deliveries.Add(n)-n+1, len(batch))
	body, err := wireWorkOf(ctx, batch, deliveries)
	var answer []byte
	if err == nil {
		answer, err = e.post(ctx,
			http.Header{"Content-Type": {defaultContentType}, "X-Muster-Batch": {strconv.Itoa(len(batch))}}, body,
			slices.ContainsFunc(batch, func(m worker.Message) bool { return m.Node != nil }))
	}
	errs := make([]error, len(batch))
	if err == nil {
		err = readFailures(ctx, answer, deliveries, batch, errs)
	}
	if err != nil {
		return slices.Repeat([]error{err}, len(batch))
	}
	return errs
}

// readFailures reads the answer to a batch: nothing, or the failed deliveries and the children of nodes. An answer that
// cannot be read is an error for the whole batch.
func readFailures(ctx context.Context, answer []byte, deliveries []string, batch []worker.Message, errs []error) error {
	if len(bytes.TrimSpace(answer)) == 0 {
		return nil
	}
	var failures struct {
		Failed   []wireAnswer       `json:"failed"`
		Children []worker.WireChild `json:"children"`
	}
	if err := json.Unmarshal(answer, &failures); err != nil {
		return fmt.Errorf("the endpoint answered a batch with %d bytes that are not JSON; an empty answer or a list "+
			"of failures is allowed", len(answer))
	}
	places := make(map[string]int, len(deliveries))
	for i, d := range deliveries {
		places[d] = i
	}
	for _, a := range failures.Failed {
		place, ok := places[a.Delivery]
		if !ok || errs[place] != nil {
			return fmt.Errorf("the endpoint says that the delivery %s failed, which is unknown or was named before",
				trouble.Excerpt([]byte(a.Delivery)))
		}
		a.OK = new(bool)
		errs[place] = a.result()
	}
	return worker.NameEach(ctx, failures.Children, batch, places, errs)
}

// post makes one request and returns the body of the answer 200. With children, the body may be long.
func (e *Endpoint) post(ctx context.Context, header http.Header, body []byte, children bool) ([]byte, error) {
	most := int64(maxAnswer)
	if children {
		most = worker.MaxChildren
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.o.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("work by HTTP: %w", err)
	}
	request.Header = header // built by header or postBatch for this request alone
	request.Header.Set("User-Agent", "muster/"+strconv.Itoa(ProtocolVersion))
	response, err := e.client.Do(request)
	if err != nil {
		return nil, e.failed(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, &AnswerError{Status: response.StatusCode, Body: string(answer[:min(len(answer), maxFault)])}
	case err != nil:
		return nil, e.failed(ctx, err)
	case int64(len(answer)) > most:
		return nil, fmt.Errorf("the endpoint answered more than %d bytes", most)
	}
	return answer, nil
}

// AnswerError is an answer of an endpoint with a status other than 200.
type AnswerError struct {
	// Status is the status of the answer, Body its beginning: at most 2 KiB.
	Status int
	Body   string
}

// maxFault bounds the stored body of a failed answer, in bytes.
const maxFault = 2 << 10

// Error names the status. It leaves out the body, which may repeat the message.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("the endpoint answered %d %s; 200 is success", e.Status, http.StatusText(e.Status))
}

// Is makes AnswerError match errSaid: the work itself reported the failure.
func (e *AnswerError) Is(target error) bool { return target == errSaid }

// failed says why a request failed. If the context ended, its cause is the reason.
func (e *Endpoint) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("the endpoint had not answered yet: %w", cause)
	}
	unwrapped, ok := errors.AsType[*url.Error](err)
	if ok {
		err = unwrapped.Err
	}
	op, ok := errors.AsType[*net.OpError](err)
	if ok && op.Op == "dial" {
		select {
		case e.down <- struct{}{}:
		default:
		}
		e.set(false)
		return fmt.Errorf("%w: reach the endpoint: %w", worker.ErrNotBegun, err)
	}
	return fmt.Errorf("the endpoint went away before it answered: %w", err)
}
