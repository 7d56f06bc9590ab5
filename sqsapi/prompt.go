package sqsapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/muster-scale/muster/queue"
)

// caller is who makes a prompt call. Exactly one of answer and waits is called, once: at once, or when the
// courier delivers.
type caller interface {
	// answer takes what makes the answer.
	answer(make func() (any, error))
	// waits takes what may wait for long and then answers.
	waits(answer func(context.Context) (any, error))
	// letIn is called before: the caller proved who it is.
	letIn()
}

// prompter begins prompt calls for one loop.
type prompter struct {
	call
	courier *queue.Courier
	reader  quickReader // used again
}

// prompt are the actions that wait for a commit at most. Each does what the one of the same name in actions does.
var prompt = map[string]func(p *prompter, body []byte, who caller) error{
	"SendMessage":        promptly((*prompter).beginSend),
	"SendMessageBatch":   promptly((*prompter).beginSendBatch),
	"ReceiveMessage":     promptly((*prompter).beginReceive),
	"DeleteMessage":      promptly((*prompter).beginDelete),
	"DeleteMessageBatch": promptly((*prompter).beginDeleteBatch),
}

func promptly[Request any](begin func(*prompter, *Request, caller) error) func(*prompter, []byte, caller) error {
	return func(p *prompter, body []byte, who caller) error {
		var request Request
		if err := p.reader.parse(body, &request); err != nil {
			return err
		}
		return begin(p, &request, who)
	}
}

// begin begins a prompt call of the JSON protocol and reports whether r is one. It keeps nothing of r and its body.
func (p *prompter) begin(r *http.Request, body []byte, who caller) bool {
	name, ok := strings.CutPrefix(r.Header.Get(targetHeader), targetPrefix)
	run := prompt[name]
	if !ok || run == nil || r.Header.Get("Content-Type") != contentType {
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
		err = run(p, body, who)
	}
	if err != nil {
		who.answer(func() (any, error) { return nil, err })
	}
	return true
}

func (p *prompter) beginSend(r *sendMessageRequest, who caller) error {
	name, m, err := r.stored(&p.call)
	if err != nil {
		return err
	}
	p.courier.Send(name, []queue.Outgoing{m}, func(sent []queue.Sent, err error) {
		who.answer(func() (any, error) { return r.sent(&m, sent, err) })
	})
	return nil
}

func (p *prompter) beginSendBatch(r *sendMessageBatchRequest, who caller) error {
	b, err := r.stored(&p.call)
	if err != nil {
		return err
	}
	if len(b.messages) == 0 {
		who.answer(func() (any, error) { return p.sendNothing(b) })
		return nil
	}
	p.courier.Send(b.queue, b.messages, func(sent []queue.Sent, err error) {
		who.answer(func() (any, error) { return b.sent(sent, err) })
	})
	return nil
}

func (p *prompter) beginDelete(r *deleteMessageRequest, who caller) error {
	name, err := p.queueName(r.QueueURL)
	if err != nil {
		return err
	}
	p.courier.Delete(name, []string{r.ReceiptHandle}, func(errs []error) {
		who.answer(func() (any, error) { return nil, errs[0] })
	})
	return nil
}

func (p *prompter) beginDeleteBatch(r *deleteMessageBatchRequest, who caller) error {
	name, ids, handles, err := r.named(&p.call)
	if err != nil {
		return err
	}
	p.courier.Delete(name, handles, func(errs []error) {
		who.answer(func() (any, error) {
			result, err := outcome(ids, errs)
			return deletedResult(result), err
		})
	})
	return nil
}

func (p *prompter) beginReceive(r *receiveMessageRequest, who caller) error {
	name, err := p.queueName(r.QueueURL)
	if err != nil {
		return err
	}
	o, err := r.options()
	if err != nil {
		return err
	}
	own := p.call // others come while it waits
	patiently := func(ctx context.Context) (any, error) {
		own.ctx = ctx
		return own.receiveMessage(r)
	}
	if !p.looksFirst(o) {
		who.waits(patiently)
		return nil
	}
	patient := o.Wait == nil || *o.Wait > 0 // as far as is known here
	p.courier.Receive(name, o, func(messages []queue.Message, err error) {
		if len(messages) == 0 && (err == nil || errors.Is(err, queue.ErrOverLimit)) && patient && p.Serving.Err() == nil {
			who.waits(patiently)
			return
		}
		who.answer(func() (any, error) {
			if err != nil {
				return nil, err
			}
			return p.receivedAll(name, messages, r), nil
		})
	})
	return nil
}
