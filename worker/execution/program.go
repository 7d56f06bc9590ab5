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
)

// program is one running program that speaks JSON lines. One call at a time goes to it. Whatever it does that the
// protocol does not allow ends it: nothing that it answers after that could be trusted.
type program struct {
	command Command
	cmd     *exec.Cmd
	in      *os.File
	streams *pipes
	// mark is in the environment of what it starts.
	mark string
	// ready is closed when it said so, exited when the process has ended, gone when everything it wrote was read, too.
	ready, exited, gone chan struct{}

	mu      sync.Mutex
	isReady bool
	// waiting holds the deliveries of the call that are not answered yet, with their places in results.
	waiting map[string]int
	results []error
	// nodes are those of the call's messages, nil where one names none, and within the context of the call. What a
	// message's children were refused for is its result, whatever the program answers.
	nodes  []*worker.Node
	within context.Context
	// ids are those of the messages of the call.
	ids []string
	// answered is closed when waiting becomes empty.
	answered chan struct{}
	// calls counts those that were answered in full.
	calls int64
	// fault is why it ended, or is about to.
	fault error
}

// startProgram starts the program of a slot and waits until it is ready, at most for the time limit.
func startProgram(ctx context.Context, c Command, slot, batch int, limit time.Duration) (*program, error) {
	p := &program{command: c, ready: make(chan struct{}), exited: make(chan struct{}), gone: make(chan struct{})}
	if err := p.start(slot); err != nil {
		return nil, fmt.Errorf("start program %q: %w", c.Argv[0], err)
	}
	hello, err := jsonLine(wireHello{Type: typeHello, Protocol: ProtocolVersion, Batch: batch, Slot: slot})
	if err == nil {
		_, _ = p.in.Write(hello) // it fits into the pipe; a program that is gone already is found so below
	}
	patience := time.NewTimer(limit)
	defer patience.Stop()
	select {
	case <-p.ready:
		return p, nil
	case <-p.gone:
	case <-patience.C:
		p.blame(fmt.Errorf("it did not answer the hello within %s", limit))
	case <-ctx.Done():
		p.blame(context.Cause(ctx))
	}
	<-p.gone
	return nil, fmt.Errorf("start program %q: %w", c.Argv[0], p.failure())
}

// start starts the process and the goroutines that read what it writes.
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
	go p.live(p.command.output(p.working, "stderr", "slot", slot), started)
	err = <-started
	_ = r.Close()
	if err != nil {
		_ = w.Close()
	}
	return err
}

// live starts the process, tells started what came of it, and stays until the process is gone: the thread that started
// it lives as long.
func (p *program) live(errOut *output, started chan<- error) {
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

// working returns the id of the message that the program works on; it is empty where there is none, or several.
func (p *program) working() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ids) == 1 {
		return p.ids[0]
	}
	return ""
}

// wait waits for the end of the process, kills what it left behind, and reads the rest of what it wrote.
func (p *program) wait() {
	err := p.cmd.Wait()
	signalGroup(p.cmd.Process.Pid, syscall.SIGKILL)
	descendants.End(p.mark)
	close(p.exited)
	p.streams.close()
	_ = p.in.Close()
	p.suspect(p.command.failure(p.cmd, err, p.streams, nil))
	close(p.gone)
}

// listen reads answers until the program ends or does what is not allowed.
func (p *program) listen(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4<<10), maxChildLine)
	for lines.Scan() {
		if err := p.hear(lines.Bytes()); err != nil {
			p.blame(err)
			return
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		p.blame(fmt.Errorf("it wrote a line of more than %d bytes", maxChildLine))
		return
	}
	// Usually it has ended. If it goes on, it can answer nothing any more.
	late := time.AfterFunc(drainOutput, func() { p.blame(errors.New("it closed its standard output")) })
	<-p.exited
	late.Stop()
}

// hear takes one line.
func (p *program) hear(line []byte) error {
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
			return errors.New("it said a second time that it is ready")
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

// node returns the node of a delivery that is not answered yet, its place, and the context of the call.
func (p *program) node(delivery string) (ctx context.Context, n *worker.Node, place int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place, ok := p.waiting[delivery]
	if !ok || p.results[place] != nil {
		return p.within, nil, place
	}
	return p.within, p.nodes[place], place
}

// name names a child. It waits until that is done, and the program waits with what it writes.
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
	p.refuse(place, n.Name(ctx, a.Child))
	return nil
}

// flush has the children of a delivery that is done registered and sent.
func (p *program) flush(delivery string) {
	if ctx, n, place := p.node(delivery); n != nil {
		p.refuse(place, n.Flush(ctx))
	}
}

func (p *program) refuse(place int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results[place] = cmp.Or(p.results[place], err)
}

// suspect says why the program ends; the first reason counts.
func (p *program) suspect(fault error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == nil {
		p.fault = fault
	}
}

// blame ends the program for what it did, unless it has ended.
func (p *program) blame(fault error) {
	p.suspect(fault)
	select {
	case <-p.exited:
	default:
		signalGroup(p.cmd.Process.Pid, syscall.SIGKILL)
	}
}

func (p *program) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// answeredCalls returns how many calls were answered in full.
func (p *program) answeredCalls() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// call sends a line that brings the deliveries and waits for all answers. When ctx ends first, the program is ended;
// what it still answers while it is asked to counts.
func (p *program) call(ctx context.Context, line []byte, deliveries []string, batch []worker.Message) []error {
	answered := p.expect(ctx, deliveries, batch)
	wrote := make(chan int, 1)
	go func() {
		n, _ := p.in.Write(line) // when that fails the program is gone, or soon will be
		wrote <- n
	}()
	select {
	case <-answered:
	case <-p.gone:
	case <-ctx.Done():
		p.suspect(context.Cause(ctx))
		endGroup(ctx, p.cmd.Process.Pid, p.exited)
		<-p.gone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fault := fmt.Errorf("program %q was ended before it answered: %w", p.command.Argv[0], p.fault)
	if len(p.waiting) == len(deliveries) && <-wrote == 0 {
		fault = fmt.Errorf("%w: %w", worker.ErrNotBegun, fault)
	}
	for _, place := range p.waiting {
		p.results[place] = cmp.Or(p.results[place], fault)
	}
	p.waiting, p.nodes, p.within, p.ids = nil, nil, nil, nil
	return p.results
}

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

// end closes the program's input, which asks it to end, and ends it when it does not.
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
