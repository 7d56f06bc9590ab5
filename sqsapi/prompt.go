package sqsapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/muster-scale/muster/queue"
)

// caller is who makes a prompt call. Exactly one of its methods is called, once: at once, or when the courier delivers.
type caller interface {
	// answer takes what makes the answer.
	answer(make func() (any, error))
	// waits takes what may wait for long and then answers.
	waits(answer func(context.Context) (any, error))
}

// prompt are the actions that wait for a commit at most. Each does what the one of the same name in actions does.
var prompt = map[string]func(c *call, body []byte, k *queue.Courier, who caller) error{
	"SendMessage":        promptly((*call).beginSend),
	"SendMessageBatch":   promptly((*call).beginSendBatch),
	"ReceiveMessage":     promptly((*call).beginReceive),
	"DeleteMessage":      promptly((*call).beginDelete),
	"DeleteMessageBatch": promptly((*call).beginDeleteBatch),
}

func promptly[Request any](begin func(*call, *Request, *queue.Courier, caller) error) func(*call, []byte, *queue.Courier, caller) error {
	return func(c *call, body []byte, k *queue.Courier, who caller) error {
		var request Request
		if err := parse(body, &request); err != nil {
			return err
		}
		return begin(c, &request, k, who)
	}
}

// begin begins a prompt call of the JSON protocol and reports whether r is one. It keeps nothing of r and its body.
func (a *api) begin(r *http.Request, body []byte, k *queue.Courier, who caller) bool {
	if r.Header.Get("Content-Type") != contentType {
		return false
	}
	name, _, _ := jsonProtocol{}.request(r, body)
	run, ok := prompt[name]
	if !ok {
		return false
	}
	err := a.guard(r)
	var claim *claim
	if err == nil {
		claim, err = a.claim(r)
	}
	if err == nil {
		err = claim.verify(r, body, &a.last)
	}
	if err == nil {
		err = run(&call{api: a, base: "http://" + r.Host}, body, k, who)
	}
	if err != nil {
		who.answer(func() (any, error) { return nil, err })
	}
	return true
}

func (c *call) beginSend(r *sendMessageRequest, k *queue.Courier, who caller) error {
	name, m, err := r.stored()
	if err != nil {
		return err
	}
	k.Send(name, []queue.Outgoing{m}, func(sent []queue.Sent, err error) {
		who.answer(func() (any, error) { return sentOne(&m, sent, err) })
	})
	return nil
}

func (c *call) beginSendBatch(r *sendMessageBatchRequest, k *queue.Courier, who caller) error {
	b, err := r.stored()
	if err != nil {
		return err
	}
	if len(b.messages) == 0 {
		who.answer(func() (any, error) { return c.sendNothing(b) })
		return nil
	}
	k.Send(b.queue, b.messages, func(sent []queue.Sent, err error) {
		who.answer(func() (any, error) { return b.sent(sent, err) })
	})
	return nil
}

func (c *call) beginDelete(r *deleteMessageRequest, k *queue.Courier, who caller) error {
	name, err := queueName(r.QueueURL)
	if err != nil {
		return err
	}
	k.Delete(name, []string{r.ReceiptHandle}, func(errs []error) {
		who.answer(func() (any, error) { return nil, errs[0] })
	})
	return nil
}

func (c *call) beginDeleteBatch(r *deleteMessageBatchRequest, k *queue.Courier, who caller) error {
	name, ids, handles, err := r.named()
	if err != nil {
		return err
	}
	k.Delete(name, handles, func(errs []error) {
		who.answer(func() (any, error) {
			result, err := outcome(ids, errs)
			return deletedResult(result), err
		})
	})
	return nil
}

func (c *call) beginReceive(r *receiveMessageRequest, k *queue.Courier, who caller) error {
	name, err := queueName(r.QueueURL)
	if err != nil {
		return err
	}
	o, err := r.options()
	if err != nil {
		return err
	}
	patiently := func(ctx context.Context) (any, error) {
		c.ctx = ctx
		return c.receiveMessage(r)
	}
	if !c.looksFirst(o) {
		who.waits(patiently)
		return nil
	}
	o.Wait = patience(o.Wait)
	k.Receive(name, o, func(messages []queue.Message, err error) {
		if len(messages) == 0 && (err == nil || errors.Is(err, queue.ErrOverLimit)) && *o.Wait != 0 && c.Serving.Err() == nil {
			who.waits(patiently)
			return
		}
		who.answer(func() (any, error) {
			if err != nil {
				return nil, err
			}
			return c.receivedAll(messages, r), nil
		})
	})
	return nil
}

// patience is how long a receive may wait, as far as is known here: without a time of its own it is the queue's.
func patience(wait *time.Duration) *time.Duration {
	if wait != nil {
		return wait
	}
	unknown := time.Duration(-1)
	return &unknown
}
