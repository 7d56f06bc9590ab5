package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/server/board"
)

const (
	// curvesEvery is the interval at which the curves of the opened fleet are read.
	curvesEvery = 2 * time.Second
	// enter and leave switch to the alternative screen and back, without a cursor.
	enter, leave = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	// begin and end bracket one screen, for terminals that can show it at once; home goes to its first character.
	begin, end, home = "\x1b[?2026h", "\x1b[?2026l", "\x1b[H"
)

// ErrNoTerminal means that input or output is no terminal.
var ErrNoTerminal = errors.New("muster top needs a terminal; use muster status --watch, or -o json")

// display connects a model with a terminal. One goroutine uses it.
type display struct {
	model Model
	view  View
	out   io.Writer
	shown []string
}

// Run shows the fleets of the muster up that runs with the configuration c, until the user leaves or ctx ends. The
// error is [ErrNoTerminal], client.ErrNotRunning when no muster up answers at first, or one of the terminal.
func Run(ctx context.Context, c *config.Config, in, out *os.File) error {
	if !term.IsTerminal(int(in.Fd())) || !terminal.Is(out) {
		return ErrNoTerminal
	}
	var answers board.Board
	if err := client.Get(ctx, c, "/v1/board", &answers); err != nil {
		return err // before the screen is switched
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("read the keys of the terminal: %w", err)
	}
	defer term.Restore(int(in.Fd()), before)
	fmt.Fprint(out, enter)
	defer fmt.Fprint(out, leave)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &display{out: out, model: Begin(answers), view: View{Colour: os.Getenv("NO_COLOR") == ""}}
	return d.loop(ctx, c, in, out)
}

// news is an event of the stream, or why none come.
type news struct {
	event  client.Event
	broken string
	ended  error
}

// loop waits for events, keys and changes of size, and draws after each.
func (d *display) loop(ctx context.Context, c *config.Config, in, out *os.File) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	events, keys := follow(ctx, c), pressed(ctx, in)
	curves := time.NewTicker(curvesEvery)
	defer curves.Stop()
	for {
		if width, height, err := term.GetSize(int(out.Fd())); err == nil {
			d.resize(width, height)
		}
		if err := d.draw(); err != nil || d.model.Quit {
			return err
		}
		opened, selected := d.model.Opened, d.model.Selected
		select {
		case <-ctx.Done():
			return nil
		case <-resized:
		case <-curves.C:
			d.read(ctx, c)
		case key, ok := <-keys:
			if d.model.Press(key); !ok {
				return nil // the terminal is gone
			}
			if d.model.Opened && (!opened || selected != d.model.Selected) {
				d.read(ctx, c)
			}
		case n := <-events:
			if n.ended != nil {
				return n.ended
			}
			d.model.Broken = n.broken
			if n.event.Name == "" {
				continue
			}
			if err := d.model.Apply(n.event); err != nil {
				return err
			}
		}
	}
}

// resize takes a new size of the terminal, whose content is then unknown.
func (d *display) resize(width, height int) {
	if d.view.Width != width || d.view.Height != height {
		d.view.Width, d.view.Height, d.shown = width, height, nil
	}
}

// draw writes the lines that changed, in one write. Lines cover each other and are never cleared first.
func (d *display) draw() error {
	lines := d.view.Lines(d.model)
	if slices.Equal(lines, d.shown) {
		return nil
	}
	var b strings.Builder
	b.WriteString(begin)
	if d.shown == nil {
		b.WriteString(home + "\x1b[2J")
	}
	for i, line := range lines {
		if i < len(d.shown) && d.shown[i] == line {
			continue
		}
		fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[K", i+1, line)
	}
	b.WriteString(end)
	d.shown = lines
	_, err := io.WriteString(d.out, b.String())
	return err
}

// read reads the curves of the opened fleet. Without an answer the last ones stay.
func (d *display) read(ctx context.Context, c *config.Config) {
	if !d.model.Opened || d.model.Selected == "" {
		return
	}
	var s board.Series
	points := max(10, min(500, d.view.Width-scaleWidth))
	path := fmt.Sprintf("/v1/fleets/%s/series?window=15m&points=%d", url.PathEscape(d.model.Selected), points)
	if client.Get(ctx, c, path, &s) == nil {
		d.model.Curves = s
	}
}

// follow sends the events of the stream until ctx ends.
func follow(ctx context.Context, c *config.Config) <-chan news {
	events := make(chan news)
	send := func(n news) error {
		select {
		case events <- n:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go func() {
		err := client.Follow(ctx, c, func(e client.Event) error { return send(news{event: e}) }, func(err error) {
			if err != nil {
				send(news{broken: err.Error()}) // an error means that the display has ended
				return
			}
			send(news{})
		})
		send(news{ended: err})
	}()
	return events
}

// names are the names of keys by what terminals send for them.
var names = map[string]string{
	"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\x1b[5~": "pageup", "\x1b[6~": "pagedown",
	"\x1b[H": "home", "\x1bOH": "home", "\x1b[1~": "home", "\x1b[F": "end", "\x1bOF": "end", "\x1b[4~": "end",
	"\r": "enter", "\n": "enter", "\x1b": "escape", "\x7f": "backspace", "\b": "backspace", "\x03": "ctrl-c",
}

// pressed sends the names of keys until the terminal is gone. A read of a terminal cannot be interrupted, so the
// goroutine ends with the next key, or with the program.
func pressed(ctx context.Context, in io.Reader) <-chan string {
	keys := make(chan string)
	go func() {
		defer close(keys)
		buffer := make([]byte, 64)
		for {
			n, err := in.Read(buffer)
			if err != nil {
				return
			}
			for _, key := range Keys(string(buffer[:n])) {
				select {
				case keys <- key:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return keys
}

// Keys returns the names of the keys in what a terminal sent, for [Model.Press]. Unknown sequences are left out.
func Keys(text string) (keys []string) {
	for len(text) > 0 {
		size := 1
		if text[0] == '\x1b' && len(text) > 1 {
			// A sequence ends with a letter or ~ behind its bracket.
			size = 2
			for size < len(text) && !(text[size] >= '@' && text[size] <= '~') {
				size++
			}
			size = min(size+1, len(text))
		}
		if name, ok := names[text[:size]]; ok {
			keys = append(keys, name)
		} else if size == 1 && text[0] >= ' ' && text[0] < 0x7f {
			keys = append(keys, text[:1])
		}
		text = text[size:]
	}
	return keys
}
