package sqsapi

import (
	"net/http"
	"strings"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/action"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
	"github.com/muster-scale/muster/sqsapi/internal/transport"
)

// loopCalls begins the calls of one loop that are answered without waiting for anything but a commit. Its memory is
// used again: only its loop may use it.
type loopCalls struct {
	api     *api
	call    action.Call
	batcher *queue.Batcher
	reader  protocol.Reader
	body    []byte // of the request that decode reads
	decode  func(into any) error
}

// NewCalls returns what begins the calls of one loop, which ring wakes when some of them are done.
func (a *api) NewCalls(wake func()) transport.Calls {
	p := &loopCalls{api: a, call: action.Call{Service: a.Service}, batcher: a.Queues.NewBatcher(wake)}
	p.decode = func(into any) error { return p.reader.Parse(p.body, into) }
	return p
}

// Batcher returns what the calls hand to the queue.
func (p *loopCalls) Batcher() *queue.Batcher { return p.batcher }

// Begin begins a call of the JSON protocol and reports whether r is one that the loop may run. It keeps nothing of r
// and its body.
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

// Conclude writes an answer that is an error, or is not written without reflection.
func (p *loopCalls) Conclude(w http.ResponseWriter, action string, result any, err error) {
	p.api.conclude(w, protocol.JSON{}, protocol.RequestID(), action, result, err)
}

// Refusal returns why the endpoint refuses a request whatever its body; nil if it may not.
func (a *api) Refusal(r *http.Request) error {
	_, err := a.checkHead(r)
	return err
}

// Refuse answers r with such a refusal.
func (a *api) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	a.conclude(w, protocol.CodecOf(r), protocol.RequestID(), "", nil, err)
}
