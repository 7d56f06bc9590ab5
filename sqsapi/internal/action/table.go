// The table of actions, and the two ways to run one: on an event loop, or to its end on the goroutine
// of a request.

package action

import (
	"context"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/queue"
)

// Row is an action in the [Table]: everything that differs from one action to another. The codecs know
// no action: parameters are decoded into the request type of the method, and the result encodes itself.
type Row struct {
	// Begin decodes the parameters and starts the work. An error is the answer; otherwise who is
	// answered, now or later. Work on messages goes to s.
	Begin func(c *Call, decode func(into any) error, s Store, who Caller) error
	// NonBlocking says that Begin waits for nothing, so an event loop may run it.
	NonBlocking bool
	// grant says whether a permission may name the action.
	grant grant
	// RefusedAtQueueURL says that AWS refuses the action at the URL of a queue.
	RefusedAtQueueURL bool
}

// grant says to whom a permission may give an action.
type grant uint8

const (
	byBatch   grant = iota // only together with the action for one message
	grantable              // to other accounts
	ownerOnly              // to no other account
)

// Service is shared by all calls. No field may be nil, or changed once calls run.
type Service struct {
	// Queues is the service behind the protocol.
	Queues *queue.Service
	// Region and Account are the default place, whose queues have bare names as keys.
	Region, Account string
	// Actions is the table, for AddPermission, which checks names of actions.
	Actions map[string]Row
	// Serving ends when the server is about to stop. Receives wait no longer then.
	Serving context.Context
	// Logger receives internal faults.
	Logger *slog.Logger
	// WithHangUp returns a context that ends when the caller of the request with that context hangs up.
	// stop must be called before the request is answered.
	WithHangUp func(context.Context) (_ context.Context, stop func())
}

// Call is one request.
type Call struct {
	*Service
	// Context ends when the answer is no longer needed.
	Context context.Context
	// Base is scheme and host as the caller used them; queue URLs begin with it.
	Base string
	// At is the place of queues that are named without an account.
	At Place
	// Trace is the trace header of the HTTP request, of any length.
	Trace string
	// Returned says that a change of visibility returns the message, which then waits for its retry.
	Returned bool
}

// Table has a row for each action, by name.
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

// blocking makes a Begin of a method that returns the result.
func blocking[Request any](run func(*Call, *Request) (any, error)) func(*Call, func(any) error, Store, Caller) error {
	return func(c *Call, decode func(into any) error, _ Store, who Caller) error {
		var request Request
		if err := decode(&request); err != nil {
			return err
		}
		// Such a row is not NonBlocking, so only Call.Run gets here, whose caller may block in Answer.
		who.Answer(func() (any, error) { return run(c, &request) })
		return nil
	}
}

// storing makes a Begin of a method that gives its work to a Store and answers when that is done.
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

// Caller receives the answer to a call. Exactly one of its methods is called, once, during Begin or
// later.
type Caller interface {
	// Answer takes a function that makes the answer and does not block.
	Answer(make func() (any, error))
	// AnswerLater takes a function that may block for long, runs it elsewhere, and answers with its
	// result.
	AnswerLater(answer func(context.Context) (any, error))
}

// Store works on messages and then calls done: a [queue.Batcher] later on its loop, a blockingStore at
// once.
type Store interface {
	// Send is [queue.Service.Send].
	Send(name string, messages []queue.Outgoing, done func([]queue.Sent, error))
	// Receive is [queue.Service.Receive] without a wait.
	Receive(name string, o queue.ReceiveOptions, done func([]queue.Message, error))
	// Delete is [queue.Service.Delete].
	Delete(name string, receipts []string, done func([]error))
}

// blockingStore is the Store of a call that may block.
type blockingStore struct{ call *Call }

// Send waits for the commit, then calls done.
func (d blockingStore) Send(name string, messages []queue.Outgoing, done func([]queue.Sent, error)) {
	done(d.call.Queues.Send(d.call.Context, name, messages))
}

// Receive takes visible messages. If the caller hung up meanwhile, they are returned.
func (d blockingStore) Receive(name string, o queue.ReceiveOptions, done func([]queue.Message, error)) {
	o.Wait = new(time.Duration)
	messages, err := d.call.Queues.Receive(d.call.Context, name, o)
	if err == nil && d.call.Context.Err() != nil {
		d.call.returnMessages(name, messages)
		messages, err = nil, d.call.Context.Err()
	}
	done(messages, err)
}

// Delete waits for the commit, then calls done.
func (d blockingStore) Delete(name string, receipts []string, done func([]error)) {
	done(d.call.Queues.Delete(d.call.Context, name, receipts))
}

// syncCaller is a Caller that keeps the answer for the goroutine of the call.
type syncCaller struct {
	ctx    context.Context
	result any
	err    error
}

// Answer makes the answer.
func (a *syncCaller) Answer(make func() (any, error)) { a.result, a.err = make() }

// AnswerLater runs answer on this goroutine, which may block.
func (a *syncCaller) AnswerLater(answer func(context.Context) (any, error)) {
	a.result, a.err = answer(a.ctx)
}

// Run runs an action to its end, which may include a wait. decode fills in the request of the action,
// as Decode of a codec does.
func (c *Call) Run(act Row, decode func(into any) error) (any, error) {
	a := syncCaller{ctx: c.Context}
	if err := act.Begin(c, decode, blockingStore{c}, &a); err != nil {
		return nil, err
	}
	return a.result, a.err
}
