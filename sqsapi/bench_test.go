package sqsapi

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-scale/muster/queue"
)

// BenchmarkCycle sends, receives and deletes one message over one connection of the loop, with the queue in memory:
// what is left is the endpoint's own time and memory.
func BenchmarkCycle(b *testing.B) {
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err == nil {
		err = q.CreateQueue(b.Context(), "q", nil, nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	f := NewTCPServer(New(Options{Queues: q, AnyCredentials: true}), nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go f.Serve(l)
	defer f.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	ask := func(action, params string) []byte {
		if _, err := io.WriteString(c, post(action, params)); err != nil {
			b.Fatal(err)
		}
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			b.Fatalf("%s: %s, %v", action, text, err)
		}
		return text
	}
	send := `{"QueueUrl":"q","MessageBody":"` + strings.Repeat("x", 512) + `"}`
	b.ReportAllocs()
	for b.Loop() {
		ask("SendMessage", send)
		var got struct {
			Messages []struct{ ReceiptHandle string }
		}
		if err := json.Unmarshal(ask("ReceiveMessage", `{"QueueUrl":"q"}`), &got); err != nil ||
			len(got.Messages) != 1 {
			b.Fatalf("received %+v, %v", got, err)
		}
		ask("DeleteMessage", `{"QueueUrl":"q","ReceiptHandle":"`+got.Messages[0].ReceiptHandle+`"}`)
	}
}
