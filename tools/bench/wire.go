package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"strings"
)

// The clients of the SQS endpoint. A client of the AWS SDK would take more processor time than the endpoint that is
// measured, so these write the requests by hand and read only what they need of the answers.

// wire is an HTTP client on one connection. It is lighter than that of net/http, because clients and server share the
// cores: each microsecond of a client is lost to the server.
type wire struct {
	conn net.Conn
	// in buffers answers; out and body are reused by every request.
	in   *bufio.Reader
	out  []byte
	body bytes.Buffer
}

// dialWire connects to a server, which may still be starting.
func dialWire(address string) (*wire, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	return &wire{conn: c, in: bufio.NewReaderSize(c, 16<<10)}, nil
}

// post sends an action of the SQS protocol and returns the body of the answer, which the next call overwrites.
func (w *wire) post(action, body string) ([]byte, error) {
	// The buffers are reused, so a request allocates nothing.
	w.out = append(w.out[:0], "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "+
		"application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS."...)
	w.out = append(append(w.out, action...), "\r\nContent-Length: "...)
	w.out = append(strconv.AppendInt(w.out, int64(len(body)), 10), "\r\n\r\n"...)
	w.out = append(w.out, body...)
	if _, err := w.conn.Write(w.out); err != nil {
		return nil, err
	}
	status, length, err := w.head()
	if err != nil {
		return nil, err
	}
	w.body.Reset()
	// A known length, or chunks with an empty line after the last one.
	if length >= 0 {
		_, err = io.CopyN(&w.body, w.in, length)
	} else if _, err = io.Copy(&w.body, httputil.NewChunkedReader(w.in)); err == nil {
		_, err = w.in.Discard(len("\r\n"))
	}
	if err == nil && status != "200" {
		err = fmt.Errorf("%s: found status %s: %.200s", action, status, w.body.Bytes())
	}
	return w.body.Bytes(), err
}

// head reads the status line and the headers; length is -1 for a body in chunks. It understands only what the servers
// here answer.
func (w *wire) head() (status string, length int64, err error) {
	for first := true; ; first = false {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first && len(line) >= len("HTTP/1.1 200"):
			status = string(line[9:12])
		case len(line) == 0:
			return status, length, nil
		default:
			name, value, _ := bytes.Cut(line, []byte(": "))
			switch {
			case bytes.EqualFold(name, []byte("Content-Length")):
				if length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
					return "", 0, err
				}
			case bytes.EqualFold(name, []byte("Transfer-Encoding")):
				length = -1
			}
		}
	}
}

// handles returns the receipt handles in the answer to a receive. It searches for the text, because decoding JSON would
// cost the clients more than the rest of a cycle.
func handles(answer []byte) (found []string) {
	mark := []byte(`"ReceiptHandle":"`)
	for {
		_, rest, ok := bytes.Cut(answer, mark)
		if !ok {
			return found
		}
		handle, after, _ := bytes.Cut(rest, []byte(`"`))
		found, answer = append(found, string(handle)), after
	}
}

// oneByOne is a cycle of three calls for one message.
func oneByOne(w *wire, url string) step {
	body := strings.Repeat("x", bodyBytes)
	send := fmt.Sprintf(`{"QueueUrl":%q,"MessageBody":%q}`, url, body)
	receive := fmt.Sprintf(`{"QueueUrl":%q}`, url)
	remove := fmt.Sprintf(`{"QueueUrl":%q,"ReceiptHandle":"`, url) // a handle is plain text
	return func() (int, error) {
		if _, err := w.post("SendMessage", send); err != nil {
			return 0, err
		}
		answer, err := w.post("ReceiveMessage", receive)
		if err != nil {
			return 0, err
		}
		got := handles(answer)
		// Every client has sent one message, so one is there for it.
		if len(got) != 1 {
			return 0, fmt.Errorf("received %d messages, want 1", len(got))
		}
		_, err = w.post("DeleteMessage", remove+got[0]+`"}`)
		return 1, err
	}
}

// inBatches is a cycle of three calls for ten messages.
func inBatches(w *wire, url string) step {
	const batch = 10
	entries := make([]string, batch)
	for i := range entries {
		entries[i] = fmt.Sprintf(`{"Id":"%d","MessageBody":%q}`, i, strings.Repeat("x", bodyBytes))
	}
	send := fmt.Sprintf(`{"QueueUrl":%q,"Entries":[%s]}`, url, strings.Join(entries, ","))
	receive := fmt.Sprintf(`{"QueueUrl":%q,"MaxNumberOfMessages":%d}`, url, batch)
	return func() (int, error) {
		answer, err := w.post("SendMessageBatch", send)
		if err == nil && bytes.Contains(answer, []byte(`"SenderFault"`)) {
			err = fmt.Errorf("a message was refused: %.200s", answer)
		}
		if err != nil {
			return 0, err
		}
		if answer, err = w.post("ReceiveMessage", receive); err != nil {
			return 0, err
		}
		got := handles(answer)
		if len(got) == 0 {
			return 0, fmt.Errorf("received nothing of %d messages", batch)
		}
		for i, handle := range got {
			entries[i] = fmt.Sprintf(`{"Id":"%d","ReceiptHandle":%q}`, i, handle)
		}
		answer, err = w.post("DeleteMessageBatch",
			fmt.Sprintf(`{"QueueUrl":%q,"Entries":[%s]}`, url, strings.Join(entries[:len(got)], ",")))
		if err == nil && bytes.Contains(answer, []byte(`"SenderFault"`)) {
			err = fmt.Errorf("a message was not deleted: %.200s", answer)
		}
		return len(got), err
	}
}
