package stream_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/server/stream"
)

func TestEventsComeOnceAndInOrder(t *testing.T) {
	l := stream.New("e")
	start := l.Cursor()
	for i := range 5 {
		l.Publish("n", fmt.Appendf(nil, "%d", i))
	}
	events, known := l.Since(start)
	if !known || len(events) != 5 || string(events[0].Data) != "0" || events[4].ID != l.Cursor() {
		t.Errorf("found %v, %t", events, known)
	}
	if events, known := l.Since(events[2].ID); !known || len(events) != 2 || string(events[0].Data) != "3" {
		t.Errorf("after the third: found %v, %t", events, known)
	}
	for _, cursor := range []string{"", "e", "e.", "e.x", "e.-1", "e.6", "f.1", "f.5.1"} {
		if _, known := l.Since(cursor); known {
			t.Errorf("the cursor %q is known", cursor)
		}
	}
	l.Restart("f")
	if _, known := l.Since(events[4].ID); known {
		t.Error("a cursor of before a restart is known")
	}
}

func TestTheLogIsBounded(t *testing.T) {
	l := stream.New("e")
	start := l.Cursor()
	for range stream.MaxEvents {
		l.Publish("n", []byte("1"))
	}
	if events, known := l.Since(start); !known || len(events) != stream.MaxEvents {
		t.Fatalf("found %d events, %t", len(events), known)
	}
	l.Publish("n", []byte("2"))
	if _, known := l.Since(start); known {
		t.Error("the log keeps more events than its bound")
	}
	large := []byte(strings.Repeat("x", stream.MaxBytes/2))
	for range 3 {
		l.Publish("n", large)
	}
	last := l.Cursor()
	if _, known := l.Since(strings.Replace(last, "4100", "4097", 1)); known || last != "e.4100" {
		t.Errorf("the log keeps more bytes than its bound; the cursor is %s", last)
	}
}

// reader is a connection that accepts a number of bytes and then blocks until its deadline.
type reader struct {
	header   http.Header
	code     int
	text     strings.Builder
	accepts  int
	deadline time.Time
}

func (r *reader) Header() http.Header                { return r.header }
func (r *reader) WriteHeader(code int)               { r.code = code }
func (r *reader) Flush()                             {}
func (r *reader) SetWriteDeadline(t time.Time) error { r.deadline = t; return nil }
func (r *reader) Write(b []byte) (int, error) {
	if r.text.Len()+len(b) > r.accepts {
		time.Sleep(time.Until(r.deadline))
		return 0, fmt.Errorf("the connection accepts no more")
	}
	return r.text.Write(b)
}

// serve serves a stream to a reader, in its own goroutine, and returns a function that waits for its end.
func serve(t *testing.T, l *stream.Log, r *reader, cursor string) (ended chan struct{}, stop func()) {
	ctx, stop := context.WithCancel(t.Context())
	request := httptest.NewRequestWithContext(ctx, "GET", "/v1/stream", nil)
	request.Header.Set("Last-Event-ID", cursor)
	r.header = http.Header{}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		l.Serve(r, request, stream.View{Name: "whole", Whole: func() ([]byte, string) {
			return []byte(`"all"`), l.Cursor()
		}})
	}()
	return ended, stop
}

func TestASlowReaderIsToldAndDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := stream.New("e")
		r := &reader{accepts: 1 << 30}
		ended, stop := serve(t, l, r, "")
		defer stop()
		synctest.Wait()
		for range stream.MaxEvents + 1 { // more than the log holds, before the reader's next turn
			l.Publish("n", []byte("1"))
		}
		<-ended
		if text := r.text.String(); !strings.Contains(text, `event: whole`) || !strings.HasSuffix(text,
			"event: lost\ndata: {\"error\":\"events were lost because they were read too slowly\"}\n\n") {
			t.Errorf("found %q", text)
		}
	})
}

func TestAReaderThatAcceptsNothingIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := stream.New("e")
		r := &reader{}
		began := time.Now()
		ended, stop := serve(t, l, r, "")
		defer stop()
		<-ended
		if took := time.Since(began); took != stream.Patience {
			t.Errorf("it was dropped after %s", took)
		}
		if l.Readers() != 0 {
			t.Errorf("%d readers are counted", l.Readers())
		}
	})
}

func TestAQuietStreamIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := stream.New("e")
		r := &reader{accepts: 1 << 20}
		ended, stop := serve(t, l, r, "e.0")
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := strings.Count(r.text.String(), ":\n\n"); n < 3 {
			t.Errorf("found %d comments in a minute: %q", n, r.text.String())
		}
		if strings.Contains(r.text.String(), "whole") {
			t.Errorf("a reader whose cursor is known gets the whole state: %q", r.text.String())
		}
		stop()
		<-ended
	})
}

func TestReadersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := stream.New("e")
		var stops []func()
		for range stream.MaxReaders {
			_, stop := serve(t, l, &reader{accepts: 1 << 20}, "")
			stops = append(stops, stop)
		}
		synctest.Wait()
		r := &reader{accepts: 1 << 20}
		ended, stop := serve(t, l, r, "")
		defer stop()
		<-ended
		if r.code != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" {
			t.Errorf("found %d: %s", r.code, r.text.String())
		}
		for _, stop := range stops {
			stop()
		}
		synctest.Wait()
	})
}
