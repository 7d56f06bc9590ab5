package sqsapi

import (
	"net/http"
	"strings"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/action"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
	"github.com/muster-scale/muster/sqsapi/internal/transport"
)

// loopCalls starts the calls of one event loop: those that wait for nothing but a commit. It reuses its
// memory, so only its loop may use it.
type loopCalls struct {
	api     *api
	call    action.Call
	batcher *queue.Batcher
	reader  protocol.Reader
	body    []byte // of the request being decoded
	decode  func(into any) error
}

// NewCalls returns the calls of one loop. wake is called when some of them have finished.
func (a *api) NewCalls(wake func()) transport.Calls {
	p := &loopCalls{api: a, call: action.Call{Service: a.Service}, batcher: a.Queues.NewBatcher(wake)}
	p.decode = func(into any) error { return p.reader.Parse(p.body, into) }
	return p
}

// Batcher returns the batcher to which the calls add their requests.
func (p *loopCalls) Batcher() *queue.Batcher { return p.batcher }

// Begin starts a call of the JSON protocol. It returns false if the loop cannot run r, which then takes
// the path through ServeHTTP. It keeps nothing of r and body.
func (p *loopCalls) Begin(r *http.Request, body []byte, who transport.Caller) bool {
	name, ok := strings.CutPrefix(r.Header.Get(protocol.TargetHeader), protocol.TargetPrefix)
	act := p.api.Actions[name]
	if !ok || !act.NonBlocking || r.Header.Get("Content-Type") != protocol.JSONType {
		return false
	}
	claim, err := p.api.checkHead(r)
	if err == nil {
		err = p.api.signatures.Verify(claim, r, body)
	}
	if err == nil {
		who.MarkAuthenticated()
		p.call.At, p.call.Trace = p.api.placeOf(r, claim), r.Header.Get(traceIDHeader)
		p.body = body
		err = act.Begin(&p.call, p.decode, p.batcher, who)
		p.body = nil
	}
	if err != nil {
		who.Answer(func() (any, error) { return nil, err })
	}
	return true
}

// Conclude writes an error, or a result without a fast encoder.
func (p *loopCalls) Conclude(w http.ResponseWriter, action string, result any, err error) {
	p.api.conclude(w, protocol.JSON{}, protocol.RequestID(), action, result, err)
}

// Refusal returns the reason to refuse a request whatever its body, or nil.
func (a *api) Refusal(r *http.Request) error {
	_, err := a.checkHead(r)
	return err
}

// Refuse answers r with an error of Refusal.
func (a *api) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	a.conclude(w, protocol.CodecOf(r), protocol.RequestID(), "", nil, err)
}
