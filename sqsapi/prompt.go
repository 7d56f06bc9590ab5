package sqsapi

import (
	"net/http"
	"strings"

	"github.com/muster-scale/muster/queue"
)

// known is a caller of the loop.
type known interface {
	caller
	// letIn is called before the others: the caller proved who it is.
	letIn()
}

// prompter begins prompt calls for one loop.
type prompter struct {
	call
	courier *queue.Courier
	reader  quickReader // used again
	body    []byte      // of the request that decode reads
	decode  func(into any) error
}

func newPrompter(a *api, ring func()) *prompter {
	p := &prompter{call: call{api: a}, courier: a.Queues.NewCourier(ring)}
	p.decode = func(into any) error { return p.reader.parse(p.body, into) }
	return p
}

// begin begins a prompt call of the JSON protocol and reports whether r is one. It keeps nothing of r and its body.
func (p *prompter) begin(r *http.Request, body []byte, who known) bool {
	name, ok := strings.CutPrefix(r.Header.Get(targetHeader), targetPrefix)
	act := p.actions[name]
	if !ok || !act.prompt || r.Header.Get("Content-Type") != contentType {
		return false
	}
	err := p.guard(r)
	var claim *claim
	if err == nil {
		claim, err = p.claim(r)
	}
	if err == nil {
		err = claim.verify(r, body, &p.last)
	}
	if err == nil {
		who.letIn()
		p.at, p.trace = p.placeOf(r, claim), r.Header.Get(traceIDHeader)
		p.body = body
		err = act.begin(&p.call, p.decode, p.courier, who)
		p.body = nil
	}
	if err != nil {
		who.answer(func() (any, error) { return nil, err })
	}
	return true
}
