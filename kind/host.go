package kind

import (
	"cmp"
	"context"
	"log/slog"
	"reflect"
	"sync"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/queue"
)

// Host is what the program that runs fleets lends to their kinds. It is safe for use by several goroutines.
type Host struct {
	o HostOptions

	mu      sync.Mutex
	account *awsapi.Account
	asked   bool // somebody asked for the account
	shared  map[reflect.Type]any
}

// HostOptions say what a [Host] has.
type HostOptions struct {
	// AWS says how AWS is called.
	AWS config.AWS
	// Queues are the embedded queues; nil where a program only looks.
	Queues *queue.Service
	// Local starts workers as processes of this machine; nil where a program only looks.
	Local Local
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
}

// Local is how workers are started as processes of this machine.
type Local interface {
	// Start is how a worker of the fleet is started, or of a part of it.
	Start(f config.Fleet, p config.Part) (Start, error)
	// Log opens the log of a fleet: printed gets what members print themselves.
	Log(f config.Fleet) (printed func(member string, lines []string), closeLog func() error)
}

// Start is how a worker is started.
type Start struct {
	// Argv is its command, and Env its environment, by its member.
	Argv []string
	Env  func(member string) []string
	// Dir is where the members are remembered, and WorkDir where they run.
	Dir, WorkDir string
}

// NewHost returns a host. Nothing is opened or called.
func NewHost(o HostOptions) *Host {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Host{o: o, shared: map[reflect.Type]any{}}
}

// Logger is where an operator is told.
func (h *Host) Logger() *slog.Logger { return h.o.Logger }

// Queues are the embedded queues; nil where there are none.
func (h *Host) Queues() *queue.Service { return h.o.Queues }

// Local is how workers are started here; nil where none are.
func (h *Host) Local() Local { return h.o.Local }

// AWS says how AWS is called.
func (h *Host) AWS() config.AWS { return h.o.AWS }

// Account opens the account that all fleets share. It calls AWS for nothing but what the credentials themselves need.
func (h *Host) Account(ctx context.Context) (*awsapi.Account, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = true
	if h.account != nil {
		return h.account, nil
	}
	c := h.o.AWS
	account, err := awsapi.Open(ctx, awsapi.Options{Region: c.Region, PerSecond: c.CallsPerSecond, Burst: c.Burst})
	if err == nil {
		h.account = account
	}
	return account, err
}

// Asked tells whether anybody has asked for the account: whether anything is on AWS.
func (h *Host) Asked() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// Shared returns the one T that all fleets of a host share. It is made when it is first asked for.
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

// SharedOnAWS is [Shared] for what calls AWS.
func SharedOnAWS[T any](ctx context.Context, h *Host, make func(*awsapi.Account) T) (T, error) {
	account, err := h.Account(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return Shared(h, func() T { return make(account) }), nil
}

// RegionOf is where on AWS a fleet's members are, or what concerns it: as stated, or where its queue is; empty means
// what the account says.
func RegionOf(f config.Fleet, stated string) string {
	for _, q := range f.Queues {
		stated = cmp.Or(stated, q.Region)
	}
	return stated
}

// HomeOf is where the members of a fleet are.
func HomeOf(f config.Fleet) string { return RegionOf(f, f.Facts().Region) }
