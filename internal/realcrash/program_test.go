package realcrash

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"github.com/muster-scale/muster/internal/awsapi"
)

// slow skips a test that only runs with MUSTER_SLOW=1.
func slow(t *testing.T) {
	t.Helper()
	if os.Getenv("MUSTER_SLOW") != "1" {
		t.Skip("takes long; set MUSTER_SLOW=1 to run it")
	}
}

// build makes the program.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "muster")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/muster").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return path
}

// program is muster up with one queue, which hides received messages for two seconds.
type program struct {
	binary, dir string
	address     string
	wrap        []string // a command that runs it
	cmd         *exec.Cmd
	output      *bytes.Buffer
}

// install writes a configuration into dir.
func install(t *testing.T, dir, binary string) *program {
	t.Helper()
	ports := make([]string, 2)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = l.Addr().String()
		defer l.Close()
	}
	text := fmt.Sprintf("version: 1\ndata: data\nlisten: {queue: %q, api: %q}\nqueues:\n"+
		"  - {name: q, visibility: 2s}\n", ports[0], ports[1])
	if err := os.WriteFile(filepath.Join(dir, "muster.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &program{binary: binary, dir: dir, address: ports[0]}
}

// start runs the program and returns when its queue answers.
func (p *program) start(t *testing.T) {
	t.Helper()
	args := append(append([]string(nil), p.wrap...), p.binary, "up", "--any-credentials", "-f",
		filepath.Join(p.dir, "muster.yaml"))
	p.cmd, p.output = exec.Command(args[0], args[1:]...), new(bytes.Buffer)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		if c, err := net.Dial("tcp", p.address); err == nil {
			c.Close()
			return
		}
		select {
		case <-ctx.Done():
			p.kill()
			t.Fatalf("the queue does not answer within 20 s:\n%s", p.output)
		case <-tick.C:
		}
	}
}

// kill ends the program, and what runs it, as kill -9 does.
func (p *program) kill() {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.cmd.Wait()
}

// stop ends the program in order.
func (p *program) stop(t *testing.T) {
	t.Helper()
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("stop: %v\n%s", err, p.output)
	}
}

// client speaks to the queue; it never tries again by itself.
func (p *program) client() *sqs.Client {
	return sqs.New(sqs.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String("http://" + p.address),
		Retryer:      aws.NopRetryer{},
		APIOptions:   []func(*middleware.Stack) error{awsapi.PlainBody},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		}),
	})
}

func (p *program) queue() *string { return aws.String("http://" + p.address + "/000000000000/q") }
