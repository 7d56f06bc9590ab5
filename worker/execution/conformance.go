package execution

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/muster-scale/muster/worker"
)

const (
	// quiet is how long a program must write nothing after its answer.
	quiet = 300 * time.Millisecond
	// largeSample is the size of the largest sample body, in bytes.
	largeSample = 256 << 10
	// unreadBody is the size above which a server may refuse a body without reading it, in bytes. Smaller bodies must
	// get an answer.
	unreadBody = 64 << 10
	// conformanceLimit is the default time limit of a call.
	conformanceLimit = 10 * time.Second
)

// Conformance checks a command, a program or an endpoint against docs/worker-protocol.md, rule by rule. It really does
// the work of the samples. Only one goroutine may use it.
type Conformance struct {
	// Samples are bodies of messages that must succeed, at least one.
	Samples []string
	// Bad is the body of a message that must fail; nil skips that rule.
	Bad *string
	// Node is the body of a tree node with children; nil skips the rules for trees.
	Node *string
	// TimeLimit is how long each call may take, by default 10 s.
	TimeLimit time.Duration
	// Tell is called with each finding; nil is allowed.
	Tell func(Finding)

	findings []Finding
	sent     int64
}

// Finding is the result for one rule.
type Finding struct {
	// Rule names the rule; docs/worker-protocol.md lists them.
	Rule string
	// Skipped says why the rule was not checked. Err says how it is broken. The rule is kept when both are empty.
	Skipped string
	Err     error
}

// errSaid marks a failure that the work itself reported: a valid answer.
var errSaid = errors.New("failed as the protocol allows")

// said is an error with its own text that matches errSaid.
type said struct{ text string }

func (s *said) Error() string        { return s.text }
func (s *said) Is(target error) bool { return target == errSaid }

// answered tells whether the work gave a valid answer: success, or a failure that it reported itself.
func answered(err error) bool { return err == nil || errors.Is(err, errSaid) }

// Passed tells whether no rule checked so far was broken.
func (c *Conformance) Passed() bool {
	for _, f := range c.findings {
		if f.Err != nil {
			return false
		}
	}
	return true
}

// Findings returns the findings so far, in order.
func (c *Conformance) Findings() []Finding { return c.findings }

// found records a finding and passes it on.
func (c *Conformance) found(f Finding) {
	c.findings = append(c.findings, f)
	if c.Tell != nil {
		c.Tell(f)
	}
}

// rule records the result of a rule, and tells whether it is kept.
func (c *Conformance) rule(name string, err error) bool {
	c.found(Finding{Rule: name, Err: err})
	return err == nil
}

func (c *Conformance) skip(name, why string) { c.found(Finding{Rule: name, Skipped: why}) }

// message returns a message with a new id.
func (c *Conformance) message(body string) worker.Message {
	c.sent++
	return worker.Message{
		ID: fmt.Sprintf("conformance-%d", c.sent), Queue: "conformance", Body: body, Attempt: 1, ReceiveCount: 1,
		SentAt:     time.Now(),
		Attributes: map[string]worker.Attribute{"purpose": {Type: "String", Text: "conformance"}},
	}
}

// calls does the work on a batch, as Options.DoBatch does.
type calls func(ctx context.Context, batch []worker.Message) []error

// call makes one call with the time limit of calls.
func (c *Conformance) call(ctx context.Context, do calls, batch ...worker.Message) []error {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(c.TimeLimit, conformanceLimit), worker.ErrTimeLimit)
	defer cancel()
	return do(ctx, batch)
}

// OfCommand checks a command that runs for each message.
func (c *Conformance) OfCommand(ctx context.Context, command Command) {
	c.common(ctx, func(ctx context.Context, batch []worker.Message) []error {
		err := error(nil)
		if batch[0].Node != nil {
			err = nodeCommand(ctx, command, batch[0])
		} else {
			err = command.Run(ctx, batch[0])
		}
		if exit, ok := errors.AsType[*ExitError](err); ok && exit.Cause == nil && exit.Signal == "" {
			err = &said{exit.Error()} // an exit status is an answer
		}
		return []error{err}
	}, 1)
}

// OfEndpoint checks an HTTP endpoint.
func (c *Conformance) OfEndpoint(ctx context.Context, e *Endpoint) {
	c.common(ctx, func(ctx context.Context, batch []worker.Message) []error {
		errs := e.DoBatch(ctx, batch)
		for i, err := range errs {
			if refusedUnread(batch[i].Body, err) && answered(e.Do(ctx, c.message(c.Samples[0]))) {
				errs[i] = &said{err.Error()}
			}
		}
		return errs
	}, e.o.Batch)
}

// refusedUnread tells whether err may be the refusal of a body that the server did not read to its end.
//
// A server may answer and close the connection before it has read a large body. Data that arrives after the close
// makes its system reset the connection, and then the answer is lost (RFC 9112, section 9.6). A server that crashes
// looks the same, so [Conformance.OfEndpoint] also requires an answer to the next message.
func refusedUnread(body string, err error) bool {
	// When the client reads the end of the connection before its own write fails, it closes the connection itself, and
	// the write fails with net.ErrClosed: the body was still being written.
	ended := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
	return len(body) > unreadBody && ended
}

// common checks the rules that hold for commands, programs and endpoints.
func (c *Conformance) common(ctx context.Context, do calls, batch int) {
	for _, sample := range c.Samples {
		m := c.message(sample)
		if !c.rule("success", c.call(ctx, do, m)[0]) {
			c.skip("again", "the message did not succeed before")
			continue
		}
		m.Attempt, m.ReceiveCount = 2, 2
		c.rule("again", c.call(ctx, do, m)[0])
	}
	if c.Bad == nil {
		c.skip("failure", "no sample that must fail was given")
	} else {
		c.rule("failure", mustFail(c.call(ctx, do, c.message(*c.Bad))[0]))
	}
	c.rule("any body", c.anyBody(ctx, do))
	c.children(ctx, do)
	if batch <= 1 {
		c.skip("batch", "batches of one message")
		return
	}
	var messages []worker.Message
	for i := range batch {
		messages = append(messages, c.message(c.Samples[i%len(c.Samples)]))
	}
	c.rule("batch", errors.Join(c.call(ctx, do, messages...)...))
}

// anyBody checks that every body gets an answer, whatever the answer is.
func (c *Conformance) anyBody(ctx context.Context, do calls) error {
	var errs []error
	for _, odd := range oddBodies() {
		if err := c.call(ctx, do, c.message(odd.body))[0]; !answered(err) {
			errs = append(errs, fmt.Errorf("%s: %w", odd.name, err))
		}
	}
	return errors.Join(errs...)
}

// mustFail returns the breach of the rule failure, given the result of the sample that must fail. A crash is no answer.
func mustFail(err error) error {
	switch {
	case err == nil:
		return errors.New("the sample that must fail succeeded")
	case answered(err):
		return nil
	}
	return err
}

// oddBody is a body that every worker must survive, whether it succeeds or fails.
type oddBody struct{ name, body string }

// oddBodies returns bodies that break careless programs: those that quote by hand, read lines, or assume UTF-8.
func oddBodies() []oddBody {
	return []oddBody{
		{"an empty body", ""},
		{"quotes, backslashes and newlines", "\"'`\\ $(true) \r\n\n{"},
		{"control characters", "a\x00b\x1b[2J\x7f"},
		{"letters of many alphabets", "é ж 水 🐟 \u2028 \u202e"},
		{"bytes that are no UTF-8", "\xff\xfe\x80"},
		{"a large body", strings.Repeat("muster ", largeSample/7)},
	}
}

// OfLines checks a program that speaks JSON lines. It starts the program as [StartLines] does, and again after each
// rule that ended it.
func (c *Conformance) OfLines(ctx context.Context, o LinesOptions) {
	o.Batch, o.StartLimit = cmp.Or(o.Batch, 1), cmp.Or(o.StartLimit, defaultStartLimit)
	s := &session{o: o}
	defer s.end()
	if !c.rule("start", s.start(ctx)) {
		return
	}
	c.common(ctx, s.call, o.Batch)
	c.rule("once", c.once(ctx, s))
	c.rule("later fields", c.later(ctx, s, func(line []byte) []byte {
		return bytes.Replace(line, []byte(`{"delivery":`), []byte(`{"of a later version":[{}],"delivery":`), 1)
	}))
	c.rule("later types", c.later(ctx, s, func(line []byte) []byte {
		return append([]byte(`{"type":"of a later version"}`+"\n"), line...)
	}))
	c.rule("end", c.end(ctx, s))
	c.rule("stop", c.stop(ctx, s))
}

// session is a program under test.
type session struct {
	o          LinesOptions
	p          *program
	deliveries int64
}

// start starts the program unless it runs.
func (s *session) start(ctx context.Context) (err error) {
	if s.p != nil && s.p.alive() {
		return nil
	}
	s.p, err = startProgram(ctx, s.o.Command, 0, s.o.Batch, s.o.StartLimit)
	return err
}

// end ends the program, if one was started.
func (s *session) end() {
	if s.p != nil {
		s.p.end()
	}
}

// call makes a call with an unchanged line.
func (s *session) call(ctx context.Context, batch []worker.Message) []error {
	return s.send(ctx, batch, func(line []byte) []byte { return line })
}

// send makes a call whose line is first passed through change.
func (s *session) send(ctx context.Context, batch []worker.Message, change func([]byte) []byte) []error {
	if err := s.start(context.WithoutCancel(ctx)); err != nil { // the start does not count as time of the call
		return slices.Repeat([]error{err}, len(batch))
	}
	deliveries := deliveryNames(s.deliveries+1, len(batch))
	s.deliveries += int64(len(batch))
	line, err := wireWorkOf(ctx, batch, deliveries)
	if err != nil {
		return slices.Repeat([]error{err}, len(batch))
	}
	return s.p.call(ctx, change(line), deliveries, batch)
}

// once checks that the program writes nothing after its answer.
func (c *Conformance) once(ctx context.Context, s *session) error {
	if err := c.call(ctx, s.call, c.message(c.Samples[0]))[0]; err != nil {
		return err
	}
	select {
	case <-s.p.gone:
		return s.p.failure()
	case <-time.After(quiet):
		return nil
	}
}

// later checks that a line of a later version of the protocol does no harm.
func (c *Conformance) later(ctx context.Context, s *session, change func([]byte) []byte) error {
	return c.call(ctx, func(ctx context.Context, batch []worker.Message) []error { return s.send(ctx, batch, change) },
		c.message(c.Samples[0]))[0]
}

// end checks that the program exits with status 0 when its input is closed.
func (c *Conformance) end(ctx context.Context, s *session) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	_ = s.p.in.Close()
	if err := c.ends(s.p, "its standard input was closed"); err != nil {
		return err
	}
	if code := s.p.cmd.ProcessState.ExitCode(); code != 0 {
		return s.p.failure()
	}
	return nil
}

// stop checks that the program exits in some way after SIGTERM.
func (c *Conformance) stop(ctx context.Context, s *session) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	signalGroup(s.p.cmd.Process.Pid, syscall.SIGTERM)
	return c.ends(s.p, "SIGTERM")
}

// ends waits for the end of the program, and kills it when that takes too long.
func (c *Conformance) ends(p *program, after string) error {
	select {
	case <-p.gone:
		return nil
	case <-time.After(killAfter):
		p.kill(fmt.Errorf("it did not end within %s after %s", killAfter, after))
		<-p.gone
		return p.failure()
	}
}

// MarshalJSON writes the rule, whether it is kept, and why not.
func (f Finding) MarshalJSON() ([]byte, error) {
	out := struct {
		Rule    string `json:"rule"`
		Kept    bool   `json:"kept"`
		Skipped string `json:"skipped,omitzero"`
		Error   string `json:"error,omitzero"`
	}{Rule: f.Rule, Kept: f.Err == nil && f.Skipped == "", Skipped: f.Skipped}
	if f.Err != nil {
		out.Error = f.Err.Error()
	}
	return json.Marshal(out)
}
