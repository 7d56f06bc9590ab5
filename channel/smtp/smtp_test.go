package smtp

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/notice"
)

// server is a small mail server on loopback. It offers STARTTLS with a certificate, and PLAIN logins after it.
type server struct {
	net.Listener
	tls *tls.Config // nil offers no STARTTLS
	// refuse answers a command, such as "RCPT", in place of 250; empty for none.
	refuse, with string
	// said are the commands it got, and mail the last mail; they may be read after the connection has ended.
	said  []string
	mail  string
	ended chan struct{}
}

// certificate returns the certificate of a server on 127.0.0.1, and who trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, roots
}

// serve serves one connection.
func serve(t *testing.T, s *server) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener, s.ended = l, make(chan struct{})
	t.Cleanup(func() { l.Close(); <-s.ended })
	go func() {
		defer close(s.ended)
		if conn, err := l.Accept(); err == nil {
			s.talk(conn)
			conn.Close()
		}
	}()
	return s
}

// talk answers the commands of a connection until it ends.
func (s *server) talk(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	in := bufio.NewReader(conn)
	io.WriteString(conn, "220 ready\r\n")
	encrypted := false
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.said = append(s.said, line)
		verb, _, _ := strings.Cut(line, " ")
		switch {
		case verb == s.refuse:
			io.WriteString(conn, s.with+"\r\n")
		case verb == "EHLO" && encrypted:
			io.WriteString(conn, "250-here\r\n250 AUTH PLAIN\r\n")
		case verb == "EHLO" && s.tls != nil:
			io.WriteString(conn, "250-here\r\n250 STARTTLS\r\n")
		case verb == "STARTTLS":
			io.WriteString(conn, "220 go ahead\r\n")
			secure := tls.Server(conn, s.tls)
			conn, in, encrypted = secure, bufio.NewReader(secure), true
		case verb == "AUTH":
			io.WriteString(conn, "235 welcome\r\n")
		case verb == "DATA":
			io.WriteString(conn, "354 send it\r\n")
			var lines []string
			for line != ".\r\n" && err == nil {
				line, err = in.ReadString('\n')
				lines = append(lines, line)
			}
			s.mail = strings.Join(lines[:len(lines)-1], "")
			io.WriteString(conn, "250 taken\r\n")
		case verb == "QUIT":
			io.WriteString(conn, "221 bye\r\n")
			return
		default:
			io.WriteString(conn, "250 ok\r\n")
		}
	}
}

// to returns a configuration for the server.
func (s *server) to() Config {
	return Config{Host: "127.0.0.1", Port: s.Addr().(*net.TCPAddr).Port, From: "muster@example.com",
		To: []string{"ops@example.com", "boss@example.com"}}
}

func told() incident.Notice {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return incident.Notice{ID: "at_maximum/x/opened", Event: incident.Opened, At: at, Incident: incident.Incident{
		ID: "at_maximum/x", BeganAt: at, Condition: incident.Condition{Kind: incident.AtMaximum, Fleet: "thumbs",
			Sentence: "fleet thumbs: zu spät\r\nBcc: all@example.com",
			Command:  "muster explain thumbs"}}}.From("web-1")
}

func TestAMailArrivesEncryptedAndWithALogin(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	offered, roots := certificate(t)
	s := serve(t, &server{tls: offered})
	c := s.to()
	c.StartTLS, c.Username, c.PasswordFile = true, "muster", "password"
	answer, err := (&sender{config: c, dir: dir, roots: roots}).Send(t.Context(), told())
	if err != nil || !strings.Contains(answer, "accepted the mail to ops@example.com, boss@example.com") {
		t.Fatalf("answer %q, %v", answer, err)
	}
	<-s.ended
	login := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00muster\x00s3cret"))
	for _, want := range []string{"STARTTLS", login, "MAIL FROM:<muster@example.com>", "RCPT TO:<ops@example.com>",
		"RCPT TO:<boss@example.com>"} {
		if !slices.ContainsFunc(s.said, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("found no %q in %q", want, s.said)
		}
	}
	checkMail(t, s.mail)
}

// checkMail reads a mail as a mail program does.
func checkMail(t *testing.T, text string) {
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if want := "[muster] opened: fleet thumbs: zu spät Bcc: all@example.com"; err != nil || subject != want {
		t.Errorf("subject %q, %v, want %q", subject, err, want)
	}
	if m.Header.Get("Bcc") != "" || m.Header.Get("Message-ID") == "" || m.Header.Get("To") == "" {
		t.Errorf("headers %v", m.Header)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil || !strings.Contains(string(body), "See: muster explain thumbs") ||
		!strings.Contains(string(body), "incident: at_maximum/x\r\n") {
		t.Errorf("body %q, %v", body, err)
	}
}

func TestNothingIsSentWithoutTheEncryptionThatWasAskedFor(t *testing.T) {
	s := serve(t, &server{})
	c := s.to()
	c.StartTLS = true
	_, err := (&sender{config: c}).Send(t.Context(), told())
	if err == nil || !strings.Contains(err.Error(), "offers no STARTTLS") {
		t.Errorf("found %v", err)
	}
	offered, _ := certificate(t)
	s = serve(t, &server{tls: offered})
	c = s.to()
	c.StartTLS = true
	if _, err := (&sender{config: c}).Send(t.Context(), told()); err == nil {
		t.Error("a certificate of an unknown authority was accepted")
	}
	<-s.ended
	if s.mail != "" {
		t.Error("the mail was sent")
	}
}

func TestARefusalOfTheServerIsFinalAndAPostponementIsNot(t *testing.T) {
	for with, final := range map[string]bool{"550 no such user": true, "451 try later": false} {
		s := serve(t, &server{refuse: "RCPT", with: with})
		_, err := (&sender{config: s.to()}).Send(t.Context(), told())
		if err == nil || errors.Is(err, notice.ErrRefused) != final || !strings.Contains(err.Error(), with[4:]) {
			t.Errorf("%s: found %v, final should be %v", with, err, final)
		}
	}
}

func TestAnUnreachableServerIsTriedAgain(t *testing.T) {
	c := Config{Host: "127.0.0.1", Port: 1, From: "a@example.com", To: []string{"b@example.com"}}
	if _, err := (&sender{config: c}).Send(t.Context(), told()); err == nil || errors.Is(err, notice.ErrRefused) {
		t.Errorf("found %v", err)
	}
}
