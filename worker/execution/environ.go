package execution

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-scale/muster/worker"
)

// passedOn are the variables that every command inherits. Others may hold credentials of the worker, which are not the
// command's, so Command.Env must name them.
var passedOn = []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER"}

const (
	// maxVariable bounds a variable made from a message, in bytes; Linux allows at most 128 KiB.
	maxVariable = 32 << 10
	// maxAttributes bounds the attributes of a message that become variables; SQS allows 10.
	maxAttributes = 64
	// timestamp is RFC 3339 with milliseconds.
	timestamp = "2006-01-02T15:04:05.000Z07:00"
)

// inherited returns the variables that a program inherits: those in passedOn and the given names.
func inherited(names []string) []string {
	var env []string
	for _, name := range slices.Concat(passedOn, names) {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// environment returns the environment of a command that works on m. It refuses a value that the system would cut or
// refuse: the command must not work on half of a message.
func environment(names []string, m worker.Message) ([]string, error) {
	env := inherited(names)
	variables, err := attributes(m)
	if err != nil {
		return nil, err
	}
	variables["MUSTER_MESSAGE_ID"] = m.ID
	variables["MUSTER_IDEMPOTENCY_KEY"] = m.ID
	variables["MUSTER_QUEUE"] = m.Queue
	if m.ReceiveCount > 0 {
		variables["MUSTER_RECEIVE_COUNT"] = strconv.Itoa(m.ReceiveCount)
	}
	if m.Attempt > 0 {
		variables["MUSTER_ATTEMPT"] = strconv.Itoa(m.Attempt)
	}
	if m.Group != "" {
		variables["MUSTER_GROUP"] = m.Group
	}
	if !m.SentAt.IsZero() {
		variables["MUSTER_SENT_AT"] = m.SentAt.UTC().Format(timestamp)
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value := variables[name]
		switch {
		case strings.ContainsRune(value, 0):
			return nil, fmt.Errorf("set %s for the command: the value has a NUL character, which no variable can hold",
				name)
		case len(value) > maxVariable:
			return nil, fmt.Errorf("set %s for the command: the value has %d bytes, at most %d are allowed; send it "+
				"in the body",
				name, len(value), maxVariable)
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// attributes returns the variables for the text attributes of a message. Two attributes that map to the same variable
// are an error, because the command could not tell them apart.
func attributes(m worker.Message) (map[string]string, error) {
	if len(m.Attributes) > maxAttributes {
		return nil, fmt.Errorf("pass on the attributes of the message: found %d, at most %d are allowed",
			len(m.Attributes), maxAttributes)
	}
	variables := make(map[string]string)
	from := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		a := m.Attributes[name]
		if kind, _, _ := strings.Cut(a.Type, "."); kind != "String" && kind != "Number" {
			continue
		}
		variable := "MUSTER_ATTRIBUTE_" + strings.Map(variableRune, name)
		if other, ok := from[variable]; ok {
			return nil, fmt.Errorf("pass on the attributes of the message: %q and %q would both become %s; rename one",
				other, name, variable)
		}
		from[variable], variables[variable] = name, a.Text
	}
	return variables, nil
}

// variableRune maps a character of an attribute's name to one that every shell allows in the name of a variable.
func variableRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return r
	default:
		return '_'
	}
}

// MemberLockVariable holds the file descriptor of the lock by which the fleet sees that this member is alive.
const MemberLockVariable = "MUSTER_MEMBER_FD"

// KeepMemberLock marks the descriptor in MUSTER_MEMBER_FD as close-on-exec. Otherwise a command would inherit the
// member's lock and hold it after this process ended. Call it before starting any process. Without the variable it does
// nothing.
func KeepMemberLock() error {
	v, ok := os.LookupEnv(MemberLockVariable)
	if !ok {
		return nil
	}
	fd, err := strconv.Atoi(v)
	if err != nil || fd < 3 {
		return fmt.Errorf("keep the member's lock: found %s=%q, the number of a descriptor above 2 is allowed",
			MemberLockVariable, v)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return fmt.Errorf("keep the member's lock: descriptor %d of %s: %w", fd, MemberLockVariable, err)
	}
	return nil
}
