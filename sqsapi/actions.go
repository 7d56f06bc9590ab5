package sqsapi

import (
	"context"
	"time"

	"github.com/muster-scale/muster/queue"
)

// action is a row of the table of actions: all that differs from one action to another. Its parameters are decoded into
// the request type of its method, and its result encodes itself; the codecs know no action.
type action struct {
	// begin decodes the parameters and begins to answer; an error is the answer. What is stored goes to s.
	begin func(c *call, decode func(into any) error, s store, who caller) error
	// prompt says that begin waits for nothing: the loop may run it.
	prompt bool
	// grant says whether a permission may name the action.
	grant grant
	// ofNoQueue says that AWS refuses the action at the URL of a queue.
	ofNoQueue bool
}

// grant says to whom an action may be given.
type grant uint8

const (
	byBatch   grant = iota // with the action for one message, and not by a name of its own
	grantable              // to other accounts
	ownerOnly              // to nobody: it is the owner's
)

// actions are all that is offered; a new one is a row here.
var actions = map[string]action{
	"CreateQueue":                  {begin: asked((*call).createQueue), grant: ownerOnly, ofNoQueue: true},
	"GetQueueUrl":                  {begin: asked((*call).getQueueURL), grant: grantable},
	"ListQueues":                   {begin: asked((*call).listQueues), grant: ownerOnly, ofNoQueue: true},
	"DeleteQueue":                  {begin: asked((*call).deleteQueue), grant: ownerOnly},
	"PurgeQueue":                   {begin: asked((*call).purgeQueue), grant: grantable},
	"GetQueueAttributes":           {begin: asked((*call).getQueueAttributes), grant: grantable},
	"SetQueueAttributes":           {begin: asked((*call).setQueueAttributes), grant: ownerOnly},
	"ListQueueTags":                {begin: asked((*call).listQueueTags), grant: ownerOnly},
	"TagQueue":                     {begin: asked((*call).tagQueue), grant: ownerOnly},
	"UntagQueue":                   {begin: asked((*call).untagQueue), grant: ownerOnly},
	"ListDeadLetterSourceQueues":   {begin: asked((*call).listDeadLetterSourceQueues), grant: grantable},
	"SendMessage":                  {begin: stored((*call).sendMessage), grant: grantable, prompt: true},
	"SendMessageBatch":             {begin: stored((*call).sendMessageBatch), prompt: true},
	"ReceiveMessage":               {begin: stored((*call).receiveMessage), grant: grantable, prompt: true},
	"DeleteMessage":                {begin: stored((*call).deleteMessage), grant: grantable, prompt: true},
	"DeleteMessageBatch":           {begin: stored((*call).deleteMessageBatch), prompt: true},
	"ChangeMessageVisibility":      {begin: asked((*call).changeMessageVisibility), grant: grantable},
	"ChangeMessageVisibilityBatch": {begin: asked((*call).changeMessageVisibilityBatch)},
	"StartMessageMoveTask":         {begin: asked((*call).startMessageMoveTask), grant: ownerOnly},
	"ListMessageMoveTasks":         {begin: asked((*call).listMessageMoveTasks), grant: ownerOnly},
	"CancelMessageMoveTask":        {begin: asked((*call).cancelMessageMoveTask), grant: ownerOnly},
	"AddPermission":                {begin: asked((*call).addPermission), grant: ownerOnly},
	"RemovePermission":             {begin: asked((*call).removePermission), grant: ownerOnly},
}

// asked makes a row's begin of a method that returns the result.
func asked[Request any](run func(*call, *Request) (any, error)) func(*call, func(any) error, store, caller) error {
	return func(c *call, decode func(into any) error, _ store, who caller) error {
		var request Request
		if err := decode(&request); err != nil {
			return err
		}
		who.answer(func() (any, error) { return run(c, &request) })
		return nil
	}
}

// stored makes a row's begin of a method that hands what is to be done to the store and answers when that is done.
func stored[Request any](run func(*call, *Request, store, caller) error) func(*call, func(any) error, store, caller) error {
	return func(c *call, decode func(into any) error, s store, who caller) error {
		var request Request
		if err := decode(&request); err != nil {
			return err
		}
		return run(c, &request, s, who)
	}
}

// caller is who makes a call. Exactly one of answer and waits is called, once: at once, or when the store is done.
type caller interface {
	// answer takes what makes the answer.
	answer(make func() (any, error))
	// waits takes what may wait for long and then answers.
	waits(answer func(context.Context) (any, error))
}

// store does what is done to messages and then calls done: a [queue.Courier] later, on the loop, or direct at once.
type store interface {
	// Send is that of [queue.Service].
	Send(name string, messages []queue.Outgoing, done func([]queue.Sent, error))
	// Receive is that of [queue.Service], and never waits.
	Receive(name string, o queue.ReceiveOptions, done func([]queue.Message, error))
	// Delete is that of [queue.Service].
	Delete(name string, receipts []string, done func([]error))
}

// direct is the store of a call that may block.
type direct struct{ call *call }

// Send waits for the commit.
func (d direct) Send(name string, messages []queue.Outgoing, done func([]queue.Sent, error)) {
	done(d.call.Queues.Send(d.call.ctx, name, messages))
}

// Receive takes what is there.
func (d direct) Receive(name string, o queue.ReceiveOptions, done func([]queue.Message, error)) {
	o.Wait = new(time.Duration)
	messages, err := d.call.Queues.Receive(d.call.ctx, name, o)
	if err == nil && d.call.ctx.Err() != nil {
		d.call.handBack(name, messages)
		messages, err = nil, d.call.ctx.Err()
	}
	done(messages, err)
}

// Delete waits for the commit.
func (d direct) Delete(name string, receipts []string, done func([]error)) {
	done(d.call.Queues.Delete(d.call.ctx, name, receipts))
}

// answered is a caller that waits for the answer on the goroutine of the call.
type answered struct {
	ctx    context.Context
	result any
	err    error
}

func (a *answered) answer(make func() (any, error)) { a.result, a.err = make() }

func (a *answered) waits(answer func(context.Context) (any, error)) { a.result, a.err = answer(a.ctx) }

// run runs an action to its end.
func (c *call) run(act action, decode func(into any) error) (any, error) {
	a := answered{ctx: c.ctx}
	if err := act.begin(c, decode, direct{c}, &a); err != nil {
		return nil, err
	}
	return a.result, a.err
}
