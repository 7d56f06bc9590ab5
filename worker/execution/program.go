package execution

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/usage"
)

// program is one running program that speaks JSON lines. It gets one call at a time. A breach of the protocol ends it,
// because its later answers could not be trusted.
type program struct {
	command Command
	cmd     *exec.Cmd
	in      *os.File
	streams *pipes
	// mark is a variable in the environment of all its descendants.
	mark string
	// ready is closed when the program said that it is ready, exited when its process has ended, and gone when its
	// output was read to the end, too.
	ready, exited, gone chan struct{}

	mu      sync.Mutex
	isReady bool
	// waiting holds the unanswered deliveries of the call, with their index in results.
	waiting map[string]int
	results []error
	// nodes are the tree nodes of the call's messages, nil for other messages; within is the context of the call. If a
	// child is refused, that error is the result of its message, whatever the program answers.
	nodes  []*worker.Node
	within context.Context
	// ids are the ids of the call's messages.
	ids []string
	// answered is closed when waiting becomes empty.
	answered chan struct{}
	// calls counts the completely answered calls.
	calls int64
	// fault is why the program ended or is about to end.
	fault error
	// used measures the process. Only call uses it, one at a time.
	used usage.Process
}

// startProgram starts the program of a slot and waits until it is ready, for at most limit.
func startProgram(ctx context.Context, c Command, slot, batch int, limit time.Duration) (*program, error) {
	p := &program{command: c, ready: make(chan struct{}), exited: make(chan struct{}), gone: make(chan struct{})}
	if err := p.start(slot); err != nil {
		return nil, fmt.Errorf("start program %q: %w", c.Argv[0], err)
	}
	hello, err := jsonLine(wireHello{Type: typeHello, Protocol: ProtocolVersion, Batch: batch, Slot: slot})
	if err == nil {
		_, _ = p.in.Write(hello) // the pipe has room; an ended program shows below
	}
	patience := time.NewTimer(limit)
	defer patience.Stop()
	select {
	case <-p.ready:
		p.used = usage.NewProcess(p.cmd.Process.Pid)
		return p, nil
	case <-p.gone:
	case <-patience.C:
		p.kill(fmt.Errorf("it did not answer the hello within %s", limit))
	case <-ctx.Done():
		p.kill(context.Cause(ctx))
	}
	<-p.gone
	return nil, fmt.Errorf("start program %q: %w", c.Argv[0], p.failure())
}

// start starts the process and the goroutines that read its output.
func (p *program) start(slot int) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(p.command.Argv[0], p.command.Argv[1:]...)
	cmd.Dir, cmd.Stdin = p.command.Dir, r
	p.mark = descendants.Mark()
	cmd.Env = append(append(inherited(p.command.Env), p.command.Set...), fmt.Sprintf("MUSTER_SLOT=%d", slot), p.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd, p.in = cmd, w
	started := make(chan error)
	go p.run(p.command.output(p.working, "stderr", "slot", slot), started)
	err = <-started
	_ = r.Close()
	if err != nil {
		_ = w.Close()
	}
	return err
}

// run starts the process, sends the result to started, and returns when the process is gone. Until then it keeps the
// thread that started the process.
func (p *program) run(errOut *output, started chan<- error) {
	defer withThisThread(p.cmd)()
	streams, err := startReading(p.cmd, p.listen, errOut.read)
	if err == nil {
		streams.stderr = errOut
		p.streams = streams
	}
	started <- err
	if err == nil {
		p.wait()
	}
}

// working returns the id of the message in progress; empty if there is none or several.
func (p *program) working() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ids) == 1 {
		return p.ids[0]
	}
	return ""
}

// wait waits for the end of the process, kills its children, and reads the rest of its output.
func (p *program) wait() {
	err := p.cmd.Wait()
	signalGroup(p.cmd.Process.Pid, syscall.SIGKILL)
	descendants.End(p.mark)
	close(p.exited)
	p.streams.close()
	_ = p.in.Close()
	p.setFault(p.command.failure(p.cmd, err, p.streams, nil))
	close(p.gone)
}

// listen reads answers until the program ends or breaks the protocol.
func (p *program) listen(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4<<10), maxChildLine)
	for lines.Scan() {
		if err := p.handle(lines.Bytes()); err != nil {
			p.kill(err)
			return
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		p.kill(fmt.Errorf("it wrote a line of more than %d bytes", maxChildLine))
		return
	}
	// Usually the program has ended. If it goes on, it cannot answer any more.
	late := time.AfterFunc(drainOutput, func() { p.kill(errors.New("it closed its standard output")) })
	<-p.exited
	late.Stop()
}

// handle handles one line of the program.
func (p *program) handle(line []byte) error {
	a, err := parseAnswer(line)
	if err != nil {
		return err
	}
	if a.Type == typeChild {
		return p.name(a)
	}
	if a.Type == typeDone && *a.OK {
		p.flush(a.Delivery)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.Type == typeReady {
		if p.isReady {
			return errors.New("it said twice that it is ready")
		}
		p.isReady = true
		close(p.ready)
		return nil
	}
	place, ok := p.waiting[a.Delivery]
	if !ok {
		return fmt.Errorf("it answered the delivery %s, which is unknown or was answered before",
			trouble.Excerpt([]byte(a.Delivery)))
	}
	delete(p.waiting, a.Delivery)
	p.results[place] = cmp.Or(p.results[place], a.result())
	if len(p.waiting) == 0 {
		p.calls++
		close(p.answered)
	}
	return nil
}

// node returns the node of an unanswered delivery, its index, and the context of the call.
func (p *program) node(delivery string) (ctx context.Context, n *worker.Node, place int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place, ok := p.waiting[delivery]
	if !ok || p.results[place] != nil {
		return p.within, nil, place
	}
	return p.within, p.nodes[place], place
}

// name registers a child. The program blocks on its output until this returns.
func (p *program) name(a wireAnswer) error {
	ctx, n, place := p.node(a.Delivery)
	if n == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, ok := p.waiting[a.Delivery]; ok && p.results[place] != nil {
			return nil // refused before
		}
		return worker.ErrNoNode
	}
	p.fail(place, n.Name(ctx, a.Child))
	return nil
}

// flush registers and sends the children of a finished delivery.
func (p *program) flush(delivery string) {
	if ctx, n, place := p.node(delivery); n != nil {
		p.fail(place, n.Flush(ctx))
	}
}

// fail makes err the result of a message, unless it failed before.
func (p *program) fail(place int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results[place] = cmp.Or(p.results[place], err)
}

// setFault sets why the program ends, if that is not known yet.
func (p *program) setFault(fault error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == nil {
		p.fault = fault
	}
}

// kill kills the program because of a fault.
func (p *program) kill(fault error) {
	p.setFault(fault)
	select {
	case <-p.exited:
	default:
		signalGroup(p.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// failure returns why the program ended or is about to end; nil while it is well.
func (p *program) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// answeredCalls returns the number of completely answered calls.
func (p *program) answeredCalls() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// call sends a line with deliveries and waits for all answers. If ctx ends first, it ends the program; answers that
// still arrive meanwhile count.
func (p *program) call(ctx context.Context, line []byte, deliveries []string, batch []worker.Message) []error {
	answered, began := p.expect(ctx, deliveries, batch), time.Now()
	wrote := make(chan int, 1)
	go func() {
		n, _ := p.in.Write(line) // after an error the program ends
		wrote <- n
	}()
	select {
	case <-answered:
		usage.Add(ctx, p.used.Called(time.Since(began)))
	case <-p.gone:
	case <-ctx.Done():
		p.setFault(context.Cause(ctx))
		endGroup(ctx, p.cmd.Process.Pid, p.exited)
		<-p.gone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fault := fmt.Errorf("program %q was ended before it answered: %w", p.command.Argv[0], p.fault)
	// Not a single byte was taken, so the work cannot have begun.
	if len(p.waiting) == len(deliveries) && <-wrote == 0 {
		fault = fmt.Errorf("%w: %w", worker.ErrNotBegun, fault)
	}
	for _, place := range p.waiting {
		p.results[place] = cmp.Or(p.results[place], fault)
	}
	p.waiting, p.nodes, p.within, p.ids = nil, nil, nil, nil
	return p.results
}

// expect prepares for the answers of a call, before its line is written: an answer may come at once.
func (p *program) expect(ctx context.Context, deliveries []string, batch []worker.Message) (answered <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting, p.results, p.answered = make(map[string]int, len(deliveries)), make([]error,
		len(deliveries)), make(chan struct{})
	p.within, p.nodes = ctx, make([]*worker.Node, len(deliveries))
	for i, d := range deliveries {
		p.waiting[d], p.nodes[i] = i, batch[i].Node
		p.ids = append(p.ids, batch[i].ID)
	}
	return p.answered
}

// alive tells whether the program can take a call.
func (p *program) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return p.failure() == nil
	}
}

// end closes the program's input, at which it must exit, and stops it with signals if it does not.
func (p *program) end() {
	_ = p.in.Close()
	patience := time.NewTimer(killAfter)
	defer patience.Stop()
	select {
	case <-p.gone:
		return
	case <-patience.C:
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	endGroup(ctx, p.cmd.Process.Pid, p.exited)
	<-p.gone
}
