package action

import (
	"context"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/queue"
)

// Row is an action in the [Table]: all that differs from one action to another. Its parameters are decoded into
// the request type of its method, and its result encodes itself; the codecs know no action.
type Row struct {
	// Begin decodes the parameters and begins to answer; an error is the answer. What is stored goes to s.
	Begin func(c *Call, decode func(into any) error, s Store, who Caller) error
	// Promptly says that Begin waits for nothing: a loop that serves many callers may run it.
	NonBlocking bool
	// grant says whether a permission may name the action.
	grant grant
	// OfNoQueue says that AWS refuses the action at the URL of a queue.
	RefusedAtQueueURL bool
}

// grant says to whom an action may be given.
type grant uint8

const (
	byBatch   grant = iota // with the action for one message, and not by a name of its own
	grantable              // to other accounts
	ownerOnly              // to nobody: it is the owner's
)

// Service is what all calls have in common: the queues, and what is around them. Nothing of it may be nil, or changed
// once calls run.
type Service struct {
	// Queues is the service behind the protocol.
	Queues *queue.Service
	// Region and Account are the default ones, whose queues have no place in their keys.
	Region, Account string
	// Actions is the table, for actions that look others up.
	Actions map[string]Row
	// Serving ends when the server is about to stop: receives wait no more then.
	Serving context.Context
	// Logger receives what went wrong inside.
	Logger *slog.Logger
	// Watch returns a context that ends when the caller of a request with that context hangs up, and what ends the
	// watching, which must be called before the request is answered.
	WithHangUp func(context.Context) (_ context.Context, stop func())
}

// Call is one request as the actions see it.
type Call struct {
	*Service
	// Context ends when the answer is not needed any more.
	Context context.Context
	// Base is the scheme and the host that the caller used.
	Base string
	// At is the place of a queue of which only the name is given.
	At Place
	// Trace is the trace header of the request, of any length.
	Trace string
	// Returned says that a change of visibility gives a message back, which waits for its retry then.
	Returned bool
}

// Table has every action that is offered, by its name; a new one is a row here.
var Table = map[string]Row{
	"CreateQueue":                  {Begin: blocking((*Call).createQueue), grant: ownerOnly, RefusedAtQueueURL: true},
	"GetQueueUrl":                  {Begin: blocking((*Call).getQueueURL), grant: grantable},
	"ListQueues":                   {Begin: blocking((*Call).listQueues), grant: ownerOnly, RefusedAtQueueURL: true},
	"DeleteQueue":                  {Begin: blocking((*Call).deleteQueue), grant: ownerOnly},
	"PurgeQueue":                   {Begin: blocking((*Call).purgeQueue), grant: grantable},
	"GetQueueAttributes":           {Begin: blocking((*Call).getQueueAttributes), grant: grantable},
	"SetQueueAttributes":           {Begin: blocking((*Call).setQueueAttributes), grant: ownerOnly},
	"ListQueueTags":                {Begin: blocking((*Call).listQueueTags), grant: ownerOnly},
	"TagQueue":                     {Begin: blocking((*Call).tagQueue), grant: ownerOnly},
	"UntagQueue":                   {Begin: blocking((*Call).untagQueue), grant: ownerOnly},
	"ListDeadLetterSourceQueues":   {Begin: blocking((*Call).listDeadLetterSourceQueues), grant: grantable},
	"SendMessage":                  {Begin: storing((*Call).sendMessage), grant: grantable, NonBlocking: true},
	"SendMessageBatch":             {Begin: storing((*Call).sendMessageBatch), NonBlocking: true},
	"ReceiveMessage":               {Begin: storing((*Call).receiveMessage), grant: grantable, NonBlocking: true},
	"DeleteMessage":                {Begin: storing((*Call).deleteMessage), grant: grantable, NonBlocking: true},
	"DeleteMessageBatch":           {Begin: storing((*Call).deleteMessageBatch), NonBlocking: true},
	"ChangeMessageVisibility":      {Begin: blocking((*Call).changeMessageVisibility), grant: grantable},
	"ChangeMessageVisibilityBatch": {Begin: blocking((*Call).changeMessageVisibilityBatch)},
	"StartMessageMoveTask":         {Begin: blocking((*Call).startMessageMoveTask), grant: ownerOnly},
	"ListMessageMoveTasks":         {Begin: blocking((*Call).listMessageMoveTasks), grant: ownerOnly},
	"CancelMessageMoveTask":        {Begin: blocking((*Call).cancelMessageMoveTask), grant: ownerOnly},
	"AddPermission":                {Begin: blocking((*Call).addPermission), grant: ownerOnly},
	"RemovePermission":             {Begin: blocking((*Call).removePermission), grant: ownerOnly},
}

// blocking makes a row's begin of a method that returns the result.
func blocking[Request any](run func(*Call, *Request) (any, error)) func(*Call, func(any) error, Store, Caller) error {
	return func(c *Call, decode func(into any) error, _ Store, who Caller) error {
		var request Request
		if err := decode(&request); err != nil {
			return err
		}
		who.Answer(func() (any, error) { return run(c, &request) })
		return nil
	}
}

// stored makes a row's begin of a method that hands what is to be done to the store and answers when that is done.
func storing[Request any](run func(*Call, *Request, Store, Caller) error) func(*Call, func(any) error, Store,
	Caller) error {
	return func(c *Call, decode func(into any) error, s Store, who Caller) error {
		var request Request
		if err := decode(&request); err != nil {
			return err
		}
		return run(c, &request, s, who)
	}
}

// Caller is who makes a call. Exactly one of Answer and Waits is called, once: at once, or when the store is done.
type Caller interface {
	// Answer takes what makes the answer.
	Answer(make func() (any, error))
	// Waits takes what may wait for long and then answers.
	AnswerLater(answer func(context.Context) (any, error))
}

// Store does what is done to messages and then calls done: a [queue.Batcher] later, on the loop, or direct at once.
type Store interface {
	// Send is that of [queue.Service].
	Send(name string, messages []queue.Outgoing, done func([]queue.Sent, error))
	// Receive is that of [queue.Service], and never waits.
	Receive(name string, o queue.ReceiveOptions, done func([]queue.Message, error))
	// Delete is that of [queue.Service].
	Delete(name string, receipts []string, done func([]error))
}

// direct is the store of a call that may block.
type blockingStore struct{ call *Call }

// Send waits for the commit.
func (d blockingStore) Send(name string, messages []queue.Outgoing, done func([]queue.Sent, error)) {
	done(d.call.Queues.Send(d.call.Context, name, messages))
}

// Receive takes what is there.
func (d blockingStore) Receive(name string, o queue.ReceiveOptions, done func([]queue.Message, error)) {
	o.Wait = new(time.Duration)
	messages, err := d.call.Queues.Receive(d.call.Context, name, o)
	if err == nil && d.call.Context.Err() != nil {
		d.call.returnMessages(name, messages)
		messages, err = nil, d.call.Context.Err()
	}
	done(messages, err)
}

// Delete waits for the commit.
func (d blockingStore) Delete(name string, receipts []string, done func([]error)) {
	done(d.call.Queues.Delete(d.call.Context, name, receipts))
}

// answered is a caller that waits for the answer on the goroutine of the call.
type syncCaller struct {
	ctx    context.Context
	result any
	err    error
}

// Answer makes the answer at once.
func (a *syncCaller) Answer(make func() (any, error)) { a.result, a.err = make() }

// Waits waits.
func (a *syncCaller) AnswerLater(answer func(context.Context) (any, error)) {
	a.result, a.err = answer(a.ctx)
}

// Run runs an action to its end, which may be a wait. decode fills in the request of the action, as that of a codec
// does.
func (c *Call) Run(act Row, decode func(into any) error) (any, error) {
	a := syncCaller{ctx: c.Context}
	if err := act.Begin(c, decode, blockingStore{c}, &a); err != nil {
		return nil, err
	}
	return a.result, a.err
}
