package kind

import (
	"cmp"
	"context"
	"log/slog"
	"reflect"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
)

// This file has what kinds get from the program that runs them: the AWS account, the start of local workers, and
// whatever all fleets share.

// Host is the running program as its kinds see it. It is safe for use by several goroutines.
type Host struct {
	o HostOptions

	mu      sync.Mutex
	account *awsapi.Account // nil until it was opened without an error
	asked   bool            // Account was called
	shared  map[reflect.Type]any
}

// HostOptions are the parts of a [Host].
type HostOptions struct {
	// AWS says how AWS is called.
	AWS config.AWS
	// Local starts workers as processes of this machine; nil in a program that starts none.
	Local Local
	// HTTP sends the requests to AWS; nil means the SDK's own client. Tests use one that needs no network.
	HTTP aws.HTTPClient
	// Logger gets messages for an operator; nil discards them.
	Logger *slog.Logger
}

// Local starts workers as processes of this machine.
type Local interface {
	// Start returns how a worker of the fleet's part p is started. A fleet without split has one part.
	Start(f config.Fleet, p config.Part) (Start, error)
	// Log opens the log of a fleet: printed takes the lines that a member printed.
	Log(f config.Fleet) (printed func(member string, lines []string), closeLog func() error)
}

// Start is how a worker is started.
type Start struct {
	// Argv is its command. Env returns its environment as NAME=VALUE for a member's id.
	Argv []string
	Env  func(member string) []string
	// Dir is the directory of the records of running members, WorkDir the working directory of the workers.
	Dir, WorkDir string
}

// NewHost returns a host. It opens and calls nothing.
func NewHost(o HostOptions) *Host {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Host{o: o, shared: map[reflect.Type]any{}}
}

// Logger returns the log for an operator; it is never nil.
func (h *Host) Logger() *slog.Logger { return h.o.Logger }

// Local starts workers of this machine; nil when the program starts none.
func (h *Host) Local() Local { return h.o.Local }

// AWS returns the configured limits of calls of AWS.
func (h *Host) AWS() config.AWS { return h.o.AWS }

// Account opens the AWS account that all fleets share, once. It makes no call but those that the credentials need.
// After an error the next call tries again.
func (h *Host) Account(ctx context.Context) (*awsapi.Account, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = true
	if h.account != nil {
		return h.account, nil
	}
	c := h.o.AWS
	account, err := awsapi.Open(ctx, awsapi.Options{Region: c.Region, PerSecond: c.CallsPerSecond, Burst: c.Burst,
		HTTP: h.o.HTTP})
	if err == nil {
		h.account = account
	}
	return account, err
}

// Asked tells whether [Host.Account] was called, so whether anything of the configuration is on AWS.
func (h *Host) Asked() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// Shared returns the one T that all fleets of a host share; the first call makes it. The type is the key, so a package
// shares only types of its own, and make must not call Shared or Account. A program that has something for a kind, such
// as embedded queues, shares it before it opens a fleet; so only that program is linked with it.
func Shared[T any](h *Host, make func() T) T {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := reflect.TypeFor[T]()
	if one, ok := h.shared[of]; ok {
		return one.(T)
	}
	one := make()
	h.shared[of] = one
	return one
}

// SharedOnAWS is [Shared] for a T that calls AWS.
func SharedOnAWS[T any](ctx context.Context, h *Host, make func(*awsapi.Account) T) (T, error) {
	account, err := h.Account(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return Shared(h, func() T { return make(account) }), nil
}

// RegionOf returns the AWS region of something that belongs to fleet f: the stated one, or else that of its first queue
// on SQS. Empty means the default region of the account.
func RegionOf(f config.Fleet, stated string) string {
	for _, q := range f.Queues {
		stated = cmp.Or(stated, q.Region)
	}
	return stated
}

// HomeOf returns the AWS region of the members of a fleet, by the rule of [RegionOf].
func HomeOf(f config.Fleet) string { return RegionOf(f, f.Facts().Region) }
