package function

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-scale/muster"
)

const (
	// MaxPayload bounds the payload of an invocation in bytes: what Lambda accepts for an asynchronous one.
	MaxPayload = 1 << 20
	// MaxAnswer bounds the answer in bytes. Every answer is for people or for a service of AWS, and far smaller.
	MaxAnswer = 1 << 20
	// margin is how much of the time of an invocation is left for its answer, at most a tenth of the whole.
	margin = 500 * time.Millisecond
)

// Options replace parts of the environment. The zero Options are those of Lambda.
type Options struct {
	// Lookup returns a variable of the environment; nil means [os.LookupEnv].
	Lookup func(name string) (string, bool)
	// HTTP sends the requests to AWS; nil means the SDK's own client.
	HTTP aws.HTTPClient
	// Logger gets the log; nil writes JSON lines to standard error, which Lambda sends to CloudWatch Logs.
	Logger *slog.Logger
	// History replaces the table that VariableHistory names; nil replaces nothing.
	History muster.History
}

// Function is a function that is ready to be invoked. Invocations may overlap, although an environment of Lambda has
// one at a time.
type Function struct {
	name string
	call invocation
}

// invocation is one invocation of a function. The answer is encoded as JSON.
type invocation func(ctx context.Context, payload []byte) (answer any, err error)

// functions returns what opens each function, by name.
func functions() map[string]func(context.Context, environment) (invocation, error) {
	return map[string]func(context.Context, environment) (invocation, error){
		"step":           openStep,
		"publish-metric": openPublish,
		"set-target":     openTarget,
		"terminate":      openTerminate,
		"send":           openSend,
		"event":          openEvent,
		"hook":           openHook,
	}
}

// Names returns the names of all functions, sorted: the values of VariableFunction.
func Names() []string {
	var all []string
	for name := range functions() {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// New opens the function that the environment chooses. It makes no call. Its error is one of the configuration: the
// same environment fails again.
func New(ctx context.Context, o Options) (*Function, error) {
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	}
	env := environment{o}
	name := env.text(VariableFunction)
	open, ok := functions()[name]
	if !ok {
		return nil, fmt.Errorf("choose the function: found %s=%q, allowed are %s", VariableFunction, name,
			strings.Join(Names(), ", "))
	}
	call, err := open(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("open the function %s: %w", name, err)
	}
	return &Function{name, call}, nil
}

// Invoke makes one invocation: it implements the Handler of aws-lambda-go. It ends early enough before the deadline of
// ctx that the answer still arrives.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("%s: found a payload of %d bytes, allowed are %d", f.name, len(payload), MaxPayload)
	}
	if end, ok := ctx.Deadline(); ok {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, end.Add(-min(margin, time.Until(end)/10)))
		defer stop()
	}
	answer, err := f.call(ctx, payload)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("%s: encode the answer: %w", f.name, err)
	}
	if len(text) > MaxAnswer {
		return nil, fmt.Errorf("%s: the answer has %d bytes, allowed are %d; name fewer fleets in %s", f.name,
			len(text), MaxAnswer, VariableFleets)
	}
	return text, nil
}
